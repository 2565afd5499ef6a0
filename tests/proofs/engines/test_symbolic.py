"""Symbolic integers: exact arithmetic, and no number where there is none."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from kvwitness.proofs.engines.paths import Paths, World
from kvwitness.proofs.engines.symbolic import Concretised, SymbolicInt


@pytest.fixture
def number() -> Any:
    return Paths().integer("n", 1)


def test_it_is_no_int(number: Any) -> None:
    assert not isinstance(number, int)
    assert not issubclass(SymbolicInt, int)


@pytest.mark.parametrize(
    "use",
    [
        range,
        lambda n: [0] * n,
        lambda n: [1, 2][n],
        lambda n: math.gcd(n, 2),
        lambda n: {n: 1},
        int,
        float,
        hash,
        lambda n: n * n,
        lambda n: 2**n,
    ],
    ids=["range", "list", "place", "gcd", "key", "int", "float", "hash", "product", "power"],
)
def test_it_refuses_to_be_a_number_silently(number: Any, use: Callable[[Any], object]) -> None:
    with pytest.raises((Concretised, TypeError)):
        use(number)


def test_linear_arithmetic_is_exact(number: Any) -> None:
    assert number + 2 - number == 2
    assert (3 * number - number * 3) == 0
    assert repr(-(2 - number) + number) == "(2*n + -2)"
    assert number * 2 // number == 2


def test_the_quotient_is_that_of_python(number: Any) -> None:
    def agrees(world: World) -> str:
        dividend, divisor = world.integer("x") - 3, world.integer("d", 1)
        world.assume(dividend < 4 * divisor)
        quotient, rest = dividend // divisor, dividend % divisor
        right = quotient * divisor + rest == dividend and rest >= 0 and rest < divisor
        ceiling = -(-dividend // divisor)
        return "" if right and (ceiling == quotient) == (rest == 0) and dividend // -divisor == -ceiling else "wrong"

    outcome = Paths().run(agrees)

    assert outcome.verdict == "proved"
    assert outcome.paths >= 10
