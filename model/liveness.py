"""What a manager owes its users: hits that are there are found, refusals have a reason, an idle cache can be reset."""

from typing import Any

from kvwitness.model.clauses import clause
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, choose, maximum


@clause("LIVE.HIT.FOUND", level="L1", source="find_longest_cache_hit")
def required_hit_is_found(found_tokens: int, required_tokens: int) -> bool:
    """A look-up finds at least the longest usable length among what is published, within its cap and alignment."""
    return found_tokens >= required_tokens


@clause("LIVE.HIT.CAP", level="L1", source="find_longest_cache_hit")
def hit_keeps_cap(found_tokens: int, max_length: int, alignment: int) -> bool:
    """A hit is a multiple of the alignment and no longer than its cap."""
    return found_tokens <= max_length and found_tokens % alignment == 0


@clause("LIVE.HIT.COVERED", level="L1", source="find_longest_cache_hit")
def every_group_covers(lengths: tuple[int, ...]) -> bool:
    """Every group covers the hit that is returned."""
    return len(set(lengths)) <= 1


@clause("LIVE.PUBLISHED", level="L1", source="cache_blocks")
def needed_is_published(keyed: bool, serves: bool) -> bool:
    """A full block that a hit of some aligned length needs is findable once it counts as published."""
    return keyed or not serves


@clause("LIVE.RELEASED", level="L1", source="remove_skipped_blocks")
def skipped_is_released(skipped: tuple[int, ...]) -> bool:
    """Once skipped blocks are released, no block is held that lies wholly before the first token still needed."""
    return not any(skipped)


@clause("LIVE.HIT.KEYED", level="L0", source="find_longest_cache_hit, BlockPool.get_cached_block")
def hit_is_published(block: int, published: tuple[int, ...]) -> bool:
    """Every real block of a hit is published under the key of its place."""
    return block in published


@clause("LIVE.HIT.NULLS", level="L0", source="find_longest_cache_hit")
def null_only_where_skipped(index: int, first_needed_block: int) -> bool:
    """A hit has null only where the next token reads nothing."""
    return index < first_needed_block


@clause("LIVE.REFUSAL", level="L1", source="get_num_blocks_to_allocate")
def refusal_is_justified(worst_need: int, free: int, put_off: bool) -> bool:
    """A request is refused only if its blocks, no sharing counted, do not fit, or a state it would start from is computed in this step."""
    return worst_need > free or put_off


@clause("LIVE.RESET", level="L1", source="BlockPool.reset_prefix_cache")
def idle_reset_succeeds(idle: bool, done: bool) -> bool:
    """A reset succeeds exactly if no request holds a block."""
    return idle == done


@clause("LIVE.COMMON", level="L1", source="get_num_common_prefix_blocks, FullAttentionManager.get_num_common_prefix_blocks")
def common_prefix_is_common(prefixes: frozenset[tuple[int, ...]]) -> bool:
    """The common prefix blocks are the same in every request's table."""
    return len(prefixes) <= 1


def worst_need(kind: Kind, block: Any, slots: Any, main: Any, encoder: Any, held: Any) -> Any:
    """Blocks that one group takes at most for a table of so many tokens, with nothing shared.

    Mode align holds a state to start from, the running one and the speculative ones.
    """
    if kind.kind == "cross":
        total = ceil_div(encoder, block)
    elif kind.kind == "mamba" and kind.mode == "align":
        return choose(held > 0, 1, 2 + kind.drafts)
    else:
        total = ceil_div(slots, block) + (kind.drafts if kind.kind == "mamba" else 0)
    return maximum(0, total - held)
