"""What a release's pool and managers show of their state, as plain data."""

from collections.abc import Sequence
from typing import Any

from kvwitness.model.calls import Blocks, Key, Observation

KEY_BYTES = 8
"""A key of ours as a release's block hash: its number in so many bytes."""

GROUP_BYTES = 4
"""What a release appends to a block hash for the group."""


class Hashes:
    """Our keys as a release's hashes, and back; each is encoded once."""

    def __init__(self, with_group: Any) -> None:
        """Use the release's own function that puts hash and group together."""
        self._with_group = with_group
        self._hashes: dict[Key, bytes] = {}
        self._known: dict[Any, tuple[int, Key]] = {}

    def of(self, keys: Sequence[Key]) -> list[bytes]:
        """The hashes of some keys."""
        hashes = self._hashes
        return [hashes.get(key) or self._encode(key) for key in keys]

    def _encode(self, key: Key) -> bytes:
        encoded = self._hashes[key] = int(key).to_bytes(KEY_BYTES, "big")
        return encoded

    def group_and_key(self, packed: Any) -> tuple[int, Key]:
        """The group and our key that a release's packed hash stands for."""
        found = self._known.get(packed)
        return found if found is not None else self._decode(packed)

    def _decode(self, packed: bytes) -> tuple[int, Key]:
        """Take apart what the release has put together, and put it together again to be sure.

        A group with larger blocks joins the hashes of its block; the last of them stands for the whole prefix.
        """
        hashes, group = packed[:-GROUP_BYTES], int.from_bytes(packed[-GROUP_BYTES:], "big")
        if not hashes or len(hashes) % KEY_BYTES or self._with_group(hashes, group) != packed:
            raise ValueError(f"got the block hash {packed!r}; allowed is keys of {KEY_BYTES} bytes and their group")
        self._known[packed] = found = (group, int.from_bytes(hashes[-KEY_BYTES:], "big"))
        return found


def _entry(blocks: Any) -> Blocks:
    """The blocks under one hash: one block, or several by id in the order in which they came."""
    return tuple(blocks) if isinstance(blocks, dict) else (blocks.block_id,)


def look(pool: Any, managers: Sequence[Any], hashes: Hashes) -> Observation:
    """The whole state."""
    decode = hashes.group_and_key
    return Observation(
        tuple([_tables(manager) for manager in managers]),
        tuple([block.block_id for block in pool.free_block_queue.get_all_free_blocks()]),
        tuple([block.ref_cnt for block in pool.blocks]),
        tuple([None if block.block_hash is None else decode(block.block_hash) for block in pool.blocks]),
        {decode(packed): _entry(blocks) for packed, blocks in pool.cached_block_hash_to_block._cache.items()},  # noqa: SLF001 - nothing else shows it
        tuple([dict(manager.num_cached_block) for manager in managers]),
        tuple([block.block_id for manager in managers for block in getattr(manager, "sink_blocks", ())]),
    )


def _tables(manager: Any) -> dict[str, Blocks]:
    """The tables that hold anything: asking for a request makes a release keep an empty one."""
    return {name: tuple([block.block_id for block in blocks]) for name, blocks in manager.req_to_blocks.items() if blocks}


__all__ = ["Hashes", "look"]
