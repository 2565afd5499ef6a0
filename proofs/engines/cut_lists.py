"""The lists and keys of source whose loops are cut: nothing here has a length that Python could count.

A list is a length and a function from places to what stands there.
What stands in a list of blocks is a number: -1 for the null block, the place of a cached block, or a block's id.
"""

from collections.abc import Callable
from typing import Any

from kvwitness.proofs.engines.cut_numbers import CannotCut, Decider, bare

NULL = -1
"""What stands for the null block."""


class Strip:
    """A list of blocks of any length.

    Attributes:
        length: How many stand in it.
        at: What stands at a place.
        version: Changes whenever the list does.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, ways: Decider, length: Any, at: Callable[[Any], Any]) -> None:
        """A list of so many blocks."""
        self.ways, self.length, self.at, self.version = ways, length, at, 0

    def become(self, length: Any, at: Callable[[Any], Any]) -> None:
        """Have another length and other contents."""
        self.length, self.at, self.version = length, at, self.version + 1

    def __bool__(self) -> bool:
        return self.ways.decide(self.length > 0)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Strip(self.ways, *self._sliced(place))
        return block_of(self.ways, self.at(self._place(place)))

    def __setitem__(self, place: Any, value: Any) -> None:
        if isinstance(place, slice):
            raise CannotCut("a slice of a list is assigned: only single places are")
        here, old, new = self._place(place), self.at, code_of(self.ways, value)
        self.become(self.length, lambda index: chosen(index == here, new, old(index)))

    def __delitem__(self, place: slice) -> None:
        if place.start is None or place.stop is not None or place.step is not None:
            raise CannotCut("a list is shortened other than from a place to its end")
        self.become(self._clamped(place.start), self.at)

    def append(self, value: Any) -> None:
        """Put something behind all."""
        end, old, new = self.length, self.at, code_of(self.ways, value)
        self.become(end + 1, lambda index: chosen(index == end, new, old(index)))

    def extend(self, other: Any) -> None:
        """Put a list behind all."""
        longer = self + other
        self.become(longer.length, longer.at)

    def pop(self) -> Any:
        """Take the last away."""
        if not self:
            raise IndexError("pop from empty list")
        last = self.length - 1
        self.become(last, self.at)
        return block_of(self.ways, self.at(last))

    def __add__(self, other: Any) -> "Strip":
        end, first, second = self.length, self.at, strip_of(self.ways, other)
        return Strip(self.ways, end + second.length, lambda index: chosen(index < end, first(index), second.at(index - end)))

    def _place(self, place: Any) -> Any:
        term = bare(place)
        if not self.ways.decide(both(term >= 0, term < self.length)):
            raise IndexError(f"list index {term} out of range, or counted from the end")
        return term

    def _clamped(self, bound: Any) -> Any:
        """A bound of a slice, which is not counted from the end."""
        term = bare(bound)
        if self.ways.decide(both(term < 0)):
            raise CannotCut(f"the bound {term} of a slice may be negative, and would count from the end")
        return chosen(term <= self.length, term, self.length)

    def _sliced(self, place: slice) -> tuple[Any, Callable[[Any], Any]]:
        old, length = self.at, self.length
        if place.step == -1 and place.start is None and place.stop is None:
            return length, lambda index: old(length - 1 - index)
        if place.step is not None:
            raise CannotCut("a slice has steps")
        start = 0 if place.start is None else self._clamped(place.start)
        stop = length if place.stop is None else self._clamped(place.stop)
        return chosen(start <= stop, stop - start, 0), lambda index: old(index + start)


class Block:
    """A block that is not null.

    Attributes:
        code: Which one.
    """

    is_null = False

    def __init__(self, code: Any) -> None:
        """The block of that number."""
        self.code = code


def both(*terms: Any) -> Any:
    """All of them, as a term."""
    import z3

    return z3.And(*terms)


def chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """An if-then-else; plain where the condition is."""
    import z3

    return z3.If(condition, then, otherwise) if isinstance(condition, z3.BoolRef) else then if condition else otherwise


def code_of(ways: Decider, value: Any) -> Any:
    """The number that stands for a block."""
    import z3

    if value is ways.null:
        return z3.IntVal(NULL)
    if not isinstance(value, Block):
        raise CannotCut(f"a {type(value).__name__} is put into a list of blocks")
    return value.code


def block_of(ways: Decider, code: Any) -> Any:
    """The block that a number stands for: null, or another."""
    return ways.null if ways.decide(code == NULL) else Block(code)


def strip_of(ways: Decider, values: Any) -> Strip:
    """A list as one of any length."""
    import z3

    if isinstance(values, Strip):
        return values
    made = Strip(ways, z3.IntVal(0), lambda _: z3.IntVal(NULL))
    for value in values:
        made.append(value)
    return made


def repeated(ways: Decider, values: Any, times: Any) -> Strip:
    """A list of one block, so many times."""
    one = strip_of(ways, values)
    code = one.at(0)
    return Strip(ways, chosen(times > 0, times, 0), lambda _: code)


def every_place(strip: Strip, body: Callable[[Any], Any]) -> Any:
    """The body holds of all places of a list; instances are looked for by what is read from it."""
    import z3

    place = z3.Int("place!")
    at = strip.at(place)
    is_plain = z3.is_app(at) and at.num_args() == 1 and at.decl().kind() == z3.Z3_OP_UNINTERPRETED
    return z3.ForAll([place], body(place), patterns=[at] if is_plain else [])


class Keys:
    """The keys of a prefix: any number of them, each that of a place.

    Attributes:
        ways: The run that they are used in.
        length: How many.
        first: The place of the first.
    """

    def __init__(self, ways: Decider, length: Any, first: Any = 0) -> None:
        """So many keys from a place on."""
        self.ways, self.length, self.first = ways, length, first

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return self._sliced(bare(place.start or 0), bare(place.stop))
        term = bare(place)
        if not self.ways.decide(both(term >= 0, term < self.length)):
            raise IndexError(f"there is no key {term}")
        return self.key(term)

    def key(self, place: Any) -> "Key":
        """The key of a place that there is."""
        return Key(self.first + place)

    def _sliced(self, start: Any, stop: Any) -> "Keys":
        if self.ways.decide(stop < start):
            return Keys(self.ways, 0, self.first)
        end = chosen(stop <= self.length, stop, self.length)
        return Keys(self.ways, chosen(end >= start, end - start, 0), self.first + start)


class Key:
    """A key.

    Attributes:
        place: Of which block of the prefix.
    """

    def __init__(self, place: Any) -> None:
        """The key of that place."""
        self.place = place


__all__ = ["NULL", "Block", "Key", "Keys", "Strip", "block_of", "both", "chosen", "code_of", "every_place", "repeated", "strip_of"]
