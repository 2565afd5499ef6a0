from collections import Counter

import pytest

from kvwitness.campaign import one_run, setting_of
from kvwitness.model.calls import Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import PROFILES, VLLM_0_16
from kvwitness.properties.mixes import MIXES
from kvwitness.properties.port import NotOffered
from kvwitness.vllm.adapter import VllmPort
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.loader import Release
from kvwitness.vllm.mixes import missing_mixes
from kvwitness.vllm.opening import open_release
from kvwitness.vllm.sources import is_cached

pytestmark = pytest.mark.slow

VERSIONS = ("0.16.0", "0.22.1", "0.24.0", "0.28.0", "0.33.0")
"""A release of each interface, whose coordinators find a common hit in four ways."""


@pytest.fixture(params=VERSIONS)
def release(request: pytest.FixtureRequest) -> Release:
    if not is_cached(request.param):
        pytest.skip(f"the sources of vllm {request.param} are not in the cache")
    return open_release(f"vllm=={request.param}")


def test_every_mix_is_identical_to_the_profile(release: Release) -> None:
    profile = PROFILES[profile_name_for(release.version)]
    port, compared = VllmPort(profile, release), 0
    for mix in MIXES:
        if mix in missing_mixes(release):
            continue
        for number in range(2):
            setting, rng = setting_of(mix, profile, 3, number, ("refinement",))
            try:
                _, violation = one_run(port, setting, rng, Counter())
            except NotOffered:
                continue
            compared += 1

            assert violation is None, (mix, number, violation)

    assert compared > len(MIXES)


def test_what_cannot_be_built_is_told_with_the_reason(release: Release) -> None:
    missing = missing_mixes(release)
    told = VllmPort(VLLM_0_16, release).hello().missing

    assert all(f"{mix}: {reason}" in told for mix, reason in missing.items())
    assert ("full+sink" in missing) == (release.version in ("0.24.0", "0.28.0", "0.33.0"))
    assert ("full+mamba-all" in missing) == (release.version == "0.33.0")


def test_hits_inside_a_block_are_not_offered(release: Release) -> None:
    config = Config(blocks=9, block_size=2, groups=(Kind("full"), Kind("mamba", mode="align", block_size=4)))
    port = VllmPort(VLLM_0_16, release)
    if release.version in ("0.28.0", "0.33.0"):
        with pytest.raises(NotOffered, match="hits may end inside a block"):
            port.reset(config)
    else:
        assert port.reset(config).tables == ({}, {})


def test_keys_of_larger_blocks_come_back_as_those_of_their_last_tokens(release: Release) -> None:
    config = Config(blocks=12, block_size=2, groups=(Kind("sliding", window=4, block_size=4), Kind("full")))
    port = VllmPort(VLLM_0_16, release)
    port.reset(config)
    port.call(Call("allocate_new_blocks", ("A", 8, 8, 0)))
    port.call(Call("cache_blocks", ("A", (2, 4, 6, 8), 8)))
    keys = [key for key in port.observe().keys or () if key is not None]

    assert sorted(keys) == [(0, 4), (0, 8), (1, 2), (1, 4), (1, 6), (1, 8)]
    assert [len(hit) for hit in port.call(Call("find_longest_cache_hit", ((2, 4, 6, 8), 8))).value] == [2, 4]


def test_a_refused_look_up_of_mixed_groups_has_our_reason(seed: Release) -> None:
    groups = (Kind("full", block_size=4), Kind("sliding", window=3))
    port = VllmPort(VLLM_0_16, seed)
    port.reset(Config(blocks=20, block_size=2, groups=groups, drafts=1, draft_model=True))
    port.call(Call("allocate_new_blocks", ("A", 16, 16, 0)))
    port.call(Call("cache_blocks", ("A", (2, 4, 6, 8, 10, 12, 14, 16), 16)))
    outcome = port.call(Call("find_longest_cache_hit", ((2, 4, 6, 8, 10, 12, 14, 16), 16)))

    assert (outcome.status, outcome.reason) == ("rejected", "draft_drop_alignment")
