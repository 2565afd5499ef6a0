"""KV events of the specification: what each call tells, from the states before and after it."""

from typing import Any

import pytest
from attrs import evolve

from kvwitness.model.calls import Call
from kvwitness.model.events import Cleared, KVEvent, Removed, Stored, events_of
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.managers import State, apply, initial_state
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile

KEYS = (10, 11, 12, 13)
FULL, ALIGN = Kind("full"), Kind("mamba", mode="align")


def idle(kind: Kind = FULL, groups: int = 1, profile: Profile = SOUND, blocks: int = 8) -> State:
    return initial_state(Config(groups=(kind,) * groups, blocks=blocks, block_size=2, max_model_len=16), profile)


def told(state: State, *calls: tuple[Any, ...]) -> tuple[State, list[KVEvent]]:
    """The state after the calls, and what they told."""
    events: list[KVEvent] = []
    for name, *arguments in calls:
        before, call = state, Call(name, tuple(arguments))
        state, outcome = apply(before, call)
        events += events_of(before, call, outcome, state)
    return state, events


def admitted(name: str, tokens: int) -> list[tuple[Any, ...]]:
    return [("allocate_new_blocks", name, tokens, tokens, 0), ("cache_blocks", name, KEYS, tokens)]


def test_publishing_tells_the_keys_with_their_parent_and_tokens() -> None:
    state, first = told(idle(), *admitted("A", 2))
    _, second = told(state, *admitted("A", 6))

    assert first == [Stored(0, (10,), None, 0, 2)]
    assert second == [Stored(0, (11, 12), 10, 2, 6)]


def test_every_group_tells_a_run_of_its_own() -> None:
    _, events = told(idle(groups=2), *admitted("A", 4))

    assert events == [Stored(0, (10, 11), None, 0, 4), Stored(1, (10, 11), None, 0, 4)]


def test_blocks_that_are_handed_out_are_removed_in_the_order_of_the_queue() -> None:
    state, _ = told(idle(blocks=4), *admitted("A", 4), ("free", "A"))
    _, events = told(state, ("allocate_new_blocks", "B", 6, 6, 0))

    assert events == [Removed(0, 11), Removed(0, 10)]


def test_withdrawn_keys_are_removed() -> None:
    state, _ = told(idle(), *admitted("A", 4))
    _, events = told(state, ("withdraw_blocks", "A"))

    assert events == [Removed(0, 10), Removed(0, 11)]


def test_a_key_that_another_block_carries_is_told_once() -> None:
    state, events = told(idle(), *admitted("A", 2), *admitted("B", 2))
    _, later = told(state, ("withdraw_blocks", "A"), ("withdraw_blocks", "B"))

    assert events == [Stored(0, (10,), None, 0, 2)]
    assert later == [Removed(0, 10)]


def test_releases_tell_each_copy_and_name_no_group_at_first() -> None:
    state, events = told(idle(profile=VLLM_0_16), *admitted("A", 2), *admitted("B", 2))
    _, later = told(state, ("withdraw_blocks", "A"))

    assert events == [Stored(None, (10,), None, 0, 2)] * 2
    assert later == [Removed(None, 10)]


@pytest.mark.parametrize(("runs", "events"), [("contiguous", [Stored(0, (11,), 10, 2, 4)]), ("one_a_call", [Stored(0, (11,), None, 0, 4)])])
def test_null_blocks_divide_the_runs_or_widen_them(runs: Any, events: list[KVEvent]) -> None:
    state = idle(ALIGN, profile=evolve(SOUND, event_runs=runs))

    assert told(state, *admitted("A", 4))[1] == events


def test_a_call_that_publishes_nulls_alone_tells_an_empty_run_or_none() -> None:
    def events(profile: Profile) -> list[KVEvent]:
        calls = ("allocate_new_blocks", "A", 4, 4, 0), ("cache_blocks", "A", KEYS, 2)
        return told(idle(ALIGN, profile=profile), *calls)[1]

    assert (events(SOUND), events(VLLM_0_16)) == ([], [Stored(None, (), None, 0, 2)])


def test_only_a_reset_that_succeeds_is_told() -> None:
    state, _ = told(idle(), *admitted("A", 2))
    _, refused = told(state, ("reset_prefix_cache",))
    _, events = told(state, ("free", "A"), ("reset_prefix_cache",))

    assert (refused, events) == ([], [Cleared()])


def test_a_rejected_call_tells_nothing() -> None:
    _, events = told(idle(), ("cache_blocks", "A", KEYS, 4))

    assert events == []
