"""The index: from a key to the blocks that carry it.

One dict a group, from the raw key to the block that look-ups find: a probe costs one dict access and builds nothing.
Blocks that carry a key already in the index wait in a second dict; they are rare.
"""

from collections.abc import Callable, Sequence

from kvwitness.impl.block import Key, KVCacheBlock
from kvwitness.impl.errors import CorruptState, RejectedAssertion, RejectedValue

Row = KVCacheBlock | tuple[KVCacheBlock, ...]
"""What a probe finds: the block itself for one group, one block a group for several."""

Find = Callable[[Key], Row | None]


class BlockIndex:
    """Keyed blocks by group and key; of several with one key, the first inserted is found first."""

    __slots__ = ("_first", "_further")

    def __init__(self) -> None:
        """An empty index."""
        self._first: dict[int, dict[Key, KVCacheBlock]] = {}
        self._further: dict[tuple[int, Key], dict[int, KVCacheBlock]] = {}

    def __len__(self) -> int:
        """How many (group, key) pairs are findable; O(groups)."""
        return sum(map(len, self._first.values()))

    def find(self, key: Key, group_id: int) -> KVCacheBlock | None:
        """The block that a look-up gets, or None; O(1)."""
        blocks = self._first.get(group_id)
        return None if blocks is None else blocks.get(key)

    def finder(self, group_ids: Sequence[int]) -> Find:
        """A function from a key to the blocks of all these groups, or None if any misses it; a probe is O(groups).

        Raises:
            RejectedValue: ``invalid_configuration`` without any group.
        """
        if not group_ids:
            raise RejectedValue("invalid_configuration", "no groups to look up", "one or more", "name the groups")
        if len(group_ids) == 1:
            return self._first.get(group_ids[0], _NOTHING).get
        probes = [self._first.get(group_id, _NOTHING).get for group_id in group_ids]

        def find(key: Key) -> Row | None:
            row = []
            for probe in probes:
                block = probe(key)
                if block is None:
                    return None
                row.append(block)
            return tuple(row)

        return find

    def insert(self, block: KVCacheBlock, key: Key, group_id: int) -> None:
        """Give a block its key and make it findable, behind those that carry the key already; O(1).

        Raises:
            RejectedAssertion: ``block_already_keyed``.
        """
        if block.block_hash is not None:
            raise RejectedAssertion(
                "block_already_keyed",
                f"block {block.block_id} with key {block.block_hash!r}",
                "a block without key",
                "publish each block once",
            )
        blocks = self._first.get(group_id)
        if blocks is None:
            blocks = self._first[group_id] = {}
        if blocks.setdefault(key, block) is not block:
            self._further.setdefault((group_id, key), {})[block.block_id] = block
        block.block_hash = key
        block.group_id = group_id

    def remove(self, block: KVCacheBlock) -> None:
        """Take a block's key and its entry away; the next one with that key is found from now on; O(1)."""
        key, group_id = block.block_hash, block.group_id
        blocks = self._first[group_id]
        further = self._further.get((group_id, key)) if self._further else None
        if further is None:
            del blocks[key]
        elif blocks[key] is block:
            blocks[key] = further.pop(next(iter(further)))
        else:
            del further[block.block_id]
        if further is not None and not further:
            del self._further[(group_id, key)]
        block.block_hash = None

    def clear(self) -> None:
        """Forget all entries, and the keys of their blocks; O(keyed blocks)."""
        for group_id, key in list(self.snapshot()):
            for block in (self._first[group_id][key], *self._further.get((group_id, key), {}).values()):
                block.block_hash = None
        self._first.clear()
        self._further.clear()

    def snapshot(self) -> dict[tuple[int, Key], tuple[int, ...]]:
        """Per (group, key) the block numbers, the one found first in front; O(entries)."""
        found: dict[tuple[int, Key], tuple[int, ...]] = {}
        for group_id, blocks in self._first.items():
            for key, block in blocks.items():
                found[group_id, key] = (block.block_id,)
        for group_key, further in self._further.items():
            found[group_key] += tuple(further)
        return found

    def check(self, blocks: Sequence[KVCacheBlock]) -> None:
        """Raise `CorruptState` unless exactly the keyed ones of ``blocks`` are entries, each under its key; O(blocks)."""
        listed = self.snapshot()
        for (group_id, key), block_ids in listed.items():
            for block_id in block_ids:
                block = blocks[block_id]
                if block.block_hash is None or (block.group_id, block.block_hash) != (group_id, key):
                    raise CorruptState(f"index: block {block_id} is listed under {key!r} of group {group_id} and does not carry it")
        num_listed, num_keyed = sum(map(len, listed.values())), sum(block.block_hash is not None for block in blocks)
        if num_listed != num_keyed:
            raise CorruptState(f"index: {num_keyed} blocks carry a key, {num_listed} are listed")


_NOTHING: dict[Key, KVCacheBlock] = {}
