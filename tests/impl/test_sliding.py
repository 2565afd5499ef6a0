from typing import Any, get_args

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kvwitness import impl
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile, SlidingDraftDrop

NUM_KEYS = 14


class CountedKeys(list[int]):
    """Keys that count how often each place is read."""

    def __init__(self, keys: range) -> None:
        super().__init__(keys)
        self.reads: list[int] = []

    def __getitem__(self, place: Any) -> Any:
        self.reads.append(place)
        return super().__getitem__(place)


def cached_pool(cached: set[int], profile: Profile, num_keys: int = NUM_KEYS) -> impl.BlockPool:
    """Block 1 + i is cached under key i."""
    pool = impl.BlockPool(1 + num_keys, enable_caching=True, hash_block_size=1, profile=profile)
    for key in sorted(cached):
        pool.index.insert(pool.blocks[1 + key], key, 0)
    return pool


def look_up(
    pool: impl.BlockPool, block_size: int, window: int, max_length: int, *, drop: bool = False, alignment: int = 0
) -> tuple[int, ...]:
    spec = impl.SlidingWindowSpec(block_size=block_size, sliding_window=window)
    find = impl.SlidingWindowManager.find_longest_cache_hit
    return find(range(NUM_KEYS), max_length, [0], pool, spec, drop, alignment or block_size)[0].ids()


def hit_table(first: int, length: int) -> tuple[int, ...]:
    return (0,) * min(first, length) + tuple(range(first + 1, length + 1))


CACHED = st.sets(st.integers(0, NUM_KEYS - 1), min_size=4)
SIZES = {
    "cached": CACHED,
    "block_size": st.integers(1, 4),
    "window": st.integers(1, 14),
    "max_blocks": st.integers(0, NUM_KEYS),
    "multiple": st.integers(1, 3),
}


@given(**SIZES, drop=st.booleans())
def test_the_sound_hit_is_the_longest_aligned_length_whose_window_is_cached(
    cached: set[int], block_size: int, window: int, max_blocks: int, multiple: int, drop: bool
) -> None:
    def is_hit(length: int) -> bool:
        end = length + block_size * drop
        needed = range(max(0, length - window + 1), end)
        return length == 0 or (end <= max_blocks * block_size and all(token // block_size in cached for token in needed))

    longest = max(length for length in range(0, max_blocks * block_size + 1, block_size * multiple) if is_hit(length))
    found = look_up(cached_pool(cached, SOUND), block_size, window, max_blocks * block_size, drop=drop, alignment=block_size * multiple)

    blocks = longest // block_size
    first = blocks if window == 1 and not drop else max(0, longest - window + 1) // block_size
    assert found == hit_table(min(first, blocks), blocks)


def seed_run(cached: set[int], run: int, max_blocks: int, is_allowed: Any) -> int:
    """Where the last run ends that the seed finds."""
    ends = [end for end in range(1, max_blocks + 1) if is_allowed(end) and set(range(max(0, end - run), end)) <= cached]
    return max(ends, default=0)


@given(**SIZES, drop=st.sampled_from(get_args(SlidingDraftDrop)))
def test_each_profile_places_the_draft_drop_as_its_release_does(
    cached: set[int], block_size: int, window: int, max_blocks: int, multiple: int, drop: SlidingDraftDrop
) -> None:
    run = max(1, -(-(window - 1) // block_size) + 1)
    shift = 1 if drop in ("align_after_drop", "longest") else 0
    end = seed_run(cached, run, max_blocks, lambda end: (end - shift) % multiple == 0)
    pool = cached_pool(cached, evolve(VLLM_0_16, sliding_draft_drop=drop))
    if drop == "raises" and multiple > 1 and end:
        with pytest.raises(impl.RejectedAssertion, match="draft_drop_alignment"):
            look_up(pool, block_size, window, max_blocks * block_size, drop=True, alignment=block_size * multiple)
        return
    if drop == "align_after_drop" and multiple > 1 and end < run:
        end -= multiple
    length = max(0, (end - 1) // multiple * multiple)
    assert look_up(pool, block_size, window, max_blocks * block_size, drop=True, alignment=block_size * multiple) == hit_table(
        max(0, end - run), length
    )


def test_a_window_of_one_token_needs_a_block_only_where_the_profile_says_so() -> None:
    needs_nothing = evolve(VLLM_0_16, sliding_window_one="needs_nothing")

    assert look_up(cached_pool({2}, VLLM_0_16), 4, 1, 23) == (0, 0, 3)
    assert look_up(cached_pool({2}, needs_nothing), 4, 1, 23) == (0,) * 5
    assert look_up(cached_pool({2}, needs_nothing), 4, 1, 23, drop=True) == (0, 0)


def test_a_partial_run_counts_from_the_first_block_only() -> None:
    assert look_up(cached_pool({0, 1, 4}, VLLM_0_16), 1, 5, 8) == (1, 2)


@pytest.mark.parametrize("cached", [set(), set(range(0, 96, 2)), {key for key in range(96) if key % 8}], ids=["none", "alternate", "runs"])
def test_misses_skip_a_window_at_a_time(cached: set[int]) -> None:
    keys, spec = CountedKeys(range(96)), impl.SlidingWindowSpec(block_size=1, sliding_window=9)
    impl.SlidingWindowManager.find_longest_cache_hit(keys, 96, [0], cached_pool(cached, VLLM_0_16, 96), spec, False, 1)

    assert len(keys.reads) <= 2 * 96 / 8 + 2 * 8


@given(CACHED, st.integers(1, 9), st.integers(1, 3), st.booleans())
def test_no_block_is_probed_twice(cached: set[int], window: int, multiple: int, drop: bool) -> None:
    keys, spec = CountedKeys(range(NUM_KEYS)), impl.SlidingWindowSpec(block_size=1, sliding_window=window)
    impl.SlidingWindowManager.find_longest_cache_hit(keys, NUM_KEYS, [0], cached_pool(cached, SOUND), spec, drop, multiple)

    assert len(keys.reads) == len(set(keys.reads))


def test_two_groups_hit_where_both_are_cached() -> None:
    pool = cached_pool({0, 1, 2, 3}, VLLM_0_16)
    for key in (0, 1, 2):
        pool.index.insert(pool.blocks[8 + key], key, 1)
    spec = impl.SlidingWindowSpec(block_size=1, sliding_window=3)
    found = impl.SlidingWindowManager.find_longest_cache_hit(range(4), 4, [0, 1], pool, spec, False, 1)

    assert [table.ids() for table in found] == [(0, 2, 3), (0, 9, 10)]


@pytest.mark.parametrize(
    ("spec", "max_length", "dcp", "kind", "reason"),
    [
        (impl.FullAttentionSpec(block_size=1), 2, 1, AssertionError, "wrong_spec"),
        (impl.SlidingWindowSpec(block_size=1, sliding_window=2), 2, 2, AssertionError, "context_parallel_unsupported"),
        (impl.SlidingWindowSpec(block_size=1, sliding_window=2), 3, 1, IndexError, "not_enough_keys"),
        (impl.SlidingWindowSpec(block_size=1, sliding_window=2), -1, 1, ValueError, "negative_count"),
    ],
)
def test_a_look_up_that_cannot_be_answered_is_rejected(spec: Any, max_length: int, dcp: int, kind: type[Exception], reason: str) -> None:
    with pytest.raises(kind) as rejected:
        impl.SlidingWindowManager.find_longest_cache_hit([0, 1], max_length, [0], cached_pool({0}, VLLM_0_16), spec, False, 1, dcp)

    assert isinstance(rejected.value, impl.Rejected)
    assert rejected.value.reason == reason


@given(st.integers(0, 40), st.integers(1, 12))
def test_the_skipped_tokens_are_those_before_the_window_of_the_next_token(computed: int, window: int) -> None:
    pool = impl.BlockPool(2, enable_caching=True, hash_block_size=4)
    spec = impl.SlidingWindowSpec(block_size=4, sliding_window=window)
    manager = impl.SlidingWindowManager(spec, block_pool=pool, enable_caching=True, kv_cache_group_id=0)
    read = range(computed + 1 - window, computed + 1)

    assert manager.get_num_skipped_tokens(computed) == max(0, read.start)
    assert manager.get_num_common_prefix_blocks("a") == 0
