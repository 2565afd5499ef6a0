from typing import Any

import pytest

from kvwitness import impl


@pytest.mark.parametrize(
    ("spec", "manager"),
    [
        (impl.FullAttentionSpec(block_size=4), impl.FullAttentionManager),
        (impl.MLAAttentionSpec(block_size=4), impl.FullAttentionManager),
        (impl.SlidingWindowSpec(block_size=4, sliding_window=4), impl.SlidingWindowManager),
        (impl.ChunkedLocalAttentionSpec(block_size=4, attention_chunk_size=4), impl.ChunkedLocalAttentionManager),
        (impl.MambaSpec(4), impl.MambaManager),
        (impl.CrossAttentionSpec(block_size=4), impl.CrossAttentionManager),
        (impl.SinkFullAttentionSpec(block_size=4, sink_len=4), impl.SinkFullAttentionManager),
    ],
)
def test_each_spec_has_its_manager(spec: impl.KVCacheSpec, manager: type[Any]) -> None:
    pool = impl.BlockPool(4, enable_caching=False, hash_block_size=4)
    built = impl.get_manager_for_kv_cache_spec(spec, block_pool=pool, enable_caching=False, kv_cache_group_id=3)

    assert type(built) is manager
    assert (built.kv_cache_spec, built.block_pool, built.kv_cache_group_id, built.block_size) == (spec, pool, 3, 4)


def test_a_spec_without_a_manager_is_rejected() -> None:
    with pytest.raises(impl.RejectedKey, match="wrong_spec: got a KVCacheSpec"):
        impl.get_manager_for_kv_cache_spec(impl.KVCacheSpec(4))
