"""``kvwitness diff``: how two ports differ, and by which rules."""

import json
from typing import Any

import click

from kvwitness.checking import profile_called
from kvwitness.cli.errors import FAILED, HELD, undecided
from kvwitness.cli.options import Duration, kind_option, kinds_called
from kvwitness.conforming import aim_at
from kvwitness.differing import search
from kvwitness.pair import Side
from kvwitness.ports.resolve import resolve
from kvwitness.report import diff_report

DEFAULT_SECONDS = 30.0
"""What it takes if nothing else is said."""


@click.command()
@click.argument("left")
@click.argument("right")
@kind_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed makes the same runs.")
@click.option("--for", "seconds", type=Duration(), default=f"{DEFAULT_SECONDS:.0f}s", show_default=True, help="How long.")
@click.option("--runs", type=click.IntRange(min=1), help="Runs to make, over all kinds, instead of a time.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def diff(left: str, right: str, kind: str | None, seed: int, seconds: float, runs: int | None, as_json: bool) -> int:
    """Drive the ports LEFT and RIGHT by the same operations, and tell where they part.

    Each kind of difference is made small and explained by an axis on which the two profiles differ, as far as one explains it.
    Exits with 0 where there is no difference, with 1 where there is one, explained or not.
    """
    labels = kinds_called(kind)
    aims = [aim_at(name, labels=labels) for name in (left, right)]
    common = [label for label in labels if all(label in aim.labels for aim in aims)]
    if not common:
        raise click.BadParameter(f"got {', '.join(labels)}; allowed is a kind that both ports offer", param_hint="--kind")
    sides = [Side(resolve(aim.port), profile_called(aim.profile)) for aim in aims]
    limits: dict[str, Any] = {"runs": runs} if runs else {"seconds": seconds}
    found = search(sides[0], sides[1], resolve("model"), common, seed=seed, not_offered=undecided(), **limits)
    names, profiles = (aims[0].told.name, aims[1].told.name), (sides[0].profile, sides[1].profile)
    if as_json:
        click.echo(json.dumps(diff_report.as_data(found, names, profiles, seed=seed), ensure_ascii=False))
    else:
        click.echo(diff_report.as_text(found, names, profiles, seed=seed))
    return FAILED if found.found else HELD


__all__ = ["diff"]
