"""The free queue: which block is reused next.

A doubly linked list through the blocks themselves, so that a hit can leave the middle in O(1),
and released blocks can join at either end without a copy.
"""

from collections.abc import Iterable, Iterator

from kvwitness.impl.block import KVCacheBlock
from kvwitness.impl.errors import CorruptState, RejectedAssertion, RejectedValue


class FreeQueue:
    """The blocks without references, the one to be taken first at the head.

    Attributes:
        num_free_blocks: How many are queued.
    """

    __slots__ = ("_end", "num_free_blocks")

    def __init__(self, blocks: Iterable[KVCacheBlock] = ()) -> None:
        """A queue of the given blocks in their order; O(blocks)."""
        # One sentinel closes the ring: its next is the head, its previous the tail.
        self._end = KVCacheBlock(-1)
        self._end.previous_free = self._end.next_free = self._end
        self.num_free_blocks = 0
        self.push_back(blocks)

    def __len__(self) -> int:
        """The number of queued blocks; O(1)."""
        return self.num_free_blocks

    def __iter__(self) -> Iterator[KVCacheBlock]:
        """The blocks from head to tail; O(blocks)."""
        block = self._end.next_free
        while block is not None and block is not self._end:
            yield block
            block = block.next_free

    def ids(self) -> tuple[int, ...]:
        """The block numbers from head to tail; O(blocks), without a generator's cost."""
        end, block, found = self._end, self._end.next_free, []
        while block is not None and block is not end:
            found.append(block.block_id)
            block = block.next_free
        return tuple(found)

    def push_back(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Join the blocks at the tail in their order; O(given blocks)."""
        self._link(self._end.previous_free or self._end, blocks, self._end)

    def push_front(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Join the blocks at the head, so that the first given is taken first; O(given blocks)."""
        self._link(self._end, blocks, self._end.next_free or self._end)

    def _link(self, left: KVCacheBlock, blocks: Iterable[KVCacheBlock], right: KVCacheBlock) -> None:
        joined = 0
        for block in blocks:
            left.next_free = block
            block.previous_free = left
            left = block
            joined += 1
        left.next_free = right
        right.previous_free = left
        self.num_free_blocks += joined

    def pop_front(self, num_blocks: int) -> list[KVCacheBlock]:
        """Take blocks from the head, in order; O(taken blocks).

        Raises:
            RejectedValue: ``negative_count`` or ``pool_exhausted``.
        """
        if not 0 <= num_blocks <= self.num_free_blocks:
            raise self._refusal(num_blocks)
        taken: list[KVCacheBlock] = []
        block = self._end.next_free
        for _ in range(num_blocks):
            if block is None:
                raise CorruptState("free queue: it ends before its count does")
            taken.append(block)
            block = block.next_free
        for each in taken:
            each.previous_free = each.next_free = None
        block = block or self._end
        self._end.next_free = block
        block.previous_free = self._end
        self.num_free_blocks -= num_blocks
        return taken

    def _refusal(self, num_blocks: int) -> RejectedValue:
        if num_blocks < 0:
            return RejectedValue("negative_count", f"{num_blocks} blocks", "0 or more", "ask for a count of blocks")
        allowed = f"at most the {self.num_free_blocks} free ones"
        return RejectedValue("pool_exhausted", f"{num_blocks} blocks", allowed, "release blocks or ask for fewer")

    def remove(self, block: KVCacheBlock) -> None:
        """Take one block out of the middle; O(1).

        Raises:
            RejectedAssertion: ``block_not_referenced`` when it is not in the queue.
        """
        left, right = block.previous_free, block.next_free
        if left is None or right is None:
            raise RejectedAssertion(
                "block_not_referenced", f"block {block.block_id} outside the free queue", "a queued block", "look it up again"
            )
        left.next_free = right
        right.previous_free = left
        block.previous_free = block.next_free = None
        self.num_free_blocks -= 1

    def check(self) -> None:
        """Raise `CorruptState` unless links agree both ways, no block is twice in it, and the count is right; O(blocks)."""
        seen: set[int] = set()
        left = self._end
        for block in self:
            if block.block_id in seen:
                raise CorruptState(f"free queue: block {block.block_id} is in it twice")
            if block.previous_free is not left:
                raise CorruptState(f"free queue: block {block.block_id} does not point back to its neighbour")
            seen.add(block.block_id)
            left = block
        if self._end.previous_free is not left:
            raise CorruptState("free queue: the tail is not the last block")
        if len(seen) != self.num_free_blocks:
            raise CorruptState(f"free queue: {len(seen)} blocks are linked, {self.num_free_blocks} are counted")
