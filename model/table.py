"""A request's block table in one group, and the calls that every kind shares.

Each function takes and returns values: the group's fixed facts, the pool, what the request holds.
"""

from collections.abc import Callable

from attrs import frozen

from kvwitness.model.calls import Blocks, Key
from kvwitness.model.clauses import clause
from kvwitness.model.kinds import Kind
from kvwitness.model.need import first_needed, num_skipped_blocks
from kvwitness.model.numbers import ceil_div, floor_div, maximum
from kvwitness.model.pool import NULL, Pool, Rejection, publish, release, take, touch
from kvwitness.model.profile import Profile
from kvwitness.model.values import evolve


@frozen(slots=False)
class Group:
    """What does not change about a group.

    Attributes:
        number: Its place among the groups; keys belong to a group.
        kind: The kind of its manager.
        block: Tokens a block.
        num_blocks: Blocks in the pool.
        caching: Whether prefix caching is on.
        profile: The rules in force.
        alignment: What hit lengths are multiples of, in tokens; 0 means the block.
        draft_model: Whether hits ask for a draft model's block.
    """

    number: int
    kind: Kind
    block: int
    num_blocks: int
    caching: bool
    profile: Profile
    alignment: int = 0
    draft_model: bool = False


@frozen(slots=False)
class Held:
    """What a request holds in one group.

    Attributes:
        blocks: Its table, null where a block was skipped.
        published: How many leading blocks count as published; None before it has been through adoption or publishing.
        allocated: Mamba align: whether it owns its running state and speculative blocks.
        last_state: Mamba align: the index of the state that the step before the last one left.
        keyed_this_step: The blocks that it keyed in this step.
        published_before: The published count before this step, if ``published_this_step``.
        published_this_step: Whether its count grew in this step.
    """

    blocks: Blocks = ()
    published: int | None = None
    allocated: bool = False
    last_state: int | None = None
    keyed_this_step: Blocks = ()
    published_before: int | None = None
    published_this_step: bool = False


NOTHING = Held()


def num_new_blocks(num_tokens: int, block: int, skipped: int, held: int) -> int:
    """How many blocks it takes to give ``num_tokens`` tokens a slot beyond the skipped and the held blocks."""
    required = ceil_div(num_tokens, block)
    return maximum(required - maximum(skipped, held), 0)  # type: ignore[no-any-return]


def num_evictable(pool: Pool, hits: Blocks) -> int:
    """How many of the hits are free blocks: adopting them takes them from the queue."""
    return sum(block != NULL and pool.references[block] == 0 for block in hits)


@clause("TABLE.ESTIMATE", level="L2", source="get_num_blocks_to_allocate")
def estimate(group: Group, pool: Pool, held: Held, *, num_tokens: int, hits: Blocks, total_computed: int, main: int) -> int:
    """The estimate is the blocks that adopting the hits and growing to ``num_tokens`` will take from the free queue."""
    if held.published is not None:
        if hits:
            raise Rejection("hits_for_running_request")
        return num_new_blocks(num_tokens, group.block, 0, len(held.blocks))
    skipped = num_skipped_blocks(group.kind, total_computed, group.block)
    fresh = num_new_blocks(num_tokens, group.block, skipped, len(hits) + len(held.blocks))
    return fresh + num_evictable(pool, hits[max(0, skipped - len(held.blocks)) :])


@clause("TABLE.ADOPT", level="L2", source="allocate_new_computed_blocks")
def adopt_hits(group: Group, pool: Pool, held: Held, *, hits: Blocks, num_local_tokens: int, num_external_tokens: int) -> tuple[Pool, Held]:
    """A new request's table begins with null for every skipped block and the hits that are still needed, each with a reference more."""
    if held.published is not None:
        if hits:
            raise Rejection("hits_for_running_request")
        return pool, held
    if held.blocks:
        raise Rejection("request_has_blocks")
    if any(hits) and not group.caching:
        raise Rejection("hits_without_caching")
    skipped = num_skipped_blocks(group.kind, num_local_tokens + num_external_tokens, group.block)
    needed = hits[skipped:]
    table = (NULL,) * skipped + needed
    return touch(pool, needed, group.profile), Held(table, len(table))


@clause("TABLE.EXTERNAL", level="L2", source="allocate_new_computed_blocks")
def take_external(group: Group, pool: Pool, held: Held, *, num_local_tokens: int, num_external_tokens: int) -> tuple[Pool, Held, Blocks]:
    """External tokens get fresh blocks behind the hits, none where the blocks are skipped."""
    total = num_local_tokens + num_external_tokens
    skipped = first_needed(group.kind, total)
    cut = skipped > 0 if group.profile.external_cut == "tokens" else num_skipped_blocks(group.kind, total, group.block) > 0
    if num_external_tokens <= 0 or (cut and skipped >= total):
        return pool, held, ()
    count = ceil_div(total, group.block) - len(held.blocks)
    pool, taken = take(pool, max(count, 0) if group.profile.estimate_floor == "zero" else count)
    return pool, with_blocks(held, held.blocks + taken), taken


@clause("TABLE.GROW", level="L2", source="allocate_new_blocks")
def grow(group: Group, pool: Pool, held: Held, *, num_tokens: int, main: int) -> tuple[Pool, Held, Blocks]:
    """A table grows by fresh blocks until ``num_tokens`` tokens have a slot, and what is held stays where it is."""
    pool, taken = take(pool, num_new_blocks(num_tokens, group.block, 0, len(held.blocks)))
    return pool, with_blocks(held, held.blocks + taken), taken


@clause("TABLE.PUBLISH", level="L2", source="cache_blocks")
def publish_full(group: Group, pool: Pool, held: Held, *, keys: tuple[Key, ...], num_tokens: int) -> tuple[Pool, Held]:
    """Publishing keys every full block of the first ``num_tokens`` tokens that was not keyed before, and no null block."""
    return publish_kept(group, pool, held, keys=keys, num_tokens=num_tokens, is_kept=lambda _place: True)


def publish_kept(
    group: Group, pool: Pool, held: Held, *, keys: tuple[Key, ...], num_tokens: int, is_kept: Callable[[int], bool]
) -> tuple[Pool, Held]:
    """Publish the blocks at the places that are kept; the others count as published all the same."""
    done, full = held.published or 0, floor_div(num_tokens, group.block)
    if group.profile.publish_past_hashed == "clipped":
        full = min(full, len(keys))
    if full <= done:
        return pool, held
    if full > len(held.blocks):
        raise Rejection("publish_unallocated" if held.blocks else "unknown_request")
    if full > len(keys):
        raise Rejection("not_enough_keys")
    entries = [(held.blocks[place], keys[place]) for place in range(done, full) if held.blocks[place] != NULL and is_kept(place)]
    return publish(pool, group.number, entries), Held(
        held.blocks,
        full,
        held.allocated,
        held.last_state,
        held.keyed_this_step + tuple(block for block, _ in entries),
        held.published_before if held.published_this_step else held.published,
        True,
    )


@clause("TABLE.RELEASE-SKIPPED", level="L2", source="remove_skipped_blocks")
def release_skipped(group: Group, pool: Pool, held: Held, *, num_computed_tokens: int) -> tuple[Pool, Held]:
    """The blocks before the first needed token are released and become null, from the right until a null one."""
    end = num_skipped_here(group, held, num_computed_tokens)
    start = end
    while start > 0 and held.blocks[start - 1] != NULL:
        start -= 1
    return with_nulls(group, pool, held, start, end)


def num_skipped_here(group: Group, held: Held, num_computed_tokens: int) -> int:
    """How many leading entries of a table are skipped."""
    return min(num_skipped_blocks(group.kind, num_computed_tokens, group.block), len(held.blocks))  # type: ignore[no-any-return]


def with_nulls(group: Group, pool: Pool, held: Held, start: int, end: int) -> tuple[Pool, Held]:
    """Release the blocks at places ``[start, end)`` that are not null already, from the right."""
    if start == end:
        return pool, held
    table = held.blocks[:start] + (NULL,) * (end - start) + held.blocks[end:]
    released = [block for block in reversed(held.blocks[start:end]) if block != NULL]
    return release(pool, released, group.profile, skipped=True, caching=group.caching), with_blocks(held, table)


@clause("TABLE.FREE", level="L2", source="free")
def release_all(group: Group, pool: Pool, held: Held) -> Pool:
    """Freeing a request releases its whole table, the tail first, so that prefixes stay findable longest."""
    return release(pool, reversed(held.blocks), group.profile, skipped=group.kind.kind == "sliding", caching=group.caching)


def with_blocks(held: Held, blocks: Blocks) -> Held:
    """The same books with another table."""
    return evolve(held, blocks=blocks)
