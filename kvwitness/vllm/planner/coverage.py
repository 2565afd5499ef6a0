"""What came up in the runs of a planner, so that a report can say what did not."""

from collections import Counter
from collections.abc import Sequence

from kvwitness.properties.operations import Preempt, Resume
from kvwitness.properties.planning import Abort, Plan, PlannerOperation
from kvwitness.properties.view import View

PLANNER_SITUATIONS = (
    "several requests in a step",
    "hit",
    "chunked prefill",
    "refused",
    "preempted",
    "preempted in plan",
    "resumed",
    "drafts",
    "drafts rejected",
    "external at once",
    "external later",
    "aborted",
    "forced reset",
    "reset",
)
"""What a planner meets."""


def count(operation: PlannerOperation, views: Sequence[View], situations: "Counter[str]") -> None:
    """Count what came up in one operation."""
    if isinstance(operation, Abort):
        situations["aborted"] += 1
    planned: set[str] = set()
    for view in views:
        _count_view(view, planned, situations)
    if isinstance(operation, Plan) and views and len(views[-1].closed or ()) > 1:
        situations["several requests in a step"] += 1


def _count_view(view: View, planned: set[str], situations: "Counter[str]") -> None:
    event, row = view.event, view.event.planned
    if row is not None:
        planned.add(row.request)
        situations["hit"] += any(any(blocks) for blocks in event.hits)
        situations["chunked prefill"] += bool(row.new) and not row.samples
        situations["drafts"] += row.drafts > 0
        situations["external later"] += event.kind == "loading"
        situations["external at once"] += row.external[1] > row.external[0] and event.kind == "planned"
        situations["resumed"] += isinstance(view.operation, Resume)
    situations["refused"] += event.kind == "refused"
    if event.kind == "gone" and isinstance(view.operation, Preempt):
        situations["preempted"] += 1
        situations["preempted in plan"] += event.request in planned
    if event.kind == "reset":
        situations["forced reset" if getattr(view.operation, "force", False) else "reset"] += 1
    for each in view.executed or ():
        outputs = getattr(view.operation, "outputs", {}).get(each.request, ())
        situations["drafts rejected"] += each.drafts > 0 and 0 < len(outputs) <= each.drafts


__all__ = ["PLANNER_SITUATIONS", "count"]
