"""KV events: what each call tells those who keep an index of the cache from outside, routers and engines that share it.

Nothing of the state is about events: they follow from a call and the states before and after it.

    [ 4  7 | 9  5 ]   publishing the last two blocks   Stored(keys of 9 and 5, parent: the key of 7, tokens of both blocks)
    [ 4  ∅ | 9  5 ]   the parent is the key that 7 had: the tokens before the run, cached or not
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvwitness.model.calls import Call, Key, Outcome
from kvwitness.model.clauses import clause
from kvwitness.model.hybrid import keys_of_group
from kvwitness.model.managers import State
from kvwitness.model.profile import Profile
from kvwitness.model.table import NOTHING, Group, Held


class Stored(NamedTuple):
    """Blocks of one prefix became findable.

    Attributes:
        group: The group of their keys, or None where a release does not say.
        keys: Their keys, in the order of the prefix.
        parent: The key of the block before them, or None at the start of the prompt.
        start: The first token that the run speaks of.
        end: The token behind the last one.
    """

    group: int | None
    keys: tuple[Key, ...]
    parent: Key | None
    start: int
    end: int


class Removed(NamedTuple):
    """A block with this key can no longer be found.

    Attributes:
        group: The group of the key, or None where a release does not say.
        key: The key.
    """

    group: int | None
    key: Key


class Cleared(NamedTuple):
    """Nothing is findable any more."""


KVEvent = Stored | Removed | Cleared

TAKE_EVENTS = Call("take_events", ())
"""The call that hands over what was told since it was made last; the first one after a reset begins the telling."""


def events_of(before: State, call: Call, outcome: Outcome, after: State) -> tuple[KVEvent, ...]:
    """What a call tells, in order; a rejected one tells nothing."""
    if outcome.status != "ok":
        return ()
    if call.name == "reset_prefix_cache":
        return cleared_by(outcome.value)
    if before is after:
        return ()
    if call.name == "cache_blocks":
        return stored_by(before, call, after)
    return () if before.pool.keys is after.pool.keys else removed_by(before, call, after)


@clause("EVENTS.CLEARED", level="L3", source="BlockPool.reset_prefix_cache, BlockPool.take_events")
def cleared_by(done: bool) -> tuple[KVEvent, ...]:
    """A reset that succeeds tells that everything is gone, and one that does not tells nothing."""
    return (Cleared(),) if done else ()


@clause("EVENTS.REMOVED", level="L3", source="BlockPool.get_new_blocks, BlockPool.take_events")
def removed_by(before: State, call: Call, after: State) -> tuple[KVEvent, ...]:
    """Blocks that lose their keys are told in the order in which they are taken from the queue or stand in the table, in some profiles
    only the last one with a key.
    """
    held = [block for tables in before.tables for block in tables.get(call.arguments[0], NOTHING).blocks] if call.arguments else []
    lost = [block for block in dict.fromkeys([*before.pool.free, *held]) if before.pool.keys[block] and not after.pool.keys[block]]
    entries = [entry for block in lost if (entry := before.pool.keys[block])]
    profile = before.groups[0].profile
    if profile.event_copies == "first_and_last":
        entries = [entry for place, entry in enumerate(entries) if entry not in after.pool.index and entry not in entries[place + 1 :]]
    return tuple(Removed(named_group(group, profile), key) for group, key in entries)


@clause("EVENTS.STORED", level="L3", source="BlockPool.cache_full_blocks, BlockPool.take_events")
def stored_by(before: State, call: Call, after: State) -> tuple[KVEvent, ...]:
    """Publishing tells of the newly full blocks group by group, with the key before them and the tokens in them: of all in one run,
    or in a run for each stretch that got keys, in some profiles without keys that other blocks carry.
    """
    request, keys, _ = call.arguments
    events: list[KVEvent] = []
    for group in after.groups:
        start = before.tables[group.number].get(request, NOTHING).published or 0
        held = after.tables[group.number].get(request, NOTHING)
        places = range(start, held.published or 0)
        told = [place for place in places if is_told(before, after, group, held, place)]
        mine = keys_of_group(keys, group.block, after.config.tokens_per_block)
        for first, end, run in runs_of(places, told, group.profile):
            parent = mine[first - 1] if first else None
            stored = tuple(mine[place] for place in run)
            events.append(Stored(named_group(group.number, group.profile), stored, parent, first * group.block, end * group.block))
    return tuple(events)


def is_told(before: State, after: State, group: Group, held: Held, place: int) -> bool:
    """Whether publishing gave the block at this place a key, and one that is new where only the first of each is told."""
    entry = after.pool.keys[held.blocks[place]]
    return entry is not None and (group.profile.event_copies == "each" or entry not in before.pool.index)


def runs_of(places: range, told: Sequence[int], profile: Profile) -> Iterator[tuple[int, int, Sequence[int]]]:
    """The runs that a call tells, each as (its first place, the place behind it, the places of its keys)."""
    if profile.event_runs == "one_a_call":
        if places:
            yield places.start, places.stop, told
        return
    first = 0
    for number, place in enumerate(told):
        if number + 1 == len(told) or told[number + 1] != place + 1:
            yield told[first], place + 1, told[first : number + 1]
            first = number + 1


@clause("EVENTS.GROUP", level="L3", source="BlockPool.take_events")
def named_group(group: int, profile: Profile) -> int | None:
    """An event names the group of its keys, in early releases no group."""
    return group if profile.event_groups == "told" else None
