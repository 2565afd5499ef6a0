"""The rules of the spec say the same of a solver's terms as of numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kvwitness.model import contents, liveness, mamba, need, numbers, table
from kvwitness.model.kinds import Kind
from kvwitness.model.profile import SOUND
from kvwitness.model.table import Group
from kvwitness.proofs import terms

LENGTHS, SIZES = st.integers(0, 200), st.integers(1, 40)
FULL, SLIDING, CHUNKED, CROSS = Kind("full"), Kind("sliding", window=1), Kind("chunked", chunk=1), Kind("cross")
MAMBA = {mode: Kind("mamba", mode=mode) for mode in ("none", "all", "align")}


class Rule(NamedTuple):
    """A rule, with the range of each of its numbers."""

    decide: Callable[..., Any]
    ranges: dict[str, st.SearchStrategy[int]]


def sliding(window: Any) -> Kind:
    return evolve(SLIDING, window=window)


def chunked(chunk: Any) -> Kind:
    return evolve(CHUNKED, chunk=chunk)


def drafting(mode: str, drafts: Any) -> Kind:
    return evolve(MAMBA[mode], drafts=drafts)


def state_blocks(main: Any, block: Any, drafts: Any) -> Any:
    return mamba.num_state_blocks(Group(0, drafting("align", drafts), block, 9, True, SOUND), main)


def worst_need(kind: Kind, block: int) -> Callable[..., Any]:
    return lambda slots, main, encoder, held: liveness.worst_need(kind, block, slots, main, encoder, held)


WORST = {"slots": LENGTHS, "main": LENGTHS, "encoder": LENGTHS, "held": st.integers(0, 60)}
AT = {"n": LENGTHS, "window": SIZES}
IN = {"n": LENGTHS, "chunk": SIZES}
STATES = {"n": LENGTHS, "b": SIZES, "remembered": LENGTHS, "accepted": st.integers(0, 9)}

RULES = {
    "floor_div": Rule(numbers.floor_div, {"dividend": st.integers(-200, 200), "divisor": SIZES}),
    "ceil_div": Rule(numbers.ceil_div, {"dividend": st.integers(-200, 200), "divisor": SIZES}),
    "maximum": Rule(numbers.maximum, {"left": st.integers(-9, 9), "right": st.integers(-9, 9)}),
    "minimum": Rule(numbers.minimum, {"left": st.integers(-9, 9), "right": st.integers(-9, 9)}),
    "round_down": Rule(numbers.round_down, {"tokens": LENGTHS, "unit": SIZES}),
    "first_needed full": Rule(lambda n: need.first_needed(FULL, n), {"n": LENGTHS}),
    "first_needed sliding": Rule(lambda n, window: need.first_needed(sliding(window), n), AT),
    "first_needed chunked": Rule(lambda n, chunk: need.first_needed(chunked(chunk), n), IN),
    "first_needed mamba": Rule(lambda n: need.first_needed(MAMBA["all"], n), {"n": LENGTHS}),
    "num_skipped_blocks sliding": Rule(lambda n, window, b: need.num_skipped_blocks(sliding(window), n, b), {**AT, "b": SIZES}),
    "num_skipped_blocks chunked": Rule(lambda n, chunk, b: need.num_skipped_blocks(chunked(chunk), n, b), {**IN, "b": SIZES}),
    "num_skipped_blocks mamba": Rule(lambda n, b: need.num_skipped_blocks(MAMBA["align"], n, b), {"n": LENGTHS, "b": SIZES}),
    "needed_blocks first": Rule(lambda n, window, b: need.needed_blocks(sliding(window), n, b)[0], {**AT, "b": SIZES}),
    "needed_blocks end": Rule(lambda n, b: need.needed_blocks(MAMBA["all"], n, b)[1], {"n": LENGTHS, "b": SIZES}),
    "is_skipped sliding": Rule(lambda t, n, window: need.is_skipped(sliding(window), t, n), {"t": LENGTHS, **AT}),
    "is_skipped chunked": Rule(lambda t, n, chunk: need.is_skipped(chunked(chunk), t, n), {"t": LENGTHS, **IN}),
    "reads full": Rule(lambda n, t: need.reads(FULL, n, t), {"n": LENGTHS, "t": LENGTHS}),
    "reads sliding": Rule(lambda n, t, window: need.reads(sliding(window), n, t), {**AT, "t": LENGTHS}),
    "reads chunked": Rule(lambda n, t, chunk: need.reads(chunked(chunk), n, t), {**IN, "t": LENGTHS}),
    "reads mamba": Rule(lambda n, t: need.reads(MAMBA["none"], n, t), {"n": LENGTHS, "t": LENGTHS}),
    "num_new_blocks": Rule(table.num_new_blocks, {"num_tokens": LENGTHS, "block": SIZES, "skipped": SIZES, "held": SIZES}),
    "num_state_blocks": Rule(state_blocks, {"main": LENGTHS, "block": SIZES, "drafts": st.integers(0, 5)}),
    "first_read_block": Rule(lambda n, window, b: contents.first_read_block(sliding(window), n, b), {**AT, "b": SIZES}),
    "running_state": Rule(contents.running_state, {"n": LENGTHS, "k": SIZES, "b": SIZES}),
    "source_state none": Rule(lambda **at: contents.source_state(MAMBA["none"], **at), STATES),
    "source_state all": Rule(lambda **at: contents.source_state(MAMBA["all"], **at), STATES),
    "source_state align": Rule(lambda **at: contents.source_state(MAMBA["align"], **at), STATES),
    "source_state align first": Rule(
        lambda n, b: contents.source_state(MAMBA["align"], n, b, None, 0), {"n": st.integers(1, 200), "b": SIZES}
    ),
    "worst_need full": Rule(worst_need(FULL, 3), WORST),
    "worst_need cross": Rule(worst_need(CROSS, 4), WORST),
    "worst_need mamba none": Rule(worst_need(drafting("none", 2), 4), WORST),
    "worst_need mamba align": Rule(worst_need(drafting("align", 2), 4), WORST),
}


@pytest.fixture(autouse=True, scope="module")
def _solver() -> None:
    terms.register()


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_a_term_comes_to_what_the_numbers_come_to(name: str) -> None:
    rule = RULES[name]
    term = rule.decide(**{unknown: terms.integer(unknown) for unknown in rule.ranges})

    @settings(max_examples=100)
    @given(st.fixed_dictionaries(rule.ranges))
    def agree(values: dict[str, int]) -> None:
        assert terms.value_of(term, **values) == rule.decide(**values)

    agree()


def test_a_symbolic_condition_without_a_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "_symbolic_choice", [])

    with pytest.raises(TypeError, match="call register_choice first"):
        numbers.maximum(terms.integer("n"), 0)
