"""Several groups on one pool, each with its manager: one hit, one estimate, one outcome for all of them.

full, block 2      [ 1  2  3  4 |·]
sliding, block 4   [ ∅     7    |·]     both cover 8 tokens
"""

from collections.abc import Sequence

from kvwitness.impl.block import HashedRequest, Key, KVCacheBlock
from kvwitness.impl.common_hit import CommonHit
from kvwitness.impl.cross import CrossAttentionManager
from kvwitness.impl.errors import RejectedAssertion, RejectedValue
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.sliding import SlidingWindowManager
from kvwitness.impl.table import BlockTable

Hits = Sequence[Sequence[KVCacheBlock]]
"""The hits of a request, a sequence a group."""


class HybridKVCacheCoordinator:
    """The managers of mixed groups.

    Adoption or growth that one group rejects changes nothing in any.

    Attributes:
        block_pool: The pool that all groups share.
        single_type_managers: One manager a group.
        alignment_tokens: What hit lengths are multiples of.
        use_eagle: Whether a draft model shares the cache.
        common_hit_class: What finds the hit that they have in common.
    """

    common_hit_class: type[CommonHit] = CommonHit

    def __init__(
        self,
        block_pool: BlockPool,
        single_type_managers: Sequence[SingleTypeKVCacheManager],
        alignment_tokens: int,
        use_eagle: bool = False,
    ) -> None:
        """Bring managers together, which stand in the order of their groups; O(groups²).

        Raises:
            RejectedAssertion: ``alignment_unsupported`` for an alignment that is no multiple of every block.
        """
        self.block_pool = block_pool
        self.single_type_managers = list(single_type_managers)
        self.alignment_tokens, self.use_eagle = alignment_tokens, use_eagle
        for manager in self.single_type_managers:
            if alignment_tokens % manager.block_size:
                got = f"alignment_tokens {alignment_tokens}"
                allowed = f"a multiple of every block, {manager.block_size} tokens among them"
                raise RejectedAssertion("alignment_unsupported", got, allowed, "use their least common multiple")
            if isinstance(manager, SlidingWindowManager):
                manager.expect_look_ups(alignment_tokens, use_eagle)
        self._encodes = [isinstance(manager, CrossAttentionManager) for manager in self.single_type_managers]
        self._no_hits: Hits = ((),) * len(self.single_type_managers)
        self._common_hit = self.common_hit_class(self.single_type_managers, block_pool, alignment_tokens, use_eagle)
        self._in_two_phases = block_pool.profile.adoption == "two_phase"
        self._publishes = block_pool.profile.hybrid_publish

    def find_longest_cache_hit(self, block_hashes: Sequence[Key], max_cache_hit_length: int) -> tuple[tuple[BlockTable, ...], int]:
        """The hit of every group, and its length in tokens; see `CommonHit.find` for the cost.

        Keys stand for ``hash_block_size`` tokens each; a group with larger blocks takes that of the last token of each.

        Raises:
            Rejected: as the groups' managers.
        """
        return self._common_hit.find(block_hashes, max_cache_hit_length)

    def get_num_blocks_to_allocate(
        self,
        request_id: str,
        num_tokens: int,
        new_computed_blocks: Hits,
        num_encoder_tokens: int,
        total_computed_tokens: int,
        num_tokens_main_model: int,
    ) -> int:
        """How many free blocks all groups together will take; O(hits), O(groups) for a running request.

        Raises:
            RejectedAssertion: ``hits_for_running_request``.
        """
        hits, needed = new_computed_blocks or self._no_hits, 0
        for manager, found, encodes in zip(self.single_type_managers, hits, self._encodes, strict=True):
            needed += manager.get_num_blocks_to_allocate(
                request_id, num_encoder_tokens if encodes else num_tokens, found, total_computed_tokens, num_tokens_main_model
            )
        return needed

    def allocate_new_computed_blocks(
        self, request_id: str, new_computed_blocks: Hits, num_local_computed_tokens: int, num_external_computed_tokens: int
    ) -> None:
        """Adopt the hits of a new request and take blocks for its external tokens; O(hits + external blocks).

        In two phases every group references its hits before any group takes a block, so that none takes another's hit.

        Raises:
            Rejected: as the groups' managers, before anything is adopted.
        """
        hits = new_computed_blocks or self._no_hits
        lengths = (num_local_computed_tokens, num_external_computed_tokens)
        self._demand_adoptable(request_id, hits, *lengths)
        if not self._in_two_phases:
            for manager, found in zip(self.single_type_managers, hits, strict=True):
                manager.allocate_new_computed_blocks(request_id, found, *lengths)
            return
        for manager, found in zip(self.single_type_managers, hits, strict=True):
            manager.add_local_computed_blocks(request_id, found, *lengths)
        for manager in self.single_type_managers:
            manager.allocate_external_computed_blocks(request_id, *lengths)

    def _demand_adoptable(self, request_id: str, hits: Hits, num_local: int, num_external: int) -> None:
        """Refuse what any group would refuse, while nothing has happened yet."""
        needed = 0
        for manager, found in zip(self.single_type_managers, hits, strict=True):
            manager.demand_adoptable(request_id, found, num_local + num_external)
            if num_external > 0:
                needed += manager.num_blocks_for_adoption(request_id, found, num_local, num_external)
        if needed > self.block_pool.get_num_free_blocks():
            raise self._refuse(needed, "hits and external tokens")

    def _refuse(self, num_blocks: int, purpose: str) -> RejectedValue:
        free = self.block_pool.get_num_free_blocks()
        return RejectedValue("pool_exhausted", f"{num_blocks} blocks for {purpose}", f"the {free} free ones", "ask for the estimate first")

    def allocate_new_blocks(
        self, request_id: str, num_tokens: int, num_tokens_main_model: int, num_encoder_tokens: int = 0
    ) -> tuple[list[KVCacheBlock], ...]:
        """Lengthen every group's table, and return what was appended to each; O(groups + appended entries).

        Raises:
            Rejected: as the groups' managers, before any table is changed.
        """
        wanted = [num_encoder_tokens if encodes else num_tokens for encodes in self._encodes]
        pairs = list(zip(self.single_type_managers, wanted, strict=True))
        needed = sum([manager.num_blocks_for_growth(request_id, tokens, num_tokens_main_model) for manager, tokens in pairs])
        if needed > self.block_pool.get_num_free_blocks():
            raise self._refuse(needed, f"growing {request_id!r}")
        return tuple([manager.allocate_new_blocks(request_id, tokens, num_tokens_main_model) for manager, tokens in pairs])

    def cache_blocks(self, request: HashedRequest, num_computed_tokens: int) -> None:
        """Make the full blocks of the first tokens findable in every group, as far as the profile publishes; O(newly full blocks).

        Raises:
            Rejected: as the groups' managers; the groups before the one that rejects have published.
        """
        for manager in self.single_type_managers:
            manager.cache_blocks(request, self._num_published_tokens(manager, num_computed_tokens))

    def _num_published_tokens(self, manager: SingleTypeKVCacheManager, num_tokens: int) -> int:
        """How much of it a group publishes: in some profiles only what a hit of an aligned length can need."""
        if self._publishes == "all":
            return num_tokens
        aligned = num_tokens - num_tokens % self.alignment_tokens
        if self._publishes == "aligned_with_draft" and self.use_eagle and aligned:
            return min(num_tokens, aligned + manager.block_size)
        return aligned

    def remove_skipped_blocks(self, request_id: str, total_computed_tokens: int) -> None:
        """Release, group by group, the blocks that no later token reads; O(groups + released blocks)."""
        for manager in self.single_type_managers:
            manager.remove_skipped_blocks(request_id, total_computed_tokens)

    def free(self, request_id: str) -> None:
        """Release, group by group, all that a request holds; O(its blocks but the null prefixes)."""
        for manager in self.single_type_managers:
            manager.free(request_id)

    def withdraw_blocks(self, request_id: str) -> None:
        """Take back what the request published in this step, in every group; O(published in the step)."""
        for manager in self.single_type_managers:
            manager.withdraw_blocks(request_id)

    def new_step_starts(self) -> None:
        """What was published until now counts as computed; O(published in the step)."""
        for manager in self.single_type_managers:
            manager.new_step_starts()

    def get_num_common_prefix_blocks(self, running_request_id: str) -> list[int]:
        """Per group, how many leading blocks all requests share; O(common blocks)."""
        return [manager.get_num_common_prefix_blocks(running_request_id) for manager in self.single_type_managers]

    def reset_prefix_cache(self) -> bool:
        """Forget all keys of all groups if no request holds a block; tell whether it was done; O(keyed blocks)."""
        return self.block_pool.reset_prefix_cache()

    def check(self) -> None:
        """Raise `CorruptState` unless pool, managers and index fit; O(blocks + entries)."""
        self.block_pool.check(self.single_type_managers)


__all__ = ["HybridKVCacheCoordinator"]
