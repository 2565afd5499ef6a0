"""An integer taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwitness.properties.digits import Digits


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(2, 9), st.integers(0, 8)), max_size=8))
def test_every_choice_can_be_had(choices: list[tuple[int, int]]) -> None:
    number, weight = 0, 1
    for base, choice in choices:
        number += choice % base * weight
        weight *= base
    digits = Digits(number)

    assert [digits.below(base) for base, _ in choices] == [choice % base for base, choice in choices]


def test_zero_is_the_first_of_everything() -> None:
    for digits in (Digits(0), Digits.spread(0)):
        assert digits.below(5) == 0
        assert digits.between(3, 7) == 3
        assert digits.one_of("abc") == "a"
        assert not digits.chance(2)


def test_a_chance_comes_as_often_as_it_says() -> None:
    assert sum(Digits(number).chance(4) for number in range(400)) == 100
    assert 80 < sum(Digits.spread(number).chance(4) for number in range(400)) < 120
