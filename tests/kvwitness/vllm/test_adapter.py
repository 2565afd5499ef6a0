from collections import Counter

import pytest

from kvwitness.campaign import one_run, setting_of
from kvwitness.model.calls import Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import VLLM_0_16
from kvwitness.properties.situations import LABELS
from kvwitness.vllm.adapter import VllmPort
from kvwitness.vllm.loader import Release

pytestmark = pytest.mark.slow


def test_the_seed_offers_every_kind(seed: Release) -> None:
    hello = VllmPort(VLLM_0_16, seed).hello()

    assert hello.name == "vllm 0.16.0"
    assert hello.missing == ()
    assert "withdraw_blocks" not in hello.calls


@pytest.mark.parametrize("label", LABELS)
def test_the_seed_is_identical_to_its_profile(seed: Release, label: str) -> None:
    port = VllmPort(VLLM_0_16, seed)

    for number in range(8):
        setting, rng = setting_of(label, VLLM_0_16, 1, number, ("refinement",))
        _, violation = one_run(port, setting, rng, Counter())

        assert violation is None


def reasons(seed: Release, config: Config, *calls: Call) -> list[tuple[str, str]]:
    port = VllmPort(VLLM_0_16, seed)
    port.reset(config)
    return [(outcome.status, outcome.reason) for outcome in map(port.call, calls)]


def test_a_refusal_has_our_reason(seed: Release) -> None:
    full = Config(blocks=3, block_size=2, groups=(Kind("full"),))
    sliding = Config(blocks=3, block_size=2, groups=(Kind("sliding", window=2),), draft_model=True, drafts=1, alignment=4)
    take, shrink = Call("allocate_new_blocks", ("A", 4, 4, 0)), Call("allocate_new_blocks", ("A", 2, 2, 0))

    assert reasons(seed, full, Call("allocate_new_blocks", ("A", 9, 9, 0))) == [("rejected", "pool_exhausted")]
    assert reasons(seed, full, take, Call("cache_blocks", ("A", (), 2)))[1] == ("rejected", "not_enough_keys")
    assert reasons(seed, sliding, Call("find_longest_cache_hit", ((), 4))) == [("rejected", "not_enough_keys")]
    align = Config(blocks=9, block_size=2, groups=(Kind("mamba", mode="align"),))
    assert reasons(seed, align, take, shrink) == [("ok", ""), ("rejected", "requirement_shrinks")]


def test_what_no_reason_fits_has_failed(seed: Release) -> None:
    full = Config(blocks=3, block_size=2, groups=(Kind("full"),))

    assert reasons(seed, full, Call("find_longest_cache_hit", ("not keys", None)))[0][0] == "failed"
    assert reasons(seed, full, Call("withdraw_blocks", ("A",)))[0][0] == "failed"
