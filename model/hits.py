"""The longest cache hit, stated declaratively: the largest length whose needed blocks are all cached."""

from collections.abc import Callable

from kvwitness.model.kinds import Kind
from kvwitness.model.need import needed_blocks
from kvwitness.model.numbers import ceil_div
from kvwitness.model.profile import Profile

IsCached = Callable[[int], bool]
"""Whether the block with this index in the request's prefix is cached."""


def usable(kind: Kind, profile: Profile, block: int, length: int, *, draft_drop: bool, is_cached: IsCached) -> bool:
    """Whether a hit of ``length`` tokens leaves everything in place that the next token reads.

    A draft model recomputes the last matched block, so under its drop the block after the hit must be cached too.
    """
    if length == 0:
        return True
    first, end = needed_blocks(kind, length, block)
    if draft_drop:
        end += 1
    elif kind.kind == "sliding" and profile.sliding_window_one == "needs_a_block":
        first = min(first, end - 1)
    return all(is_cached(index) for index in range(first, end))


def longest_hit(kind: Kind, profile: Profile, block: int, *, max_length: int, alignment: int, draft_drop: bool, is_cached: IsCached) -> int:
    """The largest usable length in tokens that is aligned and within ``max_length``; 0 where nothing else is."""
    drops = draft_drop and kind.kind != "mamba"
    cap = max_length - block if drops else max_length
    for length in range(max(cap, 0) // alignment * alignment, 0, -alignment):
        if usable(kind, profile, block, length, draft_drop=drops, is_cached=is_cached):
            return length
    return 0


def matched_run_end(kind: Kind, block: int, *, max_length: int, alignment: int, is_cached: IsCached) -> int:
    """The aligned end, in blocks, of the run that a sliding draft drop shortens where it aligns before dropping; 0 for none."""
    for end in range(max_length // block, 0, -1):
        first, _ = needed_blocks(kind, (end - 1) * block, block)
        if end * block % alignment == 0 and all(is_cached(index) for index in range(first, end)):
            return end
    return 0


def serves_a_hit(kind: Kind, place: int, block: int, *, alignment: int, draft_drop: bool) -> bool:
    """Whether the block at this place is needed by a hit of some aligned length: by the shortest that reaches behind it, if any.

    A draft model's hit asks for one block more than it reaches.
    """
    behind = (place if draft_drop else place + 1) * block
    length = max(alignment, ceil_div(behind, alignment) * alignment)
    first, _ = needed_blocks(kind, length, block)
    return bool(first <= place)


def hit_table(kind: Kind, profile: Profile, block: int, length: int, *, draft_drop: bool = False) -> tuple[int, int]:
    """How a hit of ``length`` tokens is laid out: so many null blocks, then so many cached ones."""
    first, end = needed_blocks(kind, length, block)
    if length and not draft_drop and kind.kind == "sliding" and profile.sliding_window_one == "needs_a_block":
        first = min(first, end - 1)
    return first, end - first
