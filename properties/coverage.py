"""What a run exercised: situations that must have come up before "held" means anything."""

from collections import Counter

from kvwitness.model.kinds import Config
from kvwitness.properties.operations import Execute, Probe, Reset, Resume, Share, Start
from kvwitness.properties.view import View

SITUATIONS = (
    "hit",
    "null prefix",
    "fresh admission",
    "chunked prefill",
    "external, at once",
    "external, delayed",
    "refusal",
    "preemption",
    "preempted in plan",
    "resumption",
    "draft accepted",
    "draft rejected",
    "planned ahead",
    "put off",
    "abort in flight",
    "eviction",
    "duplicate copies",
    "two groups",
    "reset",
    "look-up abandoned",
    "common prefix asked",
)
"""In the order of reports."""


def impossible(label: str) -> frozenset[str]:
    """The situations that cannot come up for a kind, so that their absence says nothing."""
    uncached = {"hit", "external, at once", "external, delayed", "eviction", "duplicate copies", "put off"}
    table: dict[str, set[str]] = {
        "cross": uncached | {"null prefix", "preempted in plan"},
        "mamba-none": uncached | {"null prefix", "preempted in plan"},
        "mamba-all": {"external, at once", "external, delayed", "draft accepted", "draft rejected"},
        "mamba-align": {"external, at once", "external, delayed"},
        "full": {"null prefix"},
        "sink": {"null prefix"},
    }
    if "+" in label:
        return _impossible_together(label.split("+"))
    stateless = set() if label.startswith("mamba") else {"put off"}
    return frozenset(table.get(label, set()) | stateless)


def _impossible_together(labels: list[str]) -> frozenset[str]:
    """The situations that cannot come up where groups of these kinds are mixed."""
    never = {"null prefix"} if set(labels) <= {"full", "sink", "cross", "mamba-none"} else set()
    if any(label.startswith("mamba") or label == "cross" for label in labels):
        never |= {"external, at once", "external, delayed"}
    if "mamba-all" in labels:
        never |= {"draft accepted", "draft rejected"}
    if not {"mamba-all", "mamba-align"} & set(labels):
        never |= {"put off"}
    if {"cross", "mamba-none"} & set(labels):
        never |= {"hit", "eviction", "duplicate copies", "put off", "preempted in plan"}
    return frozenset(never)


def count(view: View, config: Config, seen: "Counter[str]") -> None:
    """Add what one operation exercised."""
    event, operation = view.event, view.operation
    if event.planned is not None:
        _count_plan(view, config, seen)
    elif event.kind == "refused":
        put_off = config.has("mamba") and any(
            call.name == "get_num_blocks_to_allocate" and outcome.value > config.blocks for call, outcome in view.calls
        )
        seen["put off" if put_off else "refusal"] += 1
    elif event.kind == "gone":
        _count_departure(view, seen)
    elif isinstance(operation, Execute) and view.executed is not None:
        _count_execution(view, operation, seen)
    elif isinstance(operation, Reset | Probe | Share):
        seen[{Reset: "reset", Probe: "look-up abandoned", Share: "common prefix asked"}[type(operation)]] += 1


def _count_plan(view: View, config: Config, seen: "Counter[str]") -> None:
    planned, before, after = view.event.planned, view.before, view.after
    assert planned is not None
    if isinstance(view.operation, Start | Resume):
        seen["hit" if any(map(any, view.event.hits)) else "fresh admission"] += 1
        seen["resumption"] += isinstance(view.operation, Resume)
        if planned.external[1] > planned.external[0]:
            seen["external, delayed" if view.event.kind == "loading" else "external, at once"] += 1
    seen["chunked prefill"] += not planned.samples and planned.new > 0
    seen["planned ahead"] += bool(view.caller.steps)
    seen["two groups"] += len(config.groups) > 1
    seen["null prefix"] += any(table[:1] == (0,) for tables in after.tables or () for table in tables.values())
    seen["eviction"] += sum(key is not None for key in before.keys or ()) > sum(key is not None for key in after.keys or ())
    seen["duplicate copies"] += any(len(blocks) > 1 for blocks in (after.index or {}).values())


def _count_departure(view: View, seen: "Counter[str]") -> None:
    name = view.event.request
    if name in view.caller.requests:
        seen["preemption"] += 1
        seen["preempted in plan"] += any(call.name == "withdraw_blocks" for call, _ in view.calls)
    seen["abort in flight"] += any(planned.request == name for step in view.caller.steps for planned in step)


def _count_execution(view: View, operation: Execute, seen: "Counter[str]") -> None:
    for planned in view.executed or ():
        if planned.drafts and planned.samples:
            accepted = len(operation.outputs.get(planned.request, (0,))) - 1
            seen["draft accepted"] += accepted > 0
            seen["draft rejected"] += accepted < planned.drafts
