"""Sliding window: a token reads the last ``window`` tokens, itself included; blocks left of them are released."""

from collections.abc import Mapping

from kvwitness.model import table
from kvwitness.model.calls import Key
from kvwitness.model.clauses import clause
from kvwitness.model.hits import IsCached, hit_table, longest_hit, matched_run_end, serves_a_hit
from kvwitness.model.kinds import Config
from kvwitness.model.need import needed_blocks
from kvwitness.model.numbers import ceil_div, floor_div, round_down
from kvwitness.model.pool import Pool, Rejection
from kvwitness.model.table import Group, Held


@clause("SLIDING.HIT.LONGEST", level="L2", source="SlidingWindowManager.find_longest_cache_hit")
def look_up(group: Group, config: Config, *, num_keys: int, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """A sliding-window hit is the longest aligned length whose window of blocks is cached, and one block more under a
    draft model, as (null blocks, cached blocks).
    """
    if max_length // group.block > num_keys:
        raise Rejection("not_enough_keys")
    drop = group.profile.sliding_draft_drop if config.draft_model and config.hit_alignment != group.block else "longest"
    if drop in ("raises", "drop_then_align"):
        return _drop_after_match(group, config, max_length=max_length, is_cached=is_cached)
    length = longest_hit(
        group.kind,
        group.profile,
        group.block,
        max_length=max_length,
        alignment=config.hit_alignment,
        draft_drop=config.draft_model,
        is_cached=is_cached,
    )
    if drop == "align_after_drop" and length and length < num_tail_blocks(group) * group.block:
        # A run from the start that is shorter than the window is aligned before the drop as well.
        length -= config.hit_alignment
    return hit_table(group.kind, group.profile, group.block, length, draft_drop=config.draft_model)


def _drop_after_match(group: Group, config: Config, *, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """What releases do that align the matched run before they drop its last block: refuse, or cut to the alignment once more,
    which can leave nothing but null blocks.
    """
    end = matched_run_end(group.kind, group.block, max_length=max_length, alignment=config.hit_alignment, is_cached=is_cached)
    if not end:
        return 0, 0
    if group.profile.sliding_draft_drop == "raises":
        raise Rejection("draft_drop_alignment")
    first, _ = needed_blocks(group.kind, (end - 1) * group.block, group.block)
    kept = floor_div(round_down((end - 1) * group.block, config.hit_alignment), group.block)
    return min(first, kept), max(0, kept - first)


def num_tail_blocks(group: Group) -> int:
    """How many cached blocks a hit ends with, far from the start: as many as the window reaches into."""
    return ceil_div(group.kind.window - 1, group.block)  # type: ignore[no-any-return]


def is_kept(group: Group, place: int) -> bool:
    """Whether publishing gives the block at this place a key, or only those at the end of each aligned segment.

    Where the ends cover the segments all are kept.
    """
    rule, alignment = group.profile.sliding_publish, group.alignment or group.block
    if rule == "all" or (rule == "segment_tails" and alignment == group.block):
        return True
    asks_one_more = group.draft_model and rule == "segment_tails_with_draft"
    if (num_tail_blocks(group) + asks_one_more) * group.block >= alignment:
        return True
    return serves_a_hit(group.kind, place, group.block, alignment=alignment, draft_drop=asks_one_more)


@clause("SLIDING.PUBLISH", level="L2", source="cache_blocks")
def publish_full(group: Group, pool: Pool, held: Held, *, keys: tuple[Key, ...], num_tokens: int) -> tuple[Pool, Held]:
    """Publishing keys the new full blocks of a sliding window, in some profiles only those that a hit of an aligned length can need."""
    return table.publish_kept(group, pool, held, keys=keys, num_tokens=num_tokens, is_kept=lambda place: is_kept(group, place))


estimate = table.estimate
adopt_hits = table.adopt_hits
take_external = table.take_external
grow = table.grow
release_skipped = table.release_skipped
release_all = table.release_all


@clause("SLIDING.COMMON-PREFIX", level="L2", source="SlidingWindowManager.get_num_common_prefix_blocks")
def num_common_prefix_blocks(pool: Pool, tables: Mapping[str, Held], request_id: str) -> int:
    """Sliding windows have no common prefix: it may be null in one table and real in another."""
    return 0
