"""One drawn integer that stands for many choices: it is taken apart digit by digit, each digit in the base that the choice asks for.

A property-testing framework pays for every draw, so a rule draws once.
Zero stands for the first of everything, so that a smaller integer is a simpler operation.
"""

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")

MULTIPLIER = 0x9E3779B97F4A7C15
"""An odd number whose multiples lie evenly among those of 64 bits."""


class Digits:
    """The choices that an integer stands for; once it is used up, the first of everything."""

    def __init__(self, number: int) -> None:
        """Take apart ``number``, 0 or more."""
        self._rest = number

    @classmethod
    def spread(cls, number: int) -> "Digits":
        """Many small choices from an integer of few digits, none of them simpler than another but those of zero."""
        return cls(number * MULTIPLIER % 2**64)

    def below(self, base: int) -> int:
        """A number from 0 up to and without ``base``.

        >>> digits = Digits(7)
        >>> digits.below(3), digits.below(2), digits.below(5)
        (1, 0, 1)
        """
        self._rest, digit = divmod(self._rest, base)
        return digit

    def between(self, least: int, most: int) -> int:
        """A number from ``least`` to ``most``, both included."""
        return least + self.below(most - least + 1)

    def one_of(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        return items[self.below(len(items))]

    def chance(self, one_in: int) -> bool:
        """True for one value in so many, and never where the integer is used up."""
        return self.below(one_in) == one_in - 1
