"""A release's KV events in our words."""

from collections import Counter
from types import SimpleNamespace

import pytest

from kvwitness.campaign import one_run, setting_of
from kvwitness.model.calls import Call
from kvwitness.model.events import TAKE_EVENTS, Cleared, Removed, Stored
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import VLLM_0_16, VLLM_0_33
from kvwitness.properties.situations import LABELS
from kvwitness.vllm.adapter import VllmPort
from kvwitness.vllm.loader import Release
from kvwitness.vllm.opening import open_release
from kvwitness.vllm.requests import HashedRequest
from kvwitness.vllm.sources import is_cached
from kvwitness.vllm.telling import AllBlocksCleared, BlockRemoved, BlockStored, told_by


def hashed(key: int) -> bytes:
    return key.to_bytes(8, "big")


def test_a_stored_record_is_told_by_its_keys_and_the_range_of_its_tokens() -> None:
    joined = hashed(6) + hashed(7)
    record = BlockStored(block_hashes=[hashed(5), joined], parent_block_hash=hashed(4), token_ids=range(2, 6), group_idx=1, medium="GPU")

    assert told_by(record) == [Stored(1, (5, 7), 4, 2, 6)]


def test_a_record_without_group_or_parent_names_none() -> None:
    assert told_by(BlockStored(block_hashes=[], parent_block_hash=None, token_ids=range(2))) == [Stored(None, (), None, 0, 2)]
    assert told_by(BlockRemoved(block_hashes=[hashed(5), hashed(6)])) == [Removed(None, 5), Removed(None, 6)]
    assert told_by(AllBlocksCleared()) == [Cleared()]


def test_an_unknown_record_is_not_passed_over() -> None:
    with pytest.raises(TypeError, match="got the event SimpleNamespace; allowed is stored, removed and cleared"):
        told_by(SimpleNamespace())


@pytest.mark.slow
def test_the_seed_tells_nothing_until_it_is_asked(seed: Release) -> None:
    port = VllmPort(VLLM_0_16, seed)
    port.reset(Config(blocks=4, block_size=2, groups=(Kind("full"),)))
    calls = [Call("allocate_new_blocks", ("A", 2, 2, 0)), Call("cache_blocks", ("A", (9,), 2)), TAKE_EVENTS, Call("free", ("A",))]
    silent = [port.call(call) for call in calls][2]
    port.call(Call("reset_prefix_cache", ()))

    assert (silent.value, port.call(TAKE_EVENTS).value) == ((), (Cleared(),))


@pytest.mark.slow
@pytest.mark.parametrize("label", [*LABELS, "full+full", "full+sliding"])
def test_the_seed_tells_what_its_profile_tells(seed: Release, label: str) -> None:
    port, told = VllmPort(VLLM_0_16, seed), 0
    for number in range(6):
        setting, rng = setting_of(label, VLLM_0_16, 1, number, ("events", "refinement"))
        run, violation = one_run(port, setting, rng, Counter())
        told += run.num_told

        assert violation is None
    assert told > 0 or label in ("mamba-none", "cross")


@pytest.mark.slow
def test_a_release_s_report_of_a_hit_names_keys_that_are_gone() -> None:
    if not is_cached("0.33.0"):
        pytest.skip("the sources of vllm 0.33.0 are not in the cache: kvwitness get vllm==0.33.0")
    port = VllmPort(VLLM_0_33, open_release("vllm==0.33.0"))
    port.reset(Config(blocks=6, block_size=2, groups=(Kind("sliding", window=2),)))
    written = [
        Call("allocate_new_blocks", ("A", 6, 6, 0)),
        Call("cache_blocks", ("A", (10, 11, 12), 6)),
        Call("remove_skipped_blocks", ("A", 6)),
    ]
    for call in (TAKE_EVENTS, *written, Call("allocate_new_blocks", ("B", 8, 8, 0)), TAKE_EVENTS):
        port.call(call)
    (hit,) = port.call(Call("find_longest_cache_hit", ((10, 11, 12), 6))).value
    port.pool.emit_cached_block_events(HashedRequest("C", [hashed(10), hashed(11), hashed(12)], 6), len(hit), 2, 0)

    assert (hit, port.observe().index) == ((0, 0, 3), {(0, 12): (3,)})
    assert port.call(TAKE_EVENTS).value == (Stored(0, (10, 11, 12), None, 0, 6),)
