"""The connectives, the same for Python's truths and for a solver's terms.

A statement written with these and with comparisons can be proved, searched for a counterexample, and evaluated.
"""

from collections.abc import Callable
from typing import Any


def is_plain(*terms: Any) -> bool:
    """Whether all of them are Python's own truths or numbers."""
    return all(isinstance(term, int) for term in terms)


def both(*terms: Any) -> Any:
    """All of them hold."""
    if is_plain(*terms):
        return all(terms)
    import z3

    return z3.And(*terms)


def either(*terms: Any) -> Any:
    """One of them holds, or more."""
    if is_plain(*terms):
        return any(terms)
    import z3

    return z3.Or(*terms)


def negated(term: Any) -> Any:
    """It does not hold."""
    if is_plain(term):
        return not term
    import z3

    return z3.Not(term)


def implies(condition: Any, consequence: Any) -> Any:
    """Where the condition holds, so does the consequence."""
    return either(negated(condition), consequence)


def iff(left: Any, right: Any) -> Any:
    """Both hold or neither does."""
    if is_plain(left, right):
        return bool(left) == bool(right)
    import z3

    return z3.BoolSort().cast(left) == z3.BoolSort().cast(right)


def within(low: Any, number: Any, end: Any) -> Any:
    """``low <= number < end``."""
    return both(low <= number, number < end)


def updated(function: Callable[..., Any], place: Any, value: Any) -> Callable[..., Any]:
    """The function with another value at one place; a place of several numbers is a tuple."""
    places = place if isinstance(place, tuple) else (place,)

    def changed(*arguments: Any) -> Any:
        at_place = both(*(argument == number for argument, number in zip(arguments, places, strict=True)))
        return chosen(at_place, value, function(*arguments))

    return changed


def chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """``then`` where the condition holds, else ``otherwise``."""
    if is_plain(condition):
        return then if condition else otherwise
    import z3

    return z3.If(condition, then, otherwise)
