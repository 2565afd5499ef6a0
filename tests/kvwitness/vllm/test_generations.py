import pytest

from kvwitness.model.profile import PROFILES, RELEASES
from kvwitness.vllm.generations import STEPS, profile_name_for, remark_on


@pytest.mark.parametrize(
    ("version", "profile"),
    [
        ("0.14.1", "vllm-0.15"),
        ("0.15.1", "vllm-0.15"),
        ("0.16.0", "vllm-0.16"),
        ("0.18.1", "vllm-0.17"),
        ("0.27.0", "vllm-0.27"),
        ("0.28.0", "vllm-0.28"),
        ("0.33.0", "vllm-0.33"),
        ("1.2", "vllm-0.33"),
    ],
)
def test_a_release_follows_the_last_step_before_it(version: str, profile: str) -> None:
    assert profile_name_for(version) == profile


def test_every_step_has_its_profile() -> None:
    assert [name for _, name in STEPS] == [profile.name for profile in RELEASES]
    assert all(name in PROFILES for _, name in STEPS)


def test_only_a_version_that_was_not_measured_is_remarked_on() -> None:
    assert [remark_on(version) for version in ("0.14.1", "0.33.4")] == ["", ""]
    assert "newer than 0.33" in remark_on("0.34.0")
    assert "unknown" in remark_on("")
