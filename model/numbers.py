"""The little arithmetic of the spec, the same for Python ints and for symbolic integers.

Every rule of the spec that is arithmetic is written with these five functions.
On ints they are what they say; on symbolic terms they build the term.
A solver's terms divide with ``/`` and choose with a function of the solver, which `proofs` registers through `register_choice`:
this package itself never imports a solver.
"""

from collections.abc import Callable
from typing import Any

_symbolic_choice: list[Callable[[Any, Any, Any], Any]] = []


def register_choice(choice: Callable[[Any, Any, Any], Any]) -> None:
    """Make ``choice(condition, then, otherwise)`` the if-then-else of symbolic conditions."""
    _symbolic_choice[:] = [choice]


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """``then`` where the condition holds, else ``otherwise``; both sides are already evaluated."""
    if condition is True or condition is False:
        return then if condition else otherwise
    if not _symbolic_choice:
        raise TypeError(f"got a symbolic condition of type {type(condition).__name__}; call register_choice first")
    return _symbolic_choice[0](condition, then, otherwise)


def floor_div(dividend: Any, divisor: Any) -> Any:
    """The quotient rounded down; the divisor is positive everywhere in the spec."""
    if type(dividend) is int and type(divisor) is int:
        return dividend // divisor
    return dividend / divisor


def ceil_div(dividend: Any, divisor: Any) -> Any:
    """How many pieces of size ``divisor`` it takes to hold ``dividend``."""
    return floor_div(dividend + divisor - 1, divisor)


def maximum(left: Any, right: Any) -> Any:
    """The larger of two numbers."""
    return choose(left >= right, left, right)


def minimum(left: Any, right: Any) -> Any:
    """The smaller of two numbers."""
    return choose(left <= right, left, right)


def round_down(tokens: Any, unit: Any) -> Any:
    """The largest multiple of ``unit`` that is no more than ``tokens``."""
    return floor_div(tokens, unit) * unit
