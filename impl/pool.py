"""The block pool: which blocks are held, free or findable."""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any, NoReturn

from kvwitness.impl.audit import HoldsBlocks, check_null_block, check_references
from kvwitness.impl.block import HashedRequest, Key, KVCacheBlock
from kvwitness.impl.errors import RejectedAssertion, RejectedIndex, RejectedValue
from kvwitness.impl.events import EventLog, KVCacheEvent, Published
from kvwitness.impl.free_queue import FreeQueue
from kvwitness.impl.index import BlockIndex, Find
from kvwitness.impl.merged import merged
from kvwitness.impl.supported import check_pool_configuration
from kvwitness.impl.table import BlockTable
from kvwitness.model.profile import VLLM_0_16, Profile

PoolSnapshot = tuple[
    tuple[int, ...], tuple[int, ...], tuple[tuple[int, Key] | None, ...], dict[tuple[int, Key], tuple[int, ...]], tuple[int, ...]
]

IsKept = Callable[[int], bool]
"""Whether the block at a place of a table is worth a key; the others are only counted."""


class BlockPool:
    """The blocks of all groups.

    Attributes:
        num_gpu_blocks: Blocks in the pool, the null block included.
        enable_caching: Whether blocks keep their contents findable.
        hash_block_size: Tokens that one key of a request stands for.
        enable_kv_cache_events: Whether it tells what becomes findable and what ceases to be.
        profile: Which release's rules hold.
        blocks: All blocks by number.
        null_block: The placeholder for skipped places; never handed out, keyed or queued.
        free_block_queue: The blocks to be reused, next first.
        index: The findable blocks.
        reserved_blocks: Blocks set apart by `reserve`, in order.
        metrics_collector: Told of blocks taken, touched and evicted, if given.
    """

    def __init__(
        self,
        num_gpu_blocks: int,
        enable_caching: bool,
        hash_block_size: int,
        enable_kv_cache_events: bool = False,
        metrics_collector: Any = None,
        *,
        profile: Profile = VLLM_0_16,
    ) -> None:
        """A pool with every block free; O(blocks).

        Raises:
            RejectedAssertion: ``invalid_configuration`` for sizes below one.
            RejectedNotImplemented: ``invalid_configuration`` for an axis value that is not honoured.
        """
        check_pool_configuration(num_gpu_blocks, hash_block_size, profile)
        self.num_gpu_blocks = num_gpu_blocks
        self.enable_caching = enable_caching
        self.hash_block_size = hash_block_size
        self.metrics_collector = metrics_collector
        self.profile = profile
        self.blocks = [KVCacheBlock(block_id) for block_id in range(num_gpu_blocks)]
        self.null_block = self.blocks[0]
        self.null_block.is_null = True
        self.free_block_queue = FreeQueue(self.blocks[1:])
        self.index = BlockIndex()
        self.reserved_blocks: list[KVCacheBlock] = []
        self._events = EventLog(profile) if enable_kv_cache_events else None
        self._null_step = 1 if profile.null_references == "drift" else 0
        self._keyless_first = profile.free_order == "keyless_first" or (profile.free_order == "keyless_first_if_caching" and enable_caching)

    def get_cached_block(self, block_hash: Key, kv_cache_group_ids: list[int]) -> list[KVCacheBlock] | None:
        """The block that each group keeps for a key, or None if any has none; O(groups)."""
        found = []
        for group_id in kv_cache_group_ids:
            block = self.index.find(block_hash, group_id)
            if block is None:
                return None
            found.append(block)
        return found

    def finder(self, kv_cache_group_ids: Sequence[int]) -> Find:
        """A probe for many keys; see `BlockIndex.finder`."""
        return self.index.finder(kv_cache_group_ids)

    def cache_full_blocks(
        self,
        request: HashedRequest,
        blocks: Sequence[KVCacheBlock],
        num_cached_blocks: int,
        num_full_blocks: int,
        block_size: int,
        kv_cache_group_id: int,
    ) -> None:
        """Make the blocks from ``num_cached_blocks`` up to ``num_full_blocks`` findable; errors and cost as `publish`."""
        self.publish(request, blocks, num_cached_blocks, num_full_blocks, block_size, kv_cache_group_id)

    def publish(
        self,
        request: HashedRequest,
        blocks: Sequence[KVCacheBlock],
        num_cached_blocks: int,
        num_full_blocks: int,
        block_size: int,
        kv_cache_group_id: int,
        is_kept: IsKept | None = None,
    ) -> list[KVCacheBlock]:
        """As `cache_full_blocks`, and tell which blocks got a key: nulls and those that are not kept get none; O(new blocks).

        A block that is larger than what a key stands for gets the key of its last token.

        Raises:
            RejectedAssertion: ``publish_unallocated``, ``not_enough_keys``, ``block_already_keyed`` or ``alignment_unsupported``.
            RejectedIndex: ``not_enough_keys``, where the profile raises an IndexError.
        """
        if num_cached_blocks >= num_full_blocks:
            return []
        keys = request.block_hashes
        if block_size != self.hash_block_size:
            keys = self._merged_keys(keys, block_size)
        if num_cached_blocks < 0 or num_full_blocks > len(keys) or num_full_blocks > len(blocks):
            self._refuse_publishing(request.request_id, len(keys), len(blocks), num_cached_blocks, num_full_blocks)
        first = max(num_cached_blocks, blocks.num_nulls) if isinstance(blocks, BlockTable) else num_cached_blocks
        entries: Iterable[tuple[KVCacheBlock, Key]] = zip(blocks[first:num_full_blocks], keys[first:num_full_blocks], strict=True)
        if is_kept is not None:
            entries = compress(entries, map(is_kept, range(first, num_full_blocks)))
        keyed = self._key(entries, kv_cache_group_id)
        if self._events is not None:
            published = Published(blocks, keys, num_cached_blocks, num_full_blocks, keyed, block_size, kv_cache_group_id)
            self._events.stored(published, self.index)
        return keyed

    def _key(self, entries: Iterable[tuple[KVCacheBlock, Key]], group_id: int) -> list[KVCacheBlock]:
        """Make blocks findable, nulls left out: all of them, or none where one has a key."""
        keyed: list[KVCacheBlock] = []
        try:
            for block, key in entries:
                if not block.is_null:
                    self.index.insert(block, key, group_id)
                    keyed.append(block)
        except Exception:
            # Nobody was told of them yet.
            for block in reversed(keyed):
                self.index.remove(block)
            raise
        return keyed

    def _refuse_publishing(self, request_id: str, num_keys: int, num_blocks: int, num_cached: int, num_full: int) -> NoReturn:
        asked = f"blocks up to {num_full} of {request_id!r}"
        if num_cached < 0:
            raise RejectedValue("negative_count", f"{num_cached} cached blocks", "0 or more", "pass the published count")
        if num_full > num_blocks:
            raise RejectedAssertion("publish_unallocated", asked, f"the {num_blocks} allocated ones", "allocate before publishing")
        refusal = RejectedIndex if self.profile.publish_past_hashed == "index_error" else RejectedAssertion
        raise refusal("not_enough_keys", asked, f"the {num_keys} hashed ones", "publish only what is full and verified")

    def _merged_keys(self, keys: Sequence[Key], block_size: int) -> Sequence[Key]:
        if block_size % self.hash_block_size:
            got, allowed = f"block_size {block_size}", f"a multiple of hash_block_size {self.hash_block_size}"
            raise RejectedAssertion("alignment_unsupported", got, allowed, "hash in smaller pieces")
        return merged(keys, block_size // self.hash_block_size)

    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        """Take free blocks, each with one reference and without key; O(num_blocks).

        Raises:
            RejectedValue: ``negative_count`` or ``pool_exhausted``.
        """
        taken = self.free_block_queue.pop_front(num_blocks)
        for block in taken:
            block.ref_cnt = 1
            if block.block_hash is not None:
                self._take_key(block)
        if self.metrics_collector is not None:
            for block in taken:
                self.metrics_collector.on_block_evicted(block)
                self.metrics_collector.on_block_allocated(block)
        return taken

    def touch(self, blocks: Sequence[KVCacheBlock]) -> None:
        """Add a reference to each block, which takes it off the free queue; O(blocks).

        Raises:
            RejectedAssertion: ``block_not_referenced`` for a block that is set apart.
        """
        if self.reserved_blocks:
            self._check_not_reserved(blocks)
        for block in blocks:
            if block.is_null:
                block.ref_cnt += self._null_step
                continue
            if not block.ref_cnt:
                self.free_block_queue.remove(block)
            block.ref_cnt += 1
        if self.metrics_collector is not None:
            for block in blocks:
                self.metrics_collector.on_block_accessed(block)

    def _check_not_reserved(self, blocks: Iterable[KVCacheBlock]) -> None:
        for block in blocks:
            if block in self.reserved_blocks:
                raise RejectedAssertion(
                    "block_not_referenced", f"block {block.block_id}, set apart for a sink", "a block of the cache", "look up again"
                )

    def free_blocks(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        """Take a reference from each block; those without any left join the free queue, the first given to be reused first.

        O(blocks).

        Raises:
            RejectedValue: ``block_not_referenced``, or ``block_already_free`` when the list itself took its last reference.
        """
        self._free(list(ordered_blocks), keyless_first=self._keyless_first)

    def free_skipped(self, ordered_blocks: Iterable[KVCacheBlock]) -> None:
        """As `free_blocks`, but those without a key are reused first of all: nobody will ever look for them; O(blocks)."""
        self._free(list(ordered_blocks), keyless_first=True)

    def _free(self, blocks: list[KVCacheBlock], *, keyless_first: bool) -> None:
        released: list[KVCacheBlock] = []
        for place, block in enumerate(blocks):
            if block.is_null:
                block.ref_cnt -= self._null_step
                continue
            if not block.ref_cnt:
                self._restore_references(blocks[:place])
                raise _refuse_release(block, is_repeated=block in released)
            block.ref_cnt -= 1
            if not block.ref_cnt:
                released.append(block)
        if keyless_first:
            self.free_block_queue.push_front([block for block in released if block.block_hash is None])
            released = [block for block in released if block.block_hash is not None]
        self.free_block_queue.push_back(released)

    def _restore_references(self, blocks: Iterable[KVCacheBlock]) -> None:
        for block in blocks:
            block.ref_cnt += self._null_step if block.is_null else 1

    def shift_null_references(self, num_entries: int) -> None:
        """Count so many null entries in, or out if negative, where the profile counts them at all; O(1)."""
        self.null_block.ref_cnt += self._null_step * num_entries

    def reserve(self, num_blocks: int) -> list[KVCacheBlock]:
        """Set blocks apart for a sink: off the queue, without reference or key, for good; O(num_blocks).

        Raises:
            RejectedAssertion: ``negative_count`` or ``pool_exhausted``.
        """
        got, num_free_blocks = f"{num_blocks} blocks for a sink", self.get_num_free_blocks()
        if num_blocks < 0:
            raise RejectedAssertion("negative_count", got, "0 or more", "ask for a count of blocks")
        if num_blocks > num_free_blocks:
            raise RejectedAssertion("pool_exhausted", got, f"the {num_free_blocks} free ones", "enlarge the pool or shorten the sink")
        apart = self.free_block_queue.pop_front(num_blocks)
        self.withdraw(apart)
        self.reserved_blocks += apart
        return apart

    def withdraw(self, blocks: Iterable[KVCacheBlock]) -> None:
        """Take back the keys of those blocks that have one, references untouched; O(blocks)."""
        for block in blocks:
            if block.block_hash is not None:
                self._take_key(block)

    def _take_key(self, block: KVCacheBlock) -> None:
        """A block is findable no longer, and whoever listens is told."""
        if self._events is None:
            self.index.remove(block)
            return
        group_id, key = block.group_id, block.block_hash
        self.index.remove(block)
        self._events.removed(group_id, key, is_last=self.index.find(key, group_id) is None)

    def evict_blocks(self, block_ids: set[int]) -> None:
        """Take back the keys of blocks by number, references untouched; O(block_ids).

        Raises:
            RejectedAssertion: ``block_not_referenced`` for a number outside the pool.
        """
        for block_id in block_ids:
            if not 0 <= block_id < self.num_gpu_blocks:
                allowed = f"0 to {self.num_gpu_blocks - 1}"
                raise RejectedAssertion(
                    "block_not_referenced", f"block number {block_id}", allowed, "pass numbers that the pool handed out"
                )
        blocks = [self.blocks[block_id] for block_id in block_ids]
        if self.metrics_collector is not None:
            for block in blocks:
                self.metrics_collector.on_block_evicted(block)
        self.withdraw(blocks)

    def reset_prefix_cache(self) -> bool:
        """Forget all keys if no request holds a block; tell whether it was done; O(keyed blocks)."""
        num_used_blocks = self.num_gpu_blocks - 1 - self.get_num_free_blocks()
        if num_used_blocks != self._num_accounted_blocks():
            return False
        self.index.clear()
        if self._events is not None:
            self._events.cleared()
        if self.metrics_collector is not None:
            self.metrics_collector.reset()
        return True

    def _num_accounted_blocks(self) -> int:
        """Blocks that are off the queue and known to be; a release that takes its sink blocks knows none."""
        return len(self.reserved_blocks) if self.profile.sink_reservation == "reserved" else 0

    def get_num_free_blocks(self) -> int:
        """Blocks that can be taken; O(1)."""
        return self.free_block_queue.num_free_blocks

    def get_usage(self) -> float:
        """The share of usable blocks that is held, 0 to 1; O(1)."""
        num_usable_blocks = self.num_gpu_blocks - 1 - self._num_accounted_blocks()
        return 1.0 - self.get_num_free_blocks() / num_usable_blocks if num_usable_blocks else 0.0

    @property
    def enable_kv_cache_events(self) -> bool:
        """Whether events are told."""
        return self._events is not None

    def begin_events(self) -> None:
        """Tell events from now on, as if the pool had been built with them; O(1)."""
        self._events = self._events or EventLog(self.profile)

    def take_events(self) -> list[KVCacheEvent]:
        """What became findable and what ceased to be since events were taken last, in order; O(1)."""
        return [] if self._events is None else self._events.take()

    def snapshot(self) -> PoolSnapshot:
        """Free numbers in order, references, keys, index, numbers set apart; O(blocks)."""
        blocks = self.blocks
        return (
            self.free_block_queue.ids(),
            tuple([block.ref_cnt for block in blocks]),
            tuple([None if block.block_hash is None else (block.group_id, block.block_hash) for block in blocks]),
            self.index.snapshot(),
            tuple([block.block_id for block in self.reserved_blocks]) if self.reserved_blocks else (),
        )

    def check(self, managers: Iterable[HoldsBlocks] = ()) -> None:
        """Raise `CorruptState` unless references = holders in these managers, and queue and index fit; O(blocks + entries)."""
        self.free_block_queue.check()
        self.index.check(self.blocks)
        check_references(self.blocks, self.reserved_blocks, managers)
        check_null_block(self.null_block, counts_references=bool(self._null_step))


def _refuse_release(block: KVCacheBlock, *, is_repeated: bool) -> RejectedValue:
    if is_repeated:
        return RejectedValue("block_already_free", f"block {block.block_id} twice", "once a reference", "release each entry once")
    return RejectedValue(
        "block_not_referenced", f"block {block.block_id} without holder", "a held block", "release what was allocated or touched"
    )
