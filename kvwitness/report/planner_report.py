"""What driving a release's planner came to: a table of kinds, the errata that were met, and what did not come up."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvwitness.campaign import Tally
from kvwitness.report.check_report import aligned, finding_data
from kvwitness.report.conform_report import verdict

if TYPE_CHECKING:
    from kvwitness.vllm.planner.both_ways import BothWays

NOT_OFFERED = "not offered: "


def reason_not_offered(tally: Tally) -> str:
    """Why a release cannot plan for a kind, or ""."""
    return next((name.removeprefix(NOT_OFFERED) for name in tally.situations if name.startswith(NOT_OFFERED)), "")


def verdict_of(tally: Tally) -> str:
    """``held``, ``known N``, ``FAILED N``, ``not offered`` or ``not exercised``."""
    if tally.findings:
        return f"FAILED {len(tally.findings)}"
    if reason_not_offered(tally):
        return "not offered"
    known = sum(times for times, _ in tally.errata.values())
    return (f"held, known {known}" if known else "held") if tally.operations else "not exercised"


def not_exercised(tally: Tally, situations: Sequence[str]) -> list[str]:
    """What did not come up in a kind's runs."""
    return [situation for situation in situations if not tally.situations[situation]]


def as_text(tallies: Sequence[Tally], situations: Sequence[str], *, name: str, seed: int, seconds: float, jobs: int) -> str:
    """The whole report."""
    plans, steps = sum(tally.calls for tally in tallies), sum(tally.operations for tally in tallies)
    counted = f"seed {seed}, {plans:,} planner steps ({steps:,} operations) in {seconds:.1f} s on {jobs} processes"
    rows = [[tally.label, f"{tally.runs:,}", f"{tally.calls:,}", verdict_of(tally)] for tally in tallies]
    lines = [f"kvwitness conform --planner: {name}, {counted}", "", *aligned([["kind", "runs", "planner steps", "verdict"], *rows])]
    lines += ["", *_errata(tallies), *_gaps(tallies, situations), ""]
    found = [finding for tally in tallies for finding in tally.findings]
    if not found:
        return "\n".join([*lines, "held: no new finding" if steps else "nothing exercised: there is no verdict"])
    clauses = ", ".join(dict.fromkeys(finding.shrunk.violation.clause for finding in found))
    return "\n".join([*lines, f"FAILED: {len(found)} new findings: {clauses}"])


def _errata(tallies: Sequence[Tally]) -> list[str]:
    names = dict.fromkeys(name for tally in tallies for name in sorted(tally.errata))
    lines = []
    for name in names:
        met = [(tally, *tally.errata[name]) for tally in tallies if name in tally.errata]
        tally, _, smallest = min(met, key=lambda row: len(row[2].shrunk.operations))
        times, kinds = sum(row[1] for row in met), ", ".join(row[0].label for row in met)
        shortest = f"{smallest.shrunk.violation.clause}, smallest {len(smallest.shrunk.operations)} operations on {tally.label}"
        sentence = smallest.erratum.sentence if smallest.erratum is not None else ""
        lines.append(f"  {name}: met {times} times ({kinds}), {shortest}. {sentence}")
    return ["known errata, counted apart:", *lines] if lines else ["known errata: none met"]


def _gaps(tallies: Sequence[Tally], situations: Sequence[str]) -> list[str]:
    lines = []
    for tally in tallies:
        reason, missed = reason_not_offered(tally), not_exercised(tally, situations)
        if reason or missed:
            lines.append(f"  {tally.label}: {f'not offered ({reason})' if reason else ', '.join(missed)}")
    return ["not exercised:", *lines] if lines else ["not exercised: nothing that could have been"]


def as_data(tallies: Sequence[Tally], situations: Sequence[str], *, name: str, seed: int, seconds: float, jobs: int) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "name": name,
        "planner": True,
        "seed": seed,
        "seconds": round(seconds, 3),
        "processes": jobs,
        "verdict": verdict(tallies),
        "kinds": [_kind(tally, situations) for tally in tallies],
    }


def both_ways_lines(beside: Mapping[str, "BothWays"]) -> list[str]:
    """How far our caller goes with the planner, on the managers of the same release."""
    if not beside:
        return []
    lines = ["both ways: what the planner does, repeated by our caller on the same release"]
    for label, told in beside.items():
        lines.append(f"  {label}: {told.agreed:,} of {told.steps:,} planner steps leave the same state")
        lines += [f"    {times} runs: {why}" for why, times in told.parted.most_common()]
    return [*lines, ""]


def both_ways_data(beside: Mapping[str, "BothWays"]) -> dict[str, Any]:
    """The same as plain data."""
    if not beside:
        return {}
    told = {label: {"steps": each.steps, "agreed": each.agreed, "parted": dict(each.parted)} for label, each in beside.items()}
    return {"both_ways": told}


def _kind(tally: Tally, situations: Sequence[str]) -> dict[str, Any]:
    return {
        "kind": tally.label,
        "profile": tally.profile,
        "runs": tally.runs,
        "planner_steps": tally.calls,
        "operations": tally.operations,
        "verdict": verdict_of(tally),
        "errata": {name: {"met": times, "smallest": finding_data(finding)} for name, (times, finding) in sorted(tally.errata.items())},
        "findings": [finding_data(finding) for finding in tally.findings],
        "situations": {situation: tally.situations[situation] for situation in situations},
        "not_offered": reason_not_offered(tally),
    }


__all__ = ["as_data", "as_text", "both_ways_data", "both_ways_lines", "verdict", "verdict_of"]
