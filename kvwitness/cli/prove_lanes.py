"""``kvwitness prove --cvc5`` and ``--crosshair``: what other tools say, apart from any verdict."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.proofs.engines import lanes
from kvwitness.proofs.engines.lanes import Opinion
from kvwitness.proofs.theorem import Theorem

ANSWERS = ("proved", "unknown", "disagreement")
SIGN_EVERY = 25
"""Goals after which a run shows that it goes on."""


def ask_lane(lane: str, theorems: Sequence[Theorem], *, as_json: bool) -> int:
    """Ask a tool about the goals of the theorems, or about all claims; the exit code: 1 where it disagrees, 3 where it is missing."""
    try:
        named = lanes.tool(lane)
    except lanes.NotInstalled as error:
        click.echo(f"kvwitness: {error}", err=True)
        return UNDECIDED
    started = time.monotonic()
    opinions = []
    for opinion in lanes.by_cvc5(theorems) if lane == "cvc5" else lanes.by_crosshair():
        opinions.append(opinion)
        if len(opinions) % SIGN_EVERY == 0 or opinion.answer != "proved":
            click.echo(f"kvwitness: {len(opinions)} {opinion.name}: {opinion.answer}, {opinion.seconds:.2f} s", err=True)
    elapsed = time.monotonic() - started
    click.echo(json.dumps(as_data(named, opinions, elapsed), ensure_ascii=False) if as_json else as_text(named, opinions, elapsed))
    return FAILED if any(opinion.answer == "disagreement" for opinion in opinions) else HELD


def as_text(named: str, opinions: Sequence[Opinion], seconds: float) -> str:
    """How many came out how, then each that the tool did not prove."""
    counts = Counter(opinion.answer for opinion in opinions)
    told = ", ".join(f"{counts[answer]} {answer}" for answer in ANSWERS)
    lines = [f"{named} on {len(opinions)} goals in {seconds:.1f} s: {told}; no part of a verdict"]
    return "\n".join([*lines, *(_line(opinion) for opinion in opinions if opinion.answer != "proved")])


def _line(opinion: Opinion) -> str:
    return f"  {opinion.answer}: {opinion.name}: {opinion.goal} ({opinion.because})"


def as_data(named: str, opinions: Sequence[Opinion], seconds: float) -> dict[str, Any]:
    """The same as one JSON object."""
    return {
        "tool": named,
        "seconds": round(seconds, 3),
        "counts": {answer: sum(opinion.answer == answer for opinion in opinions) for answer in ANSWERS},
        "goals": [
            {
                "name": each.name,
                "goal": each.goal,
                "answer": each.answer,
                "because": each.because,
                "seconds": round(each.seconds, 3),
            }
            for each in opinions
        ],
    }


__all__ = ["as_data", "as_text", "ask_lane"]
