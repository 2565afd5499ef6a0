"""What does computing the next token still need? Everything else in the spec follows from this.

Tokens are counted from 0; with ``n`` tokens computed, token ``n`` is the next to be computed.
"""

from typing import Any

from kvwitness.model.clauses import clause
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, floor_div, maximum, round_down


@clause("NEED.FIRST", level="L2", source="get_num_skipped_tokens, SlidingWindowManager.__init__, ChunkedLocalAttentionManager.__init__")
def first_needed(kind: Kind, num_computed_tokens: Any) -> Any:
    """The skipped tokens are those left of the first that the next token reads, or of the last one whose state it
    continues (Mamba; -1 at the start).
    """
    if kind.kind == "sliding":
        return maximum(0, num_computed_tokens - kind.window + 1)
    if kind.kind == "chunked":
        return round_down(num_computed_tokens, kind.chunk)
    if kind.kind == "mamba":
        return num_computed_tokens - 1
    return 0


def num_skipped_blocks(kind: Kind, num_computed_tokens: Any, block: Any) -> Any:
    """The null-block prefix: how many leading blocks lie wholly before the first token still needed."""
    return floor_div(maximum(0, first_needed(kind, num_computed_tokens)), block)


def needed_blocks(kind: Kind, length: Any, block: Any) -> tuple[Any, Any]:
    """The blocks ``[first, end)`` that must be cached for a hit of ``length`` tokens, a multiple of the block."""
    return num_skipped_blocks(kind, length, block), ceil_div(length, block)


def is_skipped(kind: Kind, token: Any, num_computed_tokens: Any) -> Any:
    """Whether no token from ``num_computed_tokens`` on reads ``token``."""
    return token < first_needed(kind, num_computed_tokens)


def reads(kind: Kind, reader: Any, token: Any) -> Any:
    """Whether computing ``reader`` reads the entry of ``token``: the definition that `first_needed` must agree with."""
    if kind.kind == "sliding":
        return (token <= reader) & (reader - token < kind.window)
    if kind.kind == "chunked":
        return (token <= reader) & (floor_div(token, kind.chunk) == floor_div(reader, kind.chunk))
    if kind.kind == "mamba":
        return token == reader - 1
    return token <= reader
