"""Defects of cross attention, whose tables hold one request's encoder tokens from admission to the end."""

from typing import Any

from kvwitness.impl.block import KVCacheBlock
from kvwitness.impl.cross import CrossAttentionManager
from kvwitness.properties.defects.defect import in_manager

_BUDGET_BLOCKS = 3


class _BudgetReserved(CrossAttentionManager):
    """Every request reserves blocks for the whole encoder budget instead of its own encoder tokens."""

    def get_num_blocks_to_allocate(self, request_id: str, num_tokens: int, *rest: Any, **named: Any) -> int:
        return super().get_num_blocks_to_allocate(request_id, _budget(num_tokens, self.block_size), *rest, **named)

    def allocate_new_blocks(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> list[KVCacheBlock]:
        return super().allocate_new_blocks(request_id, _budget(num_tokens, self.block_size), num_tokens_main_model)


class _LastBlockMissing(CrossAttentionManager):
    """Encoder tokens that do not fill their last block get no place for the rest."""

    def get_num_blocks_to_allocate(self, request_id: str, num_tokens: int, *rest: Any, **named: Any) -> int:
        return super().get_num_blocks_to_allocate(request_id, num_tokens - num_tokens % self.block_size, *rest, **named)

    def allocate_new_blocks(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> list[KVCacheBlock]:
        return super().allocate_new_blocks(request_id, num_tokens - num_tokens % self.block_size, num_tokens_main_model)


class _EncoderReleased(CrossAttentionManager):
    """Encoder blocks are released as the decoder goes on, as if they were tokens before a window."""

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return max(0, num_computed_tokens - self.block_size)


class _EncoderShared(CrossAttentionManager):
    """A request is given the encoder blocks of another one that has as many."""

    def allocate_new_blocks(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> list[KVCacheBlock]:
        others = [table for other, table in self.req_to_blocks.items() if other != request_id]
        blocks = super().allocate_new_blocks(request_id, num_tokens, num_tokens_main_model)
        for table in others:
            if blocks and len(table) == len(blocks):
                self.block_pool.free_blocks(blocks)
                self.block_pool.touch(table)
                self.req_to_blocks[request_id].tail[:] = list(table)
                return list(table)
        return blocks


def _budget(num_tokens: int, block_size: int) -> int:
    """The tokens that are reserved for an admission; a running request takes nothing more."""
    return max(num_tokens, _BUDGET_BLOCKS * block_size) if num_tokens else 0


DEFECTS = (
    in_manager("encoder-budget-reserved", _BudgetReserved, ("cross",), ("TABLE.ESTIMATE", "LIVE.REFUSAL"), "K78"),
    in_manager("encoder-block-missing", _LastBlockMissing, ("cross",), ("TABLE.ESTIMATE",)),
    in_manager("encoder-blocks-released", _EncoderReleased, ("cross",), ("CONTENTS.READ.PRESENT", "TABLE.RELEASE-SKIPPED")),
    in_manager("encoder-blocks-shared", _EncoderShared, ("cross",), ("BOOKS.EXCLUSIVE", "BOOKS.ESTIMATE")),
)
"""The defects of this file, in the order of reports."""
