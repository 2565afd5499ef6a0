"""Defects of the block pool: references, the free queue, keys and the index."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kvwitness.impl.block import Key, KVCacheBlock
from kvwitness.impl.free_queue import FreeQueue
from kvwitness.impl.index import BlockIndex, Find
from kvwitness.impl.pool import BlockPool
from kvwitness.properties.defects.defect import in_pool

_KEPT_BITS = 3


class _TouchForgotten(BlockPool):
    """A hit is adopted without a reference, so its block can be handed out again."""

    def touch(self, blocks: Sequence[KVCacheBlock]) -> None:
        pass


class _TouchLeavesQueued(BlockPool):
    """A hit gets its reference and stays in the free queue."""

    def touch(self, blocks: Sequence[KVCacheBlock]) -> None:
        for block in blocks:
            block.ref_cnt += 0 if block.is_null else 1


class _KeyStaysOnBlock(BlockPool):
    """An evicted block leaves the index and keeps its key."""

    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        keys = {block.block_id: block.block_hash for block in self.blocks}
        taken = super().get_new_blocks(num_blocks)
        for block in taken:
            block.block_hash = keys[block.block_id]
        return taken


class _UnremovingIndex(BlockIndex):
    def remove(self, block: KVCacheBlock) -> None:
        block.block_hash = None


class _EntryStaysInIndex(BlockPool):
    """An evicted block loses its key and stays in the index, so look-ups find what was overwritten."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.index = _UnremovingIndex()


class _RepeatingQueue(FreeQueue):
    """A queue without guard against a block that joins twice: it tells as many entries as it counts."""

    def __init__(self, blocks: Iterable[KVCacheBlock] = ()) -> None:
        self._entries: list[KVCacheBlock] = []
        super().__init__(blocks)

    def __iter__(self) -> Iterator[KVCacheBlock]:
        return iter(self._entries)

    def ids(self) -> tuple[int, ...]:
        return tuple(block.block_id for block in self._entries)

    def push_back(self, blocks: Iterable[KVCacheBlock]) -> None:
        self._entries.extend(blocks)
        self.num_free_blocks = len(self._entries)

    def push_front(self, blocks: Iterable[KVCacheBlock]) -> None:
        self._entries[:0] = blocks
        self.num_free_blocks = len(self._entries)

    def pop_front(self, num_blocks: int) -> list[KVCacheBlock]:
        taken, self._entries = self._entries[:num_blocks], self._entries[num_blocks:]
        self.num_free_blocks = len(self._entries)
        return taken

    def remove(self, block: KVCacheBlock) -> None:
        self._entries.remove(block)
        self.num_free_blocks = len(self._entries)


class _QueuedTwice(BlockPool):
    """A release queues every entry it is given whose count ends at zero, so a block that joined before joins again."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.free_block_queue = _RepeatingQueue(self.blocks[1:])

    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        blocks = list(ordered_blocks)
        super().free_blocks(blocks)
        shared = [block for block in blocks if block.block_hash is not None and not block.ref_cnt]
        self.free_block_queue.push_back(shared)


class _NullQueued(BlockPool):
    """The placeholder is an ordinary block of the free queue, to be handed out last."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.free_block_queue.push_back([self.null_block])


class _NullDrifts(BlockPool):
    """Null entries are released like blocks and were never referenced, so the placeholder's count drifts."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._null_step = 1


class _KeyedReusedFirst(BlockPool):
    """Released blocks with a key are reused first and those without last."""

    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        blocks = list(ordered_blocks)
        super().free_blocks(blocks)
        keyed = [block for block in blocks if block.is_queued and block.block_hash is not None]
        for block in keyed:
            self.free_block_queue.remove(block)
        self.free_block_queue.push_front(keyed)


class _ReleasedForOthers(BlockPool):
    """The release of one holder takes a block from all of them."""

    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        blocks = list(ordered_blocks)
        for block in blocks:
            block.ref_cnt = min(block.ref_cnt, 1)
        super().free_blocks(blocks)


class _KeyCutShort(BlockPool):
    """Look-ups compare the last bits of a key only, so different prefixes pass for one."""

    def finder(self, kv_cache_group_ids: Sequence[int]) -> Find:
        find, cut = super().finder(kv_cache_group_ids), {}
        for _, key in self.index.snapshot():
            cut[hash(key) & (1 << _KEPT_BITS) - 1] = key

        def find_by_last_bits(key: Key) -> Any:
            return find(cut.get(hash(key) & (1 << _KEPT_BITS) - 1))

        return find_by_last_bits


class _ResetHeld(BlockPool):
    """The cache is reset although requests hold blocks."""

    def reset_prefix_cache(self) -> bool:
        self.index.clear()
        return True


class _ResetForgetsNothing(BlockPool):
    """A reset reports success and leaves everything findable."""

    def reset_prefix_cache(self) -> bool:
        return super()._num_accounted_blocks() == self.num_gpu_blocks - 1 - self.get_num_free_blocks()


class _SinkHandedOut(BlockPool):
    """The sink's blocks are set apart and stay in the free queue, so requests get them too."""

    def reserve(self, num_blocks: int) -> list[KVCacheBlock]:
        apart = super().reserve(num_blocks)
        self.free_block_queue.push_front(apart)
        return apart


class _SinkUnaccounted(BlockPool):
    """The sink's blocks count as held, so the cache of an idle pool can never be reset."""

    def _num_accounted_blocks(self) -> int:
        return 0


_CACHING = ("full", "sliding", "chunked", "mamba-all", "mamba-align", "sink")
_NULLING = ("sliding", "chunked", "mamba-all", "mamba-align")
_ALL = ("full", "sliding", "chunked", "mamba-none", "mamba-all", "mamba-align", "cross", "sink")

DEFECTS = (
    in_pool("touch-forgotten", _TouchForgotten, _CACHING, ("BOOKS.REFERENCES", "BOOKS.ESTIMATE", "BOOKS.ONCE")),
    in_pool("touch-leaves-queued", _TouchLeavesQueued, _CACHING, ("BOOKS.FREE", "BOOKS.ONCE")),
    in_pool("stale-key-after-eviction", _KeyStaysOnBlock, _CACHING, ("BOOKS.INDEX", "BOOKS.ACCEPTED"), "K12"),
    in_pool("stale-entry-after-eviction", _EntryStaysInIndex, _CACHING, ("BOOKS.INDEX",), "K13"),
    in_pool("queued-twice", _QueuedTwice, _CACHING, ("BOOKS.QUEUE", "BOOKS.FREE"), "K01"),
    in_pool("null-queued", _NullQueued, _ALL, ("BOOKS.NULL", "BOOKS.REST"), "K11"),
    in_pool("null-count-drifts", _NullDrifts, _NULLING, ("TABLE.RELEASE-SKIPPED", "MAMBA.RELEASE-SKIPPED", "TABLE.FREE"), "K10"),
    in_pool("keyed-reused-first", _KeyedReusedFirst, _CACHING, ("POOL.RELEASE",), "K14"),
    in_pool("released-for-others", _ReleasedForOthers, _CACHING, ("BOOKS.REFERENCES",), "K70"),
    in_pool("key-cut-short", _KeyCutShort, _CACHING, ("LIVE.HIT.KEYED",), "K40"),
    in_pool("reset-while-held", _ResetHeld, _CACHING, ("LIVE.RESET", "BOOKS.EXCLUSIVE", "EVENTS.CLEARED.RESET")),
    in_pool("reset-forgets-nothing", _ResetForgetsNothing, _CACHING, ("POOL.RESET", "EVENTS.CLEARED.RESET"), "K92"),
    in_pool("sink-blocks-handed-out", _SinkHandedOut, ("sink",), ("BOOKS.SET-APART",)),
    in_pool("sink-never-resets", _SinkUnaccounted, ("sink",), ("LIVE.RESET",), "K08"),
)
"""The defects of this file, in the order of reports."""
