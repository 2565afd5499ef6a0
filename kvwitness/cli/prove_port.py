"""``kvwitness prove --port``: the source of a port, run on symbolic integers against the spec."""

import json
import time

import click

from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.cli.options import kinds_called
from kvwitness.cut_port import CutTheorem, cut_theorems
from kvwitness.model.profile import PROFILES
from kvwitness.report import path_report
from kvwitness.symbolic_port import Result, Theorem, estimate_theorems, look_up_theorems, skipped_theorems, sources_of

Claim = Theorem | CutTheorem


def prove_port(port: str, names: tuple[str, ...], kind: str | None, profile: str | None, *, as_json: bool) -> int:
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
    told = report(results, port=port, profile=sources.profile.name, seconds=time.monotonic() - started)
    click.echo(json.dumps(told, ensure_ascii=False) if as_json else told)
    verdicts = {result.verdict for result in results}
    if "refuted" in verdicts:
        return FAILED
    return UNDECIDED if verdicts - {"proved", "not cut"} else HELD


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
