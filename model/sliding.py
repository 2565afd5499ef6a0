"""Sliding window: a token reads the last ``window`` tokens, itself included; blocks left of them are released."""

from collections.abc import Mapping

from kvwitness.model import table
from kvwitness.model.clauses import clause
from kvwitness.model.hits import IsCached, hit_table, longest_hit, matched_run_end
from kvwitness.model.kinds import Config
from kvwitness.model.pool import Pool, Rejection
from kvwitness.model.table import Group, Held


@clause("SLIDING.HIT.LONGEST", level="L2", source="SlidingWindowManager.find_longest_cache_hit")
def look_up(group: Group, config: Config, *, num_keys: int, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """A sliding-window hit is the longest aligned length whose window of blocks is cached, and one block more under a
    draft model, as (null blocks, cached blocks).
    """
    if max_length // group.block > num_keys:
        raise Rejection("not_enough_keys")
    if config.draft_model and config.hit_alignment != group.block and group.profile.sliding_draft_drop != "longest":
        return _look_up_then_drop(group, config, max_length=max_length, is_cached=is_cached)
    length = longest_hit(
        group.kind,
        group.profile,
        group.block,
        max_length=max_length,
        alignment=config.hit_alignment,
        draft_drop=config.draft_model,
        is_cached=is_cached,
    )
    return hit_table(group.kind, group.profile, group.block, length, draft_drop=config.draft_model)


def _look_up_then_drop(group: Group, config: Config, *, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """What releases do that align the matched run before dropping its last block: they cannot serve a match."""
    if group.profile.sliding_draft_drop != "raises":
        raise Rejection("alignment_unsupported")
    end = matched_run_end(group.kind, group.block, max_length=max_length, alignment=config.hit_alignment, is_cached=is_cached)
    if end:
        raise Rejection("draft_drop_alignment")
    return 0, 0


estimate = table.estimate
adopt_hits = table.adopt_hits
take_external = table.take_external
grow = table.grow
publish_full = table.publish_full
release_skipped = table.release_skipped
release_all = table.release_all


@clause("SLIDING.COMMON-PREFIX", level="L2", source="SlidingWindowManager.get_num_common_prefix_blocks")
def num_common_prefix_blocks(pool: Pool, tables: Mapping[str, Held], request_id: str) -> int:
    """Sliding windows have no common prefix: it may be null in one table and real in another."""
    return 0
