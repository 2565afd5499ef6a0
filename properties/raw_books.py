"""The books of a run with raw calls: what can still be said once somebody went past the protocol.

A raw call is made directly on the pool or the managers, so what it breaks is a misuse that nothing stopped.
From the first one on only the books are judged, and of them:

- a raw call that is not accepted leaves the state as it was;
- the free queue, the index, the published counts, and the number of free blocks that the pool tells;
- the reference counts, where blocks taken or touched by raw calls count as held until raw calls release them;
- the null block's count;
- an estimate, where adopting and allocating for its request are the calls that follow.

Not judged any more are other estimates, that a shared block has a key, that everything is back at rest, contents, liveness and refinement:
they speak of callers who keep to the protocol.
"""

from collections import Counter

from kvwitness.model import books, misuse
from kvwitness.model.calls import Blocks, Call, Observation, Outcome
from kvwitness.properties.books_told import difference, explain_state
from kvwitness.properties.operations import Raw
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

NAME = "accounting"

ADMITTING = ("allocate_new_computed_blocks", "allocate_new_blocks")
"""The calls that take what was estimated, the last of them last."""


class RawBooks:
    """Who holds what besides the tables."""

    def __init__(self, num_blocks: int) -> None:
        """Nobody holds anything."""
        self._num_blocks = num_blocks
        self._held: Counter[int] = Counter()
        self._estimate: tuple[str, int, int] | None = None

    def judge(self, view: View) -> Violation | None:
        """The first broken clause, or None."""
        if not isinstance(view.operation, Raw):
            return explain_state(view.after, self._num_blocks, self._held)
        call, outcome = view.calls[0]
        if outcome.status != "ok":
            if books.refused_changes_nothing(view.before, view.after):
                return self._judge_count(view)
            changed = difference(view.before, view.after)
            return Violation("BOOKS.UNCHANGED", f"{call.name} ended {outcome.status} ({outcome.reason}), and still {changed}", NAME)
        self._note(call.name, call.arguments, outcome.value)
        broken = _judge_null(view.before, view.after) or explain_state(view.after, self._num_blocks, self._held)
        return broken or self._judge_count(view) or self._judge_estimate(call, outcome, view)

    def _judge_estimate(self, call: Call, outcome: Outcome, view: View) -> Violation | None:
        """Whether an admission takes what was estimated for it, if nothing else was asked in between."""
        if view.before.free is None or view.after.free is None:
            return None
        if call.name == "get_num_blocks_to_allocate":
            self._estimate = (call.arguments[0], outcome.value, len(view.before.free))
        elif call.name not in ADMITTING or self._estimate is None or call.arguments[0] != self._estimate[0]:
            self._estimate = None
        elif call.name == ADMITTING[-1]:
            name, estimated, free_before = self._estimate
            self._estimate = None
            if not books.estimate_is_taken(estimated, free_before, len(view.after.free)):
                taken = free_before - len(view.after.free)
                return Violation("BOOKS.ESTIMATE", f"the estimate for {name} is {estimated}, and {taken} blocks are taken", NAME)
        return None

    def _note(self, name: str, arguments: tuple[Blocks, ...], value: Blocks) -> None:
        """Who holds what after an accepted call."""
        if name == "get_new_blocks":
            self._held.update(value)
        elif name == "touch":
            self._held.update(block for block in arguments[0] if block)
        elif name == "free_blocks":
            self._held.subtract(block for block in arguments[0] if block)

    @staticmethod
    def _judge_count(view: View) -> Violation | None:
        counted = view.calls[-1][1].value
        if view.after.free is None or misuse.counts_free_blocks(counted, len(view.after.free)):
            return None
        return Violation("BOOKS.COUNT", f"the pool tells {counted} free blocks, and its queue is {list(view.after.free)}", NAME)


def _judge_null(before: Observation, after: Observation) -> Violation | None:
    if before.references is None or after.references is None:
        return None
    was, is_now = before.references[0], after.references[0]
    if misuse.null_is_not_counted(was, is_now):
        return None
    return Violation("BOOKS.NULL.COUNT", f"the null block counted {was} references, and counts {is_now}", NAME)


__all__ = ["RawBooks"]
