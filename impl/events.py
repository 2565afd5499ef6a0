"""KV events: what a pool tells those who keep an index of its cache from outside."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvwitness.impl.block import Key, KVCacheBlock
from kvwitness.impl.index import BlockIndex
from kvwitness.model.profile import Profile


class BlockStored(NamedTuple):
    """Blocks of one prefix became findable.

    Attributes:
        group_id: The group of their keys, or None where the profile does not say.
        block_hashes: Their keys, in order.
        parent_block_hash: The key of the block before them, or None at the start of the prompt.
        start_token: The first token that the run speaks of.
        end_token: The token behind the last one.
    """

    group_id: int | None
    block_hashes: tuple[Key | None, ...]
    parent_block_hash: Key | None
    start_token: int
    end_token: int


class BlockRemoved(NamedTuple):
    """A block with this key can no longer be found.

    Attributes:
        group_id: The group of the key, or None where the profile does not say.
        block_hash: The key.
    """

    group_id: int | None
    block_hash: Key | None


class AllBlocksCleared(NamedTuple):
    """Nothing is findable any more."""


KVCacheEvent = BlockStored | BlockRemoved | AllBlocksCleared

CLEARED = AllBlocksCleared()


class Published(NamedTuple):
    """One publishing of a request's blocks.

    Attributes:
        blocks: The request's blocks.
        keys: A key a block.
        first: The first place that was not published before.
        end: The place behind the last one that is now.
        keyed: The blocks that got a key.
        block_size: Tokens a block.
        group_id: The group of the keys.
    """

    blocks: Sequence[KVCacheBlock]
    keys: Sequence[Key]
    first: int
    end: int
    keyed: Sequence[KVCacheBlock]
    block_size: int
    group_id: int


class EventLog:
    """The events since they were taken last, oldest first."""

    __slots__ = ("_events", "_in_one_run", "_names_group", "_of_each_copy")

    def __init__(self, profile: Profile) -> None:
        """Tell as the profile does, with nothing to tell yet."""
        self._events: list[KVCacheEvent] = []
        self._in_one_run = profile.event_runs == "one_a_call"
        self._of_each_copy = profile.event_copies == "each"
        self._names_group = profile.event_groups == "told"

    def stored(self, published: Published, index: BlockIndex) -> None:
        """Tell of blocks that were just keyed; O(published blocks)."""
        group_id, keys, size = published.group_id, published.keys, published.block_size
        group = group_id if self._names_group else None
        told = published.keyed
        if not self._of_each_copy:
            told = [block for block in told if block.block_hash is not None and index.find(block.block_hash, group_id) is block]
        runs = [(published.first, published.end, told)] if self._in_one_run else _stretches(published, told)
        for first, end, blocks in runs:
            hashes = tuple([block.block_hash for block in blocks])
            self._events.append(BlockStored(group, hashes, keys[first - 1] if first else None, first * size, end * size))

    def removed(self, group_id: int, key: Key | None, *, is_last: bool) -> None:
        """Tell of a block that has lost its key, the last one with it or not; O(1)."""
        if is_last or self._of_each_copy:
            self._events.append(BlockRemoved(group_id if self._names_group else None, key))

    def cleared(self) -> None:
        """Tell that all keys are gone; O(1)."""
        self._events.append(CLEARED)

    def take(self) -> list[KVCacheEvent]:
        """Hand over what there is to tell; O(1)."""
        events, self._events = self._events, []
        return events


def _stretches(published: Published, told: Sequence[KVCacheBlock]) -> Iterator[tuple[int, int, Sequence[KVCacheBlock]]]:
    """The told blocks by unbroken stretches of places, each with its first place and the place behind it; O(published blocks)."""
    place, blocks = published.first, published.blocks
    number = 0
    while number < len(told):
        while blocks[place] is not told[number]:
            place += 1
        first = number
        while number < len(told) and place + number - first < published.end and blocks[place + number - first] is told[number]:
            number += 1
        yield place, place + number - first, told[first:number]
        place += number - first


__all__ = ["AllBlocksCleared", "BlockRemoved", "BlockStored", "EventLog", "KVCacheEvent", "Published"]
