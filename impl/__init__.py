"""The optimised implementation: the seed's block pool and single-type KV-cache managers, with the seed's names.

It shares no spec logic with `kvwitness.model`; only the plain `Profile` comes from there.
Block counts and token counts are told apart by their names: ``…_blocks`` and ``…_tokens``.
"""

from kvwitness.impl.block import HashedRequest, Key, KVCacheBlock
from kvwitness.impl.chunked import ChunkedLocalAttentionManager
from kvwitness.impl.cross import CrossAttentionManager
from kvwitness.impl.errors import (
    REASONS,
    CorruptState,
    Reason,
    Rejected,
    RejectedAssertion,
    RejectedIndex,
    RejectedKey,
    RejectedNotImplemented,
    RejectedValue,
)
from kvwitness.impl.factory import get_manager_for_kv_cache_spec, spec_manager_map
from kvwitness.impl.free_queue import FreeQueue
from kvwitness.impl.full import FullAttentionManager
from kvwitness.impl.hybrid import HybridKVCacheCoordinator
from kvwitness.impl.index import BlockIndex
from kvwitness.impl.mamba import MambaManager
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.merged import MergedKeys
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.sink import SinkFullAttentionManager
from kvwitness.impl.sliding import SlidingWindowManager
from kvwitness.impl.specs import (
    AttentionSpec,
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
)
from kvwitness.impl.table import BlockTable

__all__ = [
    "REASONS",
    "AttentionSpec",
    "BlockIndex",
    "BlockPool",
    "BlockTable",
    "ChunkedLocalAttentionManager",
    "ChunkedLocalAttentionSpec",
    "CorruptState",
    "CrossAttentionManager",
    "CrossAttentionSpec",
    "FreeQueue",
    "FullAttentionManager",
    "FullAttentionSpec",
    "HashedRequest",
    "HybridKVCacheCoordinator",
    "KVCacheBlock",
    "KVCacheSpec",
    "Key",
    "MLAAttentionSpec",
    "MambaManager",
    "MambaSpec",
    "MergedKeys",
    "Reason",
    "Rejected",
    "RejectedAssertion",
    "RejectedIndex",
    "RejectedKey",
    "RejectedNotImplemented",
    "RejectedValue",
    "SingleTypeKVCacheManager",
    "SinkFullAttentionManager",
    "SinkFullAttentionSpec",
    "SlidingWindowManager",
    "SlidingWindowSpec",
    "get_manager_for_kv_cache_spec",
    "spec_manager_map",
]
