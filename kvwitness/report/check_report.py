"""What a check came to, as a table, as data, and as JUnit."""

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from attrs import evolve

from kvwitness import trace
from kvwitness.besides import Outcome
from kvwitness.campaign import Finding, Tally
from kvwitness.checking import NO_PROFILE, profile_called
from kvwitness.explain import asked
from kvwitness.model.profile import SOUND
from kvwitness.properties.coverage import SITUATIONS, impossible
from kvwitness.properties.errata import errata_of
from kvwitness.properties.events import PLAIN
from kvwitness.properties.run import HEARING, ORACLES
from kvwitness.properties.situations import not_offered
from kvwitness.report import besides_report

NOT_RUN = ("prove", "closure", "defects")
MIXED = "check --groups"
"""The other commands that check our own implementation; each takes its own time."""


def verdict_of(tally: Tally, oracle: str) -> str:
    """What one group of clauses came to: ``held``, ``known N`` for errata met, ``FAILED N``, or ``not exercised``."""
    failed = sum(finding.shrunk.violation.oracle == oracle for finding in tally.findings)
    known = sum(times for times, finding in tally.errata.values() if finding.shrunk.violation.oracle == oracle)
    if failed:
        return f"FAILED {failed}"
    if not tally.operations:
        return "not exercised"
    return f"held, known {known}" if known else "held"


def not_exercised(tally: Tally, never: frozenset[str] = frozenset()) -> list[str]:
    """The situations that could have come up and did not; those that ``never`` can are left out."""
    rules = profile_called(tally.profile)
    never |= impossible(tally.label)
    never |= frozenset() if rules.preempted_in_plan == "withdrawn" else {"preempted in plan"}
    never |= frozenset() if rules.mamba_same_step_guard else {"put off"}
    return [situation for situation in SITUATIONS if not tally.situations[situation] and situation not in never]


def as_text(
    tallies: Sequence[Tally],
    oracles: Sequence[str] = ORACLES,
    *,
    port: str,
    seed: int,
    seconds: float,
    jobs: int,
    besides: Sequence[Outcome] = (),
) -> str:
    """The whole report."""
    total = sum(tally.operations for tally in tallies)
    calls = sum(tally.calls for tally in tallies)
    lines = [f"kvwitness check: {port}, seed {seed}, {total:,} steps ({calls:,} calls) in {seconds:.1f} s on {jobs} processes"]
    for profile in dict.fromkeys(tally.profile for tally in tallies):
        mine = [tally for tally in tallies if tally.profile == profile]
        absent = [f"not offered: {label} ({reason})" for label, reason in not_offered(profile_called(profile)).items()]
        lines += ["", f"profile {profile}", *_table(mine, oracles), *told_line(mine, oracles)]
        lines += [*errata_lines(mine, profile, oracles), *gap_lines(mine), *absent]
    lines += ["", *besides_report.as_lines(besides)]
    lines += ["not run: " + ", ".join(f"`kvwitness {command}`" for command in not_run(tallies, besides))]
    return "\n".join([*lines, _last_line(tallies, besides)])


def _last_line(tallies: Sequence[Tally], besides: Sequence[Outcome]) -> str:
    """The verdict, with what does not hold first."""
    new, broken, undecided = (sum(map(len, each)) for each in _lists(tallies, besides))
    if new or broken:
        also = f", {broken} theorems, worlds or defects" if broken else ""
        return f"FAILED: {new} new findings{also}"
    return f"undecided: {undecided} theorems or worlds" if undecided else "held: no new finding"


def _lists(tallies: Sequence[Tally], besides: Sequence[Outcome]) -> tuple[list[Any], list[Any], list[Any]]:
    return [tally.findings for tally in tallies], [each.failed for each in besides], [each.open for each in besides]


def told_line(tallies: Sequence[Tally], oracles: Sequence[str]) -> list[str]:
    """How many KV events were judged, where anybody listened."""
    return [f"  {sum(tally.told for tally in tallies):,} KV events told"] if set(oracles) & set(HEARING) else []


def not_run(tallies: Sequence[Tally], besides: Sequence[Outcome] = ()) -> tuple[str, ...]:
    """The other commands that check our own implementation, where not all of what they do was done."""
    rest = ("check --full",) if besides else NOT_RUN
    left = () if besides and all(each.full for each in besides) else rest
    return left if any(tally.is_mixed for tally in tallies) else (MIXED, *left)


def _table(tallies: Sequence[Tally], oracles: Sequence[str]) -> list[str]:
    """One line a kind: steps, and a verdict for each group of clauses."""
    verdicts = [[verdict_of(tally, oracle) for oracle in oracles] for tally in tallies]
    rows = [[tally.label, f"{tally.runs:,}", f"{tally.operations:,}", *row] for tally, row in zip(tallies, verdicts, strict=True)]
    return aligned([["kind", "runs", "steps", *oracles], *rows])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text; those of numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    formats = [f"{{:{'>' if column in (1, 2) else '<'}{width}}}" for column, width in enumerate(widths)]
    return ["  " + "  ".join(map(str.format, formats, row)).rstrip() for row in rows]


def errata_lines(tallies: Sequence[Tally], profile: str, oracles: Sequence[str] = ORACLES) -> list[str]:
    """The known errata that were met, each with its smallest run, and those that were not, of those that could have been."""
    lines = []
    for erratum in errata_of(profile_called(profile)):
        unseen = erratum.is_past_the_protocol or (erratum.is_of_events and PLAIN not in oracles)
        if unseen or (erratum.is_of_mixes and not any(tally.is_mixed for tally in tallies)):
            continue
        met = [(tally, *tally.errata[erratum.id]) for tally in tallies if erratum.id in tally.errata]
        if not met:
            lines.append(f"  {erratum.id}: not met. {erratum.sentence}")
            continue
        tally, _, smallest = min(met, key=lambda row: len(row[2].shrunk.operations))
        times = sum(row[1] for row in met)
        kinds = ", ".join(row[0].label for row in met)
        shortest = f"{smallest.shrunk.violation.clause}, smallest {len(smallest.shrunk.operations)} steps on {tally.label}"
        lines.append(f"  {erratum.id}: met {times} times ({kinds}), {shortest}. {erratum.sentence}")
    return ["known errata, counted apart:", *lines] if lines else []


def gap_lines(tallies: Sequence[Tally], never: frozenset[str] = frozenset()) -> list[str]:
    """What could have come up and did not, a line a kind."""
    missed = [(tally.label, not_exercised(tally, never)) for tally in tallies]
    gaps = [f"  {label}: {', '.join(situations)}" for label, situations in missed if situations]
    return ["not exercised:", *gaps] if gaps else ["not exercised: nothing that could have been"]


def as_data(
    tallies: Sequence[Tally],
    oracles: Sequence[str] = ORACLES,
    *,
    port: str,
    seed: int,
    seconds: float,
    jobs: int,
    besides: Sequence[Outcome] = (),
) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "port": port,
        "seed": seed,
        "seconds": round(seconds, 3),
        "processes": jobs,
        "verdict": _last_line(tallies, besides).partition(":")[0].lower(),
        "besides": besides_report.as_data(besides),
        "not_run": [*not_run(tallies, besides)],
        "kinds": [tally_data(tally, oracles=oracles) for tally in tallies],
    }


def tally_data(tally: Tally, never: frozenset[str] = frozenset(), oracles: Sequence[str] = ORACLES) -> dict[str, Any]:
    """What a campaign of one kind did, as plain data."""
    return {
        "kind": tally.label,
        "profile": tally.profile,
        "runs": tally.runs,
        "steps": tally.operations,
        "calls": tally.calls,
        **({"events_told": tally.told} if set(oracles) & set(HEARING) else {}),
        "groups": {oracle: verdict_of(tally, oracle) for oracle in oracles},
        "errata": {name: {"met": times, "smallest": finding_data(finding)} for name, (times, finding) in sorted(tally.errata.items())},
        "findings": [finding_data(finding) for finding in tally.findings],
        "situations": {situation: tally.situations[situation] for situation in SITUATIONS},
        "not_exercised": not_exercised(tally, never),
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding as plain data; it holds no times, so that the same seed gives the same bytes."""
    violation = finding.shrunk.violation
    return {
        "clause": violation.clause,
        "because": violation.because,
        "oracle": violation.oracle,
        "level": finding.level,
        "run": finding.run,
        "found_after": finding.found_after,
        "steps": [asked(operation) for operation in finding.shrunk.operations],
        "replays": finding.shrunk.replays,
    }


def as_junit(tallies: Sequence[Tally], name: str = "kvwitness check", oracles: Sequence[str] = ORACLES) -> str:
    """One test case a kind, profile and group of clauses."""
    suite = ET.Element("testsuite", name=name)
    for tally in tallies:
        for oracle in oracles:
            case = ET.SubElement(suite, "testcase", classname=f"{tally.profile}.{tally.label}", name=oracle)
            for finding in tally.findings:
                if finding.shrunk.violation.oracle == oracle:
                    violation = finding.shrunk.violation
                    failure = ET.SubElement(case, "failure", message=f"{violation.clause}: {violation.sentence}")
                    failure.text = "\n".join([*map(asked, finding.shrunk.operations), violation.because])
            if not tally.operations:
                ET.SubElement(case, "skipped", message="not exercised")
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    return ET.tostring(suite, encoding="unicode") + "\n"


def trace_of(finding: Finding, seed: int, port: str) -> trace.Trace:
    """A finding as a trace file."""
    shrunk = finding.shrunk
    origin = trace.Origin("property", shrunk.violation.clause, seed, port)
    # A file names a profile; a caller without one follows that of `sound`.
    setting = evolve(shrunk.setting, profile=SOUND) if shrunk.setting.profile is NO_PROFILE else shrunk.setting
    return trace.failure_trace(setting, shrunk.operations, shrunk.violation, origin)
