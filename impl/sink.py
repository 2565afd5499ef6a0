"""Full attention with sink tokens: the first blocks of the pool are set apart for all requests."""

from kvwitness.impl.block import KVCacheBlock
from kvwitness.impl.errors import RejectedAssertion
from kvwitness.impl.full import FullAttentionManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.specs import SinkFullAttentionSpec


class SinkFullAttentionManager(FullAttentionManager):
    """A full attention manager whose sink lies in blocks of its own, outside every table.

    Attributes:
        sink_blocks: The blocks set apart, in order; none where the profile reserves none.
    """

    def __init__(
        self,
        kv_cache_spec: SinkFullAttentionSpec,
        block_pool: BlockPool,
        enable_caching: bool,
        kv_cache_group_id: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
    ) -> None:
        """Set the sink's blocks apart; O(sink blocks).

        Raises:
            RejectedAssertion: ``invalid_configuration`` for a sink that does not fill whole blocks,
                ``pool_exhausted`` for one that does not fit, ``context_parallel_unsupported``.
        """
        super().__init__(kv_cache_spec, block_pool, enable_caching, kv_cache_group_id, dcp_world_size, pcp_world_size)
        self.sink_blocks: list[KVCacheBlock] = []
        num_sink_blocks = _num_sink_blocks(kv_cache_spec.sink_len, self.block_size)
        if block_pool.profile.sink_reservation != "none":
            self.sink_blocks = block_pool.reserve(num_sink_blocks)


def _num_sink_blocks(sink_len: int | None, block_size: int) -> int:
    """How many whole blocks the sink fills.

    Raises:
        RejectedAssertion: ``invalid_configuration``.
    """
    if sink_len is None or sink_len < 1 or sink_len % block_size:
        allowed = f"a positive multiple of {block_size} tokens a block"
        remedy = "round it up to whole blocks, or use full attention for no sink"
        raise RejectedAssertion("invalid_configuration", f"sink_len {sink_len}", allowed, remedy)
    return sink_len // block_size
