"""``kvwitness conform PORT --planner``: a release's own planner as the driver of the checks."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kvwitness import explain, trace
from kvwitness.campaign import Finding, Tally
from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.cli.findings import write_findings
from kvwitness.cli.options import Effort, Output
from kvwitness.cli.replay_planner import replayed_on_planner
from kvwitness.model.profile import PROFILES
from kvwitness.planner_parts import PlannerPart, run_planner_parts
from kvwitness.ports.resolve import PortError, is_release
from kvwitness.report import check_report, planner_report

if TYPE_CHECKING:
    from kvwitness.vllm.planner.both_ways import BothWays

ORACLES = ("accounting", "contents", "liveness", "planner")
"""Who judges a planner."""


def planner_labels(kind: str | None, labels: Sequence[str]) -> tuple[str, ...]:
    """The kinds that a planner is run on; cross attention and sinks need a model around them.

    Raises:
        BadParameter: None of those that were asked for.
    """
    from kvwitness.vllm.planner.situations import PLANNER_LABELS

    parts = {label: label.split("+") for label in labels}
    chosen = tuple(label for label, kinds in parts.items() if set(kinds) <= set(PLANNER_LABELS))
    if not chosen:
        raise click.BadParameter(f"got {kind!r}; allowed is {', '.join(PLANNER_LABELS)} or a mix of them", param_hint="--kind")
    return chosen


SHARE_OF_BOTH_WAYS = 0.2
"""The part of the time that the comparison with our caller takes, where it is asked for."""


def compared(port: str, labels: Sequence[str], effort: Effort) -> dict[str, "BothWays"]:
    """What our caller makes of each kind's runs on the managers of the same release; mixes are left out."""
    from kvwitness.vllm.build import NotOffered
    from kvwitness.vllm.planner.both_ways import BothWays, both_ways

    alone = [label for label in labels if "+" not in label]
    share, told = effort.seconds * SHARE_OF_BOTH_WAYS / max(1, len(alone)), {}
    for label in alone:
        started = time.monotonic()

        def goes_on(so_far: BothWays, started: float = started) -> bool:
            return so_far.steps < effort.steps if effort.steps else time.monotonic() - started < share

        try:
            told[label] = both_ways(port, label, effort.seed, goes_on)
        except NotOffered:
            continue
    return told


def conform_planner(port: str, labels: Sequence[str], effort: Effort, output: Output, *, both: bool = False) -> int:
    """Drive the planner of PORT and judge it.

    Raises:
        PortError: The port has no planner.
        ReleaseError: The release cannot be loaded, or asks for what is not known here.
    """
    if not is_release(port):
        raise PortError(f"got the port {port!r} with --planner; allowed is vllm, vllm==X or vllm:PATH; name a release")
    from kvwitness.vllm.planner.coverage import PLANNER_SITUATIONS
    from kvwitness.vllm.planner.loading import open_planner

    name, started = open_planner(port).label, time.monotonic()
    share, plans = effort.seconds * (1 - SHARE_OF_BOTH_WAYS * both) / len(labels), -(-effort.steps // effort.jobs)
    parts = [PlannerPart(port, label, effort.seed, first, effort.jobs, share, plans) for label in labels for first in range(effort.jobs)]
    tallies = run_planner_parts(parts, effort.jobs, lambda part, tally: _say(part, tally, started))
    beside = compared(port, labels, effort) if both else {}
    facts = {"name": name, "seed": effort.seed, "seconds": time.monotonic() - started, "jobs": effort.jobs}
    if output.as_json:
        data = planner_report.as_data(tallies, PLANNER_SITUATIONS, **facts)  # type: ignore[arg-type]
        click.echo(json.dumps({**data, **planner_report.both_ways_data(beside)}, ensure_ascii=False))
    else:
        click.echo("\n".join([*planner_report.both_ways_lines(beside), planner_report.as_text(tallies, PLANNER_SITUATIONS, **facts)]))  # type: ignore[arg-type]
    return _told(port, tallies, effort, output)


def _told(port: str, tallies: list[Tally], effort: Effort, output: Output) -> int:
    """Write the new findings, explain them, and say how it ended."""
    if output.junit is not None:
        output.junit.write_text(check_report.as_junit(tallies, f"kvwitness conform {port} --planner", ORACLES), encoding="utf-8")
    files = write_findings(tallies, effort.seed, output.out / "planner", port)
    if not output.as_json:
        for finding, file in files:
            click.echo("\n" + explained_planner(finding, file, port))
    if files:
        return FAILED
    return HELD if any(tally.operations for tally in tallies) else UNDECIDED


def explained_planner(finding: Finding, file: Path, port: str) -> str:
    """A planner's failure in words, with the command that shows it again."""
    wanted = trace.read(file)
    done = replayed_on_planner(port, PROFILES[wanted.profile], wanted, str(file), ())
    return explain.explain(done.steps, finding.shrunk.violation, command=explain.replay_command(str(file), port))


def _say(part: PlannerPart, tally: Tally, started: float) -> None:
    found = f", {len(tally.findings)} new findings" if tally.findings else ""
    seconds = time.monotonic() - started
    click.echo(f"kvwitness: {part.label}, {tally.calls:,} planner steps, {seconds:.1f} s{found}", err=True)


__all__ = ["conform_planner", "planner_labels"]
