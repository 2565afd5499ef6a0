"""What the proofs of a port's own source came to, as a table and as data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kvwitness.explain import replay_command
from kvwitness.symbolic_port import Result


def as_text(results: Sequence[Result], files: Mapping[str, Path], *, port: str, profile: str, seconds: float) -> str:
    """A row a claim, then how many came out how, then the reason of each that is not proved."""
    rows = [("claim", "verdict", "engine", "bound", "paths", "time"), *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    told = ", ".join(f"{times} {verdict}" for verdict, times in sorted(Counter(result.verdict for result in results).items()))
    lines += ["", f"{len(results)} claims about the source of {port}, spec under {profile}, in {seconds:.1f} s: {told}"]
    reasons = [_reason(result) for result in results if result.verdict != "proved"]
    commands = [f"{name}: {replay_command(str(file), port)}" for name, file in files.items()]
    return "\n".join([*lines, *reasons, *commands])


def _row(result: Result) -> tuple[str, ...]:
    return result.id, result.verdict, result.engine, result.bound, f"{result.paths:,}", f"{result.seconds:.2f} s"


def _reason(result: Result) -> str:
    numbers = ", ".join(f"{name} {value}" for name, value in result.counterexample.items())
    return f"{result.id}: {result.verdict}: {result.claim}: {result.because}" + (f" With {numbers}." if numbers else "")


def as_data(results: Sequence[Result], files: Mapping[str, Path], *, port: str, profile: str, seconds: float) -> dict[str, Any]:
    """The same as plain data."""
    return {
        "port": port,
        "profile": profile,
        "seconds": round(seconds, 3),
        "claims": [
            {
                "id": result.id,
                "claim": result.claim,
                "verdict": result.verdict,
                "engine": result.engine,
                "bound": result.bound,
                "paths": result.paths,
                "seconds": round(result.seconds, 3),
                "counterexample": dict(result.counterexample),
                "because": result.because,
                "file": str(files[result.id]) if result.id in files else None,
            }
            for result in results
        ],
    }
