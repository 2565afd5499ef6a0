"""What all kinds do the same way, shown on full attention unless nulls are at stake."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from attrs import evolve

from kvwitness import impl
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile

KEYS = [f"k{number}" for number in range(20)]


class Request(NamedTuple):
    request_id: str
    block_hashes: list[str]


FULL = impl.FullAttentionSpec(block_size=4)
SLIDING = impl.SlidingWindowSpec(block_size=4, sliding_window=5)


def build(
    spec: impl.KVCacheSpec = FULL, blocks: int = 10, profile: Profile = VLLM_0_16, *, caching: bool = True
) -> impl.SingleTypeKVCacheManager:
    pool = impl.BlockPool(blocks, enable_caching=caching, hash_block_size=4, profile=profile)
    return impl.get_manager_for_kv_cache_spec(spec, block_pool=pool, enable_caching=caching, kv_cache_group_id=0)


def run(manager: impl.SingleTypeKVCacheManager, request_id: str, num_tokens: int) -> None:
    """Allocate and publish."""
    manager.allocate_new_blocks(request_id, num_tokens, num_tokens)
    manager.cache_blocks(Request(request_id, KEYS), num_tokens)


def hits(manager: impl.SingleTypeKVCacheManager, max_length: int) -> Any:
    return type(manager).find_longest_cache_hit(KEYS, max_length, [0], manager.block_pool, manager.kv_cache_spec, False, 4)[0]


def everything(manager: impl.SingleTypeKVCacheManager) -> Any:
    return manager.block_pool.snapshot(), manager.snapshot()


def test_blocks_are_allocated_for_whole_and_begun_blocks_only_once() -> None:
    manager = build()

    assert [block.block_id for block in manager.allocate_new_blocks("a", 5, 5)] == [1, 2]
    assert manager.allocate_new_blocks("a", 8, 8) == []
    assert [block.block_id for block in manager.allocate_new_blocks("a", 9, 9)] == [3]
    assert manager.snapshot() == ({"a": (1, 2, 3)}, {})


def test_the_list_that_allocation_returns_is_the_callers_own() -> None:
    manager = build()
    manager.allocate_new_blocks("a", 5, 5).clear()

    assert manager.snapshot()[0] == {"a": (1, 2)}


def test_a_request_that_needs_nothing_has_no_table() -> None:
    manager = build(SLIDING)
    manager.allocate_new_blocks("a", 0, 0)
    manager.remove_skipped_blocks("a", 9)
    manager.cache_blocks(Request("a", KEYS), 3)

    assert manager.snapshot() == ({}, {})


def test_only_full_blocks_are_published_and_each_once() -> None:
    manager = build()
    run(manager, "a", 7)
    assert (manager.snapshot()[1], manager.block_pool.snapshot()[3]) == ({"a": 1}, {(0, "k0"): (1,)})
    run(manager, "a", 8)

    assert (manager.snapshot()[1], manager.block_pool.snapshot()[3]) == ({"a": 2}, {(0, "k0"): (1,), (0, "k1"): (2,)})


def test_freed_blocks_are_reused_from_the_tail_of_the_request() -> None:
    manager = build(blocks=6)
    run(manager, "a", 12)
    manager.free("a")

    assert everything(manager) == (
        ((4, 5, 3, 2, 1), (0,) * 6, manager.block_pool.snapshot()[2], manager.block_pool.snapshot()[3], ()),
        ({}, {}),
    )
    assert hits(manager, 12).ids() == (1, 2, 3)


def test_freeing_an_unknown_request_does_nothing() -> None:
    manager = build()
    run(manager, "a", 4)
    before = everything(manager)
    manager.free("b")

    assert everything(manager) == before


def test_adopted_hits_are_shared_and_count_as_published() -> None:
    manager = build()
    run(manager, "a", 8)
    manager.allocate_new_computed_blocks("b", hits(manager, 8), 8, 0)

    assert manager.snapshot() == ({"a": (1, 2), "b": (1, 2)}, {"a": 2, "b": 2})
    assert manager.block_pool.snapshot()[1][:3] == (0, 2, 2)
    manager.block_pool.check([manager])


def test_a_hit_that_waits_in_the_free_queue_costs_a_free_block() -> None:
    manager = build()
    run(manager, "a", 8)
    held = hits(manager, 8)
    assert manager.get_num_blocks_to_allocate("b", 9, held, 8, 9) == 1
    manager.free("a")

    assert manager.get_num_blocks_to_allocate("b", 9, held, 8, 9) == 3


def test_the_estimate_is_what_adoption_and_allocation_take() -> None:
    manager = build(SLIDING)
    run(manager, "a", 16)
    manager.free("a")
    found = hits(manager, 16)
    before = manager.block_pool.get_num_free_blocks()
    estimate = manager.get_num_blocks_to_allocate("b", 21, found, 20, 21)
    manager.allocate_new_computed_blocks("b", found, 16, 4)
    manager.allocate_new_blocks("b", 21, 21)

    assert before - manager.block_pool.get_num_free_blocks() == estimate == 2
    assert manager.snapshot()[0]["b"][:4] == (0, 0, 0, 0)


def test_a_shrinking_need_of_a_running_request_is_estimated_as_nothing() -> None:
    manager = build()
    run(manager, "a", 12)

    assert manager.get_num_blocks_to_allocate("a", 4, [], 4, 4) == 0


def test_external_tokens_get_blocks_though_nothing_is_hit() -> None:
    manager = build()
    manager.allocate_new_computed_blocks("a", [], 0, 6)

    assert manager.snapshot() == ({"a": (1, 2)}, {"a": 0})


def test_adoption_without_hits_or_tokens_only_marks_the_request() -> None:
    manager = build()
    manager.allocate_new_computed_blocks("a", [], 0, 0)

    assert manager.snapshot() == ({}, {"a": 0})


def test_external_tokens_of_a_running_request_change_nothing() -> None:
    manager = build()
    manager.allocate_new_computed_blocks("a", [], 0, 4)
    before = everything(manager)
    manager.allocate_new_computed_blocks("a", [], 0, 12)

    assert everything(manager) == before


def test_adoption_is_its_two_phases_in_sequence() -> None:
    at_once, in_phases = build(SLIDING), build(SLIDING)
    for manager in (at_once, in_phases):
        run(manager, "a", 8)
        manager.free("a")
    at_once.allocate_new_computed_blocks("b", hits(at_once, 8), 8, 5)
    in_phases.add_local_computed_blocks("b", hits(in_phases, 8), 8, 5)
    assert in_phases.snapshot()[0] == {"b": (0, 0)}
    in_phases.allocate_external_computed_blocks("b", 8, 5)

    assert everything(in_phases) == everything(at_once)
    assert at_once.snapshot()[0] == {"b": (0, 0, 3, 4)}


def test_the_second_phase_alone_changes_nothing() -> None:
    manager = build()
    manager.allocate_external_computed_blocks("a", 0, 8)

    assert manager.snapshot() == ({}, {})


def test_a_request_that_runs_gets_no_blocks_in_the_second_phase() -> None:
    manager = build()
    for _ in range(2):
        manager.add_local_computed_blocks("a", [], 0, 8)
    manager.allocate_external_computed_blocks("a", 0, 8)

    assert manager.snapshot() == ({}, {"a": 0})


def test_the_second_phase_takes_blocks_once() -> None:
    manager = build()
    manager.add_local_computed_blocks("a", [], 0, 4)
    manager.allocate_external_computed_blocks("a", 0, 4)
    manager.allocate_external_computed_blocks("a", 0, 12)

    assert manager.snapshot()[0] == {"a": (1,)}


def test_blocks_that_the_hits_take_off_the_queue_are_no_room_for_external_tokens() -> None:
    manager = build(blocks=6)
    run(manager, "a", 8)
    manager.free("a")
    before = everything(manager)
    with pytest.raises(impl.RejectedValue, match="got 4 blocks for external tokens; allowed is 3 free ones"):
        manager.allocate_new_computed_blocks("b", hits(manager, 8), 8, 16)

    assert everything(manager) == before


def test_leading_nulls_of_a_hit_are_counted_on_the_null_block_where_the_profile_counts_them() -> None:
    manager = build(SLIDING)
    run(manager, "a", 16)
    table = impl.BlockTable(manager.block_pool.null_block, 3, [manager.req_to_blocks["a"][3]])
    manager.allocate_new_computed_blocks("b", table, 8, 0)

    assert manager.snapshot()[0]["b"] == (0, 0, 0, 4)
    assert manager.block_pool.null_block.ref_cnt == 2
    manager.free("b")
    assert manager.block_pool.null_block.ref_cnt == -1


def test_skipped_blocks_are_released_the_last_first_and_once() -> None:
    manager = build(SLIDING, blocks=6)
    run(manager, "a", 16)
    manager.remove_skipped_blocks("a", 13)

    assert manager.snapshot()[0] == {"a": (0, 0, 3, 4)}
    assert manager.block_pool.snapshot()[0] == (5, 2, 1)
    before = everything(manager)
    manager.remove_skipped_blocks("a", 15)
    assert everything(manager) == before


def test_a_decode_step_after_a_long_prompt_visits_no_null() -> None:
    manager = build(SLIDING, blocks=40)
    manager.allocate_new_blocks("a", 120, 120)
    manager.remove_skipped_blocks("a", 120)

    assert (manager.req_to_blocks["a"].num_nulls, len(manager.req_to_blocks["a"].tail)) == (29, 1)


class Rejection(NamedTuple):
    call: Callable[[impl.SingleTypeKVCacheManager], Any]
    kind: type[Exception]
    reason: str


def start_with_hits(manager: impl.SingleTypeKVCacheManager, request_id: str, external: int = 0) -> None:
    manager.allocate_new_computed_blocks(request_id, hits(manager, 8), 8, external)


REJECTIONS = {
    "more blocks than are free": Rejection(lambda m: m.allocate_new_blocks("a", 99, 99), ValueError, "pool_exhausted"),
    "a new request with more blocks than are free": Rejection(lambda m: m.allocate_new_blocks("new", 99, 99), ValueError, "pool_exhausted"),
    "publishing for nobody": Rejection(lambda m: m.cache_blocks(Request("new", KEYS), 4), AssertionError, "unknown_request"),
    "publishing more than is held": Rejection(lambda m: m.cache_blocks(Request("a", KEYS), 16), AssertionError, "publish_unallocated"),
    "publishing for an adopted request without blocks": Rejection(
        lambda m: m.cache_blocks(Request("marked", KEYS), 4), AssertionError, "unknown_request"
    ),
    "publishing past the keys": Rejection(lambda m: m.cache_blocks(Request("a", KEYS[:2]), 12), AssertionError, "not_enough_keys"),
    "publishing a keyed block": Rejection(lambda m: m.cache_blocks(Request("keyed", KEYS), 4), AssertionError, "block_already_keyed"),
    "hits for a request with blocks": Rejection(lambda m: start_with_hits(m, "unpublished"), AssertionError, "request_has_blocks"),
    "hits for a running request": Rejection(lambda m: start_with_hits(m, "a"), AssertionError, "hits_for_running_request"),
    "an estimate with hits for a running request": Rejection(
        lambda m: m.get_num_blocks_to_allocate("a", 12, hits(m, 8), 8, 12), AssertionError, "hits_for_running_request"
    ),
    "external tokens that do not fit": Rejection(lambda m: start_with_hits(m, "new", 30), ValueError, "pool_exhausted"),
    "external tokens behind too many hits": Rejection(
        lambda m: m.allocate_new_computed_blocks("new", hits(m, 8), 2, 1), ValueError, "negative_count"
    ),
    "the second phase with tokens that do not fit": Rejection(
        lambda m: m.allocate_external_computed_blocks("marked", 0, 99), ValueError, "pool_exhausted"
    ),
}


@pytest.mark.parametrize("profile", [VLLM_0_16, SOUND], ids=lambda profile: profile.name)
@pytest.mark.parametrize("name", REJECTIONS)
def test_a_rejected_call_changes_nothing(name: str, profile: Profile) -> None:
    call, kind, reason = REJECTIONS[name]
    manager = build(profile=evolve(profile, estimate_floor="raw"))
    run(manager, "a", 8)
    manager.allocate_new_blocks("a", 12, 12)
    manager.allocate_new_blocks("unpublished", 4, 4)
    manager.allocate_new_blocks("keyed", 4, 4)
    manager.block_pool.index.insert(manager.req_to_blocks["keyed"][0], "other", 0)
    manager.add_local_computed_blocks("marked", [], 0, 0)
    before = everything(manager)
    with pytest.raises(kind) as rejected:
        call(manager)

    assert isinstance(rejected.value, impl.Rejected)
    assert rejected.value.reason == reason
    assert everything(manager) == before
    manager.block_pool.check([manager])


def test_external_tokens_behind_too_many_hits_take_nothing_where_counts_stop_at_zero() -> None:
    manager = build(profile=SOUND)
    run(manager, "a", 8)
    manager.allocate_new_computed_blocks("b", hits(manager, 8), 2, 1)

    assert manager.snapshot()[0]["b"] == (1, 2)


def test_hits_without_caching_are_rejected() -> None:
    manager = build(caching=False)
    blocks = manager.allocate_new_blocks("a", 4, 4)
    before = everything(manager)
    with pytest.raises(impl.RejectedAssertion, match="hits_without_caching"):
        manager.allocate_new_computed_blocks("b", blocks, 4, 0)

    assert everything(manager) == before


def test_freeing_blocks_that_someone_else_released_is_rejected_and_changes_nothing() -> None:
    manager = build()
    manager.block_pool.free_blocks(manager.allocate_new_blocks("a", 8, 8)[:1])
    before = everything(manager)
    with pytest.raises(impl.RejectedValue, match="block_not_referenced"):
        manager.free("a")

    assert everything(manager) == before


@pytest.mark.parametrize("sizes", [(2, 1), (1, 2), (0, 1)])
def test_kinds_that_are_not_spread_over_devices_reject_it(sizes: tuple[int, int]) -> None:
    pool = impl.BlockPool(4, enable_caching=True, hash_block_size=4)
    with pytest.raises(impl.RejectedAssertion, match="context_parallel_unsupported"):
        impl.SlidingWindowManager(
            SLIDING, block_pool=pool, enable_caching=True, kv_cache_group_id=0, dcp_world_size=sizes[0], pcp_world_size=sizes[1]
        )


def test_a_profile_may_have_blocks_widened_by_decode_parallelism_alone() -> None:
    widths = []
    for profile in (VLLM_0_16, evolve(VLLM_0_16, context_parallel="dcp")):
        pool = impl.BlockPool(4, enable_caching=True, hash_block_size=4, profile=profile)
        widths.append(impl.FullAttentionManager(FULL, pool, True, 0, 2, 3).block_size)

    assert widths == [24, 8]


SPOILT: dict[str, Callable[[impl.SingleTypeKVCacheManager], Any]] = {
    "tables: that of 'b' is empty": lambda m: m.req_to_blocks.update(b=impl.BlockTable(m.block_pool.null_block)),
    "the null prefix of 'a' is longer": lambda m: m.req_to_blocks["a"].tail.insert(0, m.block_pool.null_block),
    "tables: that of 'a' holds a block twice": lambda m: m.req_to_blocks["a"].tail.append(m.req_to_blocks["a"][0]),
    "'a' counts 3 blocks, more than it has": lambda m: m.num_cached_block.update(a=3),
}


@pytest.mark.parametrize("found", SPOILT)
def test_spoilt_books_are_found_out(found: str) -> None:
    manager = build()
    run(manager, "a", 8)
    manager.check()
    SPOILT[found](manager)
    with pytest.raises(impl.CorruptState, match=found):
        manager.check()
