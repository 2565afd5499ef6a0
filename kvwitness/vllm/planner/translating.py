"""What a planner did, as operations of our caller."""

from collections.abc import Sequence

from kvwitness.properties.operations import Arrive, Operation, Preempt, Reset
from kvwitness.properties.planning import Plan, PlannerOperation, PlannerSetting
from kvwitness.properties.view import View
from kvwitness.vllm.loader import Release
from kvwitness.vllm.planner.replaying import replay_planner

LEFT_OUT = ("arrived", "drained", "released")
"""What our caller does not do, or does later."""


def repeated(operation: PlannerOperation, views: Sequence[View]) -> list[Operation]:
    """What our caller does for one operation on the planner; it publishes by itself, and a forced reset preempts by itself."""
    ours: list[Operation] = []
    for view in views:
        if view.event.kind in LEFT_OUT or view.executed == ():
            continue
        if view.event.kind == "published":
            if isinstance(operation, Plan):
                ours.append(Arrive(view.event.request))
            continue
        if isinstance(view.operation, Reset) and view.operation.force:
            ours = [other for other in ours if not isinstance(other, Preempt)]
        ours.append(view.operation)
    return ours


def translation_of(release: Release, setting: PlannerSetting, operations: Sequence[PlannerOperation]) -> list[Operation]:
    """What the planner does on these operations, as operations of our caller."""
    ours: list[Operation] = []

    def watch(operation: PlannerOperation, views: list[View]) -> None:
        ours.extend(repeated(operation, views))

    replay_planner(release, setting, operations, skip_illegal=True, watch=watch)
    return ours


__all__ = ["repeated", "translation_of"]
