"""Defects of tables: what is skipped, estimated, taken, published and released."""

from collections.abc import Sequence
from typing import Any

from kvwitness.impl.block import HashedRequest, KVCacheBlock
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.table import live_blocks
from kvwitness.properties.defects.defect import in_manager


class _SkipsOneMore(SingleTypeKVCacheManager):
    """One token too many counts as skipped, so a block is released while it is still read."""

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return super().get_num_skipped_tokens(num_computed_tokens + 1)


class _SkipsOneLess(SingleTypeKVCacheManager):
    """One token too few counts as skipped, so a block is kept that nobody reads."""

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return super().get_num_skipped_tokens(max(0, num_computed_tokens - 1))


class _SkipsBelowZero(SingleTypeKVCacheManager):
    """Before the window is full the skip count is negative."""

    def get_num_skipped_tokens(self, num_computed_tokens: int) -> int:
        return num_computed_tokens - int(getattr(self, "sliding_window", 0)) + 1


class _SkippedNotNulled(SingleTypeKVCacheManager):
    """A skipped block is released and stays in the table."""

    def remove_skipped_blocks(self, request_id: str, total_computed_tokens: int) -> None:
        num_blocks = self.get_num_skipped_tokens(total_computed_tokens) // self.block_size
        table = self.req_to_blocks.get(request_id, ())
        self.block_pool.free_blocks([block for block in table[:num_blocks] if block.ref_cnt])


class _SkippedNeverReleased(SingleTypeKVCacheManager):
    """Blocks before the window are never released while the request runs."""

    def remove_skipped_blocks(self, request_id: str, total_computed_tokens: int) -> None:
        pass


class _ReleasedForward(SingleTypeKVCacheManager):
    """A request's blocks are released in forward order, so the front of a prefix is evicted first."""

    def free(self, request_id: str) -> None:
        table = self.req_to_blocks.get(request_id)
        if table is not None:
            table.tail.reverse()
        super().free(request_id)


class _FirstBlockLeaks(SingleTypeKVCacheManager):
    """The first block of a freed request is not released."""

    def free(self, request_id: str) -> None:
        table = self.req_to_blocks.get(request_id)
        if table is not None:
            del table.tail[:1]
        super().free(request_id)


class _PublishedCountKept(SingleTypeKVCacheManager):
    """The published count of a freed request is not reset."""

    def free(self, request_id: str) -> None:
        count = self.num_cached_block.get(request_id)
        super().free(request_id)
        if count is not None:
            self.num_cached_block[request_id] = count


class _GhostBooks(SingleTypeKVCacheManager):
    """Asking for the published count of a request that is gone creates books for it."""

    def free(self, request_id: str) -> None:
        super().free(request_id)
        self.num_cached_block.setdefault(request_id, 0)


class _EvictableNotCounted(SingleTypeKVCacheManager):
    """The estimate leaves out the hits that adoption takes off the free queue."""

    def get_num_blocks_to_allocate(
        self, request_id: str, num_tokens: int, new_computed_blocks: Sequence[KVCacheBlock], *rest: Any, **named: Any
    ) -> int:
        estimate = super().get_num_blocks_to_allocate(request_id, num_tokens, new_computed_blocks, *rest, **named)
        return max(0, estimate - sum(not block.ref_cnt for block in live_blocks(new_computed_blocks)))


class _EstimateShort(SingleTypeKVCacheManager):
    """The estimate is one block short."""

    def get_num_blocks_to_allocate(self, *arguments: Any, **named: Any) -> int:
        return max(0, super().get_num_blocks_to_allocate(*arguments, **named) - 1)


class _EstimateLong(SingleTypeKVCacheManager):
    """The estimate is one block too many."""

    def get_num_blocks_to_allocate(self, *arguments: Any, **named: Any) -> int:
        return super().get_num_blocks_to_allocate(*arguments, **named) + 1


class _ReferencedBeforeCheck(SingleTypeKVCacheManager):
    """Hits are referenced while the estimate is made, and keep the reference when the request is refused."""

    def get_num_blocks_to_allocate(
        self, request_id: str, num_tokens: int, new_computed_blocks: Sequence[KVCacheBlock], *rest: Any, **named: Any
    ) -> int:
        estimate = super().get_num_blocks_to_allocate(request_id, num_tokens, new_computed_blocks, *rest, **named)
        hits = live_blocks(new_computed_blocks)
        if estimate > self.block_pool.get_num_free_blocks():
            self.block_pool.touch(hits)
        return estimate


class _UnverifiedPublished(SingleTypeKVCacheManager):
    """A block is published with its first token, before the others are computed and verified."""

    def cache_blocks(self, request: HashedRequest, num_tokens: int) -> None:
        table = self.req_to_blocks.get(request.request_id, ())
        most = min(len(table), len(request.block_hashes)) * self.block_size
        super().cache_blocks(request, max(num_tokens, min(most, num_tokens + self.block_size - 1)))


class _PromptPublished(SingleTypeKVCacheManager):
    """The first chunk publishes every block of the prompt that has a place."""

    def cache_blocks(self, request: HashedRequest, num_tokens: int) -> None:
        table = self.req_to_blocks.get(request.request_id, ())
        most = min(len(table), len(request.block_hashes)) * self.block_size
        super().cache_blocks(request, max(num_tokens, most))


class _NothingPublished(SingleTypeKVCacheManager):
    """Full blocks of a decode are not published, only those of the prompt's first step."""

    def cache_blocks(self, request: HashedRequest, num_tokens: int) -> None:
        if not self.num_cached_block.get(request.request_id):
            super().cache_blocks(request, num_tokens)


class _CachingOffPublishes(SingleTypeKVCacheManager):
    """With caching off, new blocks get keys all the same."""

    def allocate_new_blocks(self, *arguments: Any, **named: Any) -> list[KVCacheBlock]:
        blocks = super().allocate_new_blocks(*arguments, **named)
        if not self.enable_caching:
            for block in blocks:
                self.block_pool.index.insert(block, -block.block_id, self.kv_cache_group_id)
        return blocks


class _ExternalOneMore(SingleTypeKVCacheManager):
    """External tokens take a block more than they fill when they end at a block's edge."""

    def _num_external_blocks(self, num_local: int, num_external: int, num_held_blocks: int) -> int:
        return super()._num_external_blocks(num_local, num_external + 1, num_held_blocks) if num_external > 0 else 0


class _OneRequestUncounted(SingleTypeKVCacheManager):
    """The common prefix is counted against one request fewer than there are."""

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        shared = 0
        for block in self.req_to_blocks.get(running_request_id, ()):
            if block.ref_cnt < len(self.req_to_blocks) - 1:
                break
            shared += 1
        return shared


_ALL = ("full", "sliding", "chunked", "mamba-none", "mamba-all", "mamba-align", "cross", "sink")
_CACHING = ("full", "sliding", "chunked", "mamba-all", "mamba-align", "sink")
_WINDOWED = ("sliding", "chunked")

_PUBLISHED = ("TABLE.PUBLISH", "SLIDING.PUBLISH")
_ESTIMATED = ("BOOKS.ESTIMATE", "TABLE.ESTIMATE", "MAMBA.ESTIMATE")
_RELEASED_EARLY = ("CONTENTS.READ.PRESENT", "CONTENTS.READ.FREED", "TABLE.RELEASE-SKIPPED", "TABLE.ADOPT", "TABLE.ESTIMATE", "NEED.FIRST")

DEFECTS = (
    in_manager("skip-one-more", _SkipsOneMore, _WINDOWED, _RELEASED_EARLY),
    in_manager(
        "skip-one-less",
        _SkipsOneLess,
        _WINDOWED,
        ("LIVE.RELEASED", "TABLE.RELEASE-SKIPPED", "TABLE.ADOPT", "TABLE.ESTIMATE", "NEED.FIRST"),
        "K45",
    ),
    in_manager("skip-below-zero", _SkipsBelowZero, ("sliding",), ("NEED.FIRST",), "K42"),
    in_manager("skipped-not-nulled", _SkippedNotNulled, _WINDOWED, ("BOOKS.REFERENCES", "BOOKS.ONCE")),
    in_manager("skipped-never-released", _SkippedNeverReleased, _WINDOWED, ("LIVE.RELEASED", "TABLE.RELEASE-SKIPPED"), "K46"),
    in_manager("released-forward", _ReleasedForward, _ALL, ("POOL.RELEASE",), "K14"),
    in_manager("first-block-leaks", _FirstBlockLeaks, _ALL, ("BOOKS.REFERENCES", "BOOKS.REST"), "K74"),
    in_manager("published-count-kept", _PublishedCountKept, _CACHING, ("BOOKS.PUBLISHED",)),
    in_manager("ghost-books", _GhostBooks, _CACHING, ("BOOKS.REST", "TABLE.FREE"), "K18"),
    in_manager("evictable-hits-not-counted", _EvictableNotCounted, _CACHING, (*_ESTIMATED, "BOOKS.ACCEPTED")),
    in_manager("estimate-short", _EstimateShort, _ALL, (*_ESTIMATED, "BOOKS.ACCEPTED")),
    in_manager("estimate-long", _EstimateLong, _ALL, (*_ESTIMATED, "LIVE.REFUSAL"), "K58"),
    in_manager("hits-referenced-before-check", _ReferencedBeforeCheck, _CACHING, ("BOOKS.REFERENCES",), "K16"),
    in_manager("unverified-published", _UnverifiedPublished, _CACHING, ("CONTENTS.CACHED", *_PUBLISHED)),
    in_manager("prompt-published-at-once", _PromptPublished, _CACHING, ("CONTENTS.CACHED", *_PUBLISHED)),
    in_manager("decode-not-published", _NothingPublished, _CACHING, _PUBLISHED, "K59"),
    in_manager(
        "caching-off-publishes",
        _CachingOffPublishes,
        ("full", "sliding", "chunked", "mamba-none", "cross"),
        ("EVENTS.INDEX", "TABLE.GROW", "MAMBA.GROW"),
        "K90",
    ),
    in_manager(
        "external-one-more", _ExternalOneMore, ("full", "sliding", "sink"), ("BOOKS.ESTIMATE", "BOOKS.ACCEPTED", "TABLE.ADOPT"), "K58"
    ),
    in_manager("common-prefix-counts-one-less", _OneRequestUncounted, ("full", "sink"), ("LIVE.COMMON",), "K85"),
)
"""The defects of this file, in the order of reports."""
