"""What the closure of small worlds came to, as a table and as data."""

from collections.abc import Mapping, Sequence
from typing import Any

from kvwitness.explain import asked, numbered
from kvwitness.proofs.engines.closure import Closed
from kvwitness.report.check_report import aligned

HEAD = ("kind", "states", "transitions", "refused", "rejected", "longest", "fixpoint", "mismatches", "configuration")


def verdict(closed: Sequence[Closed]) -> str:
    """``failed``, ``bound`` where some fixpoint was not reached, ``nothing exercised``, or ``held``."""
    verdicts = {each.verdict for each in closed}
    return next((word for word in ("failed", "bound", "held") if word in verdicts), "nothing exercised")


def as_text(closed: Sequence[Closed], missing: Mapping[str, str], *, port: str, profile: str, seconds: float) -> str:
    """The whole report."""
    transitions = sum(each.transitions for each in closed)
    head = f"kvwitness closure: {port}, profile {profile}, {transitions:,} transitions in {seconds:.1f} s"
    lines = [head, "", *aligned([HEAD, *map(_row, closed)])]
    lines += ["not offered:", *(f"  {label}: {reason}" for label, reason in missing.items())] if missing else []
    lines += [line for each in closed for line in _told(each)]
    return "\n".join([*lines, "", _last_line(closed)])


def _row(closed: Closed) -> list[str]:
    """One world's line."""
    counts = [f"{count:,}" for count in (closed.states, closed.transitions, closed.refused, closed.rejected, closed.depth)]
    return [closed.world.label, *counts, _reached(closed), str(int(closed.found is not None)), _sizes(closed)]


def _reached(closed: Closed) -> str:
    if closed.fixpoint:
        return "reached"
    return "stopped" if closed.found is not None else "bound"


def _sizes(closed: Closed) -> str:
    config = closed.world.config
    return f"{closed.world.name}: {config.blocks - 1} blocks, {closed.world.crowd} requests, {config.max_model_len} tokens"


def _told(closed: Closed) -> list[str]:
    """The shortest run that shows what is wrong."""
    if closed.found is None:
        return []
    violation = closed.found.violation
    head = f"FAILED {violation.clause}, step {len(closed.found.operations)}: {violation.sentence}"
    return ["", head, *numbered([asked(operation) for operation in closed.found.operations]), f"because {violation.because}"]


def _last_line(closed: Sequence[Closed]) -> str:
    word = verdict(closed)
    if word == "held":
        return "held: every state was visited, and every transition is the specification's"
    if word == "bound":
        return "undecided: some worlds have more states than were visited; raise --most"
    return "FAILED" if word == "failed" else "nothing exercised: there is no verdict"


def as_data(closed: Sequence[Closed], missing: Mapping[str, str], *, port: str, profile: str, seconds: float) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "port": port,
        "profile": profile,
        "seconds": round(seconds, 3),
        "verdict": verdict(closed),
        "transitions": sum(each.transitions for each in closed),
        "worlds": [_world_data(each) for each in closed],
        "not_offered": dict(missing),
    }


def _world_data(closed: Closed) -> dict[str, Any]:
    found, config = closed.found, closed.world.config
    return {
        "kind": closed.world.label,
        "name": closed.world.name,
        "blocks": config.blocks - 1,
        "requests": closed.world.crowd,
        "max_model_len": config.max_model_len,
        "states": closed.states,
        "transitions": closed.transitions,
        "refused": closed.refused,
        "rejected": closed.rejected,
        "longest": closed.depth,
        "fixpoint": closed.fixpoint,
        "verdict": closed.verdict,
        "found": found and {**found.violation._asdict(), "steps": [asked(operation) for operation in found.operations]},
    }


__all__ = ["as_data", "as_text", "verdict"]
