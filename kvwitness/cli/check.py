"""``kvwitness check``: our own implementation under everything that is built so far."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click
from attrs import evolve

from kvwitness.besides import Outcome, run_shares, shares_of
from kvwitness.campaign import Finding, Tally
from kvwitness.checking import parts_of, run_parts
from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.cli.findings import explained, progress, write_findings
from kvwitness.cli.options import Effort, Output, campaign_options, event_options, kind_option, kinds_called
from kvwitness.model.profile import PROFILES
from kvwitness.properties.run import ORACLES
from kvwitness.properties.situations import reason_against
from kvwitness.report import check_report
from kvwitness.report.besides_report import add_cases, verdict_of

DEFAULT_SECONDS = 8.0
"""What the runs of a check take if nothing else is said: with what is done besides, an answer while one waits."""


@click.command()
@kind_option
@click.option("--groups", is_flag=True, help="Mixed groups on one pool instead of groups of one kind; with --kind those that have it.")
@click.option("--profile", type=click.Choice(list(PROFILES)), help="The rules in force; sound and then vllm-0.16 if left out.")
@click.option(
    "--full", is_flag=True, help="All theorems with their wrong variants, all small worlds, all seeded defects; else a few of each."
)
@event_options
@campaign_options(DEFAULT_SECONDS)
def check(kind: str | None, groups: bool, profile: str | None, full: bool, hearing: tuple[str, ...], effort: Effort, output: Output) -> int:
    """Check our own implementation: proofs, small worlds, seeded defects, and runs of every kind or every mix of them under all oracles.

    Known errata of a profile are counted apart; a new finding is made small, explained and written to a file. Proofs, worlds and
    defects are left out with --groups, with --steps, and under the profile of a release.
    Exits with 0 where there is no new finding, with 1 where there is one, with 3 where a proof or a world is undecided.
    """
    labels, profiles = kinds_called(kind, groups=groups), (profile,) if profile else ("sound", "vllm-0.16")
    limits = {"seed": effort.seed, "seconds": effort.seconds, "operations": effort.steps, "jobs": effort.jobs}
    oracles = (*ORACLES, *hearing)
    parts = [evolve(part, oracles=oracles) for part in parts_of("impl", labels, profiles, **limits)]  # type: ignore[arg-type]
    if not parts:
        reason = reason_against(PROFILES[profiles[0]], labels[0])
        raise click.UsageError(f"got {labels[0]} under {profiles[0]}: {reason}; leave out one of the two")
    started = time.monotonic()
    outcomes = [] if groups or effort.steps or "sound" not in profiles else _besides(labels, effort.jobs, full=full)
    tallies = run_parts(parts, effort.jobs, progress(len(parts), started))
    files = write_findings(tallies, effort.seed, output.out, "impl")
    _tell(tallies, outcomes, files, oracles, effort, output, time.monotonic() - started)
    if files or any(outcome.failed for outcome in outcomes):
        return FAILED
    return UNDECIDED if any(outcome.open for outcome in outcomes) else HELD


def _besides(labels: Sequence[str], jobs: int, *, full: bool) -> list[Outcome]:
    """Proofs, small worlds and seeded defects, with a line on stderr for each share that is done."""
    shares, done = shares_of(labels, full=full), list[Outcome]()

    def say(outcome: Outcome) -> None:
        done.append(outcome)
        click.echo(f"kvwitness: {len(done)}/{len(shares)} {outcome.part}, {verdict_of(outcome)}", err=True)

    return run_shares(shares, jobs, say)


def _tell(
    tallies: Sequence[Tally],
    outcomes: Sequence[Outcome],
    files: Sequence[tuple[Finding, Path]],
    oracles: Sequence[str],
    effort: Effort,
    output: Output,
    seconds: float,
) -> None:
    """Print and write what came of it all."""
    facts = {"port": "impl", "seed": effort.seed, "seconds": seconds, "jobs": effort.jobs, "besides": outcomes}
    if output.as_json:
        click.echo(json.dumps(check_report.as_data(tallies, oracles, **facts), ensure_ascii=False))  # type: ignore[arg-type]
    else:
        click.echo(check_report.as_text(tallies, oracles, **facts))  # type: ignore[arg-type]
        for finding, file in files:
            click.echo("\n" + explained(finding, file, "impl"))
    if output.junit is not None:
        output.junit.write_text(add_cases(check_report.as_junit(tallies, oracles=oracles), outcomes), encoding="utf-8")


__all__ = ["check"]
