"""``kvwitness releases``: hold every known release of vLLM to its profile, and print the table as a page."""

import time

import click

from kvwitness.campaign import Tally
from kvwitness.checking import run_parts
from kvwitness.cli.conform_planner import planner_labels
from kvwitness.cli.errors import FAILED, HELD
from kvwitness.cli.findings import progress
from kvwitness.cli.options import kinds_called
from kvwitness.conforming import aim_at, parts_for
from kvwitness.planner_parts import PlannerPart, run_planner_parts
from kvwitness.report.planner_report import reason_not_offered
from kvwitness.report.release_docs import RELEASES, SEED_RELEASE, SEED_STEPS, STEPS, Held, as_markdown, steps_for
from kvwitness.report.release_grid import GRID_RELEASES, Column, as_grid


@click.command()
@click.argument("versions", nargs=-1, metavar="[VERSION]...")
@click.option("--groups", "mode", flag_value="groups", help="Mixed groups instead of groups of one kind.")
@click.option("--planner", "mode", flag_value="planner", help="The releases' own planners instead of their managers.")
@click.option(
    "--steps", type=click.IntRange(min=0), default=0, help=f"Steps on each release; {SEED_STEPS:,} on {SEED_RELEASE}, {STEPS:,} on others."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed makes the same runs.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
def releases(versions: tuple[str, ...], mode: str | None, steps: int, seed: int, jobs: int) -> int:
    """Hold every known release of vLLM, or those named, to its own profile, and print the table as a page.

    With --groups or --planner the page has a row a mix and a column a release, and 200,000 steps a release.
    Exits with 0 where no difference is left unexplained, with 1 where one is.
    """
    if mode is not None:
        make = _on_mixes if mode == "groups" else _on_planner
        columns = [make(version, steps or STEPS, seed, jobs) for version in versions or GRID_RELEASES]
        click.echo(as_grid(columns, seed=seed, planner=mode == "planner"))
        return FAILED if any(tally.findings for column in columns for tally in column.tallies) else HELD
    held = []
    for version in versions or RELEASES:
        aim = aim_at(f"vllm=={version}")
        parts = parts_for(aim, seed=seed, seconds=0.0, operations=steps_for(version, aim, steps), jobs=jobs)
        click.echo(f"kvwitness: {aim.told.name}", err=True)
        held.append(Held(version, aim, tuple(run_parts(parts, jobs, progress(len(parts), time.monotonic())))))
    click.echo(as_markdown(held, seed=seed))
    return FAILED if any(tally.findings for release in held for tally in release.tallies) else HELD


def _on_mixes(version: str, steps: int, seed: int, jobs: int) -> Column:
    """A release's coordinator and managers on every mix that it offers."""
    aim = aim_at(f"vllm=={version}", labels=kinds_called(None, groups=True))
    click.echo(f"kvwitness: {aim.told.name}, mixed groups", err=True)
    parts = parts_for(aim, seed=seed, seconds=0.0, operations=-(-steps // max(1, len(aim.labels))), jobs=jobs)
    return Column(version, tuple(run_parts(parts, jobs, progress(len(parts), time.monotonic()))), aim.not_offered)


def _on_planner(version: str, steps: int, seed: int, jobs: int) -> Column:
    """A release's planner on every kind and mix that it plans for."""
    labels = (*planner_labels(None, kinds_called(None)), *planner_labels(None, kinds_called(None, groups=True)))
    click.echo(f"kvwitness: vllm {version}, its own planner", err=True)
    port, started = f"vllm=={version}", time.monotonic()
    asked = run_planner_parts([PlannerPart(port, label, seed, 0, 1, 0.0, 1) for label in labels], 1, lambda _part, _tally: None)
    reasons = {tally.label: reason for tally in asked if (reason := reason_not_offered(tally))}
    offered = [label for label in labels if label not in reasons]
    plans = -(-steps // (max(1, len(offered)) * jobs))
    parts = [PlannerPart(port, label, seed, first, jobs, 0.0, plans) for label in offered for first in range(jobs)]

    def say(part: PlannerPart, tally: Tally) -> None:
        click.echo(f"kvwitness: {part.label}, {tally.calls:,} planner steps, {time.monotonic() - started:.1f} s", err=True)

    return Column(version, tuple(run_planner_parts(parts, jobs, say)), reasons)


__all__ = ["releases"]
