"""``kvwitness check``: our own implementation under everything that is built so far."""

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from kvwitness import explain, trace
from kvwitness.campaign import Finding, Tally
from kvwitness.checking import Part, available_jobs, parts_of, run_parts
from kvwitness.cli.errors import FAILED, HELD
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import resolve
from kvwitness.properties.replay import replay
from kvwitness.properties.situations import LABELS
from kvwitness.report import check_report

DEFAULT_SECONDS = 12.0
"""What a check takes if nothing else is said: an answer while one waits."""

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """A time with its unit: ``60s``, ``10m``, ``1h``."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The time in seconds."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if match is None or float(match[1]) <= 0:
            self.fail(f"got {value!r}; allowed is a positive number with s, m or h; write 60s, 10m or 1h", param, ctx)
        return float(match[1]) * UNITS[match[2]]


def kinds_called(kind: str | None) -> tuple[str, ...]:
    """The labels that a kind's name stands for: ``mamba`` for all its modes.

    Raises:
        click.BadParameter: There is no such kind.
    """
    if kind is None:
        return LABELS
    labels = tuple(label for label in LABELS if kind in (label, label.split("-")[0]))
    if not labels:
        raise click.BadParameter(f"got {kind!r}; allowed is {', '.join(LABELS)}, or mamba for its modes", param_hint="--kind")
    return labels


@click.command()
@click.option("--kind", metavar="KIND", help=f"One of {', '.join(LABELS)}, or mamba for its three modes; all if left out.")
@click.option("--profile", type=click.Choice(list(PROFILES)), help="The rules in force; sound and then vllm-0.16 if left out.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed makes the same runs.")
@click.option("--for", "seconds", type=Duration(), help=f"How long; {DEFAULT_SECONDS:.0f}s if left out.")
@click.option("--steps", type=click.IntRange(min=1), help="Steps for each kind and profile, instead of a time.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; one a core if left out.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("kvwitness-failures"), show_default=True, help="Folder for new findings."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write a JUnit file too.")
def check(
    kind: str | None,
    profile: str | None,
    seed: int,
    seconds: float | None,
    steps: int | None,
    jobs: int | None,
    out: Path,
    as_json: bool,
    junit: Path | None,
) -> int:
    """Check our own implementation: every kind, all oracles, the model in lock-step.

    Known errata of a profile are counted apart; a new finding is made small, explained and written to a file.
    Exits with 0 where there is no new finding, with 1 where there is one.
    """
    labels, profiles = kinds_called(kind), (profile,) if profile else ("sound", "vllm-0.16")
    processes = jobs or available_jobs()
    budget = 0.0 if steps else (seconds or DEFAULT_SECONDS)
    parts = parts_of("impl", labels, profiles, seed=seed, seconds=budget, operations=steps or 0, jobs=processes)
    started = time.monotonic()
    tallies = run_parts(parts, processes, _progress(len(parts), started))
    elapsed = time.monotonic() - started
    facts = {"port": "impl", "seed": seed, "seconds": elapsed, "jobs": processes}
    if as_json:
        click.echo(json.dumps(check_report.as_data(tallies, **facts), ensure_ascii=False))  # type: ignore[arg-type]
    else:
        click.echo(check_report.as_text(tallies, **facts))  # type: ignore[arg-type]
    if junit is not None:
        junit.write_text(check_report.as_junit(tallies), encoding="utf-8")
    files = _write_findings(tallies, seed, out)
    if not as_json:
        for finding, file in files:
            click.echo("\n" + _explained(finding, file))
    return FAILED if files else HELD


def _progress(parts: int, started: float) -> Callable[[Part, Tally], None]:
    """What says on stderr which kinds are done."""
    done: list[int] = []

    def say(part: Part, tally: Tally) -> None:
        done.append(tally.operations)
        elapsed, found = time.monotonic() - started, f", {len(tally.findings)} new findings" if tally.findings else ""
        what = f"{len(done)}/{parts} {part.profile} {part.label}"
        click.echo(f"kvwitness: {what}, {sum(done):,} steps, {elapsed:.1f} s{found}", err=True)

    return say


def _write_findings(tallies: Sequence[Tally], seed: int, out: Path) -> list[tuple[Finding, Path]]:
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
        trace.write(check_report.trace_of(finding, seed, "impl"), file)
        files.append((finding, file))
    return files


def _explained(finding: Finding, file: Path) -> str:
    """The failure in words, with the command that shows it again."""
    steps: list[str] = []
    shrunk = finding.shrunk
    replay(resolve("impl"), shrunk.setting, shrunk.operations, watch=lambda view: steps.append(explain.told(view)))
    return explain.explain(steps, shrunk.violation, command=explain.replay_command(str(file), "impl"))
