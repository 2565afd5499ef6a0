"""The refinement oracle: the model takes every call in lock-step and must come to the same outcomes and the same state.

At L3 ids and orders must be equal.
At L2 the model follows the port's choice of blocks, so that lengths and counts are compared and nothing else.
"""

from typing import Any

from kvwitness.model.calls import Blocks, Call, Observation, Outcome
from kvwitness.model.events import Cleared, KVEvent, Removed, Stored, events_of
from kvwitness.model.kinds import Config
from kvwitness.model.managers import State, apply, initial_state, observe
from kvwitness.model.pool import Pool
from kvwitness.model.profile import Profile
from kvwitness.model.rules import RULES
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

NAME = "refinement"

DECIDED_BY = {
    "find_longest_cache_hit": "look_up",
    "remove_skipped_blocks": "release_skipped",
    "get_num_blocks_to_allocate": "estimate",
    "allocate_new_computed_blocks": "adopt_hits",
    "allocate_new_blocks": "grow",
    "cache_blocks": "publish_full",
    "free": "release_all",
    "get_num_common_prefix_blocks": "num_common_prefix_blocks",
}
"""Which function of a kind's rules decides each call; the others are decided for all kinds alike."""

DECIDED_FOR_ALL = {
    "get_num_skipped_tokens": "NEED.FIRST",
    "get_num_free_blocks": "BOOKS.FREE",
    "new_step_starts": "STEP.WITHDRAWN",
    "withdraw_blocks": "STEP.WITHDRAWN",
    "reset_prefix_cache": "POOL.RESET",
}


DECIDED_FOR_MIXED = {"find_longest_cache_hit": "HYBRID.HIT", "get_num_blocks_to_allocate": "HYBRID.ESTIMATE"}
"""The calls whose answer is one for all groups: where they are mixed no kind's rule alone decides it."""


def clause_of(config: Config, call: Call, part: str = "", group: int = 0) -> str:
    """The clause whose function decides a call, or the part of the pool in which the difference shows.

    Where groups are mixed, ``group`` is the one in which it shows.
    """
    if part == "free":
        return "POOL.RELEASE" if call.name in ("free", "remove_skipped_blocks") else "POOL.TAKE"
    if call.name in DECIDED_FOR_ALL:
        return DECIDED_FOR_ALL[call.name]
    if config.is_hybrid and call.name in DECIDED_FOR_MIXED:
        return DECIDED_FOR_MIXED[call.name]
    if config.is_hybrid and call.name == "cache_blocks" and part == "published":
        return "HYBRID.PUBLISH"
    rule = getattr(RULES[config.groups[group].kind], DECIDED_BY[call.name])
    return rule.clause_id  # type: ignore[no-any-return]


def differing_group(part: str, got: Any, wanted: Any) -> int:
    """The first group in which two answers, or one part of two states, differ; 0 where that cannot be told."""
    if part in ("tables", "published", "") and isinstance(got, tuple) and isinstance(wanted, tuple):
        return next((group for group, (mine, theirs) in enumerate(zip(got, wanted, strict=False)) if mine != theirs), 0)
    if part == "keys":
        pairs = [(mine, theirs) for mine, theirs in zip(got, wanted, strict=False) if mine != theirs]
        return min((entry[0] for pair in pairs for entry in pair if entry is not None), default=0)
    if part == "index":
        return min((entry[0] for entry in {*got, *wanted} if got.get(entry) != wanted.get(entry)), default=0)
    return 0


UNORDERED = ("free", "index")
"""The parts of an observation whose order is the port's own at L2."""


class Refinement:
    """Runs the model beside the port."""

    name = NAME

    def __init__(self, config: Config, profile: Profile, level: str = "L3") -> None:
        """Compare with ``profile`` at ``level``: L2 or L3."""
        self._config = config
        self._state = initial_state(config, profile)
        self._exact = level == "L3"
        self.compared_calls = 0

    def judge(self, view: View) -> Violation | None:
        """The first difference, or None."""
        state, looks = self._state, view.looks
        told: list[KVEvent] | None = None if view.told is None or not self._exact else []
        for number, (call, outcome) in enumerate(view.calls):
            if not self._exact:
                state = _following(state, call, outcome)
            before = state
            state, expected = apply(state, call)
            if told is not None and (state is not before or call[0] == "reset_prefix_cache"):
                told += events_of(before, call, expected, state)
            if expected != outcome and (self._exact or not _alike(call, expected, outcome)):
                return self._differs(call, outcome, expected)
            if looks:
                broken = self._compare(looks[number], state, call)
                if broken:
                    return broken
        unchanged = state is self._state and view.after is view.before
        self._state = state
        self.compared_calls += len(view.calls)
        if told is not None and view.told is not None and tuple(told) != view.told.value:
            return _told_otherwise(view.told, told)
        if not view.calls or (unchanged and not looks):
            return None
        return None if is_same(view.after, state) else self._compare(view.after, state, view.calls[-1][0])

    def _differs(self, call: Call, outcome: Outcome, expected: Outcome) -> Violation:
        got, wanted = _spoken(outcome), _spoken(expected)
        group = differing_group("", outcome.value, expected.value)
        return Violation(
            clause_of(self._config, call, group=group), f"{call.name}{call.arguments} came to {got}, the model to {wanted}", NAME
        )

    def _compare(self, seen: Observation, state: State, call: Call) -> Violation | None:
        """The first part of the observation in which the two states differ."""
        expected = observe(state)
        if seen == expected:
            return None
        for part in _first_told(self._config, call):
            got, wanted = getattr(seen, part), getattr(expected, part)
            if got is None or got == wanted or (not self._exact and part in UNORDERED and _unordered(got) == _unordered(wanted)):
                continue
            clause = clause_of(self._config, call, part, differing_group(part, got, wanted))
            return Violation(clause, f"after {call.name} the {part} are {got}, the model's {wanted}", NAME)
        return None


def _first_told(config: Config, call: Call) -> tuple[str, ...]:
    """The parts of an observation in the order in which differences are told: how far mixed groups publish is a rule of its own."""
    if not config.is_hybrid or call.name != "cache_blocks":
        return Observation._fields
    return "published", *(part for part in Observation._fields if part != "published")


def is_same(seen: Observation, state: State) -> bool:
    """Whether a complete observation shows exactly this state; nothing is built for it."""
    pool = state.pool
    if seen.free != pool.free or seen.references != pool.references or seen.keys != pool.keys or seen.index != pool.index:
        return False
    if seen.tables is None or seen.published is None or seen.reserved != pool.reserved:
        return False
    for tables, published, held in zip(seen.tables, seen.published, state.tables, strict=True):
        if not tables.keys() <= held.keys() or any([tables.get(name, ()) != mine.blocks for name, mine in held.items()]):
            return False
        if any([published.get(name) != mine.published for name, mine in held.items()]) or not published.keys() <= held.keys():
            return False
    return True


def _told_otherwise(got: Outcome, wanted: list[KVEvent]) -> Violation:
    """The first KV event that differs, by the clause of what should have been told, or was."""
    if got.status != "ok":
        return Violation("EVENTS.STORED", f"take_events ended {got.status} ({got.reason})", NAME)
    first = next(number for number in range(len(wanted) + 1) if tuple(wanted[: number + 1]) != got.value[: number + 1])
    mine, theirs = next(iter(got.value[first:]), None), next(iter(wanted[first:]), None)
    clause = {Stored: "EVENTS.STORED", Removed: "EVENTS.REMOVED", Cleared: "EVENTS.CLEARED"}[type(mine if theirs is None else theirs)]
    return Violation(clause, f"event {first} is {mine}, the model's {theirs}", NAME)


def _spoken(outcome: Outcome) -> str:
    return str(outcome.value) if outcome.status == "ok" else f"{outcome.status} ({outcome.reason})"


def _following(state: State, call: Call, outcome: Outcome) -> State:
    """The state with the blocks in front of the queue that the port took next; whether they were free is for the books to say."""
    if call.name not in ("allocate_new_blocks", "allocate_new_computed_blocks") or outcome.status != "ok" or not outcome.value:
        return state
    pool, taken = state.pool, [block for blocks in outcome.value for block in blocks]
    first = tuple(block for block in taken if block in pool.free)
    rest = tuple(block for block in pool.free if block not in first)
    pool = Pool(first + rest, pool.references, pool.keys, pool.index, pool.reserved)
    return State(state.config, state.groups, pool, state.tables, state.published_this_step)


def _alike(call: Call, expected: Outcome, outcome: Outcome) -> bool:
    """Whether two outcomes agree in status, lengths and null places, whatever copies of a block they name."""
    if expected.status != outcome.status or call.name != "find_longest_cache_hit":
        return False
    return _shape(expected.value) == _shape(outcome.value)


def _shape(hits: tuple[Blocks, ...]) -> tuple[tuple[bool, ...], ...]:
    return tuple(tuple(map(bool, hit)) for hit in hits)


def _unordered(part: Any) -> Any:
    """A part of an observation with the order of the free queue and of copies left out."""
    if isinstance(part, dict):
        return {key: frozenset(blocks) for key, blocks in part.items()}
    return sorted(part)
