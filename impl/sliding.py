"""Sliding window: a token reads the last ``sliding_window`` tokens, itself included."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from kvwitness.impl.block import Key
from kvwitness.impl.errors import RejectedAssertion
from kvwitness.impl.index import Find, Row
from kvwitness.impl.lookup import aligned_step, as_tables, blocks_for, demand_keys, demand_one_device, demand_spec, num_full_blocks
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.specs import KVCacheSpec, SlidingWindowSpec
from kvwitness.impl.table import BlockTable
from kvwitness.model.profile import Profile


class SlidingWindowManager(SingleTypeKVCacheManager):
    """Tables whose blocks before the window are null."""

    frees_as_skipped = True

    def __init__(self, kv_cache_spec: SlidingWindowSpec, **kwargs: Any) -> None:
        """As the base class, whose further arguments go by name."""
        super().__init__(kv_cache_spec, **kwargs)
        self.sliding_window = kv_cache_spec.sliding_window

    def expect_look_ups(self, alignment_tokens: int, use_eagle: bool) -> None:
        """Be told, once built, how hits will be looked up: some profiles give only those blocks a key that such hits can need; O(1)."""
        rule, step = self.block_pool.profile.sliding_publish, alignment_tokens // self.block_size
        shift = 1 if use_eagle and rule == "segment_tails_with_draft" else 0
        run = blocks_for(self.sliding_window - 1, self.block_size) + shift
        keeps_all = rule == "all" or (rule == "segment_tails" and step == 1) or run >= step
        self._is_kept = None if keeps_all else partial(_ends_segment, step - run, step, shift)

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
        """The longest aligned length whose window is cached; probes ≤ 2n/w + 2w on regular patterns, never more than n.

        Raises:
            RejectedAssertion: ``wrong_spec``, ``context_parallel_unsupported``, ``alignment_unsupported``
                or ``draft_drop_alignment``.
            RejectedIndex: ``not_enough_keys``.
            RejectedValue: ``negative_count``.
        """
        spec = demand_spec(cls, kv_cache_spec, SlidingWindowSpec)
        demand_one_device(cls, dcp_world_size, pcp_world_size)
        profile, step = block_pool.profile, aligned_step(spec.block_size, alignment_tokens)
        max_blocks = num_full_blocks(max_length, spec.block_size)
        demand_keys(block_hashes, max_blocks)
        run = _run_blocks(profile, spec, use_eagle)
        shift = 1 if use_eagle and profile.sliding_draft_drop in ("align_after_drop", "longest") else 0
        start, rows = _search(block_pool.finder(kv_cache_group_ids), block_hashes, max_blocks, run, step, shift)
        num_blocks = start + len(rows)
        if use_eagle and num_blocks:
            if alignment_tokens != spec.block_size and profile.sliding_draft_drop == "raises":
                raise _refuse_drop(spec.block_size, alignment_tokens)
            num_blocks = _without_draft_block(num_blocks, run, step, profile)
        del rows[max(0, num_blocks - start) :]
        return as_tables(block_pool.null_block, min(start, num_blocks), rows, len(kv_cache_group_ids))

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        """The tokens before the window of the next token; O(1)."""
        return max(0, num_computed_tokens - self.sliding_window + 1)

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """None: a table's front is null sooner or later; O(1)."""
        return 0


def _ends_segment(first: int, step: int, shift: int, place: int) -> bool:
    """Whether a place is one of the last of its segment of ``step`` blocks, segments beginning at ``shift``."""
    return place >= shift and (place - shift) % step >= first


def _run_blocks(profile: Profile, spec: SlidingWindowSpec, use_eagle: bool) -> int:
    """How many contiguous cached blocks make a hit, the draft's block included."""
    run = blocks_for(spec.sliding_window - 1, spec.block_size) + (1 if use_eagle else 0)
    return run if profile.sliding_window_one == "needs_nothing" else max(1, run)


def _without_draft_block(num_blocks: int, run: int, step: int, profile: Profile) -> int:
    """The aligned length that is left of a matched run without its last block.

    Some releases align a run that is shorter than the window, so that it begins with the first block, before that as well.
    """
    if profile.sliding_draft_drop == "align_after_drop" and step > 1 and num_blocks < run:
        num_blocks -= step
    return max(0, (num_blocks - 1) // step * step)


def _search(find: Find, keys: Sequence[Key], max_blocks: int, run: int, step: int, shift: int) -> tuple[int, list[Row]]:
    """The last run of cached blocks that ends at an allowed place: where it starts, and its rows.

    It has ``run`` blocks, or fewer if it starts at the first block.
    Its end less ``shift`` is a multiple of ``step``, both in blocks.
    A window is probed from the left; a miss moves the end to the left of it, and the hits behind it are kept.
    """
    end = known = max_blocks - (max_blocks - shift) % step
    rows: list[Row] = []
    while end > shift:
        start = end - run if end > run else 0
        probed: list[Row] = []
        for place in range(start, known):
            row = find(keys[place])
            if row is None:
                end = place - (place - shift) % step
                known = min(start, end)
                rows = probed[: end - start] if end > start else []
                break
            probed.append(row)
        else:
            return start, probed + rows[max(0, start - known) :]
    return 0, []


def _refuse_drop(block_size: int, alignment_tokens: int) -> RejectedAssertion:
    got = f"a draft drop with alignment {alignment_tokens}"
    return RejectedAssertion(
        "draft_drop_alignment", got, f"alignment {block_size}, the block size", "use a profile that aligns after the drop"
    )
