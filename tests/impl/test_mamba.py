from typing import Any, NamedTuple

import pytest
from attrs import evolve

from kvwitness import impl
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile, ReleaseLag

KEYS = [f"k{number}" for number in range(12)]


class Request(NamedTuple):
    request_id: str
    block_hashes: list[str]


def build(mode: Any = "align", drafts: int = 0, blocks: int = 12, profile: Profile = VLLM_0_16) -> impl.MambaManager:
    pool = impl.BlockPool(blocks, enable_caching=True, hash_block_size=4, profile=profile)
    spec = impl.MambaSpec(4, mamba_cache_mode=mode, num_speculative_blocks=drafts)
    return impl.MambaManager(spec, block_pool=pool, enable_caching=True, kv_cache_group_id=0)


def grow(manager: impl.MambaManager, num_tokens: int, request_id: str = "a") -> list[int]:
    return [block.block_id for block in manager.allocate_new_blocks(request_id, num_tokens + 3, num_tokens)]


def look_up(manager: impl.MambaManager, max_length: int, alignment: int = 4) -> impl.BlockTable:
    return impl.MambaManager.find_longest_cache_hit(KEYS, max_length, [0], manager.block_pool, manager.kv_cache_spec, False, alignment)[0]


def test_a_hit_is_the_last_cached_state_behind_nulls() -> None:
    manager = build("all")
    manager.allocate_new_blocks("a", 16, 16)
    manager.cache_blocks(Request("a", KEYS), 16)

    assert look_up(manager, 15).ids() == (0, 0, 3)
    assert look_up(manager, 15, 8).ids() == (0, 2)
    assert look_up(manager, 3).ids() == ()


def test_a_draft_model_drops_no_state() -> None:
    manager = build("all")
    manager.allocate_new_blocks("a", 8, 8)
    manager.cache_blocks(Request("a", KEYS), 8)
    (found,) = impl.MambaManager.find_longest_cache_hit(KEYS, 9, [0], manager.block_pool, manager.kv_cache_spec, True, 4)

    assert found.ids() == (0, 2)


def test_mode_all_keeps_a_block_for_every_draft_and_releases_all_states_but_the_last() -> None:
    manager = build("all", drafts=2)

    assert manager.get_num_blocks_to_allocate("a", 8, [], 0, 8) == 4
    assert len(manager.allocate_new_blocks("a", 8, 8)) == 4
    manager.remove_skipped_blocks("a", 9)
    assert manager.snapshot()[0] == {"a": (0, 0, 3, 4)}


def test_an_align_table_has_nulls_up_to_the_running_state() -> None:
    manager = build(drafts=2)

    assert manager.get_num_blocks_to_allocate("a", 99, [], 0, 10) == 3
    assert grow(manager, 10) == [0, 0, 1, 2, 3]
    assert manager.snapshot()[0] == {"a": (0, 0, 1, 2, 3)}


def test_a_running_align_table_moves_its_draft_blocks_and_takes_one_block_at_most() -> None:
    manager = build(drafts=2)
    grow(manager, 4)
    assert manager.snapshot()[0] == {"a": (1, 2, 3)}

    assert manager.get_num_blocks_to_allocate("a", 20, [], 4, 20) == 1
    assert grow(manager, 20) == [0, 2, 3, 4]
    assert manager.snapshot()[0] == {"a": (1, 0, 0, 0, 2, 3, 4)}
    assert manager.last_state_block_idx == {"a": 0}
    manager.check()


def test_a_step_of_one_block_moves_one_draft_block_only() -> None:
    manager = build(drafts=2)
    grow(manager, 4)

    assert grow(manager, 8) == [4]
    assert manager.snapshot()[0] == {"a": (1, 2, 3, 4)}


def test_the_state_a_step_started_from_is_released_in_the_step_after() -> None:
    manager = build()
    for num_tokens in (4, 12, 16):
        grow(manager, num_tokens)
        if num_tokens == 12:
            assert manager.snapshot()[0] == {"a": (1, 0, 2)}
            manager.remove_skipped_blocks("a", 12)

    assert manager.snapshot()[0] == {"a": (0, 0, 2, 3)}
    assert manager.last_state_block_idx == {"a": 2}


def test_the_state_a_step_started_from_stays_while_it_is_the_last_computed() -> None:
    manager = build()
    grow(manager, 4)
    grow(manager, 12)
    manager.remove_skipped_blocks("a", 4)

    assert manager.snapshot()[0] == {"a": (1, 0, 2)}


def test_growing_within_the_same_block_takes_nothing() -> None:
    manager = build(drafts=1)
    grow(manager, 5)
    before = manager.snapshot(), manager.block_pool.snapshot()

    assert (manager.get_num_blocks_to_allocate("a", 8, [], 5, 8), grow(manager, 8)) == (0, [])
    assert (manager.snapshot(), manager.block_pool.snapshot()) == before


def test_an_adopted_state_is_the_one_the_first_step_starts_from() -> None:
    manager = build()
    grow(manager, 8)
    manager.cache_blocks(Request("a", KEYS), 8)
    manager.free("a")
    found = look_up(manager, 11)
    assert manager.get_num_blocks_to_allocate("b", 12, found, 8, 12) == 2
    manager.allocate_new_computed_blocks("b", found, 8, 0)
    grow(manager, 12, "b")

    assert manager.snapshot() == ({"b": (0, 1, 2)}, {"b": 2})
    assert manager.last_state_block_idx == {"b": 1}


def test_null_places_of_an_align_table_are_not_published() -> None:
    manager = build()
    grow(manager, 8)
    manager.cache_blocks(Request("a", KEYS), 8)

    assert (manager.snapshot()[1], manager.block_pool.snapshot()[3]) == ({"a": 2}, {(0, "k1"): (1,)})


def test_a_freed_request_of_the_same_name_starts_anew() -> None:
    manager = build(drafts=1)
    grow(manager, 4)
    grow(manager, 8)
    manager.free("a")

    assert manager.last_state_block_idx == {}
    assert manager.get_num_blocks_to_allocate("a", 4, [], 0, 4) == 2
    manager.block_pool.check([manager])


def test_a_need_that_shrinks_is_rejected_or_answered_with_nothing_as_the_profile_says() -> None:
    raising, forgiving = build(), build(profile=SOUND)
    for manager in (raising, forgiving):
        grow(manager, 8)
    before = raising.snapshot(), raising.block_pool.snapshot()
    with pytest.raises(impl.RejectedAssertion, match="requirement_shrinks"):
        grow(raising, 4)

    assert (raising.snapshot(), raising.block_pool.snapshot()) == before
    assert grow(forgiving, 4) == []


def test_the_estimate_of_a_shrinking_need_stops_at_zero_where_the_profile_says_so() -> None:
    estimates = []
    for profile in (VLLM_0_16, SOUND):
        manager = build(profile=profile)
        grow(manager, 8)
        estimates.append(manager.get_num_blocks_to_allocate("a", 4, [], 4, 4))

    assert estimates == [-1, 0]


def test_growing_without_room_is_rejected_and_changes_nothing() -> None:
    manager = build(drafts=2, blocks=4)
    grow(manager, 4)
    before = manager.snapshot(), manager.block_pool.snapshot(), dict(manager.last_state_block_idx)
    with pytest.raises(impl.RejectedValue, match="pool_exhausted"):
        grow(manager, 20)

    assert (manager.snapshot(), manager.block_pool.snapshot(), dict(manager.last_state_block_idx)) == before


@pytest.mark.parametrize(("lag", "table"), [("none", (0, 0, 3)), ("drafts", (0, 2, 3))])
def test_release_may_stay_behind_by_the_drafts(lag: ReleaseLag, table: tuple[int, ...]) -> None:
    manager = build("none", drafts=1, profile=evolve(VLLM_0_16, mamba_release_lag=lag))
    manager.allocate_new_blocks("a", 8, 8)
    manager.remove_skipped_blocks("a", 9)

    assert manager.snapshot()[0] == {"a": table}


@pytest.mark.parametrize("mode", ["align", "all"])
def test_a_hit_on_a_state_of_this_very_step_is_put_off_under_the_guard(mode: str) -> None:
    guarded, unguarded = build(mode, profile=SOUND), build(mode)
    for manager in (guarded, unguarded):
        grow(manager, 8)
        manager.cache_blocks(Request("a", KEYS), 8)

    assert unguarded.get_num_blocks_to_allocate("b", 12, look_up(unguarded, 11), 8, 12) == 1
    assert guarded.get_num_blocks_to_allocate("b", 12, look_up(guarded, 11), 8, 12) == guarded.block_pool.num_gpu_blocks + 1
    guarded.free("a")
    assert guarded.get_num_blocks_to_allocate("b", 12, look_up(guarded, 11), 8, 12) == guarded.block_pool.num_gpu_blocks + 1
    guarded.new_step_starts()
    assert guarded.get_num_blocks_to_allocate("b", 12, look_up(guarded, 11), 8, 12) == 2


def test_caching_may_be_limited_to_mode_align() -> None:
    align_only = evolve(VLLM_0_16, mamba_caching="align_only")
    with pytest.raises(impl.RejectedAssertion, match="caching_unsupported"):
        build("all", profile=align_only)

    assert build("align", profile=align_only).enable_caching


@pytest.mark.parametrize(
    ("spec", "max_length", "dcp", "kind", "reason"),
    [
        (impl.FullAttentionSpec(block_size=4), 8, 1, AssertionError, "wrong_spec"),
        (impl.MambaSpec(4), 8, 2, AssertionError, "context_parallel_unsupported"),
        (impl.MambaSpec(4), 12, 1, IndexError, "not_enough_keys"),
        (impl.MambaSpec(4), -1, 1, ValueError, "negative_count"),
    ],
)
def test_a_look_up_that_cannot_be_answered_is_rejected(spec: Any, max_length: int, dcp: int, kind: type[Exception], reason: str) -> None:
    with pytest.raises(kind) as rejected:
        impl.MambaManager.find_longest_cache_hit(["k0", "k1"], max_length, [0], build().block_pool, spec, False, 4, dcp)

    assert isinstance(rejected.value, impl.Rejected)
    assert rejected.value.reason == reason


def test_states_are_no_common_prefix() -> None:
    manager = build("all")
    grow(manager, 8)

    assert (manager.get_num_common_prefix_blocks("a"), manager.get_num_skipped_tokens(8)) == (0, 7)


def test_an_align_request_without_its_draft_blocks_is_found_out() -> None:
    manager = build(drafts=2)
    grow(manager, 4)
    del manager.req_to_blocks["a"].tail[1:]
    with pytest.raises(impl.CorruptState, match="'a' lacks its state or a draft block"):
        manager.check()
