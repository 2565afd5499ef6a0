"""The block pool as a value: who may take a block, who holds it, what it is known to contain."""

from collections.abc import Iterable

from attrs import frozen

from kvwitness.model.calls import Blocks, Key
from kvwitness.model.clauses import clause
from kvwitness.model.profile import Profile

NULL = 0
"""The null block: it stands for "nothing here" and is never taken, keyed or freed."""


class Rejection(Exception):
    """A call that breaks a precondition; ``reason`` is one of `kvwitness.model.calls.REASONS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@frozen(slots=False)
class Pool:
    """Blocks, their holders and their keys.

    Attributes:
        free: The blocks nobody holds, next to be taken first.
        references: How many tables hold each block, by id.
        keys: The ``(group, key)`` that each block is findable under, or None.
        index: The blocks behind each ``(group, key)``, the one found first in front.
        reserved: Blocks set apart for sinks.
    """

    free: Blocks
    references: tuple[int, ...]
    keys: tuple[tuple[int, Key] | None, ...]
    index: dict[tuple[int, Key], Blocks]
    reserved: Blocks = ()


def fresh_pool(num_blocks: int) -> Pool:
    """A pool in which every block but the null block is free, lowest id first."""
    return Pool(tuple(range(1, num_blocks)), (0,) * num_blocks, (None,) * num_blocks, {})


@clause("POOL.FOUND", level="L3", source="BlockPool.get_cached_block")
def found(pool: Pool, group: int, key: Key) -> int | None:
    """A look-up finds the copy that was published first among those still there."""
    blocks = pool.index.get((group, key))
    return blocks[0] if blocks else None


@clause("POOL.TAKE", level="L3", source="BlockPool.get_new_blocks")
def take(pool: Pool, count: int) -> tuple[Pool, Blocks]:
    """Fresh blocks are the first of the free queue, and what they were cached under is forgotten."""
    if count < 0:
        raise Rejection("negative_count")
    if count > len(pool.free):
        raise Rejection("pool_exhausted")
    if count == 0:
        return pool, ()
    taken = pool.free[:count]
    pool = without_keys(pool, taken)
    references = list(pool.references)
    for block in taken:
        references[block] = 1
    return Pool(pool.free[count:], tuple(references), pool.keys, pool.index, pool.reserved), taken


@clause("POOL.TOUCH", level="L3", source="BlockPool.touch")
def touch(pool: Pool, blocks: Iterable[int], profile: Profile) -> Pool:
    """Touching a block adds a holder, and a free one leaves the queue."""
    references, free = list(pool.references), list(pool.free)
    for block in blocks:
        if block == NULL:
            references[NULL] += profile.null_references == "drift"
            continue
        if references[block] == 0:
            free.remove(block)
        references[block] += 1
    return Pool(tuple(free), tuple(references), pool.keys, pool.index, pool.reserved)


@clause("POOL.RELEASE", level="L3", source="BlockPool.free_blocks")
def release(pool: Pool, blocks: Iterable[int], profile: Profile, *, skipped: bool = False, caching: bool = True) -> Pool:
    """Releasing a block takes a holder from it, and one that has none left joins the free queue in the profile's order, still findable."""
    references, freed = list(pool.references), []
    for block in blocks:
        if block == NULL:
            references[NULL] -= profile.null_references == "drift"
            continue
        if references[block] <= 0:
            raise Rejection("block_already_free")
        references[block] -= 1
        if references[block] == 0:
            freed.append(block)
    order = profile.free_order
    if order == "appended" or (order == "skipped_keyless_first" and not skipped) or (order == "keyless_first_if_caching" and not caching):
        free = (*pool.free, *freed)
    else:
        keyless = (block for block in freed if pool.keys[block] is None)
        free = (*keyless, *pool.free, *(block for block in freed if pool.keys[block] is not None))
    return Pool(free, tuple(references), pool.keys, pool.index, pool.reserved)


@clause("POOL.PUBLISH", level="L3", source="BlockPool.cache_full_blocks")
def publish(pool: Pool, group: int, entries: Iterable[tuple[int, Key]]) -> Pool:
    """A published block is findable under its key, behind the copies that were there before."""
    keys, index = list(pool.keys), dict(pool.index)
    for block, key in entries:
        if keys[block] is not None:
            raise Rejection("block_already_keyed")
        keys[block] = (group, key)
        index[group, key] = (*index.get((group, key), ()), block)
    return Pool(pool.free, pool.references, tuple(keys), index, pool.reserved)


def without_keys(pool: Pool, blocks: Iterable[int]) -> Pool:
    """Forget what the blocks are cached under; they can no longer be found."""
    keyed = [block for block in blocks if pool.keys[block] is not None]
    if not keyed:
        return pool
    keys, index = list(pool.keys), dict(pool.index)
    for block in keyed:
        entry = keys[block]
        assert entry is not None
        keys[block] = None
        others = tuple(other for other in index[entry] if other != block)
        if others:
            index[entry] = others
        else:
            del index[entry]
    return Pool(pool.free, pool.references, tuple(keys), index, pool.reserved)


@clause("SINK.RESERVED", level="L3", source="SinkFullAttentionManager.__init__")
def reserve(pool: Pool, count: int, profile: Profile) -> Pool:
    """A sink's blocks are set apart for good: no request takes them, and they do not count as in use."""
    if profile.sink_reservation == "none":
        return pool
    if count > len(pool.free):
        raise Rejection("pool_exhausted")
    return Pool(pool.free[count:], pool.references, pool.keys, pool.index, (*pool.reserved, *pool.free[:count]))


@clause("POOL.RESET", level="L2", source="BlockPool.reset_prefix_cache")
def reset(pool: Pool, profile: Profile) -> tuple[Pool, bool]:
    """A reset forgets every cached prefix if nothing is in use; otherwise it changes nothing and says so."""
    set_apart = len(pool.reserved) if profile.sink_reservation == "reserved" else 0
    if len(pool.free) != len(pool.references) - 1 - set_apart:
        return pool, False
    return Pool(pool.free, pool.references, (None,) * len(pool.keys), {}, pool.reserved), True
