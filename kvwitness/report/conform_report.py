"""What holding a port to the specification came to: a table of kinds and levels, as text and as data."""

from collections.abc import Sequence
from typing import Any

from kvwitness.campaign import Tally
from kvwitness.conforming import LEVELS, Aim, judges_of
from kvwitness.properties.mixes import MIXES
from kvwitness.report.check_report import aligned, errata_lines, gap_lines, tally_data, told_line

MEANINGS = "L0 safety (books and contents), L1 liveness, L2 exact lengths and counts, L3 identical to the profile, ids and order included"


def level_verdict(tally: Tally, level: str, aim: Aim) -> str:
    """What one level of a kind came to: ``held``, ``known N`` for errata met, ``FAILED N``, ``not exercised`` or ``not judged``."""
    if level > aim.level:
        return "not judged"
    failed = sum(finding.level == level for finding in tally.findings)
    if failed:
        return f"FAILED {failed}"
    if not tally.operations:
        return "not exercised"
    known = sum(times for times, finding in tally.errata.values() if finding.level == level)
    return f"held, known {known}" if known else "held"


def verdict(tallies: Sequence[Tally]) -> str:
    """``held``, ``failed``, or ``nothing exercised``."""
    if any(tally.findings for tally in tallies):
        return "failed"
    return "held" if any(tally.operations for tally in tallies) else "nothing exercised"


def as_text(tallies: Sequence[Tally], aim: Aim, *, seed: int, seconds: float, jobs: int) -> str:
    """The whole report."""
    total, calls = sum(tally.operations for tally in tallies), sum(tally.calls for tally in tallies)
    counted = f"seed {seed}, {total:,} steps ({calls:,} calls) in {seconds:.1f} s on {jobs} processes"
    lines = [f"kvwitness conform: {aim.told.name}, profile {aim.profile}, level {aim.level}, {counted}"]
    lines += [*([aim.remark] if aim.remark else []), "", *_table(tallies, aim)]
    lines += told_line(tallies, judges_of(aim))
    lines += [
        "",
        MEANINGS,
        *errata_lines(tallies, aim.profile, judges_of(aim)),
        *gap_lines(tallies, aim.never),
        *_not_offered(tallies, aim),
        "",
    ]
    found = [finding for tally in tallies for finding in tally.findings]
    if not found:
        return "\n".join([*lines, "held: no new finding" if total else "nothing exercised: there is no verdict"])
    clauses = ", ".join(dict.fromkeys(finding.shrunk.violation.clause for finding in found))
    return "\n".join([*lines, f"FAILED: {len(found)} new findings: {clauses}"])


def _table(tallies: Sequence[Tally], aim: Aim) -> list[str]:
    """One line a kind: steps, and a verdict for each level."""
    rows = [
        [tally.label, f"{tally.runs:,}", f"{tally.operations:,}", *(level_verdict(tally, level, aim) for level in LEVELS)]
        for tally in tallies
    ]
    absent = [[label, "0", "0", *["not offered"] * len(LEVELS)] for label in aim.not_offered]
    return aligned([["kind", "runs", "steps", *LEVELS], *rows, *absent])


def _not_offered(tallies: Sequence[Tally], aim: Aim) -> list[str]:
    """What the port does not have: calls and kinds, the mixes that were asked for, and single configurations of those that were run."""
    lines = [line for line in aim.told.missing if line.split(": ")[0] not in MIXES]
    lines += [f"{mix}: {reason}" for mix, reason in aim.not_offered.items() if mix in MIXES]
    lines += [f"{tally.label}: {times:,} configurations; {reason}" for tally in tallies for reason, times in tally.not_offered.items()]
    return ["not offered:", *(f"  {line}" for line in lines)] if lines else ["not offered: nothing that was asked for"]


def as_data(tallies: Sequence[Tally], aim: Aim, *, seed: int, seconds: float, jobs: int) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "port": aim.port,
        "name": aim.told.name,
        "profile": aim.profile,
        "remark": aim.remark,
        "level": aim.level,
        "seed": seed,
        "seconds": round(seconds, 3),
        "processes": jobs,
        "verdict": verdict(tallies),
        "kinds": [
            {**tally_data(tally, aim.never, judges_of(aim)), "levels": {level: level_verdict(tally, level, aim) for level in LEVELS}}
            for tally in tallies
        ],
        "not_offered": list(aim.told.missing),
    }


__all__ = ["as_data", "as_text", "level_verdict", "verdict"]
