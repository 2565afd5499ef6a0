"""The arithmetic of the spec on plain numbers."""

import math

from hypothesis import given
from hypothesis import strategies as st

from kvwitness.model.numbers import ceil_div, choose, floor_div, maximum, minimum, round_down

NUMBERS, SIZES = st.integers(-(10**6), 10**6), st.integers(1, 10**4)


@given(NUMBERS, SIZES)
def test_division_rounds_as_it_says(dividend: int, divisor: int) -> None:
    assert floor_div(dividend, divisor) == math.floor(dividend / divisor)
    assert ceil_div(dividend, divisor) == math.ceil(dividend / divisor)


@given(NUMBERS, SIZES)
def test_rounding_down_leaves_less_than_a_unit(tokens: int, unit: int) -> None:
    rounded = round_down(tokens, unit)

    assert rounded % unit == 0
    assert 0 <= tokens - rounded < unit


@given(NUMBERS, NUMBERS)
def test_the_larger_and_the_smaller_are_pythons(left: int, right: int) -> None:
    assert maximum(left, right) == max(left, right)
    assert minimum(left, right) == min(left, right)


def test_a_choice_on_a_plain_condition_needs_no_solver() -> None:
    assert choose(True, "then", "otherwise") == "then"
    assert choose(False, "then", "otherwise") == "otherwise"
