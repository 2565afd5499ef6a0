"""Profiles are points in a space of axes."""

import pytest

from kvwitness.model.profile import AXES, PROFILES, SOUND, VLLM_0_16, differing_axes, with_axis_of


def test_a_profile_differs_from_itself_nowhere() -> None:
    assert differing_axes(SOUND, SOUND) == ()


def test_the_axes_on_which_two_profiles_differ_come_in_their_order() -> None:
    differing = differing_axes(VLLM_0_16, SOUND)

    assert differing == differing_axes(SOUND, VLLM_0_16)
    assert list(differing) == [axis for axis in AXES if axis in differing]
    assert {"mamba_same_step_guard", "adoption", "release_basis", "preempted_in_plan"} <= set(differing)
    assert "partial_hits" not in differing


@pytest.mark.parametrize("axis", differing_axes(VLLM_0_16, SOUND))
def test_one_axis_taken_from_another_profile_is_the_only_one_that_changes(axis: str) -> None:
    mixed = with_axis_of(VLLM_0_16, axis, SOUND)

    assert differing_axes(mixed, VLLM_0_16) == (axis,)
    assert getattr(mixed, axis) == getattr(SOUND, axis)
    assert mixed.name == f"vllm-0.16+sound.{axis}"


def test_taking_every_axis_arrives_at_the_other_profile() -> None:
    mixed = VLLM_0_16
    for axis in AXES:
        mixed = with_axis_of(mixed, axis, SOUND)

    assert differing_axes(mixed, SOUND) == ()


def test_profiles_are_found_by_name() -> None:
    assert PROFILES["vllm-0.16"] is VLLM_0_16
    assert PROFILES["sound"] is SOUND
    assert "name" not in AXES
