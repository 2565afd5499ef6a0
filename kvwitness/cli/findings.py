"""What the commands that run campaigns say while they run, and what they write of new findings."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from kvwitness import explain, trace
from kvwitness.campaign import Finding, Tally
from kvwitness.checking import Part
from kvwitness.ports.resolve import resolve
from kvwitness.properties.replay import replay
from kvwitness.report import check_report


def progress(parts: int, started: float) -> Callable[[Part, Tally], None]:
    """What says on stderr which kinds are done."""
    done: list[int] = []

    def say(part: Part, tally: Tally) -> None:
        done.append(tally.operations)
        elapsed, found = time.monotonic() - started, f", {len(tally.findings)} new findings" if tally.findings else ""
        what = f"{len(done)}/{parts} {part.profile} {part.label}"
        click.echo(f"kvwitness: {what}, {sum(done):,} steps, {elapsed:.1f} s{found}", err=True)

    return say


def write_findings(tallies: Sequence[Tally], seed: int, out: Path, port: str) -> list[tuple[Finding, Path]]:
    """A trace file for each new finding; of several that break the same clause on a kind, the smallest."""
    smallest: dict[tuple[str, str, str], Finding] = {}
    for tally in tallies:
        for finding in tally.findings:
            key = (tally.profile, tally.label, finding.shrunk.violation.clause)
            if key not in smallest or len(finding.shrunk.operations) < len(smallest[key].shrunk.operations):
                smallest[key] = finding
    files = []
    for (profile, label, clause), finding in smallest.items():
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{profile}-{label}-{clause}.json"
        trace.write(check_report.trace_of(finding, seed, port), file)
        files.append((finding, file))
    return files


def explained(finding: Finding, file: Path, port: str) -> str:
    """The failure in words, with the command that shows it again."""
    steps: list[str] = []
    shrunk = finding.shrunk
    replay(resolve(port), shrunk.setting, shrunk.operations, watch=lambda view: steps.append(explain.told(view)))
    return explain.explain(steps, shrunk.violation, command=explain.replay_command(str(file), port))


__all__ = ["explained", "progress", "write_findings"]
