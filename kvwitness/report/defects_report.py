"""What a hunt for seeded defects came to: as a table, as data, as JUnit, and the catalogue as a page."""

from collections.abc import Iterable, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from kvwitness.hunt import HUNTERS, Hunted
from kvwitness.model.clauses import sentence_of
from kvwitness.properties.defects.catalogue import DEFECTS, defect_named

WITHOUT_MODEL = ("accounting", "contents", "liveness")
"""The oracles that need no model beside the port."""

FOOTNOTE = (
    "Refinement compares every call with the model, so it sees whatever differs from the model; "
    "a rule that the model shares (rule-…) is what it cannot see."
)


def verdict_of(hunted: Hunted) -> str:
    """``killed``, ``UNEXPECTED`` for a clause that is not the defect's, or ``SURVIVED``."""
    if hunted.first is None:
        return "SURVIVED"
    return "killed" if hunted.is_expected else "UNEXPECTED"


def killed_alone(results: Iterable[Hunted], oracle: str) -> list[str]:
    """The defects that an oracle kills on its own."""
    return [hunted.name for hunted in results if oracle in hunted.alone]


def killed_only_by(results: Iterable[Hunted], oracle: str, among: Sequence[str]) -> list[str]:
    """The defects that of these oracles only one kills."""
    return [hunted.name for hunted in results if [name for name in among if name in hunted.alone] == [oracle]]


def as_text(results: Sequence[Hunted], *, seed: int, seconds: float, jobs: int) -> str:
    """The whole report."""
    runs = sum(hunted.runs for hunted in results)
    head = f"kvwitness defects: {len(results)} defects, seed {seed}, {runs:,} runs in {seconds:.1f} s on {jobs} processes"
    rows = [["defect", "verdict", "killed by", "clause", "also by", "run", "steps", "small", "s"], *map(_row, results)]
    return "\n".join([head, "", *_aligned(rows), "", *_counts(results), "", FOOTNOTE, _verdict(results)])


def _row(hunted: Hunted) -> list[str]:
    first = hunted.first
    if first is None:
        return [hunted.name, "SURVIVED", "-", "-", "-", "-", "-", "-", f"{hunted.seconds:.1f}"]
    others = [oracle for oracle in HUNTERS if oracle in hunted.alone and oracle != first.oracle]
    small = "-" if hunted.shrunk_steps is None else str(hunted.shrunk_steps)
    numbers = [str(first.run), str(first.step), small, f"{hunted.seconds:.1f}"]
    return [hunted.name, verdict_of(hunted), first.oracle, first.clause, " ".join(others) or "-", *numbers]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text; the last four hold numbers."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    formats = [f"{{:{'>' if column >= len(widths) - 4 else '<'}{width}}}" for column, width in enumerate(widths)]
    return ["  " + "  ".join(map(str.format, formats, row)) for row in rows]


def _counts(results: Sequence[Hunted]) -> list[str]:
    """How many defects each oracle kills, and which ones only one of them does."""
    lines = [f"killed by {oracle} alone: {len(killed_alone(results, oracle))} of {len(results)}" for oracle in HUNTERS]
    told = [
        ("contents is the only one of accounting, contents and liveness to kill", killed_only_by(results, "contents", WITHOUT_MODEL)),
        ("contents is the only one of all to kill", killed_only_by(results, "contents", HUNTERS)),
        ("refinement is the only one of all to kill", killed_only_by(results, "refinement", HUNTERS)),
    ]
    return lines + [f"{what} {len(names)}: {', '.join(names) or 'none'}" for what, names in told]


def _verdict(results: Sequence[Hunted]) -> str:
    survivors = [hunted.name for hunted in results if hunted.first is None]
    unexpected = [hunted.name for hunted in results if hunted.first is not None and not hunted.is_expected]
    if not survivors and not unexpected:
        return f"held: all {len(results)} killed, each by a clause that must catch it"
    failed = [f"{len(survivors)} survived ({', '.join(survivors)})"] if survivors else []
    failed += [f"{len(unexpected)} killed by an unexpected clause ({', '.join(unexpected)})"] if unexpected else []
    return f"FAILED: {'; '.join(failed)}"


def as_data(results: Sequence[Hunted], *, seed: int, seconds: float, jobs: int) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "seed": seed,
        "seconds": round(seconds, 3),
        "processes": jobs,
        "verdict": "held" if all(hunted.is_caught for hunted in results) else "failed",
        "killed_alone": {oracle: len(killed_alone(results, oracle)) for oracle in HUNTERS},
        "only_contents_without_model": killed_only_by(results, "contents", WITHOUT_MODEL),
        "only_contents": killed_only_by(results, "contents", HUNTERS),
        "only_refinement": killed_only_by(results, "refinement", HUNTERS),
        "defects": [_hunted_data(hunted) for hunted in results],
    }


def _hunted_data(hunted: Hunted) -> dict[str, Any]:
    first, defect = hunted.first, defect_named(hunted.name)
    return {
        "name": hunted.name,
        "wrong": defect.wrong,
        "mechanism": defect.mechanism,
        "verdict": verdict_of(hunted).lower(),
        "killed_by": first and {"oracle": first.oracle, "clause": first.clause, "kind": first.label, "run": first.run, "step": first.step},
        "expected": list(defect.clauses),
        "alone": {name: {"clause": kill.clause, "run": kill.run, "step": kill.step} for name, kill in hunted.alone.items()},
        "runs": hunted.runs,
        "shrunk_steps": hunted.shrunk_steps,
    }


def as_junit(results: Sequence[Hunted]) -> str:
    """One test case a defect."""
    failures = sum(not hunted.is_caught for hunted in results)
    suite = ET.Element("testsuite", name="kvwitness defects", tests=str(len(results)), failures=str(failures))
    for hunted in results:
        defect = defect_named(hunted.name)
        case = ET.SubElement(suite, "testcase", classname="defects", name=hunted.name, time=f"{hunted.seconds:.3f}")
        if not hunted.is_caught:
            seen = f"{hunted.first.clause}: {sentence_of(hunted.first.clause)}" if hunted.first else f"none in {hunted.runs} runs"
            message = f"{verdict_of(hunted)}: {defect.wrong}"
            ET.SubElement(case, "failure", message=message).text = f"expected {' or '.join(defect.clauses)}; seen {seen}"
    return ET.tostring(suite, encoding="unicode") + "\n"


def as_markdown() -> str:
    """The catalogue as a page: what each defect is, and which clauses may catch it."""
    lines = [
        "# Seeded defects",
        "",
        "Written by `kvwitness defects --markdown`. Each is a small wrong variant of our own implementation; `mutant:NAME` is a port.",
        "A mechanism is an id in our catalogue of public defects. One of the clauses must be the first that catches the defect.",
        "",
        "| defect | what goes wrong | kinds | mechanism | caught by |",
        "|---|---|---|---|---|",
    ]
    for defect in DEFECTS:
        clauses = ", ".join(f"`{name}`" for name in defect.clauses)
        lines.append(f"| `{defect.name}` | {defect.wrong} | {', '.join(defect.kinds)} | {defect.mechanism} | {clauses} |")
    return "\n".join(lines)
