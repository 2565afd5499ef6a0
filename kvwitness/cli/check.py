"""``kvwitness check``: our own implementation under everything that is built so far."""

import json
import time

import click
from attrs import evolve

from kvwitness.checking import parts_of, run_parts
from kvwitness.cli.errors import FAILED, HELD
from kvwitness.cli.findings import explained, progress, write_findings
from kvwitness.cli.options import Effort, Output, campaign_options, event_options, kind_option, kinds_called
from kvwitness.model.profile import PROFILES
from kvwitness.properties.run import ORACLES
from kvwitness.properties.situations import reason_against
from kvwitness.report import check_report

DEFAULT_SECONDS = 12.0
"""What a check takes if nothing else is said: an answer while one waits."""


@click.command()
@kind_option
@click.option("--groups", is_flag=True, help="Mixed groups on one pool instead of groups of one kind; with --kind those that have it.")
@click.option("--profile", type=click.Choice(list(PROFILES)), help="The rules in force; sound and then vllm-0.16 if left out.")
@event_options
@campaign_options(DEFAULT_SECONDS)
def check(kind: str | None, groups: bool, profile: str | None, hearing: tuple[str, ...], effort: Effort, output: Output) -> int:
    """Check our own implementation: every kind or every mix of them, all oracles, the model in lock-step.

    Known errata of a profile are counted apart; a new finding is made small, explained and written to a file.
    Exits with 0 where there is no new finding, with 1 where there is one.
    """
    labels, profiles = kinds_called(kind, groups=groups), (profile,) if profile else ("sound", "vllm-0.16")
    limits = {"seed": effort.seed, "seconds": effort.seconds, "operations": effort.steps, "jobs": effort.jobs}
    oracles = (*ORACLES, *hearing)
    parts = [evolve(part, oracles=oracles) for part in parts_of("impl", labels, profiles, **limits)]  # type: ignore[arg-type]
    if not parts:
        reason = reason_against(PROFILES[profiles[0]], labels[0])
        raise click.UsageError(f"got {labels[0]} under {profiles[0]}: {reason}; leave out one of the two")
    started = time.monotonic()
    tallies = run_parts(parts, effort.jobs, progress(len(parts), started))
    facts = {"port": "impl", "seed": effort.seed, "seconds": time.monotonic() - started, "jobs": effort.jobs}
    if output.as_json:
        click.echo(json.dumps(check_report.as_data(tallies, oracles, **facts), ensure_ascii=False))  # type: ignore[arg-type]
    else:
        click.echo(check_report.as_text(tallies, oracles, **facts))  # type: ignore[arg-type]
    if output.junit is not None:
        output.junit.write_text(check_report.as_junit(tallies, oracles=oracles), encoding="utf-8")
    files = write_findings(tallies, effort.seed, output.out, "impl")
    if not output.as_json:
        for finding, file in files:
            click.echo("\n" + explained(finding, file, "impl"))
    return FAILED if files else HELD


__all__ = ["check"]
