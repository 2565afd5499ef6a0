import pytest

from kvwitness.model.profile import PROFILES
from kvwitness.vllm.generations import STEPS, closest_profile_name, profile_name_for, remark_on


@pytest.mark.parametrize(
    ("version", "profile"),
    [
        ("0.14.1", "vllm-0.14"),
        ("0.15.1", "vllm-0.16"),
        ("0.18.1", "vllm-0.17"),
        ("0.28.0", "vllm-0.26"),
        ("0.33.0", "vllm-0.33"),
        ("1.2", "vllm-0.33"),
    ],
)
def test_a_release_follows_the_last_step_before_it(version: str, profile: str) -> None:
    assert profile_name_for(version) == profile


def test_a_profile_that_is_not_written_yet_falls_back_to_one_that_is() -> None:
    assert all(closest_profile_name(f"{first[0]}.{first[1]}") in PROFILES for first, _ in STEPS)
    assert closest_profile_name("0.16.0") == "vllm-0.16"


def test_only_a_version_that_was_not_measured_is_remarked_on() -> None:
    assert [remark_on(version) for version in ("0.14.1", "0.33.4")] == ["", ""]
    assert "newer than 0.33" in remark_on("0.34.0")
    assert "unknown" in remark_on("")
