"""A sequence of blocks that begins with null blocks: a request's table, or a hit.

The null prefix is a number, not cells.
A window of 1,000 tokens at the end of a million therefore costs what the window costs.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from kvwitness.impl.block import KVCacheBlock


class BlockTable(Sequence[KVCacheBlock]):
    """Null blocks, then a tail of entries whose first is not null: ``[∅ ∅ 7 9]``.

    It compares equal to any list or tuple with the same entries.

    Attributes:
        null_block: What the prefix consists of.
        num_nulls: Length of the null prefix in blocks.
        tail: The entries behind it; Mamba's may contain further nulls.
    """

    __slots__ = ("null_block", "num_nulls", "tail")

    def __init__(self, null_block: KVCacheBlock, num_nulls: int = 0, tail: list[KVCacheBlock] | None = None) -> None:
        """Take over the list ``tail``; O(nulls at its front)."""
        self.null_block = null_block
        self.num_nulls = num_nulls
        self.tail = [] if tail is None else tail
        if self.tail and self.tail[0] is null_block:
            self.absorb_nulls()

    def __len__(self) -> int:
        """Entries, nulls included; O(1)."""
        return self.num_nulls + len(self.tail)

    @overload
    def __getitem__(self, place: int) -> KVCacheBlock: ...

    @overload
    def __getitem__(self, place: slice) -> list[KVCacheBlock]: ...

    def __getitem__(self, place: int | slice) -> KVCacheBlock | list[KVCacheBlock]:
        """One entry in O(1), or a list of entries in O(entries)."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step == 1 and start >= self.num_nulls:
                return self.tail[start - self.num_nulls : max(0, stop - self.num_nulls)]
            return [self[i] for i in range(start, stop, step)]
        index = place + len(self) if place < 0 else place
        if not 0 <= index < len(self):
            raise IndexError(f"got place {place}; allowed is 0 to {len(self) - 1}; the table has {len(self)} blocks")
        return self.null_block if index < self.num_nulls else self.tail[index - self.num_nulls]

    def __iter__(self) -> Iterator[KVCacheBlock]:
        """The entries in order."""
        for _ in range(self.num_nulls):
            yield self.null_block
        yield from self.tail

    def __eq__(self, other: object) -> bool:
        """Whether the entries are the same blocks."""
        if not isinstance(other, BlockTable | list | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine is theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """The strip that reports print."""
        return f"[{' '.join('∅' if block.is_null else str(block.block_id) for block in self)}]"

    def ids(self) -> tuple[int, ...]:
        """The block numbers; O(entries)."""
        return (self.null_block.block_id,) * self.num_nulls + tuple([block.block_id for block in self.tail])

    def extend(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Append entries; O(entries), and amortised over the nulls that become part of the prefix."""
        self.tail.extend(blocks)
        if self.tail and self.tail[0] is self.null_block:
            self.absorb_nulls()

    def put_nulls(self, start: int, end: int) -> None:
        """Null the entries of the tail from ``start`` up to ``end``; O(end - start), and O(tail) at the front."""
        if start:
            self.tail[start:end] = [self.null_block] * (end - start)
            return
        del self.tail[:end]
        self.num_nulls += end
        if self.tail and self.tail[0] is self.null_block:
            self.absorb_nulls()

    def absorb_nulls(self) -> None:
        """Count the nulls at the front of the tail as prefix; O(tail)."""
        num_nulls = 0
        for block in self.tail:
            if block is not self.null_block:
                break
            num_nulls += 1
        del self.tail[:num_nulls]
        self.num_nulls += num_nulls


def live_blocks(blocks: Sequence[KVCacheBlock], skipped_blocks: int = 0) -> list[KVCacheBlock]:
    """The entries from place ``skipped_blocks`` on, without the nulls of a null prefix; O(result), O(blocks) for other sequences."""
    if isinstance(blocks, BlockTable):
        return blocks.tail[max(0, skipped_blocks - blocks.num_nulls) :]
    return list(blocks[skipped_blocks:])
