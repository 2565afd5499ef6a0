from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwitness import impl

SPEC = impl.ChunkedLocalAttentionSpec(block_size=4, attention_chunk_size=8)


def cached_pool(cached: set[int]) -> impl.BlockPool:
    """Block 1 + i is cached under key i."""
    pool = impl.BlockPool(12, enable_caching=True, hash_block_size=4)
    for key in sorted(cached):
        pool.index.insert(pool.blocks[1 + key], key, 0)
    return pool


def look_up(pool: impl.BlockPool, max_length: int, spec: impl.KVCacheSpec = SPEC, keys: range = range(10)) -> tuple[int, ...]:
    return impl.ChunkedLocalAttentionManager.find_longest_cache_hit(keys, max_length, [0], pool, spec, False, 4)[0].ids()


def test_blocks_before_the_chunk_are_null_whether_or_not_they_are_cached() -> None:
    assert look_up(cached_pool({2}), 15) == (0, 0, 3)
    assert look_up(cached_pool({0, 1}), 15) == (0, 0)


def test_at_the_end_of_a_chunk_nothing_needs_to_be_cached() -> None:
    assert look_up(cached_pool(set()), 16) == (0, 0, 0, 0)
    assert look_up(cached_pool(set()), 16, keys=range(0)) == (0, 0, 0, 0)


def test_a_hit_ends_at_the_first_miss_in_the_chunk() -> None:
    spec = impl.ChunkedLocalAttentionSpec(block_size=4, attention_chunk_size=16)

    assert look_up(cached_pool({4, 5, 7}), 31, spec) == (0, 0, 0, 0, 5, 6)


def test_nothing_is_hit_within_nothing() -> None:
    assert look_up(cached_pool({0}), 0) == ()


@pytest.mark.parametrize(
    ("spec", "drop", "alignment", "dcp", "max_length", "kind", "reason"),
    [
        (impl.FullAttentionSpec(block_size=4), False, 4, 1, 8, AssertionError, "wrong_spec"),
        (SPEC, True, 4, 1, 8, AssertionError, "draft_drop_unsupported"),
        (SPEC, False, 4, 2, 8, AssertionError, "context_parallel_unsupported"),
        (SPEC, False, 8, 1, 8, AssertionError, "alignment_unsupported"),
        (SPEC, False, 4, 1, 15, IndexError, "not_enough_keys"),
        (SPEC, False, 4, 1, -1, ValueError, "negative_count"),
    ],
)
def test_a_look_up_that_cannot_be_answered_is_rejected(
    spec: Any, drop: bool, alignment: int, dcp: int, max_length: int, kind: type[Exception], reason: str
) -> None:
    with pytest.raises(kind) as rejected:
        impl.ChunkedLocalAttentionManager.find_longest_cache_hit([0, 1], max_length, [0], cached_pool({0}), spec, drop, alignment, dcp)

    assert isinstance(rejected.value, impl.Rejected)
    assert rejected.value.reason == reason


@given(st.integers(0, 60), st.integers(1, 20))
def test_the_skipped_tokens_are_those_before_the_chunk_of_the_next_token(computed: int, chunk: int) -> None:
    pool = impl.BlockPool(2, enable_caching=True, hash_block_size=4)
    spec = impl.ChunkedLocalAttentionSpec(block_size=4, attention_chunk_size=chunk)
    manager = impl.ChunkedLocalAttentionManager(spec, block_pool=pool, enable_caching=True, kv_cache_group_id=0)
    skipped = [token for token in range(computed) if token // chunk != computed // chunk]

    assert manager.get_num_skipped_tokens(computed) == len(skipped)
    assert manager.get_num_common_prefix_blocks("a") == 0


def test_a_table_keeps_the_blocks_of_its_chunk() -> None:
    pool = impl.BlockPool(8, enable_caching=True, hash_block_size=4)
    manager = impl.ChunkedLocalAttentionManager(SPEC, block_pool=pool, enable_caching=True, kv_cache_group_id=0)
    manager.allocate_new_blocks("a", 15, 15)
    manager.remove_skipped_blocks("a", 14)

    assert manager.snapshot()[0] == {"a": (0, 0, 3, 4)}
