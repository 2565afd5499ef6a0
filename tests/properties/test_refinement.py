"""The refinement oracle alone: a difference from the model is found and named by the clause that decides it."""

import pytest
from attrs import evolve

from kvwitness.model.calls import Call, Outcome
from kvwitness.model.kinds import Config, Kind
from kvwitness.properties.operations import Execute, Free, Operation, Probe, Start
from tests.properties.ports import Changed, answering, first_broken

FULL = Config(8, 2, (Kind("full"),), max_model_len=16)
STARTED: tuple[Operation, ...] = (Start("A", (0, 0, 0, 0)),)
FREED = (*STARTED, Execute(), Free("A"))
LOOK_UP = (*FREED, Probe((0, 0, 0, 0, 0)))


def freeing_backwards(port: Changed, call: Call, outcome: Outcome) -> None:
    if call.name == "free":
        pool = port.state.pool
        port.state = evolve(port.state, pool=evolve(pool, free=pool.free[::-1]))


@pytest.mark.parametrize(
    ("name", "value", "operations", "clause"),
    [
        ("find_longest_cache_hit", ((1,),), LOOK_UP, "FULL.HIT.LONGEST"),
        ("get_num_blocks_to_allocate", 1, STARTED, "TABLE.ESTIMATE"),
        ("allocate_new_blocks", ((1, 3),), STARTED, "TABLE.GROW"),
        ("get_num_skipped_tokens", (1,), LOOK_UP, "NEED.FIRST"),
    ],
)
def test_another_answer_than_the_models_is_named_by_its_rule(
    name: str, value: object, operations: tuple[Operation, ...], clause: str
) -> None:
    at = 2 if name == "find_longest_cache_hit" else 1
    violation = first_broken(Changed(answering(name, value, at=at)), FULL, operations, "refinement")

    assert violation is not None
    assert (violation.clause, violation.oracle) == (clause, "refinement")
    assert violation.because.startswith(name)
    assert "the model to" in violation.because


def test_another_order_of_the_free_queue_counts_at_l3_only() -> None:
    strict = first_broken(Changed(freeing_backwards), FULL, FREED, "refinement")
    loose = first_broken(Changed(freeing_backwards), FULL, FREED, "refinement", level="L2")

    assert strict is not None
    assert strict.clause == "POOL.RELEASE"
    assert loose is None


def test_another_table_is_named_by_the_call_it_came_with() -> None:
    port = Changed(spoil=lambda seen: seen._replace(published=({"A": 1},)))
    violation = first_broken(port, FULL, STARTED, "refinement")

    assert violation is not None
    assert violation.clause == "TABLE.PUBLISH"


def test_a_rejection_that_the_model_does_not_share_is_found() -> None:
    port = Changed(lambda port, call, _: Outcome("rejected", None, "pool_exhausted") if call.name == "free" else None)
    violation = first_broken(port, FULL, FREED, "refinement")

    assert violation is not None
    assert violation.clause == "TABLE.FREE"
    assert "rejected (pool_exhausted)" in violation.because


def test_the_model_refines_itself() -> None:
    assert first_broken(Changed(), FULL, LOOK_UP, "refinement") is None
