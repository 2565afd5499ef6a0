"""Chunked local attention: a token reads its own chunk."""

from collections.abc import Sequence
from itertools import takewhile
from operator import truth
from typing import Any, cast

from kvwitness.impl.block import Key
from kvwitness.impl.errors import RejectedAssertion
from kvwitness.impl.index import Row
from kvwitness.impl.lookup import as_tables, demand_keys, demand_one_device, demand_spec, num_full_blocks
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.specs import ChunkedLocalAttentionSpec, KVCacheSpec
from kvwitness.impl.table import BlockTable


class ChunkedLocalAttentionManager(SingleTypeKVCacheManager):
    """Tables whose blocks before the current chunk are null."""

    def __init__(self, kv_cache_spec: ChunkedLocalAttentionSpec, **kwargs: Any) -> None:
        """As the base class, whose further arguments go by name."""
        super().__init__(kv_cache_spec, **kwargs)
        self.attention_chunk_size = kv_cache_spec.attention_chunk_size

    @classmethod
    def find_longest_cache_hit(
        cls,
        block_hashes: Sequence[Key],
        max_length: int,
        kv_cache_group_ids: list[int],
        block_pool: BlockPool,
        kv_cache_spec: KVCacheSpec,
        use_eagle: bool,
        alignment_tokens: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
    ) -> tuple[BlockTable, ...]:
        """Nulls up to the chunk that ``max_length`` lies in, then its cached blocks; hits + 1 probes, all within the chunk.

        Raises:
            RejectedAssertion: ``wrong_spec``, ``draft_drop_unsupported``, ``context_parallel_unsupported``
                or ``alignment_unsupported``.
            RejectedIndex: ``not_enough_keys``.
            RejectedValue: ``negative_count``.
        """
        spec = demand_spec(cls, kv_cache_spec, ChunkedLocalAttentionSpec)
        if use_eagle:
            raise RejectedAssertion("draft_drop_unsupported", "use_eagle True", "False for chunked attention", "run without a draft model")
        demand_one_device(cls, dcp_world_size, pcp_world_size)
        block_size, chunk = spec.block_size, spec.attention_chunk_size
        if alignment_tokens != block_size:
            got = f"alignment_tokens {alignment_tokens}"
            raise RejectedAssertion("alignment_unsupported", got, f"the block size {block_size}", "give all groups one block size")
        max_blocks = num_full_blocks(max_length, block_size)
        start = max_length // chunk * chunk // block_size
        if start < max_blocks:
            demand_keys(block_hashes, max_blocks)
        find = block_pool.finder(kv_cache_group_ids)
        rows = cast("list[Row]", list(takewhile(truth, map(find, block_hashes[start:max_blocks]))))
        return as_tables(block_pool.null_block, start, rows, len(kv_cache_group_ids))

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """The tokens before the next token's chunk; O(1)."""
        return num_computed_tokens // self.attention_chunk_size * self.attention_chunk_size

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """None: a table's front is null sooner or later; O(1)."""
        return 0
