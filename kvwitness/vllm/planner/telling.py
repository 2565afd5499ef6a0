"""A planner's run in words: what was asked of it, whom it planned, refused or preempted, and what changed."""

from collections.abc import Sequence

from kvwitness.explain import asked, changes
from kvwitness.properties.planning import PlannerOperation
from kvwitness.properties.view import View


def _strip(tokens: Sequence[int]) -> str:
    return f"[{' '.join(map(str, tokens))}]"


def _range(start: int, count: int) -> str:
    return f"token {start}" if count == 1 else f"tokens {start} to {start + count - 1}" if count else "nothing"


def _came_of_it(view: View) -> str:
    """What one view says, as far as the state does not show it."""
    event = view.event
    if event.planned is not None:
        hits = f" after hits {' '.join(_strip(blocks) for blocks in event.hits)}" if any(event.hits) else ""
        drafts = f", {event.planned.drafts} of them drafts" if event.planned.drafts else ""
        verb = "loads for" if event.kind == "loading" else "plans"
        return f"{event.request} {verb} {_range(event.planned.computed, event.planned.new)}{drafts}{hits}"
    if event.kind == "gone":
        return f"{event.request} {'preempted' if type(view.operation).__name__ == 'Preempt' else 'ends'}"
    if event.kind == "executed":
        return (
            ", ".join(f"{each.request} computes {_range(each.computed, each.new)}" for each in view.executed or ()) or "nothing to compute"
        )
    if event.kind == "reset" and not event.done:
        return "not reset"
    return f"{event.request} {event.kind}" if event.kind in ("refused", "published") else ""


def told_of_planner(operation: PlannerOperation, views: Sequence[View]) -> str:
    """What an operation came to, in a line."""
    parts = [asked(operation), *filter(None, map(_came_of_it, views))]
    if views:
        parts += changes(views[0].before, views[-1].after)
    return " · ".join(parts)


__all__ = ["told_of_planner"]
