"""The tables that a worker builds from what a planner's output tells it."""

from collections.abc import Mapping
from typing import Any

from kvwitness.model.calls import Blocks

Tables = tuple[Blocks, ...]


def _table(block_ids: Any) -> Tables:
    return tuple([tuple(ids) for ids in block_ids])


def told_tables(output: Any, before: Mapping[str, Tables]) -> dict[str, Tables]:
    """Each table that the output changes: new and resumed requests get theirs whole, running ones what is appended."""
    told = {each.req_id: _table(each.block_ids) for each in output.scheduled_new_reqs}
    cached = output.scheduled_cached_reqs
    for name, block_ids in zip(cached.req_ids, cached.new_block_ids, strict=True):
        if name in cached.resumed_req_ids:
            told[name] = _table(block_ids)
        elif block_ids is not None:
            told[name] = tuple([old + new for old, new in zip(before.get(name, ()), _table(block_ids), strict=True)])
    return told


__all__ = ["told_tables"]
