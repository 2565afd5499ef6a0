"""The integers of source whose loops are cut: terms of the solver, of any size.

An alignment is not a number here: of a length it is only known whether it is aligned.
"""

from collections.abc import Callable
from typing import Any, NoReturn, Protocol


class CannotCut(Exception):
    """Source of a shape that this engine does not run; says which, and why."""


class Decider(Protocol):
    """Who decides what a term cannot know."""

    null: Any

    def decide(self, term: Any) -> bool:
        """Whether a condition holds on the way that is being run."""

    def size_of(self, divisor: Any) -> tuple[Any, int]:
        """The positive number that is divided by, and its sign."""

    def named(self, term: Any) -> Any:
        """An unknown that is the term."""

    def repeated(self, values: Any, times: Any) -> Any:
        """A list so many times."""

    def rest(self, number: Any) -> Any:
        """What is left of a number above the aligned one below it."""

    def aligned_factor(self, tokens: Any) -> Any:
        """How many blocks so many tokens are."""


class Truth:
    """A condition; to branch on it decides it."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ways: Decider, term: Any) -> None:
        """Wrap the term."""
        self.ways, self.term = ways, term

    def __bool__(self) -> bool:
        return self.ways.decide(self.term)


def bare(value: Any) -> Any:
    """The term of a number; a plain number as it is.

    Raises:
        CannotCut: It is an alignment, of which only whether lengths are aligned is known.
    """
    if isinstance(value, Alignment):
        raise CannotCut("the source computes with the alignment, or compares it with something else than the block")
    return value.term if isinstance(value, Number) else value


class Number:
    """An integer that is a term; it is no subclass of int, whose value compiled code would read."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ways: Decider, term: Any) -> None:
        """Wrap the term."""
        self.ways, self.term = ways, term

    def _made(self, term: Any) -> "Number":
        return Number(self.ways, term)

    def __add__(self, other: Any) -> "Number":
        return self._made(self.term + bare(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Number":
        return self._made(self.term - bare(other))

    def __rsub__(self, other: Any) -> "Number":
        return self._made(bare(other) - self.term)

    def __neg__(self) -> "Number":
        return self._made(-self.term)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, list) or hasattr(other, "length"):
            return self.ways.repeated(other, self.term)
        return other * self if isinstance(other, Whole) else self._made(self.term * bare(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, Step):
            return Whole(self, other)
        if isinstance(other, int):
            return self._made(self.term / other)
        size, sign = self.ways.size_of(bare(other))
        quotient = (self.term if sign > 0 else -self.term) / size
        return self._made(self.ways.named(quotient))

    def __rfloordiv__(self, other: Any) -> "Number":
        import z3

        return self._made(z3.IntVal(other)) // self

    def __mod__(self, other: Any) -> Any:
        if isinstance(other, Step):
            return self._made(self.ways.rest(self.term))
        if isinstance(other, Alignment):
            return Remainder(self.ways, other.aligned(self.ways.aligned_factor(self.term)))
        return self - self // other * other

    def __lt__(self, other: Any) -> Truth:
        return Truth(self.ways, self.term < bare(other))

    def __le__(self, other: Any) -> Truth:
        return Truth(self.ways, self.term <= bare(other))

    def __gt__(self, other: Any) -> Truth:
        return Truth(self.ways, self.term > bare(other))

    def __ge__(self, other: Any) -> Truth:
        return Truth(self.ways, self.term >= bare(other))

    def __eq__(self, other: object) -> Any:
        return other == self if isinstance(other, Alignment) else Truth(self.ways, self.term == bare(other))

    def __ne__(self, other: object) -> Any:
        return other != self if isinstance(other, Alignment) else Truth(self.ways, self.term != bare(other))

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> NoReturn:
        raise CannotCut(f"a plain number is needed where {self.term} stands: replace the call that needs it by what it promises")

    __int__ = __index__


class Step(Number):
    """The blocks between two aligned lengths."""

    def __neg__(self) -> "Step":
        return Step(self.ways, -self.term)


class Whole:
    """A number of whole steps: the quotient of something, which is only ever multiplied by the step again."""

    def __init__(self, number: Number, step: Step) -> None:
        """The steps in a number."""
        self._number, self._step = number, step

    def __mul__(self, other: Any) -> Number:
        if other is not self._step:
            raise CannotCut("a number of steps is multiplied by something else than the step")
        return self._number - self._number % self._step

    __rmul__ = __mul__


class Alignment:
    """What hit lengths in tokens are multiples of: of a length in blocks it is known whether it is aligned, and nothing else.

    Attributes:
        aligned: Whether so many blocks are aligned.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ways: Decider, aligned: Callable[[Any], Any], is_block: Any) -> None:
        """Aligned lengths by ``aligned``; ``is_block`` is whether the alignment is the block size, so that all lengths are."""
        self._ways, self.aligned, self._is_block = ways, aligned, is_block

    def __eq__(self, other: object) -> Any:
        return Truth(self._ways, self._is_block)

    def __ne__(self, other: object) -> Any:
        import z3

        return Truth(self._ways, z3.Not(self._is_block))


class Remainder:
    """What is left of a length above the alignment: only ever compared with 0."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ways: Decider, is_none: Any) -> None:
        """Nothing is left if ``is_none``."""
        self._ways, self._is_none = ways, is_none

    def __eq__(self, other: object) -> Any:
        return self._told(other, self._is_none)

    def __ne__(self, other: object) -> Any:
        import z3

        return self._told(other, z3.Not(self._is_none))

    def _told(self, other: object, term: Any) -> Truth:
        if other != 0:
            raise CannotCut("a remainder above the alignment is compared with something else than 0")
        return Truth(self._ways, term)


__all__ = ["Alignment", "CannotCut", "Decider", "Number", "Remainder", "Step", "Truth", "Whole", "bare"]
