"""The pool's representation check: what its parts and the managers' tables owe one another."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from kvwitness.impl.block import KVCacheBlock
from kvwitness.impl.errors import CorruptState
from kvwitness.impl.table import BlockTable


class HoldsBlocks(Protocol):
    """What holders are counted in: a manager."""

    req_to_blocks: dict[str, BlockTable]

    def check(self) -> None:
        """Raise `CorruptState` if its own books are wrong."""


def check_references(blocks: Sequence[KVCacheBlock], reserved: Collection[KVCacheBlock], managers: Iterable[HoldsBlocks]) -> None:
    """Raise `CorruptState` unless references = holders and free = no reference, for all but the null block; O(blocks + entries)."""
    holders: Counter[int] = Counter()
    for manager in managers:
        manager.check()
        for table in manager.req_to_blocks.values():
            holders.update(block.block_id for block in table.tail)
    for block in blocks:
        if not block.is_null:
            _check_block(block, holders[block.block_id], is_reserved=block in reserved)


def _check_block(block: KVCacheBlock, num_holders: int, *, is_reserved: bool) -> None:
    name = f"block {block.block_id}"
    if block.ref_cnt != num_holders:
        raise CorruptState(f"references = holders: {name} has {block.ref_cnt} references and {num_holders} holders")
    if is_reserved and (block.is_queued or block.block_hash is not None or block.ref_cnt):
        raise CorruptState(f"set apart: {name} is queued, keyed or referenced all the same")
    if block.is_queued == bool(block.ref_cnt or is_reserved):
        raise CorruptState(f"free = no reference: {name} has {block.ref_cnt} references, queued is {block.is_queued}")


def check_null_block(block: KVCacheBlock, *, counts_references: bool) -> None:
    """Raise `CorruptState` if the null block is queued, keyed, no longer null, or referenced where that is not counted; O(1)."""
    if block.is_queued or block.block_hash is not None or not block.is_null:
        raise CorruptState("null block: it is queued, keyed or no longer null")
    if block.ref_cnt and not counts_references:
        raise CorruptState(f"null block: {block.ref_cnt} references are counted, none should be")
