"""What holds of a pool even while it is misused: a call that nobody should make is rejected, or leaves the books right.

The clauses of `books` judge such a run too; these two speak of what only a wrong call can bring out of step.
"""

from kvwitness.model.clauses import clause


@clause("BOOKS.COUNT", level="L0", source="BlockPool.get_num_free_blocks, BlockPool.get_new_blocks, BlockPool.free_blocks")
def counts_free_blocks(counted: int, queued: int) -> bool:
    """The number of free blocks that a pool tells is the length of its free queue."""
    return counted == queued


@clause("BOOKS.NULL.COUNT", level="L0", source="BlockPool.touch, BlockPool.free_blocks")
def null_is_not_counted(before: int, after: int) -> bool:
    """Nobody holds the null block: touching or releasing it leaves its reference count as it was."""
    return before == after
