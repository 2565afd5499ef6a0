"""What a planner owes besides legal calls: outputs kept in order, a worker that is told the truth, and progress."""

from collections.abc import Sequence

from kvwitness.model.calls import Blocks
from kvwitness.model.clauses import clause


@clause("PLAN.SURVIVES", level="L0")
def planner_survives(raised: str) -> bool:
    """No order of submissions, steps, outputs, arrivals, aborts and resets that may occur makes a planner raise."""
    return not raised


@clause("PLAN.TOLD", level="L0")
def worker_is_told_the_table(told: tuple[Blocks, ...], held: tuple[Blocks, ...]) -> bool:
    """The table that the worker has, by what it was told with each step, agrees with the manager's wherever that is not null."""
    return all(
        len(mine) == len(theirs) and all(block in (0, other) for block, other in zip(theirs, mine, strict=True))
        for mine, theirs in zip(told, held, strict=True)
    )


@clause("PLAN.OUTPUT.KEPT", level="L0")
def output_is_kept(sampled: Sequence[int], appended: Sequence[int], *, ended: bool) -> bool:
    """What a step samples for a request that runs since it was planned is appended to it, whole unless it ends the request."""
    return list(appended) == list(sampled) or (ended and bool(appended) and list(appended) == list(sampled[: len(appended)]))


@clause("PLAN.OUTPUT.STALE", level="L0")
def stale_output_is_dropped(appended: Sequence[int], *, readmitted: bool) -> bool:
    """What a step samples for a request that was preempted and admitted again since is not appended: those tokens are sampled anew."""
    return not (readmitted and appended)


@clause("PLAN.PROGRESS", level="L1")
def planner_goes_on(*, planned: bool, occupied: bool, waiting: bool, fits: bool) -> bool:
    """With nothing running, loading or in flight, a planner plans the first request that waits, if an empty pool has room for it."""
    return planned or occupied or not waiting or not fits


__all__ = ["output_is_kept", "planner_goes_on", "planner_survives", "stale_output_is_dropped", "worker_is_told_the_table"]
