"""Mamba: a token continues from one state, that of the tokens before it; a block keeps the state at its last token.

Mode none keeps one running state, mode all one a block.
Mode align keeps the running state in one block and ``drafts`` speculative ones behind it, which move along as the request grows:

    [∅ ∅ s | s₁ s₂]   grows a block   [∅ ∅ s s₁ | s₂ n]   then releases   [∅ ∅ ∅ s₁ | s₂ n]
"""

from collections.abc import Mapping
from typing import Any

from kvwitness.model import table
from kvwitness.model.calls import Blocks
from kvwitness.model.clauses import clause
from kvwitness.model.hits import IsCached, hit_table, longest_hit
from kvwitness.model.kinds import Config
from kvwitness.model.numbers import ceil_div, minimum
from kvwitness.model.pool import NULL, Pool, Rejection, release, take
from kvwitness.model.table import Group, Held, num_evictable, with_blocks
from kvwitness.model.values import evolve


@clause("MAMBA.HIT.LONGEST", level="L2", source="MambaManager.find_longest_cache_hit")
def look_up(group: Group, config: Config, *, num_keys: int, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """A Mamba hit ends at the last aligned block whose state is cached, whatever lies before it, as (null blocks, cached blocks)."""
    if max_length // group.block > num_keys:
        raise Rejection("not_enough_keys")
    length = longest_hit(
        group.kind,
        group.profile,
        group.block,
        max_length=max_length,
        alignment=config.hit_alignment,
        draft_drop=False,
        is_cached=is_cached,
    )
    return hit_table(group.kind, group.profile, group.block, length)


@clause("MAMBA.ESTIMATE", level="L2", source="MambaManager.get_num_blocks_to_allocate")
def estimate(group: Group, pool: Pool, held: Held, *, num_tokens: int, hits: Blocks, total_computed: int, main: int) -> int:
    """Mamba's estimate is the blocks that adopting and growing will take, in mode align none for look-ahead tokens."""
    if group.kind.mode != "align":
        slots = num_tokens + group.block * group.kind.drafts
        return table.estimate(group, pool, held, num_tokens=slots, hits=hits, total_computed=total_computed, main=main)
    if not held.blocks and total_computed > len(hits) * group.block and group.profile.external_state == "counted":
        return with_external_state(main, total_computed, group.block, group.kind.drafts)  # type: ignore[no-any-return]
    lacking = num_state_blocks(group, main) - len(hits) - len(held.blocks)
    if lacking > 0:
        lacking = 1 if held.allocated else 1 + group.kind.drafts
    elif group.profile.estimate_floor == "zero":
        lacking = 0
    return lacking + num_evictable(pool, hits)


def with_external_state(main: Any, total_computed: Any, block: Any, drafts: Any) -> Any:
    """What an align request takes that begins behind external tokens: a block for the state after them, since every hit is
    skipped, and what growing takes behind it.
    """
    return 1 + minimum(ceil_div(main, block) + drafts - ceil_div(total_computed, block), 1 + drafts)


adopt_hits = table.adopt_hits
take_external = table.take_external


def num_state_blocks(group: Group, main: int) -> int:
    """The length of an align table after ``main`` tokens: up to the running state, and the speculative blocks behind it."""
    return ceil_div(main, group.block) + group.kind.drafts  # type: ignore[no-any-return]


@clause("MAMBA.GROW", level="L2", source="MambaManager.allocate_new_blocks, MambaManager.__init__")
def grow(group: Group, pool: Pool, held: Held, *, num_tokens: int, main: int) -> tuple[Pool, Held, Blocks]:
    """A Mamba table grows to the block of the next running state, in mode align over null blocks and with its
    speculative blocks moved behind it.
    """
    if group.kind.mode != "align":
        return table.grow(group, pool, held, num_tokens=num_tokens + group.block * group.kind.drafts, main=main)
    required, length = num_state_blocks(group, main), len(held.blocks)
    if required < length and group.profile.mamba_align_shrink == "raises":
        raise Rejection("requirement_shrinks")
    if required <= length:
        return pool, held, ()
    running = required - 1 - group.kind.drafts
    kept, moved = held.blocks + (NULL,) * (running - length), held.blocks[:0]
    if held.allocated:
        first = length - group.kind.drafts
        moved = held.blocks[first : max(first, min(length, running))]
        kept = kept[:first] + (NULL,) * len(moved) + kept[first + len(moved) :]
    pool, taken = take(pool, required - len(kept) - len(moved))
    last_state = length - 1 - (group.kind.drafts if held.allocated else 0)
    grown = evolve(held, blocks=kept + moved + taken, allocated=True, last_state=last_state if length else None)
    return pool, grown, grown.blocks[length:]


publish_full = table.publish_full


@clause("MAMBA.RELEASE-SKIPPED", level="L2", source="MambaManager.remove_skipped_blocks")
def release_skipped(group: Group, pool: Pool, held: Held, *, num_computed_tokens: int) -> tuple[Pool, Held]:
    """Mamba releases the states before that of the last computed token, from the right until a null one; in mode align
    also the one that was copied on when the table grew, or all.
    """
    if group.profile.mamba_release_lag == "drafts":
        num_computed_tokens -= group.kind.drafts
    if group.kind.mode == "align" and group.profile.mamba_release_walk == "all":
        return table.with_nulls(group, pool, held, 0, table.num_skipped_here(group, held, num_computed_tokens))
    pool, held = table.release_skipped(group, pool, held, num_computed_tokens=num_computed_tokens)
    last = held.last_state
    if group.kind.mode != "align" or last is None or last >= ceil_div(num_computed_tokens, group.block) - 1:
        return pool, held
    if held.blocks[last] == NULL:
        return pool, held
    remaining = (*held.blocks[:last], NULL, *held.blocks[last + 1 :])
    return release(pool, (held.blocks[last],), group.profile, caching=group.caching), with_blocks(held, remaining)


release_all = table.release_all


@clause("MAMBA.COMMON-PREFIX", level="L2", source="MambaManager.get_num_common_prefix_blocks")
def num_common_prefix_blocks(pool: Pool, tables: Mapping[str, Held], request_id: str) -> int:
    """Mamba states have no common prefix: no two requests read them together."""
    return 0
