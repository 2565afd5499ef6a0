"""A release's KV events in our words, and the records that stand in for the release's own.

The records need a message library that the managers do not, so a release is given these: each keeps what it is built from, by name.
"""

import types
from typing import Any

from kvwitness.model.events import Cleared, KVEvent, Removed, Stored
from kvwitness.vllm.looking import KEY_BYTES

RECORDS = "vllm.distributed.kv_events"
"""The module in which a release has its records."""


class Record:
    """An event as the release built it."""

    def __init__(self, **fields: Any) -> None:
        """Keep the fields by their names."""
        vars(self).update(fields)


class BlockStored(Record):
    """Blocks became findable."""


class BlockRemoved(Record):
    """A block can no longer be found."""


class AllBlocksCleared(Record):
    """Nothing is findable any more."""


def fill_with_records(module: types.ModuleType) -> types.ModuleType:
    """Put the records into a module that stands in for the release's."""
    vars(module).update(
        BlockStored=BlockStored, BlockRemoved=BlockRemoved, AllBlocksCleared=AllBlocksCleared, KVCacheEvent=Record, MEDIUM_GPU="GPU"
    )
    return module


def key_of(block_hash: bytes) -> int:
    """Our key that a block hash stands for; of hashes that were joined the last one's."""
    return int.from_bytes(block_hash[-KEY_BYTES:], "big")


def told_by(record: Any) -> list[KVEvent]:
    """A release's event in our words: one that removes several keys is told as one for each.

    The tokens of a request are numbered from 0, so those of an event are a range.

    Raises:
        TypeError: A record that is none of the known ones.
    """
    group = getattr(record, "group_idx", None)
    if isinstance(record, BlockStored):
        fields: Any = record
        parent = None if fields.parent_block_hash is None else key_of(fields.parent_block_hash)
        tokens: range = fields.token_ids
        return [Stored(group, tuple([key_of(each) for each in fields.block_hashes]), parent, tokens.start, tokens.stop)]
    if isinstance(record, BlockRemoved):
        return [Removed(group, key_of(each)) for each in vars(record)["block_hashes"]]
    if isinstance(record, AllBlocksCleared):
        return [Cleared()]
    raise TypeError(f"got the event {type(record).__name__}; allowed is stored, removed and cleared; the interface has moved on")


__all__ = ["RECORDS", "AllBlocksCleared", "BlockRemoved", "BlockStored", "fill_with_records", "told_by"]
