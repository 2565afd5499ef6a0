"""The verdicts of a proof run: a table to read, and the same as data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvwitness.proofs.verdicts import STATUSES, Verdict

Files = Mapping[str, Path]
"""The trace file of each refuted theorem that has one, by the theorem's id."""


def as_text(verdicts: Sequence[Verdict], files: Files, *, profile: str, seconds: float) -> str:
    """A row a theorem, then how many came out how, then each that is not proved with its reason."""
    rows = [("theorem", "clauses", "verdict", "engine", "time"), *(_row(verdict) for verdict in verdicts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    counts = Counter(verdict.status for verdict in verdicts)
    told = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    lines += ["", f"{len(verdicts)} theorems under {profile} in {seconds:.1f} s: {told}", *_needed(verdicts)]
    return "\n".join([*lines, *(line for verdict in verdicts if verdict.status != "proved" for line in _failure(verdict, files))])


def _row(verdict: Verdict) -> tuple[str, ...]:
    shown = ", ".join(verdict.theorem.clauses[:2]) + (f" +{len(verdict.theorem.clauses) - 2}" if len(verdict.theorem.clauses) > 2 else "")  # noqa: PLR2004 - as many as are shown
    return verdict.theorem.id, shown, verdict.words.partition(":")[0], verdict.engine, f"{verdict.seconds:.2f} s"


def _needed(verdicts: Sequence[Verdict]) -> list[str]:
    """The hypotheses that proofs use and that no example shows to be needed."""
    looked = [verdict for verdict in verdicts if verdict.unshown is not None]
    unshown = [(verdict.theorem.id, name) for verdict in looked for name in verdict.unshown or ()]
    if not looked:
        return []
    if not unshown:
        return ["each hypothesis is needed: without it there is a counterexample"]
    return [
        "each hypothesis is needed, by a counterexample without it, but for:",
        *(f"  {name}: needed: not shown: {what}" for name, what in unshown),
    ]


def _failure(verdict: Verdict, files: Files) -> list[str]:
    lines = ["", f"{verdict.theorem.id}: {verdict.theorem.claim}", f"  {verdict.status}: {verdict.because}"]
    if verdict.example is not None:
        lines.append(f"  with {_assignment(verdict.example.values)}")
    if verdict.theorem.id in files:
        lines.append(f"  kvwitness replay {files[verdict.theorem.id]}")
    return lines


def _assignment(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {sorted(value) if isinstance(value, frozenset) else value}" for name, value in values.items())


def as_data(verdicts: Sequence[Verdict], files: Files, *, profile: str, seconds: float) -> dict[str, Any]:
    """The same as one JSON object."""
    return {
        "profile": profile,
        "seconds": round(seconds, 3),
        "counts": {status: sum(verdict.status == status for verdict in verdicts) for status in STATUSES},
        "theorems": [_datum(verdict, files) for verdict in verdicts],
    }


def _datum(verdict: Verdict, files: Files) -> dict[str, Any]:
    theorem, file = verdict.theorem, files.get(verdict.theorem.id)
    return {
        "id": theorem.id,
        "claim": theorem.claim,
        "clauses": theorem.clauses,
        "status": verdict.status,
        "bound": theorem.bound,
        "engine": verdict.engine,
        "seconds": round(verdict.seconds, 3),
        "because": verdict.because,
        "needed_not_shown": None if verdict.unshown is None else [*verdict.unshown],
        "example": {name: _plain(value) for name, value in verdict.example.values.items()} if verdict.example else None,
        "trace": str(file) if file else None,
    }


def _plain(value: Any) -> Any:
    """A function as pairs, a set as a sorted list."""
    if isinstance(value, frozenset):
        return sorted(value)
    return sorted(value.items()) if isinstance(value, dict) else value


__all__ = ["Files", "as_data", "as_text"]
