"""The accounting oracle alone: every clause of the books can fail, and the one that fails is named."""

from collections.abc import Callable, Sequence

import pytest

from kvwitness.model.calls import Blocks, Observation, Outcome
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import Config, Kind
from kvwitness.properties.books_told import explain_state
from kvwitness.properties.operations import Execute, Free, Operation, Probe, Start
from tests.properties.ports import Changed, answering, first_broken

CACHING = Config(6, 2, (Kind("full"),), max_model_len=16)
KEYLESS = Config(6, 2, (Kind("full"),), caching=False, max_model_len=16)

STARTED = (Start("A", (0, 0, 0)),)
"""Block 1 is published, block 2 is not."""
GONE = (Start("A", (0, 0, 0)), Execute(), Free("A"))


def sharing_a_block(seen: Observation) -> Observation:
    tables: dict[str, Blocks] = {"A": (1,), "B": (1,)}
    references = (0, 2, 0, 0, 0, 0)
    return seen._replace(tables=(tables,), references=references, free=(2, 3, 4, 5), published=({},))


def tables_of(*blocks: int) -> Callable[[Observation], Observation]:
    return lambda seen: seen._replace(tables=({"A": blocks},))


SPOILT: dict[str, tuple[Callable[[Observation], Observation], Config, Sequence[Operation], str]] = {
    "BOOKS.REFERENCES": (lambda seen: seen._replace(references=(0, 1, 2, 0, 0, 0)), CACHING, STARTED, "block 2 counts 2 references"),
    "BOOKS.FREE": (lambda seen: seen._replace(free=(3, 4)), CACHING, STARTED, "block 5 is not free and is held by nobody"),
    "BOOKS.SET-APART": (lambda seen: seen._replace(reserved=(2,)), CACHING, STARTED, "block 2 is set apart for a sink and is held by A"),
    "BOOKS.QUEUE": (lambda seen: seen._replace(free=(3, 4, 5, 3)), CACHING, STARTED, "the free queue is [3, 4, 5, 3]"),
    "BOOKS.NULL": (lambda seen: seen._replace(free=(3, 4, 5, 0)), CACHING, STARTED, "the free queue is [3, 4, 5, 0]"),
    "BOOKS.INDEX": (lambda seen: seen._replace(index={}), CACHING, STARTED, "block 1 carries (0, 2) and is listed under nothing"),
    "BOOKS.ONCE": (tables_of(1, 2, 1), CACHING, STARTED, "the table of A is [1, 2, 1]"),
    "BOOKS.EXCLUSIVE": (sharing_a_block, KEYLESS, (Start("A", (0,)),), "block 1 carries no key and is held by A, B"),
    "BOOKS.PUBLISHED": (lambda seen: seen._replace(published=({"A": 3},)), CACHING, STARTED, "A counts 3 published blocks"),
    "BOOKS.REST": (lambda seen: seen._replace(published=({"B": 0},)), CACHING, (Probe((0,)),), "left over: B"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_observation_breaks_the_clause_that_says_so(name: str) -> None:
    spoil, config, operations, because = SPOILT[name]
    violation = first_broken(Changed(spoil=spoil), config, operations, "accounting")

    assert violation is not None
    assert (violation.clause, violation.oracle) == (name, "accounting")
    assert because in violation.because


SAID = {
    "BOOKS.ESTIMATE": (answering("get_num_blocks_to_allocate", 1), STARTED, "the estimate for A is 1, and 2 blocks are taken"),
    "BOOKS.ESTIMATE.FLOOR": (answering("get_num_blocks_to_allocate", -1), STARTED, "the estimate for A is -1"),
    "BOOKS.ACCEPTED": (
        lambda port, call, _: Outcome("failed", None, "out of luck") if call.name == "cache_blocks" else None,
        STARTED,
        "cache_blocks ended failed (out of luck)",
    ),
}


@pytest.mark.parametrize("name", SAID)
def test_a_wrong_answer_breaks_the_clause_that_says_so(name: str) -> None:
    change, operations, because = SAID[name]
    violation = first_broken(Changed(change), CACHING, operations, "accounting")

    assert violation is not None
    assert violation.clause == name
    assert because in violation.because


def test_a_look_up_that_changes_something_breaks_its_clause() -> None:
    port = Changed()
    port._spoil = lambda seen: seen._replace(free=(seen.free or ())[::-1]) if port.made[-1:] == ["get_num_skipped_tokens"] else seen
    violation = first_broken(port, CACHING, (*STARTED, Probe((1, 1))), "accounting")

    assert violation is not None
    assert violation.clause == "BOOKS.UNCHANGED"
    assert "changed: free" in violation.because


def test_a_refusal_that_changes_something_breaks_its_clause() -> None:
    port = Changed(answering("get_num_blocks_to_allocate", 99, at=2))
    port._spoil = lambda seen: seen._replace(free=(seen.free or ())[::-1]) if port.made.count("get_num_free_blocks") == 2 else seen
    violation = first_broken(port, CACHING, (*STARTED, Start("B", (1,))), "accounting")

    assert violation is not None
    assert violation.clause == "BOOKS.UNCHANGED"


PAST_THE_PROTOCOL = {"BOOKS.COUNT", "BOOKS.NULL.COUNT"}
"""Shown to fail in test_raw_books: only a call past the protocol breaks them."""


def test_every_clause_of_the_books_can_fail() -> None:
    assert {*SPOILT, *SAID, *PAST_THE_PROTOCOL, "BOOKS.UNCHANGED"} == {name for name in REGISTRY if name.startswith("BOOKS.")}


def test_sound_books_break_nothing() -> None:
    assert first_broken(Changed(), CACHING, GONE, "accounting") is None


@pytest.mark.parametrize("part", Observation._fields)
def test_what_a_port_does_not_show_is_not_judged(part: str) -> None:
    violation = first_broken(Changed(spoil=lambda seen: seen._replace(**{part: None})), CACHING, STARTED, "accounting")

    assert violation is None


@pytest.mark.parametrize("name", [name for name in SPOILT if name != "BOOKS.REST"])
def test_the_slow_pass_agrees_that_something_is_wrong(name: str) -> None:
    spoil, config, operations, _ = SPOILT[name]
    port = Changed()
    assert first_broken(port, config, operations, "accounting") is None
    violation = explain_state(spoil(port.observe()), config.blocks)

    assert violation is not None
    assert violation.clause == name
