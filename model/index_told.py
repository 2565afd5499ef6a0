"""What an index built from KV events alone must be: the clauses that judge any pool's events.

A consumer sees events and nothing else.
A counting one counts what is stored and removed under each key; a plain one keeps a set.
"""

from collections.abc import Callable, Collection, Sequence

from kvwitness.model.calls import Key
from kvwitness.model.clauses import clause
from kvwitness.model.events import KVEvent, Stored

Ancestor = Callable[[Key, int], Key]
"""The key of the prefix that lacks so many tokens at its end; 0 is the empty prefix."""

Entry = tuple[int | None, Key]
"""A key with its group, or with None where a release does not say."""


@clause("EVENTS.INDEX", level="L0", source="BlockPool.take_events, BlockPool.get_cached_block")
def knows_what_is_found(counted: Collection[Entry], findable: Collection[Entry]) -> bool:
    """The keys that a counting consumer knows from events alone are those that look-ups may find, no more and no fewer."""
    return counted == findable


@clause("EVENTS.PLAIN", level="L0", source="BlockPool.take_events, BlockPool.get_cached_block")
def needs_no_count(kept: Collection[Entry], findable: Collection[Entry]) -> bool:
    """A consumer that only keeps a set of keys knows those that look-ups may find as well: a key is removed when no block carries it."""
    return kept == findable


@clause("EVENTS.ONCE", level="L0", source="BlockPool.cache_full_blocks, BlockPool.take_events")
def is_stored_once(counted: int, carriers: int) -> bool:
    """A key is stored no more often than blocks carry it."""
    return counted <= carriers


@clause("EVENTS.REMOVED.KNOWN", level="L0", source="BlockPool.get_new_blocks, BlockPool.take_events")
def removes_what_is_known(counted: int) -> bool:
    """A key that is removed was stored, and not removed as often since."""
    return counted > 0


@clause("EVENTS.CLEARED.RESET", level="L0", source="BlockPool.reset_prefix_cache, BlockPool.take_events")
def clears_when_reset(num_cleared: int, num_resets: int) -> bool:
    """Consumers are told to forget everything exactly when the prefix cache was reset."""
    return num_cleared == num_resets


@clause("EVENTS.PARENT", level="L0", source="BlockPool.cache_full_blocks, BlockPool.take_events")
def follows_its_parent(run: Stored, parent_tokens: int, steps: Sequence[int]) -> bool:
    """The parent of a stored run is the key of the block before its tokens, or none at the start of the prompt."""
    return parent_tokens == run.start and (run.parent is None) == (run.start == 0) and (not steps or steps[0] > 0)


@clause("EVENTS.KNOWN", level="L0", source="BlockPool.cache_full_blocks, BlockPool.take_events")
def parent_is_known(run: Stored, was_stored: bool) -> bool:
    """Where a hit needs the whole prefix, the parent of a stored run is the start of the prompt or was stored before."""
    return run.parent is None or was_stored


@clause("EVENTS.ORDER", level="L0", source="BlockPool.cache_full_blocks, BlockPool.take_events")
def stands_in_its_tokens(run: Stored, block: int, steps: Sequence[int]) -> bool:
    """The keys of a stored run are those of blocks in its tokens, in the order of the prefix."""
    return 0 not in steps and sum(steps) * block <= run.end - run.start


@clause("EVENTS.RANGE", level="L0", source="BlockPool.cache_full_blocks, BlockPool.take_events")
def has_a_key_a_block(run: Stored, block: int) -> bool:
    """A stored run has a key for each block of its tokens, so that whoever hashes the tokens comes to the same keys."""
    return len(run.keys) > 0 and run.end - run.start == len(run.keys) * block


@clause("EVENTS.GROUP.NAMED", level="L0", source="BlockPool.take_events")
def names_its_group(event: KVEvent, num_groups: int) -> bool:
    """Where there are several groups, an event names the one that its keys belong to."""
    return num_groups == 1 or getattr(event, "group", 0) is not None


def tokens_of(key: Key, ancestor: Ancestor) -> int:
    """How many tokens the prefix has that a key stands for."""
    length = 0
    while key:
        key, length = ancestor(key, 1), length + 1
    return length


def steps_between(run: Stored, block: int, ancestor: Ancestor) -> list[int]:
    """How many blocks each key of a run lies behind the one before it; 0 for one that is not behind it within the run's tokens."""
    before, most, found = run.parent or 0, (run.end - run.start) // block, []
    for key in run.keys:
        at, steps = key, 0
        while at != before and steps < most:
            at, steps = ancestor(at, block), steps + 1
        found.append(steps if at == before else 0)
        before = key
    return found
