"""Mamba: a block holds a state, and the state after the last computed token is all that the next one reads."""

from collections.abc import Sequence
from typing import Any

from kvwitness.impl.block import Key, KVCacheBlock
from kvwitness.impl.errors import CorruptState, RejectedAssertion
from kvwitness.impl.lookup import aligned_step, as_tables, blocks_for, demand_keys, demand_one_device, demand_spec, num_full_blocks
from kvwitness.impl.manager import SingleTypeKVCacheManager, num_evictable_blocks
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.specs import KVCacheSpec, MambaSpec
from kvwitness.impl.table import BlockTable, live_blocks


class MambaManager(SingleTypeKVCacheManager):
    """Tables of states.

    Mode align keeps a state only where a step ends: ``[∅ ∅ s|d d]``, the running state and a block for each draft at the end.

    Attributes:
        mamba_cache_mode: ``none``, ``all`` or ``align``.
        num_speculative_blocks: Blocks behind the running state for drafts.
        last_state_block_idx: In mode align, the place of the state that the running step starts from, by request.
    """

    def __init__(self, kv_cache_spec: MambaSpec, **kwargs: Any) -> None:
        """As the base class, whose further arguments go by name.

        Raises:
            RejectedAssertion: ``caching_unsupported`` where the profile caches in mode align only.
        """
        super().__init__(kv_cache_spec, **kwargs)
        profile = self.block_pool.profile
        self.mamba_cache_mode = kv_cache_spec.mamba_cache_mode
        self.num_speculative_blocks: int = kv_cache_spec.num_speculative_blocks
        self.last_state_block_idx: dict[str, int] = {}
        self._allocated_block_reqs: set[str] = set()
        self._passes_gaps = self.mamba_cache_mode == "align" and profile.mamba_release_walk == "all"
        self._floors_estimate = profile.estimate_floor == "zero"
        self._counts_external_state = profile.external_state == "counted"
        self._guards_step = profile.mamba_same_step_guard
        self._guards_keys = profile.mamba_guard_scope == "key"
        self._lag_tokens = self.num_speculative_blocks if profile.mamba_release_lag == "drafts" else 0
        if self.enable_caching and profile.mamba_caching == "align_only" and self.mamba_cache_mode != "align":
            got = f"caching in mode {self.mamba_cache_mode}"
            raise RejectedAssertion("caching_unsupported", got, "mode align", "set mamba_cache_mode to align or caching off")

    @classmethod
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
    ) -> tuple[BlockTable, ...]:
        """The last cached state at an aligned length, behind nulls; probes ≤ aligned lengths.

        Raises:
            RejectedAssertion: ``wrong_spec``, ``context_parallel_unsupported`` or ``alignment_unsupported``.
            RejectedIndex: ``not_enough_keys``.
            RejectedValue: ``negative_count``.
        """
        demand_spec(cls, kv_cache_spec, MambaSpec)
        demand_one_device(cls, dcp_world_size, pcp_world_size)
        step = aligned_step(kv_cache_spec.block_size, alignment_tokens)
        max_blocks = num_full_blocks(max_length, kv_cache_spec.block_size)
        demand_keys(block_hashes, max_blocks)
        find, num_groups = block_pool.finder(kv_cache_group_ids), len(kv_cache_group_ids)
        for num_blocks in range(max_blocks - max_blocks % step, 0, -step):
            row = find(block_hashes[num_blocks - 1])
            if row is not None:
                return as_tables(block_pool.null_block, num_blocks - 1, [row], num_groups)
        return as_tables(block_pool.null_block, 0, [], num_groups)

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """All tokens but the last: its state stands for the others; -1 before the first; O(1)."""
        return num_computed_tokens - 1

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """None: states change in place; O(1)."""
        return 0

    def get_num_blocks_to_allocate(
        self,
        request_id: str,
        num_tokens: int,
        new_computed_blocks: Sequence[KVCacheBlock],
        total_computed_tokens: int,
        num_tokens_main_model: int,
    ) -> int:
        """As the base class, the drafts' blocks included; O(hits).

        A hit on a state that this very step computes is put off by asking for more than the pool has.
        Mode align counts main-model tokens only, and may ask for less than nothing where the profile lets it.

        Raises:
            RejectedAssertion: ``hits_for_running_request``, but in mode align.
        """
        if self._guards_step and self._is_put_off(new_computed_blocks):
            return self.block_pool.num_gpu_blocks + 1
        if self.mamba_cache_mode != "align":
            num_tokens += self.block_size * self.num_speculative_blocks
            return super().get_num_blocks_to_allocate(
                request_id, num_tokens, new_computed_blocks, total_computed_tokens, num_tokens_main_model
            )
        num_hit_tokens = len(new_computed_blocks) * self.block_size
        if self._counts_external_state and total_computed_tokens > num_hit_tokens and request_id not in self.req_to_blocks:
            # The state after the external tokens takes a block, and every hit is skipped.
            num_external_blocks = blocks_for(total_computed_tokens, self.block_size)
            return 1 + min(self._num_required_blocks(num_tokens_main_model) - num_external_blocks, 1 + self.num_speculative_blocks)
        num_held_blocks = len(self.req_to_blocks.get(request_id, ())) + len(new_computed_blocks)
        num_new_blocks = self._num_required_blocks(num_tokens_main_model) - num_held_blocks
        if num_new_blocks > 0:
            num_new_blocks = 1 if request_id in self._allocated_block_reqs else 1 + self.num_speculative_blocks
        elif self._floors_estimate:
            num_new_blocks = 0
        return num_new_blocks + num_evictable_blocks(live_blocks(new_computed_blocks))

    def _is_put_off(self, hits: Sequence[KVCacheBlock]) -> bool:
        """Whether a state to start from is computed in this very step; by key, whether a copy of it is."""
        is_of_this_step = self._step_book.has_published_key if self._guards_keys else self._step_book.has_published
        return any([is_of_this_step(block) for block in live_blocks(hits) if not block.is_null])

    def _num_required_blocks(self, num_tokens_main_model: int) -> int:
        """Mode align's table length: up to the running state, and a block a draft behind it."""
        return -(-num_tokens_main_model // self.block_size) + self.num_speculative_blocks

    def allocate_new_blocks(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> list[KVCacheBlock]:
        """Lengthen the table and return what was appended; O(appended entries).

        In mode align these are nulls, the draft blocks of the last step moved to the end, and new blocks:
        at most one once the request has its own.

        Raises:
            RejectedAssertion: ``requirement_shrinks`` in mode align, where the profile says so.
            RejectedValue: ``pool_exhausted``.
        """
        if self.mamba_cache_mode != "align":
            num_tokens += self.block_size * self.num_speculative_blocks
            return super().allocate_new_blocks(request_id, num_tokens, num_tokens_main_model)
        num_required_blocks = self._num_required_blocks(num_tokens_main_model)
        num_held_blocks = len(self.req_to_blocks.get(request_id, ()))
        if num_required_blocks == num_held_blocks:
            return []
        if num_required_blocks < num_held_blocks:
            return self._answer_shrinking(request_id, num_required_blocks, num_held_blocks)
        return self._lengthen(request_id, num_held_blocks, num_required_blocks)

    def num_blocks_for_growth(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> int:
        """As the base class; mode align appends nulls and moves its draft blocks, which takes none; O(1).

        Raises:
            RejectedAssertion: ``requirement_shrinks`` in mode align, where the profile says so.
        """
        if self.mamba_cache_mode != "align":
            num_tokens += self.block_size * self.num_speculative_blocks
            return super().num_blocks_for_growth(request_id, num_tokens, num_tokens_main_model)
        num_required_blocks = self._num_required_blocks(num_tokens_main_model)
        num_held_blocks = len(self.req_to_blocks.get(request_id, ()))
        if num_required_blocks < num_held_blocks:
            return len(self._answer_shrinking(request_id, num_required_blocks, num_held_blocks))
        return num_required_blocks - num_held_blocks - sum(self._num_kept(request_id, num_held_blocks, num_required_blocks))

    def _num_kept(self, request_id: str, num_held_blocks: int, num_required_blocks: int) -> tuple[int, int]:
        """How many entries of a longer table are not new blocks: nulls up to the running state, and draft blocks that move behind it."""
        state_place = num_required_blocks - self.num_speculative_blocks - 1
        num_passed = max(0, state_place - (num_held_blocks - self.num_speculative_blocks))
        num_moved = min(self.num_speculative_blocks, num_passed) if request_id in self._allocated_block_reqs else 0
        return max(0, state_place - num_held_blocks), num_moved

    def _answer_shrinking(self, request_id: str, num_required_blocks: int, num_held_blocks: int) -> list[KVCacheBlock]:
        if self.block_pool.profile.mamba_align_shrink == "nothing":
            return []
        got = f"{num_required_blocks} required blocks for {request_id!r}"
        raise RejectedAssertion("requirement_shrinks", got, f"the {num_held_blocks} held or more", "never plan fewer tokens than before")

    def _lengthen(self, request_id: str, num_held_blocks: int, num_required_blocks: int) -> list[KVCacheBlock]:
        """Nulls up to the running state, the draft blocks that fall before it moved behind, the rest new."""
        is_running = request_id in self._allocated_block_reqs
        first_draft = num_held_blocks - self.num_speculative_blocks
        num_nulls, num_moved = self._num_kept(request_id, num_held_blocks, num_required_blocks)
        new_blocks = self.block_pool.get_new_blocks(num_required_blocks - num_held_blocks - num_nulls - num_moved)
        if is_running:
            self.last_state_block_idx[request_id] = first_draft - 1
        elif num_held_blocks > 0:
            self.last_state_block_idx[request_id] = num_held_blocks - 1
        moved = self._take_out(request_id, first_draft, num_moved) if num_moved else []
        appended = [self._null_block] * num_nulls + moved + new_blocks
        self._extend(request_id, appended)
        self._allocated_block_reqs.add(request_id)
        return appended

    def _take_out(self, request_id: str, place: int, num_blocks: int) -> list[KVCacheBlock]:
        """Take entries out of the table, nulls left in their places."""
        table = self.req_to_blocks[request_id]
        start = place - table.num_nulls
        taken = table.tail[start : start + num_blocks]
        table.put_nulls(start, start + num_blocks)
        return taken

    def remove_skipped_blocks(self, request_id: str, num_computed_tokens: int) -> None:
        """As the base class; mode align also releases the state that the last step started from; O(released blocks).

        Under the profile's lag, drafts do not count as computed.
        Where the profile says so, mode align releases every skipped state, those left of a null too; O(skipped entries), each once.
        """
        num_computed_tokens -= self._lag_tokens
        if self._passes_gaps:
            self._release_all_skipped(request_id, num_computed_tokens)
            return
        super().remove_skipped_blocks(request_id, num_computed_tokens)
        place = self.last_state_block_idx.get(request_id)
        if place is None or place >= -(-num_computed_tokens // self.block_size) - 1:
            return
        table = self.req_to_blocks[request_id]
        if table[place] is not self._null_block:
            self.block_pool.free_blocks([table[place]])
            table.put_nulls(place - table.num_nulls, place - table.num_nulls + 1)

    def _release_all_skipped(self, request_id: str, num_computed_tokens: int) -> None:
        table = self.req_to_blocks.get(request_id)
        if table is None:
            return
        end = min(self._num_skipped_blocks(num_computed_tokens) - table.num_nulls, len(table.tail))
        released = [block for block in table.tail[: max(0, end)] if block is not self._null_block]
        if released:
            self._free_skipped(released[::-1])
            table.put_nulls(0, end)

    def free(self, request_id: str) -> None:
        """As the base class; the next request of that name starts anew; O(blocks but the null prefix)."""
        super().free(request_id)
        self._allocated_block_reqs.discard(request_id)
        self.last_state_block_idx.pop(request_id, None)

    def check(self) -> None:
        """As the base class, and every request that was allocated in mode align has its state and draft blocks."""
        super().check()
        for request_id in self._allocated_block_reqs:
            if len(self.req_to_blocks.get(request_id, ())) < 1 + self.num_speculative_blocks:
                raise CorruptState(f"mode align: {request_id!r} lacks its state or a draft block")
