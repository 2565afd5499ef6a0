"""Terms of the solver, and what they come to."""

import pytest

from kvwitness.model import numbers
from kvwitness.proofs import terms


def test_a_term_with_an_unknown_left_over_has_no_value() -> None:
    first, second = terms.integers("first", "second")

    with pytest.raises(ValueError, match="got a term that comes to second"):
        terms.value_of(first + second, first=0)


def test_a_number_is_its_own_value() -> None:
    assert terms.value_of(7) == 7
    assert terms.value_of(numbers.maximum(2, 3), n=1) == 3


def test_a_term_comes_to_a_number_or_a_truth() -> None:
    terms.register()
    n = terms.integer("n")

    assert terms.value_of(numbers.maximum(n, 3) + 1, n=5) == 6
    assert terms.value_of(numbers.floor_div(n, 2), n=-3) == -2
    assert terms.value_of(n > 3, n=3) is False
    assert terms.value_of(n > 3, n=4) is True
