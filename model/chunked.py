"""Chunked local attention: a token reads its own chunk up to itself; at a chunk's start nothing earlier is needed."""

from collections.abc import Mapping

from kvwitness.model import table
from kvwitness.model.clauses import clause
from kvwitness.model.hits import IsCached, hit_table, longest_hit
from kvwitness.model.kinds import Config
from kvwitness.model.pool import Pool, Rejection
from kvwitness.model.table import Group, Held


@clause("CHUNKED.HIT.LONGEST", level="L2", source="ChunkedLocalAttentionManager.find_longest_cache_hit")
def look_up(group: Group, config: Config, *, num_keys: int, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """A chunked hit is the longest aligned length whose chunk is cached up to it, a chunk's start always being one, as
    (null blocks, cached blocks).
    """
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


estimate = table.estimate
adopt_hits = table.adopt_hits
take_external = table.take_external
grow = table.grow
publish_full = table.publish_full
release_skipped = table.release_skipped
release_all = table.release_all


@clause("CHUNKED.COMMON-PREFIX", level="L2", source="ChunkedLocalAttentionManager.get_num_common_prefix_blocks")
def num_common_prefix_blocks(pool: Pool, tables: Mapping[str, Held], request_id: str) -> int:
    """Chunked attention has no common prefix: it may be null in one table and real in another."""
    return 0
