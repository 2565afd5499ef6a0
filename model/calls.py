"""What passes between a caller and a manager-level port: calls, their outcomes, and what can be observed.

Blocks are ids, 0 is the null block.
A call speaks to all groups at once; its answer has one entry a group.
"""

from typing import Any, Literal, NamedTuple

Key = int
"""The chain key of a block: it stands for the whole prefix that ends with the block."""

Blocks = tuple[int, ...]
"""Block ids in the order of a request's table."""

Status = Literal["ok", "rejected", "failed"]


class Call(NamedTuple):
    """One call on a port: the seed's method name and its arguments.

    ==================================  =======================================================================  ======================
    name                                arguments                                                                value
    ==================================  =======================================================================  ======================
    ``find_longest_cache_hit``          keys of the full blocks, ``max_length`` (tokens)                         blocks per group
    ``remove_skipped_blocks``           id, ``total_computed_tokens``                                            None
    ``get_num_blocks_to_allocate``      id, ``num_tokens``, hits per group, total computed, main, encoder tokens blocks
    ``get_num_free_blocks``                                                                                      blocks
    ``allocate_new_computed_blocks``    id, hits per group, local tokens, external tokens                        None
    ``allocate_new_blocks``             id, ``num_tokens``, main-model tokens, encoder tokens                    new blocks per group
    ``cache_blocks``                    id, keys of the full blocks, ``num_tokens``                              None
    ``free``                            id                                                                       None
    ``get_num_common_prefix_blocks``    id                                                                       blocks per group
    ``new_step_starts``                                                                                          None
    ``withdraw_blocks``                 id                                                                       None
    ``reset_prefix_cache``                                                                                       whether it was reset
    ==================================  =======================================================================  ======================
    """

    name: str
    arguments: tuple[Any, ...]


class Outcome(NamedTuple):
    """How a call ended.

    ``ok`` carries the value; ``rejected`` a reason from the closed list of `REASONS`; ``failed`` the text of what went wrong.
    """

    status: Status
    value: Any = None
    reason: str = ""


REASONS = (
    "pool_exhausted",
    "block_not_referenced",
    "block_already_free",
    "negative_count",
    "unknown_request",
    "request_has_blocks",
    "hits_for_running_request",
    "hits_without_caching",
    "not_enough_keys",
    "publish_unallocated",
    "block_already_keyed",
    "requirement_shrinks",
    "draft_drop_alignment",
    "draft_drop_unsupported",
    "context_parallel_unsupported",
    "alignment_unsupported",
    "wrong_spec",
    "caching_unsupported",
    "invalid_configuration",
)
"""Why a manager may reject a call; language-neutral, so that every port can say the same."""


class Observation(NamedTuple):
    """What a port shows of its state, as plain data; a part that it cannot show is None.

    Attributes:
        tables: Per group, the blocks of every request that has any entry.
        free: The free queue, next to be taken first.
        references: The reference count of every block, by id.
        keys: Per block (by id) its ``(group, key)``, or None where it has no key.
        index: Per ``(group, key)`` the blocks that look-ups may find, the one found first.
        published: Per group, how many blocks of each request count as published; requests without the entry are left out.
        reserved: Blocks set apart for sinks, in order.
    """

    tables: tuple[dict[str, Blocks], ...] | None
    free: Blocks | None
    references: tuple[int, ...] | None
    keys: tuple[tuple[int, Key] | None, ...] | None
    index: dict[tuple[int, Key], Blocks] | None  # type: ignore[assignment]
    published: tuple[dict[str, int], ...] | None
    reserved: Blocks | None = None
