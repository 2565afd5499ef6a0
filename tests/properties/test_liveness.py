"""The liveness oracle alone: every clause can fail, and the one that fails is named."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from attrs import evolve

from kvwitness.model.calls import Call, Outcome
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.pool import without_keys
from kvwitness.properties.operations import Execute, Free, Grow, Operation, Probe, Reset, Share, Start
from tests.properties.ports import Change, Changed, answering, first_broken, with_table

FULL = Config(8, 2, (Kind("full"),), max_model_len=16)
TWO = Config(8, 2, (Kind("full"),) * 2, max_model_len=16)
CACHED: tuple[Operation, ...] = (Start("A", (0, 0, 0, 0)), Execute(), Free("A"))
"""Blocks 1 and 2 are published and free."""
LOOK_UP = (*CACHED, Probe((0, 0, 0, 0, 0)))


class Lie(NamedTuple):
    """A wrong answer, and where it is given."""

    change: Change
    operations: Sequence[Operation]
    because: str
    config: Config = FULL


def found(*hits: tuple[int, ...]) -> Change:
    return answering("find_longest_cache_hit", hits, at=2)


def unkeyed(port: Changed, call: Call, outcome: Outcome) -> None:
    """Publishing counts the blocks and gives the last one no key."""
    if call.name == "cache_blocks":
        port.state = evolve(port.state, pool=without_keys(port.state.pool, (2,)))


def not_released(port: Changed, call: Call, outcome: Outcome) -> None:
    """The second release gives nothing back."""
    if call.name == "remove_skipped_blocks" and port.made.count(call.name) == 2:
        port.state = with_table(port.state, "A", (1, 2))


LIES = {
    "LIVE.HIT.FOUND": Lie(found((1,)), LOOK_UP, "the hit is 2 tokens and 4 are published and usable"),
    "LIVE.HIT.CAP": Lie(found((1, 2, 3)), LOOK_UP, "the hit is 6 tokens, cap 4, alignment 2"),
    "LIVE.HIT.COVERED": Lie(found((1, 2), (3,)), LOOK_UP, "the groups' hits have (4, 2) tokens", TWO),
    "LIVE.HIT.KEYED": Lie(found((1, 3)), LOOK_UP, "place 1 of the hit is block 3, which does not carry its key"),
    "LIVE.HIT.NULLS": Lie(found((0, 2)), LOOK_UP, "place 0 of the hit [0, 2] is null and will be read"),
    "LIVE.REFUSAL": Lie(
        answering("get_num_blocks_to_allocate", 99), (Start("A", (0, 0)),), "A needs at most 1 blocks, 7 are free, and it was refused"
    ),
    "LIVE.PUBLISHED": Lie(unkeyed, (Start("A", (0, 0, 0, 0)),), "block 2 at place 1 of A is full and carries no key"),
    "LIVE.RELEASED": Lie(
        not_released,
        (Start("A", (0, 0, 0, 0)), Execute(), Grow("A")),
        "after a release at 4 tokens A holds [1] before the first token still needed",
        Config(8, 2, (Kind("sliding", window=2),), max_model_len=16),
    ),
    "LIVE.RESET": Lie(answering("reset_prefix_cache", False), (*CACHED, Reset()), "no request holds a block"),
    "LIVE.COMMON": Lie(
        answering("get_num_common_prefix_blocks", (1,)), (Start("A", (0, 0)), Start("B", (1, 1)), Share("A")), "1 blocks are called common"
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_a_wrong_answer_breaks_the_clause_that_says_so(name: str) -> None:
    lie = LIES[name]
    violation = first_broken(Changed(lie.change), lie.config, lie.operations, "liveness")

    assert violation is not None
    assert (violation.clause, violation.oracle) == (name, "liveness")
    assert lie.because in violation.because


@pytest.mark.parametrize("name", LIES)
def test_the_true_answer_breaks_nothing(name: str) -> None:
    assert first_broken(Changed(), LIES[name].config, LIES[name].operations, "liveness") is None


def test_every_clause_of_liveness_can_fail() -> None:
    assert set(LIES) == {name for name in REGISTRY if name.startswith("LIVE.")}


def test_a_reset_that_succeeds_while_blocks_are_held_is_found() -> None:
    violation = first_broken(Changed(answering("reset_prefix_cache", True)), FULL, (Start("A", (0,)), Reset()), "liveness")

    assert violation is not None
    assert violation.because == "requests hold blocks and the reset returned True"


def test_a_hit_in_a_request_that_is_admitted_is_judged_too() -> None:
    operations = (*CACHED, Start("B", (0, 0, 0, 0, 0)))
    violation = first_broken(Changed(found((1,))), FULL, operations, "liveness")

    assert violation is not None
    assert violation.clause == "LIVE.HIT.FOUND"


def test_a_state_that_is_computed_in_this_step_may_be_put_off() -> None:
    config = Config(8, 2, (Kind("mamba", mode="all"),), max_model_len=16)

    assert first_broken(Changed(), config, (Start("A", (0, 0)), Start("B", (0, 0, 1))), "liveness") is None


def test_a_request_that_holds_only_null_does_not_stand_in_the_way_of_a_reset() -> None:
    config = Config(8, 4, (Kind("sliding", window=1),), max_model_len=16)
    loading = (Start("A", (0, 0, 0, 0, 0), external=4, delayed=True), Execute(), Reset())

    assert first_broken(Changed(), config, loading, "liveness") is None
