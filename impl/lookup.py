"""What the hit look-ups of all kinds share: preconditions, alignment, and the form of a hit."""

from collections.abc import Sequence
from math import gcd
from typing import TypeVar, cast

from kvwitness.impl.block import Key, KVCacheBlock
from kvwitness.impl.errors import RejectedAssertion, RejectedIndex, RejectedValue
from kvwitness.impl.index import Row
from kvwitness.impl.specs import KVCacheSpec
from kvwitness.impl.table import BlockTable
from kvwitness.model.profile import Profile

Spec = TypeVar("Spec", bound=KVCacheSpec)


def blocks_for(num_tokens: int, block_size: int) -> int:
    """How many blocks hold so many tokens.

    >>> blocks_for(5, 4)
    2
    """
    return -(-num_tokens // block_size)


def num_full_blocks(max_length: int, block_size: int) -> int:
    """How many whole blocks a hit of at most ``max_length`` tokens can have.

    Raises:
        RejectedValue: ``negative_count``.
    """
    if max_length < 0:
        raise RejectedValue("negative_count", f"max_length {max_length}", "0 or more tokens", "look up nothing for an empty request")
    return max_length // block_size


def aligned_step(block_size: int, alignment_tokens: int) -> int:
    """The blocks between two aligned lengths.

    Raises:
        RejectedAssertion: ``alignment_unsupported``.

    >>> aligned_step(4, 8), aligned_step(4, 6)
    (2, 3)
    """
    if alignment_tokens == block_size:
        return 1
    if alignment_tokens < 1:
        raise RejectedAssertion(
            "alignment_unsupported", f"alignment_tokens {alignment_tokens}", "1 or more", "pass the block size for none"
        )
    # What groups with blocks of their own ask for is their least common multiple, so most alignments are whole blocks.
    if alignment_tokens % block_size == 0:
        return alignment_tokens // block_size
    return alignment_tokens // gcd(block_size, alignment_tokens)


def context_width(profile: Profile, dcp_world_size: int, pcp_world_size: int) -> int:
    """How many times wider context parallelism makes a block of full attention.

    Raises:
        RejectedAssertion: ``context_parallel_unsupported`` for sizes below one.
    """
    if dcp_world_size < 1 or pcp_world_size < 1:
        got = f"dcp {dcp_world_size}, pcp {pcp_world_size}"
        raise RejectedAssertion("context_parallel_unsupported", got, "1 or more each", "use 1 for no context parallelism")
    return dcp_world_size * pcp_world_size if profile.context_parallel == "dcp_pcp" else dcp_world_size


def demand_one_device(manager: type, dcp_world_size: int, pcp_world_size: int) -> None:
    """Raise ``context_parallel_unsupported`` unless both sizes are one: only full attention and sinks are spread."""
    if dcp_world_size != 1 or pcp_world_size != 1:
        got = f"dcp {dcp_world_size}, pcp {pcp_world_size} for {manager.__name__}"
        raise RejectedAssertion("context_parallel_unsupported", got, "1 and 1", "spread full attention only")


def demand_spec(manager: type, spec: KVCacheSpec, *allowed: type[Spec]) -> Spec:
    """The spec, or ``wrong_spec`` raised unless it is of an allowed class."""
    if not isinstance(spec, allowed):
        wanted = " or ".join(each.__name__ for each in allowed)
        raise RejectedAssertion("wrong_spec", f"{type(spec).__name__} for {manager.__name__}", wanted, "pass the group's own spec")
    return spec


def demand_keys(block_hashes: Sequence[Key], num_blocks: int) -> None:
    """Raise ``not_enough_keys`` unless each of the first blocks has its key."""
    if len(block_hashes) < num_blocks:
        got = f"{len(block_hashes)} keys for a look-up over {num_blocks} blocks"
        raise RejectedIndex("not_enough_keys", got, f"{num_blocks} or more keys", "lower max_length to the hashed tokens")


def as_tables(null_block: KVCacheBlock, num_nulls: int, rows: list[Row], num_groups: int) -> tuple[BlockTable, ...]:
    """The hit of each group: nulls, then the group's column of the rows; O(rows * groups)."""
    if num_groups == 1:
        return (BlockTable(null_block, num_nulls, cast("list[KVCacheBlock]", rows)),)
    columns = cast("list[tuple[KVCacheBlock, ...]]", rows)
    return tuple(BlockTable(null_block, num_nulls, [row[group] for row in columns]) for group in range(num_groups))
