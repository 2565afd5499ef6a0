"""The books of a pool: what must hold between its parts at every moment. These clauses judge any observation."""

from kvwitness.model.calls import Blocks, Key, Observation
from kvwitness.model.clauses import clause


@clause("BOOKS.REFERENCES", level="L0", source="BlockPool.touch, BlockPool.free_blocks")
def counts_holders(references: int, holders: int) -> bool:
    """A block's reference count is the number of table entries that hold it."""
    return references == holders


@clause("BOOKS.FREE", level="L0", source="BlockPool.free_blocks, BlockPool.get_new_blocks, BlockPool.get_num_free_blocks")
def is_free_iff_unheld(free: bool, holders: int, set_apart: bool) -> bool:
    """A block is in the free queue exactly if nobody holds it and it is neither null nor set apart."""
    return free == (holders == 0 and not set_apart)


@clause("BOOKS.SET-APART", level="L0", source="SinkFullAttentionManager.__init__")
def set_apart_is_unheld(holders: int, set_apart: bool) -> bool:
    """A block that is set apart for a sink is in no request's table."""
    return holders == 0 or not set_apart


@clause("BOOKS.QUEUE", level="L0", source="BlockPool.free_blocks")
def is_queued_once(free: Blocks) -> bool:
    """The free queue names no block twice."""
    return len(set(free)) == len(free)


@clause("BOOKS.NULL", level="L0", source="BlockPool.__init__")
def null_is_inert(free: Blocks, key: tuple[int, Key] | None) -> bool:
    """The null block is never queued and never keyed."""
    return 0 not in free and key is None


@clause("BOOKS.INDEX", level="L0", source="BlockPool.get_cached_block, BlockPool.cache_full_blocks")
def is_indexed_iff_keyed(listed: bool, keyed: bool) -> bool:
    """A block carries a key exactly if look-ups of that key can find it."""
    return listed == keyed


@clause("BOOKS.ONCE", level="L0", source="allocate_new_blocks")
def holds_once(table: Blocks) -> bool:
    """A request's table names no block twice, null aside."""
    real = [block for block in table if block]
    return len(set(real)) == len(real)


@clause("BOOKS.EXCLUSIVE", level="L0", source="allocate_new_blocks")
def is_shared_only_with_key(holders: int, keyed: bool) -> bool:
    """A block that carries no key has at most one holder."""
    return holders <= 1 or keyed


@clause("BOOKS.PUBLISHED", level="L0", source="cache_blocks")
def counts_what_is_held(published: int, table: Blocks | None) -> bool:
    """A published count belongs to a request with a table and does not exceed it."""
    return published <= len(table or ()) and (table is not None or published == 0)


@clause("BOOKS.REST", level="L0", source="free, SingleTypeKVCacheManager.__init__")
def is_at_rest(observation: Observation) -> bool:
    """When every request is freed, all blocks are back and no request has books."""
    if observation.free is None or observation.references is None:
        return not any(observation.tables or ())
    idle = not any(observation.tables or ()) and not any(observation.published or ())
    total = len(observation.references) - 1 - len(observation.reserved or ())
    return idle and len(observation.free) == total


@clause("BOOKS.ESTIMATE", level="L0", source="get_num_blocks_to_allocate, MambaManager.get_num_blocks_to_allocate")
def estimate_is_taken(estimated: int, free_before: int, free_after: int) -> bool:
    """The estimate of an allocation is exactly what the free queue loses by it."""
    return estimated == free_before - free_after


@clause("BOOKS.ESTIMATE.FLOOR", level="L0", source="get_num_blocks_to_allocate, MambaManager.get_num_blocks_to_allocate")
def estimate_is_natural(estimated: int) -> bool:
    """An estimate is never negative."""
    return estimated >= 0


@clause("BOOKS.UNCHANGED", level="L0", source="get_num_blocks_to_allocate")
def refused_changes_nothing(before: Observation, after: Observation) -> bool:
    """A refused admission and an abandoned look-up leave everything as it was."""
    return before == after


@clause("BOOKS.ACCEPTED", level="L0", source="find_longest_cache_hit, allocate_new_blocks")
def legal_call_is_accepted(status: str) -> bool:
    """A call that the protocol allows is neither rejected nor failed."""
    return status == "ok"
