from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kvwitness import impl
from kvwitness.model.profile import VLLM_0_16

SPEC = impl.FullAttentionSpec(block_size=4)


def cached_pool(cached: set[int], groups: int = 1, profile: Any = VLLM_0_16) -> impl.BlockPool:
    """Key i is cached in every group for each i in ``cached``; group g's block for it is 1 + 20 g + i."""
    pool = impl.BlockPool(1 + 20 * groups, enable_caching=True, hash_block_size=4, profile=profile)
    for group in range(groups):
        for key in sorted(cached):
            pool.index.insert(pool.blocks[1 + 20 * group + key], key, group)
    return pool


def look_up(
    pool: impl.BlockPool, max_length: int, groups: int = 1, *, drop: bool = False, alignment: int = 4, **sizes: int
) -> list[tuple[int, ...]]:
    found = impl.FullAttentionManager.find_longest_cache_hit(
        range(12), max_length, list(range(groups)), pool, SPEC, drop, alignment, **sizes
    )
    return [table.ids() for table in found]


def test_a_hit_is_the_cached_run_from_the_first_block_on() -> None:
    assert look_up(cached_pool({0, 1, 3}), 40) == [(1, 2)]


def test_a_hit_is_capped_in_whole_blocks() -> None:
    assert look_up(cached_pool({0, 1, 2}), 11) == [(1, 2)]


def test_all_groups_must_have_a_block_and_each_gets_its_own() -> None:
    pool = cached_pool({0, 1, 2}, groups=2)
    pool.evict_blocks({23})

    assert look_up(pool, 40, groups=2) == [(1, 2), (21, 22)]


def test_a_draft_model_recomputes_the_last_block() -> None:
    assert look_up(cached_pool({0, 1, 2}), 40, drop=True) == [(1, 2)]
    assert look_up(cached_pool(set()), 40, drop=True) == [()]


@given(st.integers(0, 12), st.integers(0, 48), st.booleans(), st.integers(1, 20))
def test_a_hit_is_the_longest_aligned_length_within_the_run(run: int, max_length: int, drop: bool, alignment: int) -> None:
    matched = max(0, min(run, max_length // 4) - drop)
    expected = max(blocks for blocks in range(matched + 1) if blocks * 4 % alignment == 0)

    assert look_up(cached_pool(set(range(run))), max_length, drop=drop, alignment=alignment) == [tuple(range(1, expected + 1))]


def test_context_parallelism_widens_a_block_for_the_cap() -> None:
    pool = cached_pool({0, 1, 2})

    assert look_up(pool, 31, alignment=16, dcp_world_size=2, pcp_world_size=2) == [(1,)]
    narrow = cached_pool({0, 1, 2}, profile=evolve(VLLM_0_16, context_parallel="dcp"))
    assert look_up(narrow, 31, alignment=8, dcp_world_size=2, pcp_world_size=2) == [(1, 2, 3)]


def test_fewer_keys_than_the_cap_asks_for_are_looked_up_as_far_as_they_go() -> None:
    (found,) = impl.FullAttentionManager.find_longest_cache_hit([0, 1], 99, [0], cached_pool({0, 1, 2}), SPEC, False, 4)

    assert found.ids() == (1, 2)


def test_a_chunked_group_may_be_looked_up_as_a_full_one() -> None:
    spec = impl.ChunkedLocalAttentionSpec(block_size=4, attention_chunk_size=8)
    (found,) = impl.FullAttentionManager.find_longest_cache_hit([0, 1], 8, [0], cached_pool({0, 1}), spec, False, 4)

    assert found.ids() == (1, 2)


def test_a_look_up_changes_nothing() -> None:
    pool = cached_pool({0, 1})
    before = pool.snapshot()
    look_up(pool, 40)

    assert pool.snapshot() == before


@pytest.mark.parametrize(
    ("spec", "max_length", "alignment", "dcp", "reason"),
    [
        (impl.MambaSpec(4), 8, 4, 1, "wrong_spec"),
        (SPEC, -1, 4, 1, "negative_count"),
        (SPEC, 8, 0, 1, "alignment_unsupported"),
        (SPEC, 8, 4, 0, "context_parallel_unsupported"),
    ],
)
def test_a_look_up_that_cannot_be_answered_is_rejected(spec: Any, max_length: int, alignment: int, dcp: int, reason: str) -> None:
    with pytest.raises(impl.Rejected) as rejected:
        impl.FullAttentionManager.find_longest_cache_hit([0, 1], max_length, [0], cached_pool({0}), spec, False, alignment, dcp)

    assert rejected.value.reason == reason


def test_the_common_prefix_is_what_every_request_holds() -> None:
    pool = impl.BlockPool(9, enable_caching=True, hash_block_size=4)
    manager = impl.FullAttentionManager(SPEC, pool, enable_caching=True, kv_cache_group_id=0)
    shared = manager.allocate_new_blocks("a", 12, 12)
    assert manager.get_num_common_prefix_blocks("a") == 3
    manager.allocate_new_computed_blocks("b", shared[:2], 8, 0)
    manager.allocate_new_blocks("b", 12, 12)

    assert [manager.get_num_common_prefix_blocks(request) for request in ("a", "b", "unknown")] == [2, 2, 0]
    manager.free("a")
    assert manager.get_num_common_prefix_blocks("b") == 3


def test_full_attention_releases_nothing() -> None:
    pool = impl.BlockPool(9, enable_caching=True, hash_block_size=4)
    manager = impl.FullAttentionManager(SPEC, pool, enable_caching=True, kv_cache_group_id=0)
    manager.allocate_new_blocks("a", 12, 12)
    manager.remove_skipped_blocks("a", 12)

    assert manager.get_num_skipped_tokens(12) == 0
    assert manager.snapshot()[0] == {"a": (1, 2, 3)}
