"""What is wrong with a state, in words: the first clause of the books that it breaks, with the block or request that breaks it."""

from collections.abc import Mapping

from kvwitness.model import books
from kvwitness.model.calls import Observation
from kvwitness.properties.violation import Violation

NAME = "accounting"

NOBODY: Mapping[int, int] = {}


def explain_state(seen: Observation, num_blocks: int, raw: Mapping[int, int] = NOBODY) -> Violation | None:
    """The first broken clause with the block or request that breaks it.

    Args:
        seen: The state.
        num_blocks: Blocks in the pool.
        raw: How often each block is held by raw calls, besides the tables.
    """
    holders: dict[int, list[str]] = {block: ["a raw call"] * raw.get(block, 0) for block in range(num_blocks)}
    for tables in seen.tables or ():
        for request, table in tables.items():
            if not books.holds_once(table):
                return Violation("BOOKS.ONCE", f"the table of {request} is {list(table)}", NAME)
            for block in table:
                holders[block].append(request)
    return _explain_blocks(seen, holders, raw) or _explain_published(seen)


def _explain_blocks(seen: Observation, holders: dict[int, list[str]], raw: Mapping[int, int]) -> Violation | None:
    free = seen.free
    if free is not None and not books.is_queued_once(free):
        return Violation("BOOKS.QUEUE", f"the free queue is {list(free)}", NAME)
    if free is not None and not books.null_is_inert(free, seen.keys[0] if seen.keys else None):
        return Violation("BOOKS.NULL", f"the free queue is {list(free)}", NAME)
    for block in range(1, len(holders)):
        broken = _explain_block(seen, block, holders[block], may_be_shared=raw.get(block, 0) != 0)
        if broken:
            return broken
    return None


def _explain_block(seen: Observation, block: int, held_by: list[str], *, may_be_shared: bool) -> Violation | None:
    broken = _explain_holders(seen, block, held_by, may_be_shared=may_be_shared) if seen.tables is not None else None
    if broken is None and seen.keys is not None and seen.index is not None:
        key = seen.keys[block]
        entries = [entry for entry, blocks in seen.index.items() if block in blocks]
        if not books.is_indexed_iff_keyed(bool(entries), key is not None) or (entries and entries != [key]):
            return Violation("BOOKS.INDEX", f"block {block} carries {key} and is listed under {entries or 'nothing'}", NAME)
    return broken


def _explain_holders(seen: Observation, block: int, held_by: list[str], *, may_be_shared: bool) -> Violation | None:
    count, names = len(held_by), ", ".join(held_by) or "nobody"
    if seen.references is not None and not books.counts_holders(seen.references[block], count):
        return Violation("BOOKS.REFERENCES", f"block {block} counts {seen.references[block]} references and is held by {names}", NAME)
    if not books.set_apart_is_unheld(count, block in (seen.reserved or ())):
        return Violation("BOOKS.SET-APART", f"block {block} is set apart for a sink and is held by {names}", NAME)
    if seen.free is not None and not books.is_free_iff_unheld(block in seen.free, count, block in (seen.reserved or ())):
        state = "is free" if block in seen.free else "is not free"
        return Violation("BOOKS.FREE", f"block {block} {state} and is held by {names}", NAME)
    if not may_be_shared and seen.keys is not None and not books.is_shared_only_with_key(count, seen.keys[block] is not None):
        return Violation("BOOKS.EXCLUSIVE", f"block {block} carries no key and is held by {names}", NAME)
    return None


def _explain_published(seen: Observation) -> Violation | None:
    for tables, published in zip(seen.tables or (), seen.published or (), strict=False):
        for request, count in published.items():
            table = tables.get(request)
            if not books.counts_what_is_held(count, table):
                return Violation("BOOKS.PUBLISHED", f"{request} counts {count} published blocks with the table {table}", NAME)
    return None


def difference(before: Observation, after: Observation) -> str:
    """Which parts changed, for a sentence."""
    parts = [name for name in Observation._fields if getattr(before, name) != getattr(after, name)]
    return "changed: " + ", ".join(parts)


__all__ = ["difference", "explain_state"]
