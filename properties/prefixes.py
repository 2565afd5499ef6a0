"""Decodable keys: every prefix of tokens has one number, and every number one prefix.

A chain key that a manager sees is such a number, so what a key claims is a value, not a hash.
"""

from collections.abc import Sequence
from typing import Protocol


class Keys(Protocol):
    """What a run needs of its keys: `Prefixes` numbers tokens as they come, a workload's keys are arithmetic."""

    def chain(self, tokens: Sequence[int], start: int = 0) -> Sequence[int]:
        """The key of each prefix that ends with one of the tokens, behind the prefix ``start``; 0 is the empty one."""

    def ancestor(self, number: int, steps: int) -> int:
        """The key of the prefix that lacks the last ``steps`` tokens."""


class Prefixes:
    """A table of prefixes: number 0 is the empty one, each other is a known prefix and one more token."""

    def __init__(self) -> None:
        """Know only the empty prefix."""
        self._numbers: dict[tuple[int, int], int] = {}
        self._parents = [0]
        self._tokens = [0]

    def chain(self, tokens: Sequence[int], start: int = 0) -> tuple[int, ...]:
        """The number of each prefix that ends with one of the tokens, behind the prefix ``start``. O(tokens)."""
        numbers, current, chain = self._numbers, start, []
        for token in tokens:
            following = numbers.get((current, token))
            if following is None:
                following = len(self._parents)
                numbers[current, token] = following
                self._parents.append(current)
                self._tokens.append(token)
            chain.append(following)
            current = following
        return tuple(chain)

    def ancestor(self, number: int, steps: int) -> int:
        """The prefix that lacks the last ``steps`` tokens. O(steps)."""
        parents = self._parents
        for _ in range(steps):
            number = parents[number]
        return number

    def tokens(self, number: int) -> tuple[int, ...]:
        """The tokens of a prefix: what a key claims. O(length)."""
        decoded = []
        while number:
            decoded.append(self._tokens[number])
            number = self._parents[number]
        return tuple(reversed(decoded))
