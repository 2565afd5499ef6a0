import random
from collections.abc import Callable

import pytest

from kvwitness import impl
from kvwitness.impl.common_hit import cut
from kvwitness.impl.merged import merged
from kvwitness.model.profile import PROFILES, SOUND, VLLM_0_16, VLLM_0_20, VLLM_0_23, VLLM_0_26, VLLM_0_32, Profile
from kvwitness.ports.groups import HashedTokens

FULL, WINDOW = impl.FullAttentionSpec, impl.SlidingWindowSpec
Coordinator = impl.HybridKVCacheCoordinator


def coordinator(
    *specs: impl.KVCacheSpec, blocks: int = 40, key: int = 2, draft: bool = False, profile: Profile = SOUND, alignment: int = 4
) -> Coordinator:
    pool = impl.BlockPool(blocks, True, key, profile=profile)
    managers = [
        impl.get_manager_for_kv_cache_spec(spec, block_pool=pool, enable_caching=True, kv_cache_group_id=group)
        for group, spec in enumerate(specs)
    ]
    return Coordinator(pool, managers, alignment, draft)


def stored(groups: Coordinator, num_tokens: int, name: str = "A") -> tuple[int, ...]:
    """The keys of a request whose tokens are all computed and published."""
    key = groups.block_pool.hash_block_size
    keys = tuple(range(key, num_tokens + 1, key))
    groups.allocate_new_blocks(name, num_tokens, num_tokens)
    groups.cache_blocks(HashedTokens(name, keys), num_tokens)
    return keys


def lengths(groups: Coordinator, keys: tuple[int, ...], max_length: int) -> tuple[list[int], int]:
    """The blocks of each group's hit, and the common length in tokens."""
    hits, length = groups.find_longest_cache_hit(keys, max_length)
    return [len(hit) for hit in hits], length


def test_a_merged_key_is_that_of_the_last_token_of_a_block() -> None:
    keys = (1, 2, 3, 4, 5, 6, 7)
    view = impl.MergedKeys(keys, 3)

    assert list(view) == [3, 6] == [view[0], view[1]] == list(view[0:2])
    assert len(view) == 2
    assert view[-1] == 6
    assert list(view[::-1]) == [6, 3]
    assert merged(keys, 1) is keys
    with pytest.raises(IndexError, match="got place 2; allowed is 0 to 1"):
        view[2]


@pytest.mark.parametrize("factor", [2, 3, 5])
def test_merged_keys_are_a_view_of_what_slices_would_copy(factor: int) -> None:
    keys = tuple(range(31))
    copied, view = keys[factor - 1 :: factor], impl.MergedKeys(keys, factor)

    assert tuple(view) == copied
    for start in range(len(copied) + 1):
        for stop in range(len(copied) + 2):
            assert tuple(view[start:stop]) == copied[start:stop]


def test_each_group_shows_the_common_hit_in_blocks_of_its_own() -> None:
    groups = coordinator(FULL(2), WINDOW(4, sliding_window=3))
    keys = stored(groups, 16)

    assert lengths(groups, keys, 15) == ([6, 3], 12)
    assert [hit.num_nulls for hit in groups.find_longest_cache_hit(keys, 15)[0]] == [0, 2]
    groups.check()


def test_the_hit_is_as_long_as_every_group_accepts() -> None:
    groups = coordinator(FULL(2), WINDOW(2, sliding_window=5), alignment=2)
    keys = stored(groups, 16)
    window = groups.find_longest_cache_hit(keys, 16)[0][1].tail
    groups.free("A")
    groups.block_pool.evict_blocks({window[-1].block_id})

    assert lengths(groups, keys, 16) == ([7, 7], 14)


DRAFTED: dict[str, tuple[Profile, int]] = {
    "vllm-0.16": (VLLM_0_16, 56),
    "vllm-0.20": (VLLM_0_20, 60),
    "vllm-0.23": (VLLM_0_23, 60),
    "vllm-0.26": (VLLM_0_26, 60),
    "vllm-0.32": (VLLM_0_32, 60),
    "sound": (SOUND, 60),
}


@pytest.mark.parametrize("name", DRAFTED)
def test_a_draft_models_block_is_dropped_as_the_profile_says(name: str) -> None:
    profile, expected = DRAFTED[name]
    groups = coordinator(FULL(4), WINDOW(4, sliding_window=8), blocks=80, key=4, draft=True, profile=profile)
    keys = stored(groups, 64)

    assert lengths(groups, keys, 64)[1] == expected


@pytest.mark.parametrize(("name", "expected"), [("vllm-0.16", 0), ("vllm-0.20", 60), ("vllm-0.33", 60), ("sound", 60)])
def test_dropping_in_every_pass_leaves_nothing_to_three_groups(name: str, expected: int) -> None:
    windows = (WINDOW(4, sliding_window=8), WINDOW(4, sliding_window=12))
    groups = coordinator(FULL(4), *windows, blocks=80, key=4, draft=True, profile=PROFILES[name])
    keys = stored(groups, 64)

    assert lengths(groups, keys, 64)[1] == expected


def test_a_mamba_group_may_lengthen_the_hit_where_the_profile_looks_for_its_block() -> None:
    specs = (FULL(2), impl.MambaSpec(2, mamba_cache_mode="all"))
    found = [
        lengths(groups, stored(groups, 16), 16)
        for groups in (coordinator(*specs, draft=True, profile=profile, alignment=2) for profile in (VLLM_0_20, VLLM_0_26, SOUND))
    ]

    assert found == [([7, 8], 16), ([7, 7], 14), ([7, 7], 14)]


def uncut(profile: Profile) -> list[int]:
    """The hits of two sizes of full attention beside a window that has less."""
    groups = coordinator(FULL(2), FULL(4), WINDOW(2, sliding_window=3), profile=profile)
    keys = stored(groups, 16)
    window = groups.single_type_managers[2].req_to_blocks["A"].ids()
    groups.free("A")
    groups.block_pool.evict_blocks(set(window[4:]))
    return lengths(groups, keys, 16)[0]


def test_full_attention_is_cut_to_the_common_length_in_the_first_group_or_in_all() -> None:
    assert uncut(VLLM_0_16) == [4, 4, 4]
    assert uncut(SOUND) == [4, 2, 4]


@pytest.mark.parametrize(("name", "places"), [("vllm-0.20", (5, 2)), ("vllm-0.22", (4, 2)), ("vllm-0.23", (5, 2)), ("sound", (5, 2))])
def test_mixed_groups_publish_as_far_as_the_profile_says(name: str, places: tuple[int, int]) -> None:
    groups = coordinator(FULL(2), FULL(4), draft=True, profile=PROFILES[name])
    stored(groups, 11)

    assert tuple(manager.num_cached_block["A"] for manager in groups.single_type_managers) == places


def evictable(profile: Profile) -> Coordinator:
    """Groups of which the second has its hit in front of the free queue."""
    groups = coordinator(FULL(4), WINDOW(4, sliding_window=100), blocks=11, key=4, profile=profile)
    stored(groups, 16)
    groups.free("A")
    groups.allocate_new_blocks("C", 4, 4)
    groups.free("C")
    return groups


@pytest.mark.parametrize(("name", "shared"), [("vllm-0.16", 1), ("vllm-0.24", 0), ("sound", 0)])
def test_in_two_phases_no_group_takes_a_hit_of_another(name: str, shared: int) -> None:
    groups = evictable(PROFILES[name])
    hits, length = groups.find_longest_cache_hit((4, 8, 12, 16), 16)
    groups.allocate_new_computed_blocks("B", hits, length, 4)
    tables = [set(manager.req_to_blocks["B"].ids()) for manager in groups.single_type_managers]

    assert len(tables[0] & tables[1]) == shared


def grown_too_far(groups: Coordinator) -> object:
    return groups.allocate_new_blocks("B", 32, 32)


def loaded_too_far(groups: Coordinator) -> None:
    groups.allocate_new_computed_blocks("B", ((), ()), 0, 32)


def adopted_twice(groups: Coordinator) -> None:
    groups.allocate_new_computed_blocks("A", ((), groups.block_pool.blocks[1:2]), 2, 0)


def shrunk(groups: Coordinator) -> object:
    return groups.allocate_new_blocks("A", 12, 4)


REFUSED: dict[str, tuple[Callable[[Coordinator], object], str]] = {
    "growing past the pool": (grown_too_far, "pool_exhausted"),
    "external tokens past the pool": (loaded_too_far, "pool_exhausted"),
    "hits for a running request": (adopted_twice, "hits_for_running_request"),
    "a state that shrinks": (shrunk, "requirement_shrinks"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_one_group_refuses_changes_nothing_in_any(name: str) -> None:
    call, reason = REFUSED[name]
    groups = coordinator(FULL(2), impl.MambaSpec(2, mamba_cache_mode="align"), blocks=14, profile=VLLM_0_16, alignment=2)
    stored(groups, 8)
    before = groups.block_pool.snapshot(), [manager.snapshot() for manager in groups.single_type_managers]
    with pytest.raises(impl.Rejected) as rejected:
        call(groups)

    assert rejected.value.reason == reason
    assert (groups.block_pool.snapshot(), [manager.snapshot() for manager in groups.single_type_managers]) == before
    groups.check()


def test_an_alignment_that_is_no_multiple_of_every_block_is_refused() -> None:
    with pytest.raises(impl.RejectedAssertion, match="alignment_unsupported: got alignment_tokens 4; allowed is a multiple of every block"):
        coordinator(FULL(2), FULL(6))


def test_cross_attention_is_given_the_encoders_tokens() -> None:
    groups = coordinator(FULL(2), impl.CrossAttentionSpec(2), alignment=2)
    needed = groups.get_num_blocks_to_allocate("A", 6, (), 8, 0, 6)

    assert needed == 3 + 4
    assert [len(blocks) for blocks in groups.allocate_new_blocks("A", 6, 6, 8)] == [3, 4]


def test_a_reset_asks_all_groups() -> None:
    groups = coordinator(FULL(2), WINDOW(4, sliding_window=3))
    keys = stored(groups, 8)

    assert not groups.reset_prefix_cache()
    groups.free("A")
    assert groups.reset_prefix_cache()
    assert lengths(groups, keys, 8) == ([0, 0], 0)


def test_what_was_published_in_the_step_is_withdrawn_in_all_groups() -> None:
    groups = coordinator(FULL(2), WINDOW(4, sliding_window=3))
    keys = stored(groups, 8)
    groups.withdraw_blocks("A")

    assert lengths(groups, keys, 8) == ([0, 0], 0)
    assert groups.get_num_common_prefix_blocks("A") == [4, 0]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_random_actions_keep_the_representation(profile: Profile) -> None:
    rng = random.Random(profile.name)
    groups = coordinator(FULL(2), WINDOW(4, sliding_window=5), FULL(4), blocks=60, profile=profile)
    for number in range(60):
        name, tokens = f"r{number % 5}", rng.randint(1, 20)
        groups.remove_skipped_blocks(name, tokens)
        if groups.get_num_blocks_to_allocate(name, tokens, (), 0, 0, tokens) <= groups.block_pool.get_num_free_blocks():
            groups.allocate_new_blocks(name, tokens, tokens)
        if rng.random() < 0.4:
            groups.free(name)
        groups.new_step_starts()
        groups.check()


def test_a_hit_is_cut_within_its_nulls_too() -> None:
    pool = impl.BlockPool(9, True, 2)
    hit = impl.BlockTable(pool.null_block, 2, pool.blocks[1:4])

    assert [len(cut(hit, number) or ()) for number in (0, 1, 3, 5, 9)] == [0, 1, 3, 5, 5]
    assert (cut(hit, 1) or hit).num_nulls == 1
    assert cut(None, 3) is None
