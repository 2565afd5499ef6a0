"""One KV-cache block, and what a publisher must offer."""

from collections.abc import Hashable, Sequence
from typing import Protocol

Key = Hashable
"""The chain key of a block as the caller gives it: equal keys mean equal prefixes."""


class KVCacheBlock:
    """The bookkeeping of one physical block.

    Blocks are compared by identity: each exists once in its pool.

    Attributes:
        block_id: Its number, 0 for the null block.
        ref_cnt: How many table entries hold it.
        block_hash: The key it is findable by, or None.
        group_id: The group that the key belongs to; meaningless without a key.
        is_null: Whether it is the placeholder for skipped places.
        previous_free: Its neighbour in the free queue, None outside of it; the queue's own.
        next_free: Likewise, towards the tail.
    """

    __slots__ = ("block_hash", "block_id", "group_id", "is_null", "next_free", "previous_free", "ref_cnt")

    def __init__(self, block_id: int) -> None:
        """A block without references or key, in no queue."""
        self.block_id = block_id
        self.ref_cnt = 0
        self.block_hash: Key | None = None
        self.group_id = -1
        self.is_null = False
        self.previous_free: KVCacheBlock | None = None
        self.next_free: KVCacheBlock | None = None

    @property
    def is_queued(self) -> bool:
        """Whether it is in the free queue."""
        return self.next_free is not None

    def __repr__(self) -> str:
        """Number, references and key; neighbours by number only, so that printing one block prints one block.

        >>> KVCacheBlock(3)
        KVCacheBlock(block_id=3, ref_cnt=0)
        """
        key = "" if self.block_hash is None else f", block_hash={self.block_hash!r}, group_id={self.group_id}"
        null = ", is_null=True" if self.is_null else ""
        return f"{type(self).__name__}(block_id={self.block_id}, ref_cnt={self.ref_cnt}{key}{null})"


class HashedRequest(Protocol):
    """What publishing reads of a request."""

    @property
    def request_id(self) -> str:
        """The name that tables are kept under."""

    @property
    def block_hashes(self) -> Sequence[Key]:
        """The keys of its full blocks, first block first."""
