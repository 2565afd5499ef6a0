"""``kvwitness defects``: hunt the seeded defects of our own implementation, to see that the checks catch them."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from kvwitness.checking import available_jobs
from kvwitness.cli.errors import FAILED, HELD
from kvwitness.cli.options import kinds_called
from kvwitness.hunt import Budget, Hunted, hunt_all
from kvwitness.ports.resolve import resolve
from kvwitness.properties.defects.catalogue import DEFECTS, defect_named
from kvwitness.properties.defects.defect import Defect
from kvwitness.properties.mixes import MIXES
from kvwitness.properties.situations import LABELS
from kvwitness.report import defects_report


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--kind", metavar="KIND", help="Only defects of this kind, on this kind; mamba for its three modes.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed makes the same runs.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; one a core if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write a JUnit file too.")
@click.option("--markdown", is_flag=True, help="Print the catalogue as a page and hunt nothing.")
def defects(
    names: tuple[str, ...], kind: str | None, seed: int, jobs: int | None, as_json: bool, junit: Path | None, markdown: bool
) -> int:
    """Hunt seeded defects: wrong variants of our implementation that the checks must catch.

    Prints which oracle kills each, by which clause, after how many runs, and how small the killing run gets.
    Exits with 0 where all are killed by a clause that must catch them, else with 1.
    """
    if markdown:
        click.echo(defects_report.as_markdown())
        return HELD
    kinds = kinds_called(kind) if kind is not None else (*LABELS, *MIXES)
    chosen = chosen_defects(names, kinds)
    processes = min(jobs or available_jobs(), len(chosen))
    started = time.monotonic()
    results = hunt_all(chosen, Budget(seed=seed), kinds, processes, _progress(len(chosen), started))
    elapsed = time.monotonic() - started
    if as_json:
        click.echo(json.dumps(defects_report.as_data(results, seed=seed, seconds=elapsed, jobs=processes), ensure_ascii=False))
    else:
        click.echo(defects_report.as_text(results, seed=seed, seconds=elapsed, jobs=processes))
    if junit is not None:
        junit.write_text(defects_report.as_junit(results), encoding="utf-8")
    return HELD if all(hunted.is_caught for hunted in results) else FAILED


def chosen_defects(names: Sequence[str], kinds: Sequence[str]) -> list[Defect]:
    """The defects of those names, or all, as far as they show on one of the kinds.

    Raises:
        PortError: There is no defect of a name.
        click.BadParameter: None of them shows on the kinds.
    """
    for name in names:
        resolve(f"mutant:{name}")
    named = [defect_named(name) for name in dict.fromkeys(names)] or list(DEFECTS)
    chosen = [defect for defect in named if set(defect.kinds) & set(kinds)]
    if not chosen:
        allowed = ", ".join(dict.fromkeys(label for defect in named for label in defect.kinds))
        raise click.BadParameter(f"got {', '.join(kinds)}; allowed is {allowed}, which these defects show on", param_hint="--kind")
    return chosen


def _progress(number: int, started: float) -> Callable[[Hunted], None]:
    """What says on stderr which defects are done."""
    done: list[str] = []

    def say(hunted: Hunted) -> None:
        done.append(hunted.name)
        elapsed = time.monotonic() - started
        click.echo(f"kvwitness: {len(done)}/{number} {hunted.name} {defects_report.verdict_of(hunted)}, {elapsed:.1f} s", err=True)

    return say
