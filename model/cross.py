"""Cross attention: every decoder token reads all encoder entries of its own request; nothing is shared or cached."""

from collections.abc import Mapping

from kvwitness.model import table
from kvwitness.model.calls import Blocks, Key
from kvwitness.model.clauses import clause
from kvwitness.model.hits import IsCached
from kvwitness.model.kinds import Config
from kvwitness.model.pool import Pool, Rejection
from kvwitness.model.table import Group, Held


@clause("CROSS.HIT.NONE", level="L2", source="CrossAttentionManager.find_longest_cache_hit")
def look_up(group: Group, config: Config, *, num_keys: int, max_length: int, is_cached: IsCached) -> tuple[int, int]:
    """Cross attention rejects look-ups: encoder entries belong to one request."""
    raise Rejection("caching_unsupported")


estimate = table.estimate


@clause("CROSS.ADOPT.NONE", level="L2", source="CrossAttentionManager.allocate_new_computed_blocks")
def adopt_hits(group: Group, pool: Pool, held: Held, *, hits: Blocks, num_local_tokens: int, num_external_tokens: int) -> tuple[Pool, Held]:
    """Cross attention adopts nothing and rejects hits."""
    if hits:
        raise Rejection("caching_unsupported")
    return pool, held


def take_external(group: Group, pool: Pool, held: Held, *, num_local_tokens: int, num_external_tokens: int) -> tuple[Pool, Held, Blocks]:
    """Nothing to take: external tokens are decoder tokens."""
    return pool, held, ()


grow = table.grow


@clause("CROSS.PUBLISH.NONE", level="L2", source="CrossAttentionManager.cache_blocks")
def publish_full(group: Group, pool: Pool, held: Held, *, keys: tuple[Key, ...], num_tokens: int) -> tuple[Pool, Held]:
    """Cross attention rejects publishing: nothing of it is cached."""
    raise Rejection("caching_unsupported")


release_skipped = table.release_skipped
release_all = table.release_all


@clause("CROSS.COMMON-PREFIX", level="L2", source="CrossAttentionManager.get_num_common_prefix_blocks")
def num_common_prefix_blocks(pool: Pool, tables: Mapping[str, Held], request_id: str) -> int:
    """Cross attention has no common prefix: encoder entries are not shared."""
    return 0
