"""``kvwitness conform``: hold a port to the specification, level by level."""

import json
import time

import click

from kvwitness.checking import run_parts
from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.cli.findings import explained, progress, write_findings
from kvwitness.cli.options import Effort, Output, campaign_options, event_options, kind_option, kinds_called
from kvwitness.conforming import LEVELS, aim_at, judges_of, parts_for
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import FORMS
from kvwitness.report import check_report, conform_report

DEFAULT_SECONDS = 30.0
"""What it takes if nothing else is said."""


@click.command(epilog="A port is one of: " + ", ".join(f"{form} ({what})" for form, what in FORMS.items()) + ".")
@click.argument("port")
@kind_option
@click.option("--groups", is_flag=True, help="Mixed groups on one pool instead of groups of one kind; with --kind those that have it.")
@click.option("--planner", "planner", flag_value="alone", help="Drive a release's own planner instead of its managers.")
@click.option("--both-ways", "planner", flag_value="both ways", help="The same, and our caller repeats what the planner does.")
@click.option("--level", type=click.Choice(LEVELS), help="The strongest level that is judged; the port's strongest if left out.")
@click.option("--profile", type=click.Choice([*PROFILES, "none"]), help="The rules it is compared with; its own if left out.")
@event_options
@campaign_options(DEFAULT_SECONDS)
def conform(
    port: str,
    kind: str | None,
    groups: bool,
    planner: str | None,
    level: str | None,
    profile: str | None,
    hearing: tuple[str, ...],
    effort: Effort,
    output: Output,
) -> int:
    """Hold PORT to the specification: safety, liveness, exact counts, and identity with its profile.

    A release of vLLM is compared with its own profile.
    With --profile none only the levels up to L2 are judged, by the rules of sound.
    Known errata are counted apart; a new finding is made small, explained and written to a file.
    Exits with 0 where there is no new finding, with 1 where there is one, with 3 where the port cannot be loaded.
    """
    if planner:
        from kvwitness.cli.conform_planner import conform_planner, planner_labels

        return conform_planner(port, planner_labels(kind, kinds_called(kind, groups=groups)), effort, output, both=planner == "both ways")
    aim = aim_at(port, labels=kinds_called(kind, groups=groups), profile=profile, level=level, hearing=hearing)
    parts = parts_for(aim, seed=effort.seed, seconds=effort.seconds, operations=effort.steps, jobs=effort.jobs)
    started = time.monotonic()
    tallies = run_parts(parts, effort.jobs, progress(len(parts), started))
    facts = {"seed": effort.seed, "seconds": time.monotonic() - started, "jobs": effort.jobs}
    if output.as_json:
        click.echo(json.dumps(conform_report.as_data(tallies, aim, **facts), ensure_ascii=False))  # type: ignore[arg-type]
    else:
        click.echo(conform_report.as_text(tallies, aim, **facts))  # type: ignore[arg-type]
    if output.junit is not None:
        output.junit.write_text(check_report.as_junit(tallies, f"kvwitness conform {port}", judges_of(aim)), encoding="utf-8")
    files = write_findings(tallies, effort.seed, output.out, port)
    if not output.as_json:
        for finding, file in files:
            click.echo("\n" + explained(finding, file, port))
    if files:
        return FAILED
    return HELD if any(tally.operations for tally in tallies) else UNDECIDED


__all__ = ["conform"]
