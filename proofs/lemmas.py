"""The lemma base: what quotients, products and multiples do. Nowhere else is a product of two unknowns reasoned about.

A lemma is a function from its numbers to what is assumed and what follows; the solver proves each of them as it stands, and
a test tries each on all small numbers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from kvwitness.model.numbers import ceil_div, floor_div, round_down
from kvwitness.proofs.logic import both, either, implies


class Lemma(NamedTuple):
    """A fact of arithmetic: for all numbers, the condition implies the fact."""

    condition: Any
    fact: Any


LEMMAS: dict[str, Callable[..., Lemma]] = {}


def lemma(states: Callable[..., Lemma]) -> Callable[..., Any]:
    """Register a lemma; called with terms it gives the instance that a proof may use."""
    LEMMAS[states.__name__] = states

    def instance(*numbers: Any) -> Any:
        stated = states(*numbers)
        return implies(stated.condition, stated.fact)

    instance.__doc__, instance.__name__ = states.__doc__, states.__name__
    return instance


@lemma
def quotient_bounds(x: Any, d: Any) -> Lemma:
    """A quotient rounded down, times the divisor, is less than a divisor away."""
    return Lemma(d >= 1, both(floor_div(x, d) * d <= x, x < floor_div(x, d) * d + d))


@lemma
def quotient_is_the_one(x: Any, d: Any, q: Any) -> Lemma:
    """Only one number is the quotient: whose product is at most the dividend and less than a divisor away."""
    return Lemma(both(d >= 1, q * d <= x, x < q * d + d), floor_div(x, d) == q)


@lemma
def quotient_grows(x: Any, y: Any, d: Any) -> Lemma:
    """A quotient grows with its dividend."""
    return Lemma(both(d >= 1, x <= y), floor_div(x, d) <= floor_div(y, d))


@lemma
def quotient_of_multiple(q: Any, d: Any) -> Lemma:
    """A multiple divides without rest."""
    return Lemma(d >= 1, floor_div(q * d, d) == q)


@lemma
def quotient_after_one_more(x: Any, d: Any) -> Lemma:
    """One divisor more is one quotient more."""
    return Lemma(d >= 1, floor_div(x + d, d) == floor_div(x, d) + 1)


@lemma
def quotient_of_shifted(x: Any, d: Any, m: Any) -> Lemma:
    """Whole divisors come out of a quotient."""
    return Lemma(d >= 1, floor_div(x + m * d, d) == floor_div(x, d) + m)


@lemma
def quotient_is_natural(x: Any, d: Any) -> Lemma:
    """The quotient of a natural number is natural and no greater."""
    return Lemma(both(d >= 1, x >= 0), both(floor_div(x, d) >= 0, floor_div(x, d) <= x))


@lemma
def ceiling_bounds(x: Any, d: Any) -> Lemma:
    """So many pieces hold everything, and one fewer do not."""
    return Lemma(d >= 1, both(ceil_div(x, d) * d >= x, (ceil_div(x, d) - 1) * d < x))


@lemma
def ceiling_grows(x: Any, y: Any, d: Any) -> Lemma:
    """More takes no fewer pieces."""
    return Lemma(both(d >= 1, x <= y), ceil_div(x, d) <= ceil_div(y, d))


@lemma
def ceiling_is_floor_of_one_less(x: Any, d: Any) -> Lemma:
    """Pieces rounded up are one more than those that lie wholly before the last unit."""
    return Lemma(d >= 1, ceil_div(x, d) == floor_div(x - 1, d) + 1)


@lemma
def ceiling_of_multiple(q: Any, d: Any) -> Lemma:
    """A multiple takes exactly its pieces."""
    return Lemma(d >= 1, ceil_div(q * d, d) == q)


@lemma
def rounded_is_below(x: Any, d: Any) -> Lemma:
    """Rounding down stays below, by less than the unit."""
    return Lemma(d >= 1, both(round_down(x, d) <= x, x - round_down(x, d) < d))


@lemma
def rounded_is_greatest(x: Any, d: Any, q: Any) -> Lemma:
    """No multiple lies between a number and itself rounded down."""
    return Lemma(both(d >= 1, q * d <= x), q * d <= round_down(x, d))


@lemma
def rounding_twice(x: Any, d: Any) -> Lemma:
    """Rounding a rounded number changes nothing."""
    return Lemma(d >= 1, round_down(round_down(x, d), d) == round_down(x, d))


@lemma
def product_of_sum(a: Any, c: Any, d: Any) -> Lemma:
    """A product of a sum is the sum of the products."""
    return Lemma(d >= 1, (a + c) * d == a * d + c * d)


@lemma
def product_of_difference(a: Any, c: Any, d: Any) -> Lemma:
    """A product of a difference is the difference of the products."""
    return Lemma(d >= 1, (a - c) * d == a * d - c * d)


@lemma
def product_keeps_order(a: Any, c: Any, d: Any) -> Lemma:
    """Products with a positive number are in the order of the factors."""
    return Lemma(d >= 1, both(implies(a <= c, a * d <= c * d), implies(a < c, a * d + d <= c * d)))


@lemma
def product_is_at_least_the_factor(a: Any, d: Any) -> Lemma:
    """A product of natural numbers with a positive one is at least the factor."""
    return Lemma(both(d >= 1, a >= 0), a * d >= a)


@lemma
def multiple_of_multiple(k: Any, m: Any, d: Any) -> Lemma:
    """A multiple of a multiple is a multiple."""
    return Lemma(both(d >= 1, m >= 1), k * (m * d) == (k * m) * d)


@lemma
def unit_is_exact(x: Any, d: Any) -> Lemma:
    """Pieces of one unit: rounding changes nothing."""
    return Lemma(d == 1, both(floor_div(x, d) == x, ceil_div(x, d) == x, round_down(x, d) == x))


@lemma
def same_quotient_is_near(x: Any, y: Any, d: Any) -> Lemma:
    """Numbers with the same quotient are less than a divisor apart."""
    return Lemma(both(d >= 1, floor_div(x, d) == floor_div(y, d)), both(x - y < d, y - x < d))


@lemma
def boundary_between(x: Any, y: Any, d: Any) -> Lemma:
    """Between numbers a divisor apart lies a multiple."""
    return Lemma(both(d >= 1, x + d <= y), either(floor_div(y, d) * d > x, x == floor_div(y, d) * d))
