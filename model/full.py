"""Full attention: every token reads all tokens before it, so nothing is skipped and a hit is an unbroken run from the start."""

from collections.abc import Mapping

from kvwitness.model import table
from kvwitness.model.clauses import clause
from kvwitness.model.hits import IsCached, hit_table, longest_hit
from kvwitness.model.kinds import Config
from kvwitness.model.pool import Pool
from kvwitness.model.table import Group, Held


@clause("FULL.HIT.LONGEST", level="L2", source="FullAttentionManager.find_longest_cache_hit")
def look_up(group: Group, config: Config, *, num_keys: int, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """A full-attention hit is the longest aligned run of cached blocks from the start, less the last one under a draft
    model, as (null blocks, cached blocks).
    """
    length = longest_hit(
        group.kind,
        group.profile,
        group.block,
        max_length=min(max_length, num_keys * group.block),
        alignment=config.hit_alignment,
        draft_drop=config.draft_model,
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


@clause("FULL.COMMON-PREFIX", level="L2", source="FullAttentionManager.get_num_common_prefix_blocks")
def num_common_prefix_blocks(pool: Pool, tables: Mapping[str, Held], request_id: str) -> int:
    """The common prefix is the leading blocks of the request that every request with a table holds."""
    common = 0
    for block in tables[request_id].blocks:
        if pool.references[block] != len(tables):
            break
        common += 1
    return common
