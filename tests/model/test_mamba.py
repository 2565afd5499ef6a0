"""Mamba's tables: strips as the module draws them, with speculative blocks behind the bar."""

import pytest
from attrs import evolve

from kvwitness.model import mamba
from kvwitness.model.calls import Blocks
from kvwitness.model.kinds import Kind
from kvwitness.model.pool import Pool, Rejection, fresh_pool, take
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.model.table import NOTHING, Group, Held


def align(drafts: int = 2, profile: Profile = SOUND) -> Group:
    return Group(0, Kind("mamba", mode="align", drafts=drafts), 4, 12, True, profile)


def grown(group: Group, *mains: int) -> tuple[Pool, Held, Blocks]:
    """The table after growing to each of the lengths, nothing released in between."""
    pool, held = fresh_pool(12), NOTHING
    fresh: Blocks = ()
    for main in mains:
        pool, held, fresh = mamba.grow(group, pool, held, num_tokens=main, main=main)
    return pool, held, fresh


def test_a_first_growth_lays_out_nulls_the_running_state_and_the_speculative_blocks() -> None:
    _, held, fresh = grown(align(), 10)

    assert held.blocks == (0, 0, 1, 2, 3)  # [∅ ∅ s | s₁ s₂]
    assert fresh == held.blocks
    assert (held.allocated, held.last_state) == (True, None)


def test_growing_a_block_moves_on_into_the_first_speculative_one() -> None:
    _, held, fresh = grown(align(), 10, 13)

    assert held.blocks == (0, 0, 1, 2, 3, 4)  # [∅ ∅ s s₁ | s₂ n]
    assert fresh == (4,)
    assert held.last_state == 2


def test_growing_over_several_blocks_moves_the_speculative_blocks_along() -> None:
    _, held, fresh = grown(align(), 10, 21)

    assert held.blocks == (0, 0, 1, 0, 0, 2, 3, 4)  # [∅ ∅ s ∅ ∅ s₁ | s₂ n]
    assert fresh == (2, 3, 4)


def test_the_state_that_was_copied_on_is_released_afterwards() -> None:
    pool, held, _ = grown(align(), 10, 13)
    pool, held = mamba.release_skipped(align(), pool, held, num_computed_tokens=13)

    assert held.blocks == (0, 0, 0, 2, 3, 4)  # [∅ ∅ ∅ s₁ | s₂ n]
    assert 1 in pool.free


def test_the_state_stays_while_the_step_that_copies_it_is_not_computed() -> None:
    pool, held, _ = grown(align(), 10, 13)

    assert mamba.release_skipped(align(), pool, held, num_computed_tokens=10) == (pool, held)


def test_a_hit_state_is_remembered_and_released_once_it_was_copied() -> None:
    pool, _ = take(fresh_pool(12), 1)
    pool, held, _ = mamba.grow(align(), pool, Held((0, 1), 2), num_tokens=12, main=12)

    assert held.blocks == (0, 1, 2, 3, 4)
    assert held.last_state == 1
    assert mamba.release_skipped(align(), pool, held, num_computed_tokens=12)[1].blocks == (0, 0, 2, 3, 4)


def test_growing_to_what_is_held_takes_nothing() -> None:
    pool, held, _ = grown(align(), 10)

    assert mamba.grow(align(), pool, held, num_tokens=12, main=12) == (pool, held, ())


def test_look_ahead_tokens_take_no_blocks_in_mode_align() -> None:
    pool, held, _ = grown(align(), 10)

    assert mamba.grow(align(), pool, held, num_tokens=99, main=11) == (pool, held, ())
    assert mamba.estimate(align(), pool, held, num_tokens=99, hits=(), total_computed=10, main=11) == 0


def test_growing_to_fewer_blocks_is_nothing_or_rejected_as_the_profile_says() -> None:
    pool, held, _ = grown(align(), 13)

    assert mamba.grow(align(), pool, held, num_tokens=8, main=8) == (pool, held, ())
    with pytest.raises(Rejection, match="requirement_shrinks"):
        mamba.grow(align(profile=VLLM_0_16), pool, held, num_tokens=8, main=8)


@pytest.mark.parametrize(("profile", "estimated"), [(SOUND, 0), (VLLM_0_16, -1)], ids=["zero", "raw"])
def test_an_estimate_for_fewer_blocks_is_negative_only_in_the_seed(profile: Profile, estimated: int) -> None:
    pool, held, _ = grown(align(profile=profile), 13)

    assert mamba.estimate(align(profile=profile), pool, held, num_tokens=12, hits=(), total_computed=0, main=12) == estimated


def test_the_estimate_is_one_block_for_a_running_request_and_all_states_for_a_new_one() -> None:
    pool, held, _ = grown(align(), 10)

    assert mamba.estimate(align(), pool, held, num_tokens=21, hits=(), total_computed=10, main=21) == 1
    assert mamba.estimate(align(), pool, NOTHING, num_tokens=21, hits=(), total_computed=0, main=21) == 3
    assert mamba.estimate(align(), pool, NOTHING, num_tokens=21, hits=(0, 7), total_computed=8, main=21) == 4


@pytest.mark.parametrize("mode", ["none", "all"])
def test_the_other_modes_keep_speculative_blocks_behind_the_table(mode: str) -> None:
    group = Group(0, Kind("mamba", mode=mode, drafts=2), 4, 12, True, SOUND)  # type: ignore[arg-type]
    _, held, _ = grown(group, 4)

    assert held.blocks == (1, 2, 3)
    assert mamba.estimate(group, fresh_pool(12), NOTHING, num_tokens=4, hits=(), total_computed=0, main=4) == 3


def test_release_lags_by_the_speculative_blocks_where_the_profile_says_so() -> None:
    lagging = align(profile=evolve(SOUND, mamba_release_lag="drafts"))
    pool, held, _ = grown(lagging, 10, 13)

    assert mamba.release_skipped(lagging, pool, held, num_computed_tokens=13)[1].blocks[2] == 1
    assert mamba.release_skipped(lagging, pool, held, num_computed_tokens=15)[1].blocks[2] == 0
