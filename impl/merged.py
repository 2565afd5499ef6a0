"""Keys at the granularity of larger blocks: the key of a block is that of its last token."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import overload

from kvwitness.impl.block import Key


class MergedKeys(Sequence[Key]):
    """Every so manieth of some keys, without a copy.

    >>> list(MergedKeys([10, 11, 12, 13, 14], 2)), MergedKeys([10, 11, 12, 13], 2)[1]
    ([11, 13], 13)

    Attributes:
        keys: The keys that are merged.
        factor: How many of them make one.
    """

    __slots__ = ("factor", "keys")

    def __init__(self, keys: Sequence[Key], factor: int) -> None:
        """A view of ``keys``, ``factor`` of them as one; O(1)."""
        self.keys = keys
        self.factor = factor

    def __len__(self) -> int:
        """Whole merged keys; O(1)."""
        return len(self.keys) // self.factor

    @overload
    def __getitem__(self, place: int) -> Key: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Key]: ...

    def __getitem__(self, place: int | slice) -> Key | Sequence[Key]:
        """One merged key in O(1), or a sequence of them in O(its length)."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step == 1:
                return self.keys[(start + 1) * self.factor - 1 : max(start, stop) * self.factor : self.factor]
            return [self[each] for each in range(start, stop, step)]
        size = len(self)
        index = place + size if place < 0 else place
        if not 0 <= index < size:
            raise IndexError(f"got place {place}; allowed is 0 to {size - 1}; there are {size} merged keys")
        return self.keys[(index + 1) * self.factor - 1]

    def __iter__(self) -> Iterator[Key]:
        """The merged keys in order, each taken when asked for."""
        return islice(self.keys, self.factor - 1, None, self.factor)


def merged(keys: Sequence[Key], factor: int) -> Sequence[Key]:
    """The keys of blocks that are ``factor`` times as large as those that the keys stand for; O(1)."""
    return keys if factor == 1 else MergedKeys(keys, factor)
