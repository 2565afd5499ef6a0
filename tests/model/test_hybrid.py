"""What mixed groups accept, what they publish, and what the passes of a release come to."""

from collections.abc import Callable

import pytest
from attrs import evolve

from kvwitness.model import hybrid
from kvwitness.model.hybrid import Found, Part, Passing
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND, VLLM_0_16, VLLM_0_20, VLLM_0_22, VLLM_0_23, VLLM_0_26, VLLM_0_29, VLLM_0_32, Profile

FULL, WINDOW, STATES = Kind("full"), Kind("sliding", window=8), Kind("mamba", mode="align")


def cached(*blocks: int) -> Callable[[int], bool]:
    return lambda index: index in blocks


def common(*parts: Part, cap: int = 99, alignment: int = 4, draft_model: bool = False) -> int:
    return hybrid.longest_common(parts, SOUND, max_length=cap, alignment=alignment, draft_model=draft_model)


def test_a_group_with_larger_blocks_takes_the_key_of_the_last_token_of_each() -> None:
    keys = (1, 2, 3, 4, 5, 6, 7)

    assert hybrid.keys_of_group(keys, 2, 2) is keys
    assert hybrid.keys_of_group(keys, 6, 2) == (3, 6)


def test_the_common_length_is_the_longest_that_every_group_accepts() -> None:
    full, window = Part(FULL, 4, cached(0, 1, 2, 3)), Part(WINDOW, 4, cached(1, 2, 4, 5))

    assert common(full) == 16
    assert common(window) == 24
    assert common(full, window) == 12


def test_the_common_length_is_whole_blocks_of_every_group() -> None:
    small, large = Part(FULL, 2, cached(0, 1, 2, 3, 4)), Part(FULL, 6, cached(0, 1))

    assert common(small, large, alignment=6) == 6


def test_a_draft_model_costs_one_block_of_each_group_once() -> None:
    full, window, states = Part(FULL, 4, cached(0, 1, 2, 3)), Part(WINDOW, 4, cached(0, 1, 2, 3)), Part(STATES, 4, cached(2, 3))

    assert common(full, window, draft_model=True) == 12
    assert common(full, states, draft_model=True) == 12
    assert common(states, draft_model=True) == 16


def test_the_block_that_is_dropped_lies_within_the_cap() -> None:
    full, large = Part(FULL, 4, cached(0, 1, 2)), Part(FULL, 8, cached(0, 1))

    assert common(full, large, cap=15, alignment=8, draft_model=True) == 0
    assert common(full, large, cap=16, alignment=8, draft_model=True) == 8


def test_no_draft_model_has_mamba_layers() -> None:
    assert hybrid.drops(FULL, draft_model=True)
    assert not hybrid.drops(STATES, draft_model=True)
    assert not hybrid.drops(FULL, draft_model=False)


def test_a_hit_leaves_a_draft_model_its_block_in_every_group_that_attends() -> None:
    assert hybrid.leaves_a_block(Part(FULL, 4, cached(0, 1)), 4, draft_model=True)
    assert not hybrid.leaves_a_block(Part(FULL, 4, cached(0)), 4, draft_model=True)
    assert hybrid.leaves_a_block(Part(FULL, 4, cached(0)), 4, draft_model=False)
    assert hybrid.leaves_a_block(Part(STATES, 4, cached(0)), 4, draft_model=True)
    assert hybrid.leaves_a_block(Part(FULL, 4, cached()), 0, draft_model=True)


MIXED = Config(9, 2, (FULL, Kind("full", block_size=6)), drafts=1, draft_model=True)


@pytest.mark.parametrize(
    ("profile", "block", "tokens", "published"),
    [
        (SOUND, 2, 11, 11),
        (VLLM_0_16, 2, 11, 11),
        (VLLM_0_22, 2, 11, 6),
        (VLLM_0_22, 6, 5, 0),
        (VLLM_0_23, 2, 11, 8),
        (VLLM_0_23, 6, 11, 11),
        (VLLM_0_23, 6, 13, 13),
        (VLLM_0_23, 6, 5, 0),
    ],
)
def test_releases_publish_up_to_a_common_multiple_and_a_draft_models_block_further(
    profile: Profile, block: int, tokens: int, published: int
) -> None:
    assert hybrid.publishable(MIXED, profile, block, tokens) == published


def test_groups_that_are_alike_publish_all_that_is_computed() -> None:
    assert hybrid.publishable(Config(9, 2, (FULL, FULL), alignment=6), VLLM_0_22, 2, 11) == 11


class Asked:
    """A kind whose look-up finds so many blocks within its cap, and remembers what it was asked."""

    def __init__(self, block: int, end: int, *, is_full: bool = False, is_mamba: bool = False, drops: bool = True) -> None:
        self.asked: list[tuple[int, bool]] = []
        self.kind = Passing(block, is_full, drops, is_mamba, self.ask)
        self._block, self._end, self._is_mamba = block, end, is_mamba

    def ask(self, cap: int, drops: bool) -> Found:
        self.asked.append((cap, drops))
        matched = min(cap // self._block, self._end)
        return 0, max(0, matched - (drops and not self._is_mamba))


def found(profile: Profile, *kinds: Asked, cap: int = 64, hashed: int = 68) -> list[int]:
    layouts = hybrid.found_in_passes([each.kind for each in kinds], profile, max_length=cap, hashed_tokens=hashed)
    return [sum(layout) * each.kind.block for layout, each in zip(layouts, kinds, strict=True)]


def full(end: int = 16, block: int = 4) -> Asked:
    return Asked(block, end, is_full=True)


def window(end: int = 16) -> Asked:
    return Asked(4, end)


def states(end: int) -> Asked:
    return Asked(4, end, is_mamba=True)


def test_full_attention_and_one_other_kind_lose_two_blocks_in_one_pass() -> None:
    assert found(VLLM_0_16, full(), window()) == [56, 56]
    assert found(VLLM_0_20, full(), window()) == [60, 60]


def test_three_kinds_lose_a_block_in_every_pass_until_nothing_is_left() -> None:
    assert found(VLLM_0_16, full(), window(), window()) == [0, 0, 0]
    assert found(VLLM_0_20, full(), window(), window()) == [60, 60, 60]


def test_a_kind_that_dropped_once_is_asked_for_the_rest_without() -> None:
    first, second = window(), window(5)

    assert found(VLLM_0_20, first, second) == [16, 16]
    assert first.asked == [(64, True), (16, False)]
    assert second.asked == [(64, True), (16, False)]


def test_a_length_that_shrinks_without_a_drop_is_dropped_for_anew() -> None:
    first, second = window(), Asked(4, 5, drops=False)

    assert found(VLLM_0_20, first, second) == [20, 20]
    assert first.asked == [(64, True), (24, True)]


def test_mamba_is_asked_for_a_block_more_and_may_find_it() -> None:
    assert found(VLLM_0_20, full(8), states(8)) == [28, 32]
    assert found(VLLM_0_26, full(8), states(8)) == [28, 28]


def test_only_full_attention_is_cut_at_the_end_and_the_second_of_two_is_forgotten() -> None:
    plain = [without_drops(each) for each in (full(), full(8, 8), window(4))]

    assert found(VLLM_0_26, *plain) == [16, 64, 16]
    assert found(VLLM_0_29, *plain) == [16, 16, 16]


def without_drops(asked: Asked) -> Asked:
    asked.kind = evolve(asked.kind, drops=False)
    return asked


def test_the_block_that_is_dropped_may_lie_past_the_cap_but_not_past_the_hashes() -> None:
    assert found(VLLM_0_26, full(20), window(20)) == [60, 60]
    assert found(VLLM_0_32, full(20), window(20)) == [64, 64]
    assert found(VLLM_0_32, full(20), window(20), hashed=64) == [60, 60]
