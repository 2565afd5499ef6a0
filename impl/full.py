"""Full attention: every block is needed for ever, so a hit is a run of cached blocks from the first on."""

from collections.abc import Sequence
from itertools import islice, takewhile
from operator import truth
from typing import cast

from kvwitness.impl.block import Key
from kvwitness.impl.index import Row
from kvwitness.impl.lookup import aligned_step, as_tables, context_width, demand_spec, num_full_blocks
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.specs import ChunkedLocalAttentionSpec, FullAttentionSpec, KVCacheSpec
from kvwitness.impl.table import BlockTable


class FullAttentionManager(SingleTypeKVCacheManager):
    """Tables without nulls; the only kind, with its sink variant, whose blocks context parallelism spreads."""

    spreads_over_devices = True

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
        """The cached run from the first block on, less the draft's block, cut to the alignment; hits + 1 probes.

        Fewer keys than ``max_length`` asks for are looked up as far as they go.

        Raises:
            RejectedAssertion: ``wrong_spec``, ``context_parallel_unsupported`` or ``alignment_unsupported``.
            RejectedValue: ``negative_count``.
        """
        demand_spec(cls, kv_cache_spec, FullAttentionSpec, ChunkedLocalAttentionSpec)
        block_size = kv_cache_spec.block_size * context_width(block_pool.profile, dcp_world_size, pcp_world_size)
        step = aligned_step(block_size, alignment_tokens)
        keys = islice(block_hashes, num_full_blocks(max_length, block_size))
        rows = cast("list[Row]", list(takewhile(truth, map(block_pool.finder(kv_cache_group_ids), keys))))
        num_blocks = max(0, len(rows) - 1) if use_eagle else len(rows)
        del rows[num_blocks - num_blocks % step :]
        return as_tables(block_pool.null_block, 0, rows, len(kv_cache_group_ids))

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """How many leading blocks of this request every request with a table holds; O(common blocks)."""
        table = self.req_to_blocks.get(running_request_id, ())
        num_requests = len(self.req_to_blocks)
        num_common_blocks = 0
        for block in table:
            if block.ref_cnt != num_requests:
                break
            num_common_blocks += 1
        return num_common_blocks

    def remove_skipped_blocks(self, request_id: str, total_computed_tokens: int) -> None:
        """Nothing: every block is read for ever; O(1)."""
