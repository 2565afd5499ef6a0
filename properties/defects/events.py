"""Defects of what the pool tells: keys that consumers of KV events learn wrongly, twice, or not at all."""

from collections.abc import Iterable

from attrs import evolve

from kvwitness.impl.block import Key, KVCacheBlock
from kvwitness.impl.events import BlockRemoved, BlockStored, EventLog, KVCacheEvent, Published
from kvwitness.impl.index import BlockIndex
from kvwitness.impl.pool import BlockPool
from kvwitness.model.profile import Profile
from kvwitness.properties.defects.defect import Defect, in_pool


class _Telling(BlockPool):
    """A pool with another event log."""

    log: type[EventLog] = EventLog

    def begin_events(self) -> None:
        self._events = self.log(self.profile)


class _EvictionUntold(_Telling):
    """A block that is handed out leaves the index and nobody is told."""

    def get_new_blocks(self, num_blocks: int) -> list[KVCacheBlock]:
        events, self._events = self._events, None
        taken = super().get_new_blocks(num_blocks)
        self._events = events
        return taken


class _WithdrawalUntold(_Telling):
    """Keys that are withdrawn leave the index and nobody is told."""

    def withdraw(self, blocks: Iterable[KVCacheBlock]) -> None:
        events, self._events = self._events, None
        super().withdraw(blocks)
        self._events = events


class _Reparented(EventLog):
    def stored(self, published: Published, index: BlockIndex) -> None:
        before = len(self._events)
        super().stored(published, index)
        for place, event in enumerate(self._events[before:], before):
            if isinstance(event, BlockStored) and event.parent_block_hash is not None:
                self._events[place] = event._replace(parent_block_hash=self._parent(published, event))

    def _parent(self, published: Published, event: BlockStored) -> Key | None:
        first = event.start_token // published.block_size
        return published.keys[first - 2] if first > 1 else published.keys[first]


class _ParentOff(_Telling):
    """The parent of a run behind the first block is the key of a block next to the right one."""

    log = _Reparented


class _Parentless(_Reparented):
    def _parent(self, published: Published, event: BlockStored) -> Key | None:
        return None


class _ParentForgotten(_Telling):
    """Every chunk of a prompt is told as if it were the first."""

    log = _Parentless


class _Repeating(EventLog):
    def stored(self, published: Published, index: BlockIndex) -> None:
        super().stored(published, index)
        super().stored(published, index)


class _StoredTwice(_Telling):
    """Every run is told twice."""

    log = _Repeating


class _Silent(EventLog):
    def cleared(self) -> None:
        pass


class _ClearedUntold(_Telling):
    """A reset forgets everything and nobody is told."""

    log = _Silent


class _Hasty(EventLog):
    def removed(self, group_id: int, key: Key | None, *, is_last: bool) -> None:
        super().removed(group_id, key, is_last=True)


class _RemovedWhileCarried(_Telling):
    """A key is told to be gone while another block carries it."""

    log = _Hasty


class _Tardy(EventLog):
    def stored(self, published: Published, index: BlockIndex) -> None:
        self._of_each_copy = True
        super().stored(published, index)
        self._of_each_copy = False


class _CopiesNeverRemoved(_Telling):
    """Every copy of a block is told to be stored and only the last to be removed, so whoever counts never forgets."""

    log = _Tardy


class _Wide(EventLog):
    def __init__(self, profile: Profile) -> None:
        super().__init__(evolve(profile, event_runs="one_a_call"))


class _RunOverGaps(_Telling):
    """A run names the tokens of blocks that got no key."""

    log = _Wide


class _OneGroup(EventLog):
    def stored(self, published: Published, index: BlockIndex) -> None:
        before = len(self._events)
        super().stored(published, index)
        self._events[before:] = [event._replace(group_id=0) for event in self._events[before:] if isinstance(event, BlockStored)]


class _GroupMistaken(_Telling):
    """Every run is told as the first group's."""

    log = _OneGroup


class _Backwards(EventLog):
    def take(self) -> list[KVCacheEvent]:
        events = super().take()
        return events[::-1] if all(isinstance(event, BlockRemoved) for event in events) else events


class _LastFirst(_Telling):
    """The keys of blocks that are handed out together are told from the last to the first."""

    log = _Backwards


_CACHING = ("full", "sliding", "chunked", "mamba-all", "mamba-align", "sink")
_GAPS = ("sliding", "chunked", "mamba-align")

DEFECTS: tuple[Defect, ...] = (
    in_pool("eviction-untold", _EvictionUntold, _CACHING, ("EVENTS.INDEX",)),
    in_pool("withdrawal-untold", _WithdrawalUntold, _CACHING, ("EVENTS.INDEX",)),
    in_pool("parent-off-by-one", _ParentOff, ("full", "sliding", "chunked", "mamba-all", "sink"), ("EVENTS.PARENT",)),
    in_pool("parent-forgotten", _ParentForgotten, _CACHING, ("EVENTS.PARENT",)),
    in_pool("stored-twice", _StoredTwice, _CACHING, ("EVENTS.ONCE",)),
    in_pool("cleared-untold", _ClearedUntold, _CACHING, ("EVENTS.CLEARED.RESET",)),
    in_pool("removed-while-carried", _RemovedWhileCarried, _CACHING, ("EVENTS.INDEX",)),
    in_pool("copies-never-removed", _CopiesNeverRemoved, _CACHING, ("EVENTS.STORED", "EVENTS.INDEX")),
    in_pool("run-over-gaps", _RunOverGaps, _GAPS, ("EVENTS.RANGE",)),
    in_pool("group-mistaken", _GroupMistaken, _CACHING, ("EVENTS.INDEX", "EVENTS.ONCE", "EVENTS.KNOWN")),
    in_pool("removals-out-of-order", _LastFirst, _CACHING, ("EVENTS.REMOVED",)),
)
"""The defects of this file, in the order of reports."""
