"""What a check did besides runs, as a table, as data, and as JUnit."""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from kvwitness.besides import FEW_STATES, PROFILE, Outcome

UNITS = {"proofs": "theorems", "closure": "worlds", "defects": "seeded defects"}
WORDS = {"proofs": "proved", "closure": "no mismatch", "defects": "caught"}
LEFT_OUT = {
    "proofs": "their wrong variants not asked for",
    "closure": f"{FEW_STATES} states each at most",
    "defects": "not made small",
}
"""What a quick check leaves out of each."""


def verdict_of(outcome: Outcome) -> str:
    """``FAILED N``, ``undecided N``, ``not exercised``, or the part's own word for held."""
    if outcome.failed:
        return f"FAILED {len(outcome.failed)}"
    if outcome.open:
        return f"undecided {len(outcome.open)}"
    if outcome.part == "closure" and not outcome.transitions:
        return "not exercised"
    return WORDS[outcome.part]


def as_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """A line a part, then what does not hold and what is undecided."""
    if not outcomes:
        return []
    lines = [f"besides, under {PROFILE}:", *(_line(outcome) for outcome in outcomes)]
    lines += [f"  FAILED {outcome.part}: {line}" for outcome in outcomes for line in outcome.failed]
    return lines + [f"  undecided {outcome.part}: {line}" for outcome in outcomes for line in outcome.open]


def _line(outcome: Outcome) -> str:
    asked = f"{outcome.asked} of {outcome.total} {UNITS[outcome.part]}"
    made = f", {outcome.transitions:,} transitions" if outcome.part == "closure" else ""
    told = verdict_of(outcome) + made + ("" if outcome.full else f"; {LEFT_OUT[outcome.part]}")
    return f"  {outcome.part:<8}  {asked:<24}  {told}"


def as_data(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """The same as plain data."""
    return [
        {
            "part": each.part,
            "asked": each.asked,
            "total": each.total,
            "full": each.full,
            "verdict": verdict_of(each),
            "failed": [*each.failed],
            "undecided": [*each.open],
            "transitions": each.transitions,
            "seconds": round(each.seconds, 3),
        }
        for each in outcomes
    ]


def add_cases(junit: str, outcomes: Sequence[Outcome]) -> str:
    """A JUnit text with one test case a part more; what is undecided counts as a failure."""
    suite = ET.fromstring(junit)  # noqa: S314 - our own text
    for outcome in outcomes:
        case = ET.SubElement(suite, "testcase", classname=PROFILE, name=outcome.part)
        if outcome.failed or outcome.open:
            ET.SubElement(case, "failure", message=verdict_of(outcome)).text = "\n".join((*outcome.failed, *outcome.open))
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    return ET.tostring(suite, encoding="unicode") + "\n"


__all__ = ["add_cases", "as_data", "as_lines", "verdict_of"]
