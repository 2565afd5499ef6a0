"""A pure function of the spec with branches, run on terms as it stands: each way through it is taken once.

The ways are put together as one term: if the conditions of the first way hold its result, else that of the next.
"""

from collections.abc import Callable
from typing import Any

from kvwitness.model.numbers import register_choice

MOST_WAYS = 400
"""Ways through a function, after which something is wrong with it."""


class Trail:
    """The decisions of one run: those given, then the first choice at every further branch."""

    def __init__(self, given: tuple[bool, ...]) -> None:
        """Follow the given decisions first."""
        self._given = given
        self.taken: list[bool] = []
        self.conditions: list[Any] = []

    def decide(self, condition: Any) -> bool:
        """Take a branch and remember why."""
        import z3

        number = len(self.taken)
        choice = self._given[number] if number < len(self._given) else True
        self.taken.append(choice)
        self.conditions.append(condition if choice else z3.Not(condition))
        return choice


_trails: list[Trail] = []


class Truth:
    """A condition that is a term; asking for its truth is a branch."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Any) -> None:
        """Wrap the term."""
        self.term = term

    def __bool__(self) -> bool:
        return _trails[-1].decide(self.term)

    def __and__(self, other: Any) -> "Truth":
        import z3

        return Truth(z3.And(self.term, unwrapped(other)))

    def __or__(self, other: Any) -> "Truth":
        import z3

        return Truth(z3.Or(self.term, unwrapped(other)))

    def __eq__(self, other: object) -> Any:
        return Truth(self.term == unwrapped(other))


class Number:
    """An integer that is a term. It is no subclass of int: compiled code would read that one's value instead."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, term: Any) -> None:
        """Wrap the term."""
        self.term = term

    def __add__(self, other: Any) -> "Number":
        return Number(self.term + unwrapped(other))

    def __radd__(self, other: Any) -> "Number":
        return Number(unwrapped(other) + self.term)

    def __sub__(self, other: Any) -> "Number":
        return Number(self.term - unwrapped(other))

    def __rsub__(self, other: Any) -> "Number":
        return Number(unwrapped(other) - self.term)

    def __mul__(self, other: Any) -> "Number":
        return Number(self.term * unwrapped(other))

    def __rmul__(self, other: Any) -> "Number":
        return Number(unwrapped(other) * self.term)

    def __neg__(self) -> "Number":
        return Number(-self.term)

    def __floordiv__(self, other: Any) -> "Number":
        return Number(self.term / unwrapped(other))

    __truediv__ = __floordiv__

    def __rfloordiv__(self, other: Any) -> "Number":
        import z3

        return Number(z3.IntVal(unwrapped(other)) / self.term)

    __rtruediv__ = __rfloordiv__

    def __mod__(self, other: Any) -> "Number":
        return self - self // other * other

    def __lt__(self, other: Any) -> Truth:
        return Truth(self.term < unwrapped(other))

    def __le__(self, other: Any) -> Truth:
        return Truth(self.term <= unwrapped(other))

    def __gt__(self, other: Any) -> Truth:
        return Truth(self.term > unwrapped(other))

    def __ge__(self, other: Any) -> Truth:
        return Truth(self.term >= unwrapped(other))

    def __eq__(self, other: object) -> Any:
        return Truth(self.term == unwrapped(other))

    def __ne__(self, other: object) -> Any:
        return Truth(self.term != unwrapped(other))

    def __bool__(self) -> bool:
        return bool(self != 0)


def wrapped(value: Any) -> Any:
    """A term as something that Python can branch on; anything else as it is."""
    import z3

    if isinstance(value, z3.BoolRef):
        return Truth(value)
    return Number(value) if isinstance(value, z3.ArithRef) else value


def unwrapped(value: Any) -> Any:
    """The term of what was wrapped; anything else as it is."""
    return value.term if isinstance(value, Number | Truth) else value


def _choice(condition: Any, then: Any, otherwise: Any) -> Any:
    import z3

    chosen = z3.If(unwrapped(condition), unwrapped(then), unwrapped(otherwise))
    return wrapped(chosen) if any(isinstance(part, Number | Truth) for part in (condition, then, otherwise)) else chosen


def register() -> None:
    """Let the rules of the spec take terms, wrapped or bare."""
    register_choice(_choice)


def merged(function: Callable[..., Any], *arguments: Any) -> Any:
    """What the function comes to, as one term, or one for each member of a tuple; plainly called on plain arguments."""
    if all(wrapped(argument) is argument for argument in arguments):
        return function(*arguments)
    register()
    ways: list[tuple[list[Any], Any]] = []
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        given = pending.pop()
        trail = Trail(given)
        _trails.append(trail)
        try:
            result = function(*map(wrapped, arguments))
        finally:
            _trails.pop()
        ways.append((trail.conditions, result))
        if len(ways) > MOST_WAYS:
            raise ValueError(f"got more than {MOST_WAYS} ways through a function; allowed is a bounded one; state its loop instead")
        pending += [(*trail.taken[:place], not trail.taken[place]) for place in range(len(given), len(trail.taken))]
    return _joined(ways)


def _joined(ways: list[tuple[list[Any], Any]]) -> Any:
    import z3

    if isinstance(ways[0][1], tuple):
        members = range(len(ways[0][1]))
        return tuple(_joined([(conditions, result[member]) for conditions, result in ways]) for member in members)
    result = unwrapped(ways[-1][1])
    for conditions, earlier in reversed(ways[:-1]):
        value = unwrapped(earlier)
        if isinstance(value, bool) and isinstance(result, bool) and value == result:
            continue
        sort = z3.BoolSort() if isinstance(value, bool | z3.BoolRef) else z3.IntSort()
        result = z3.If(z3.And(*conditions), sort.cast(value), sort.cast(result))
    return result
