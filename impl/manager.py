"""What every kind of manager does: tables, adoption of hits, allocation, publishing, release."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from kvwitness.impl.block import HashedRequest, Key, KVCacheBlock
from kvwitness.impl.errors import CorruptState, RejectedAssertion, RejectedValue
from kvwitness.impl.lookup import blocks_for, context_width, demand_one_device
from kvwitness.impl.pool import BlockPool, IsKept
from kvwitness.impl.specs import KVCacheSpec
from kvwitness.impl.step_book import StepBook
from kvwitness.impl.table import BlockTable, live_blocks

ManagerSnapshot = tuple[dict[str, tuple[int, ...]], dict[str, int]]


class SingleTypeKVCacheManager(ABC):
    """The tables of one group of layers of one kind.

    Attributes:
        block_size: Tokens a block, widened by context parallelism.
        kv_cache_spec: The group's spec.
        block_pool: Where blocks come from.
        enable_caching: Whether hits may be adopted.
        kv_cache_group_id: The group that keys are published for.
        req_to_blocks: Each request's table; a request without blocks has none.
        num_cached_block: How many blocks of each request count as published.
    """

    spreads_over_devices = False
    frees_as_skipped = False

    def __init__(
        self,
        kv_cache_spec: KVCacheSpec,
        block_pool: BlockPool,
        enable_caching: bool,
        kv_cache_group_id: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
    ) -> None:
        """A manager without requests; O(1).

        Raises:
            RejectedAssertion: ``context_parallel_unsupported``.
        """
        width = context_width(block_pool.profile, dcp_world_size, pcp_world_size)
        if not self.spreads_over_devices:
            demand_one_device(type(self), dcp_world_size, pcp_world_size)
        self.block_size = kv_cache_spec.block_size * width
        self.dcp_world_size = dcp_world_size
        self.pcp_world_size = pcp_world_size
        self.kv_cache_spec = kv_cache_spec
        self.block_pool = block_pool
        self.enable_caching = enable_caching
        self.kv_cache_group_id = kv_cache_group_id
        self.req_to_blocks: dict[str, BlockTable] = {}
        self.num_cached_block: dict[str, int] = {}
        self._null_block = block_pool.null_block
        self._awaiting_external: set[str] = set()
        self._step_book = StepBook()
        self._clips_publishing = block_pool.profile.publish_past_hashed == "clipped"
        self._is_kept: IsKept | None = None

    @classmethod
    @abstractmethod
    def find_longest_cache_hit(
        cls,
        block_hashes: Sequence[Key],
        max_length: int,
        kv_cache_group_ids: list[int],
        block_pool: BlockPool,
        kv_cache_spec: KVCacheSpec,
        use_eagle: bool,
        alignment_tokens: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
    ) -> tuple[Sequence[KVCacheBlock], ...]:
        """The longest hit of at most ``max_length`` tokens that all these groups have, as one sequence of blocks a group.

        Its length is a multiple of ``alignment_tokens``; places that the next token does not read are null.
        """

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """How many leading tokens no later token reads: none, unless the kind says otherwise; O(1)."""
        return 0

    @abstractmethod
    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """How many leading blocks all requests with a table share."""

    def get_num_blocks_to_allocate(
        self,
        request_id: str,
        num_tokens: int,
        new_computed_blocks: Sequence[KVCacheBlock],
        total_computed_tokens: int,
        num_tokens_main_model: int,
    ) -> int:
        """How many free blocks adoption and allocation will take together; O(hits), O(1) for a running request.

        Raises:
            RejectedAssertion: ``hits_for_running_request``.
        """
        table = self.req_to_blocks.get(request_id)
        num_held_blocks = 0 if table is None else table.num_nulls + len(table.tail)
        num_required_blocks = -(-num_tokens // self.block_size)
        if request_id in self.num_cached_block:
            self._demand_no_hits(request_id, new_computed_blocks)
            return max(num_required_blocks - num_held_blocks, 0)
        num_skipped_blocks = self.get_num_skipped_tokens(total_computed_tokens) // self.block_size
        num_local_blocks = num_held_blocks + len(new_computed_blocks)
        num_new_blocks = max(num_required_blocks - max(num_skipped_blocks, num_local_blocks), 0)
        adopted = live_blocks(new_computed_blocks, max(0, num_skipped_blocks - num_held_blocks))
        return num_new_blocks + num_evictable_blocks(adopted)

    def _demand_no_hits(self, request_id: str, hits: Sequence[KVCacheBlock]) -> None:
        if len(hits):
            raise RejectedAssertion(
                "hits_for_running_request", f"{len(hits)} hits for {request_id!r}", "none once it is admitted", "look up new requests only"
            )

    def allocate_new_computed_blocks(
        self,
        request_id: str,
        new_computed_blocks: Sequence[KVCacheBlock],
        num_local_computed_tokens: int,
        num_external_computed_tokens: int,
    ) -> None:
        """Adopt the hits of a new request, then take blocks for its external tokens; O(hits + external blocks).

        Raises:
            RejectedAssertion: as `add_local_computed_blocks`.
            RejectedValue: ``pool_exhausted`` or ``negative_count``, before anything is adopted.
        """
        if num_external_computed_tokens > 0:
            self._demand_room(request_id, new_computed_blocks, num_local_computed_tokens, num_external_computed_tokens)
        self.add_local_computed_blocks(request_id, new_computed_blocks, num_local_computed_tokens, num_external_computed_tokens)
        self.allocate_external_computed_blocks(request_id, num_local_computed_tokens, num_external_computed_tokens)

    def _demand_room(self, request_id: str, hits: Sequence[KVCacheBlock], num_local: int, num_external: int) -> None:
        """Refuse external tokens that would fail after the hits are adopted."""
        if request_id in self.num_cached_block or request_id in self.req_to_blocks:
            return
        num_evictable, num_new_blocks = self._blocks_for_adoption(hits, num_local, num_external)
        num_left_blocks = self.block_pool.get_num_free_blocks() - num_evictable
        if not 0 <= num_new_blocks <= num_left_blocks:
            raise self._refuse_external(num_new_blocks, num_left_blocks)

    def _blocks_for_adoption(self, hits: Sequence[KVCacheBlock], num_local: int, num_external: int) -> tuple[int, int]:
        """How many hits adoption takes off the free queue, and how many blocks external tokens take behind them; O(hits)."""
        num_skipped_blocks = self._num_skipped_blocks(num_local + num_external)
        num_new_blocks = self._num_external_blocks(num_local, num_external, max(num_skipped_blocks, len(hits)))
        return num_evictable_blocks(live_blocks(hits, num_skipped_blocks)), num_new_blocks

    def _refuse_external(self, num_blocks: int, num_left_blocks: int) -> RejectedValue:
        got = f"{num_blocks} blocks for external tokens"
        if num_blocks < 0:
            return RejectedValue("negative_count", got, "hits that fit the computed tokens", "cut the hits to the local tokens")
        return RejectedValue("pool_exhausted", got, f"{num_left_blocks} free ones beside the hits", "ask for the estimate first")

    def _num_skipped_blocks(self, num_computed_tokens: int) -> int:
        return max(0, self.get_num_skipped_tokens(num_computed_tokens) // self.block_size)

    def _num_external_blocks(self, num_local: int, num_external: int, num_held_blocks: int) -> int:
        """How many blocks the external tokens take behind those held; those that are skipped take none."""
        num_total = num_local + num_external
        num_skipped_tokens = self.get_num_skipped_tokens(num_total)
        num_cut_tokens = 1 if self.block_pool.profile.external_cut == "tokens" else self.block_size
        if num_external <= 0 or (num_skipped_tokens >= num_cut_tokens and num_total <= num_skipped_tokens):
            return 0
        num_blocks = blocks_for(num_total, self.block_size) - num_held_blocks
        return max(0, num_blocks) if self.block_pool.profile.estimate_floor == "zero" else num_blocks

    def add_local_computed_blocks(
        self,
        request_id: str,
        new_computed_blocks: Sequence[KVCacheBlock],
        num_local_computed_tokens: int,
        num_external_computed_tokens: int,
    ) -> None:
        """First phase of adoption: reference the hits and count them as published; O(hits).

        For a running request, which has no hits, nothing happens.

        Raises:
            RejectedAssertion: ``hits_for_running_request``, ``request_has_blocks`` or ``hits_without_caching``.
        """
        self.demand_adoptable(request_id, new_computed_blocks, num_local_computed_tokens + num_external_computed_tokens)
        if request_id in self.num_cached_block:
            self._awaiting_external.discard(request_id)
            return
        num_skipped_blocks = self._num_skipped_blocks(num_local_computed_tokens + num_external_computed_tokens)
        adopted = live_blocks(new_computed_blocks, num_skipped_blocks)
        num_nulls = max(num_skipped_blocks, len(new_computed_blocks) - len(adopted))
        self.block_pool.touch(adopted)
        self.block_pool.shift_null_references(num_nulls - num_skipped_blocks)
        table = BlockTable(self._null_block, num_nulls, adopted)
        if len(table):
            self.req_to_blocks[request_id] = table
        self.num_cached_block[request_id] = len(table)
        self._awaiting_external.add(request_id)

    def num_blocks_for_adoption(self, request_id: str, hits: Sequence[KVCacheBlock], num_local: int, num_external: int) -> int:
        """How many free blocks adoption will take, external tokens' included: none for a running request; O(hits).

        Raises:
            RejectedValue: ``negative_count``.
        """
        if request_id in self.num_cached_block:
            return 0
        num_evictable, num_new_blocks = self._blocks_for_adoption(hits, num_local, num_external)
        if num_new_blocks < 0:
            raise self._refuse_external(num_new_blocks, 0)
        return num_evictable + num_new_blocks

    def demand_adoptable(self, request_id: str, hits: Sequence[KVCacheBlock], total_computed_tokens: int) -> None:
        """Raise what adoption would raise, and adopt nothing; O(1)."""
        if request_id in self.num_cached_block:
            self._demand_no_hits(request_id, hits)
        elif request_id in self.req_to_blocks:
            raise RejectedAssertion("request_has_blocks", f"adoption for {request_id!r}", "a request without blocks", "free it first")
        elif len(hits) > self._num_skipped_blocks(total_computed_tokens) and not self.enable_caching:
            raise RejectedAssertion("hits_without_caching", f"{len(hits)} hits", "none with caching off", "skip the look-up")

    def allocate_external_computed_blocks(self, request_id: str, num_local_computed_tokens: int, num_external_computed_tokens: int) -> None:
        """Second phase of adoption: take blocks for tokens that a connector loads; O(new blocks).

        Nothing happens unless the first phase has just adopted for this request.

        Raises:
            RejectedValue: ``pool_exhausted`` or ``negative_count``.
        """
        if request_id not in self._awaiting_external:
            return
        num_held_blocks = len(self.req_to_blocks.get(request_id, ()))
        num_new_blocks = self._num_external_blocks(num_local_computed_tokens, num_external_computed_tokens, num_held_blocks)
        self._extend(request_id, self.block_pool.get_new_blocks(num_new_blocks))
        self._awaiting_external.discard(request_id)

    def _extend(self, request_id: str, blocks: list[KVCacheBlock]) -> None:
        """Append to a request's table; a table begins with its first block."""
        if not blocks:
            return
        table = self.req_to_blocks.get(request_id)
        if table is None:
            self.req_to_blocks[request_id] = BlockTable(self._null_block, 0, list(blocks))
        else:
            table.extend(blocks)

    def allocate_new_blocks(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> list[KVCacheBlock]:
        """Take blocks until ``num_tokens`` have a place, and return them; O(new blocks).

        Raises:
            RejectedValue: ``pool_exhausted``.
        """
        table = self.req_to_blocks.get(request_id)
        num_new_blocks = -(-num_tokens // self.block_size) - (0 if table is None else table.num_nulls + len(table.tail))
        if num_new_blocks <= 0:
            return []
        blocks = self.block_pool.get_new_blocks(num_new_blocks)
        self._extend(request_id, blocks)
        return blocks

    def num_blocks_for_growth(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> int:
        """How many blocks `allocate_new_blocks` will take, or what it would raise but for an empty pool; O(1)."""
        return max(0, -(-num_tokens // self.block_size) - len(self.req_to_blocks.get(request_id, ())))

    def cache_blocks(self, request: HashedRequest, num_tokens: int) -> None:
        """Make the full blocks of the first ``num_tokens`` findable; O(newly full blocks).

        Raises:
            RejectedAssertion: ``unknown_request``, ``publish_unallocated``, ``not_enough_keys`` or ``block_already_keyed``.
            RejectedIndex: ``not_enough_keys``, where the profile raises an IndexError.
        """
        request_id = request.request_id
        before = self.num_cached_block.get(request_id)
        num_cached_blocks = before or 0
        num_full_blocks = num_tokens // self.block_size
        if self._clips_publishing:
            num_full_blocks = min(num_full_blocks, len(request.block_hashes) * self.block_pool.hash_block_size // self.block_size)
        if num_cached_blocks >= num_full_blocks:
            return
        table = self.req_to_blocks.get(request_id)
        if table is None:
            raise RejectedAssertion(
                "unknown_request", f"publishing for {request_id!r}", "a request with blocks", "allocate before publishing"
            )
        keyed = self.block_pool.publish(
            request, table, num_cached_blocks, num_full_blocks, self.block_size, self.kv_cache_group_id, self._is_kept
        )
        self.num_cached_block[request_id] = num_full_blocks
        self._step_book.record(request_id, before, keyed)

    def new_step_starts(self) -> None:
        """What was published until now can no longer be withdrawn, and its states are computed; O(published in the step)."""
        self._step_book.clear()

    def withdraw_blocks(self, request_id: str) -> None:
        """Take back the keys that this request published in this step, and its count; O(published in the step).

        For a request that is preempted in the very step that planned it: its blocks will not be computed.
        """
        taken_back = self._step_book.take_back(request_id, self.kv_cache_group_id)
        if taken_back is None:
            return
        before, keyed = taken_back
        self.block_pool.withdraw(keyed)
        if before is None:
            del self.num_cached_block[request_id]
        else:
            self.num_cached_block[request_id] = before

    def remove_skipped_blocks(self, request_id: str, total_computed_tokens: int) -> None:
        """Release the blocks that no later token reads, the last of them first, and leave nulls in their places.

        O(released blocks).
        """
        num_skipped_tokens = self.get_num_skipped_tokens(total_computed_tokens)
        if num_skipped_tokens < self.block_size:
            return
        table = self.req_to_blocks.get(request_id)
        if table is None:
            return
        end = min(num_skipped_tokens // self.block_size - table.num_nulls, len(table.tail))
        start = end
        while start > 0 and table.tail[start - 1] is not self._null_block:
            start -= 1
        if start < end:
            self._free_skipped(table.tail[start:end][::-1])
            table.put_nulls(start, end)

    def _free_skipped(self, blocks: list[KVCacheBlock]) -> None:
        """Release blocks that left the window; one profile has an order of its own for them."""
        if self.block_pool.profile.free_order == "skipped_keyless_first":
            self.block_pool.free_skipped(blocks)
        else:
            self.block_pool.free_blocks(blocks)

    def free(self, request_id: str) -> None:
        """Release a request's blocks, the last first, and forget it; nothing happens for an unknown one; O(blocks but the null prefix).

        Raises:
            RejectedValue: ``block_not_referenced`` when someone else released its blocks.
        """
        table = self.req_to_blocks.get(request_id)
        if table is not None:
            release = self._free_skipped if self.frees_as_skipped else self.block_pool.free_blocks
            release(table.tail[::-1])
            self.block_pool.shift_null_references(-table.num_nulls)
            del self.req_to_blocks[request_id]
        self.num_cached_block.pop(request_id, None)
        self._awaiting_external.discard(request_id)
        self._step_book.forget(request_id)

    def snapshot(self) -> ManagerSnapshot:
        """Tables as block numbers, and published counts; O(entries)."""
        return {request_id: table.ids() for request_id, table in self.req_to_blocks.items()}, self.num_cached_block.copy()

    def check(self) -> None:
        """Raise `CorruptState` unless tables begin as they should and no count exceeds its table; O(entries)."""
        for request_id, table in self.req_to_blocks.items():
            if not len(table):
                raise CorruptState(f"tables: that of {request_id!r} is empty")
            if table.tail and table.tail[0] is self._null_block:
                raise CorruptState(f"tables: the null prefix of {request_id!r} is longer than counted")
            live = [block.block_id for block in table.tail if block is not self._null_block]
            if len(set(live)) != len(live):
                raise CorruptState(f"tables: that of {request_id!r} holds a block twice")
        for request_id, num_blocks in self.num_cached_block.items():
            if num_blocks > len(self.req_to_blocks.get(request_id, ())):
                raise CorruptState(f"published counts: {request_id!r} counts {num_blocks} blocks, more than it has")


def num_evictable_blocks(blocks: Sequence[KVCacheBlock]) -> int:
    """How many hits wait in the free queue; adopting them takes them off it."""
    return sum([not block.ref_cnt and not block.is_null for block in blocks])
