"""``kvwitness prove --port``: the source of a port, run on symbolic integers against the spec."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click
from attrs import evolve

from kvwitness import trace
from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.cli.options import kinds_called
from kvwitness.cut_port import CutTheorem, cut_theorems
from kvwitness.model.profile import PROFILES, Profile
from kvwitness.report import path_report
from kvwitness.symbolic_port import Result, Theorem, estimate_theorems, look_up_theorems, skipped_theorems, sources_of
from kvwitness.traced import Unreproduced
from kvwitness.traced_source import trace_of

Claim = Theorem | CutTheorem


def prove_port(port: str, names: tuple[str, ...], kind: str | None, profile: str | None, out: Path, *, as_json: bool) -> int:
    """Prove what is claimed of a port's own source; the exit code.

    Without a profile a release is held to its own, and our implementation to `sound`.
    """
    rules = PROFILES[profile] if profile else None
    sources = sources_of(port, rules)
    bounded = [*look_up_theorems(sources), *skipped_theorems(sources), *estimate_theorems(sources)]
    claims = _chosen([*cut_theorems(sources), *bounded], names, kind)
    started = time.monotonic()
    results = [_told(claim, f"{number}/{len(claims)}") for number, claim in enumerate(claims, start=1)]
    report = path_report.as_data if as_json else path_report.as_text
    results, files = _with_traces(results, port, sources.profile, out)
    told = report(results, files, port=port, profile=sources.profile.name, seconds=time.monotonic() - started)
    click.echo(json.dumps(told, ensure_ascii=False) if as_json else told)
    verdicts = {result.verdict for result in results}
    if "refuted" in verdicts:
        return FAILED
    return UNDECIDED if verdicts - {"proved", "not cut"} else HELD


def _with_traces(results: Sequence[Result], port: str, profile: Profile, out: Path) -> tuple[list[Result], dict[str, Path]]:
    """The results, and a trace file for each refutation; one that no run shows says so, and is a failure all the same."""
    told, files = [], {}
    for result in results:
        told.append(result)
        if result.verdict != "refuted":
            continue
        click.echo(f"kvwitness: {result.id}: looking for a run that shows the counterexample", err=True)
        try:
            found = trace_of(result, port, profile)
        except Unreproduced as reason:
            told[-1] = evolve(result, because=f"{result.because}; {reason}")
            continue
        out.mkdir(parents=True, exist_ok=True)
        files[result.id] = out / f"{profile.name}-{result.id}.json"
        trace.write(found, files[result.id])
    return told, files


def _chosen(claims: list[Claim], names: tuple[str, ...], kind: str | None) -> list[Claim]:
    kinds = {label.upper() for label in kinds_called(kind)} if kind else set()
    chosen = [
        claim for claim in claims if (not names or claim.id in names) and (not kinds or any(f".{name}" in claim.id for name in kinds))
    ]
    if not chosen:
        raise click.BadParameter("no claim about a port's source has these ids and this kind; leave one of them out")
    return chosen


def _told(claim: Claim, count: str) -> Result:
    result = claim.prove()
    click.echo(f"kvwitness: {count} {claim.id}: {result.verdict}, {result.bound}, {result.seconds:.2f} s", err=True)
    return result
