"""From a spec to its manager."""

from typing import Any

from kvwitness.impl.chunked import ChunkedLocalAttentionManager
from kvwitness.impl.cross import CrossAttentionManager
from kvwitness.impl.errors import RejectedKey
from kvwitness.impl.full import FullAttentionManager
from kvwitness.impl.mamba import MambaManager
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.sink import SinkFullAttentionManager
from kvwitness.impl.sliding import SlidingWindowManager
from kvwitness.impl.specs import (
    ChunkedLocalAttentionSpec,
    CrossAttentionSpec,
    FullAttentionSpec,
    KVCacheSpec,
    MambaSpec,
    MLAAttentionSpec,
    SinkFullAttentionSpec,
    SlidingWindowSpec,
)

spec_manager_map: dict[type[KVCacheSpec], type[SingleTypeKVCacheManager]] = {
    FullAttentionSpec: FullAttentionManager,
    MLAAttentionSpec: FullAttentionManager,
    SlidingWindowSpec: SlidingWindowManager,
    ChunkedLocalAttentionSpec: ChunkedLocalAttentionManager,
    MambaSpec: MambaManager,
    CrossAttentionSpec: CrossAttentionManager,
    SinkFullAttentionSpec: SinkFullAttentionManager,
}
"""Which manager serves which spec; by exact class, since a sink's spec is also a full one."""


def get_manager_for_kv_cache_spec(kv_cache_spec: KVCacheSpec, **kwargs: Any) -> SingleTypeKVCacheManager:
    """The manager of a group, built from its spec and the manager's other arguments by name; O(1).

    Raises:
        RejectedKey: ``wrong_spec`` for a class without a manager.
    """
    manager = spec_manager_map.get(type(kv_cache_spec))
    if manager is None:
        allowed = ", ".join(spec.__name__ for spec in spec_manager_map)
        raise RejectedKey("wrong_spec", f"a {type(kv_cache_spec).__name__}", allowed, "register its manager in spec_manager_map")
    return manager(kv_cache_spec, **kwargs)
