"""What one manager published in the step being planned: the part that can still be taken back."""

from kvwitness.impl.block import Key, KVCacheBlock


class StepBook:
    """Per request, the blocks keyed since the step began and the published count before; per block, its publisher; all keys."""

    __slots__ = ("_keys", "_published_by", "_publisher_of")

    def __init__(self) -> None:
        """A step in which nothing is published yet."""
        self._published_by: dict[str, tuple[int | None, list[KVCacheBlock]]] = {}
        self._publisher_of: dict[int, str] = {}
        self._keys: set[Key | None] = set()

    def record(self, request_id: str, num_cached_before: int | None, blocks: list[KVCacheBlock]) -> None:
        """Note that a request published these blocks, and what its count was before; O(blocks)."""
        self._published_by.setdefault(request_id, (num_cached_before, []))[1].extend(blocks)
        for block in blocks:
            self._publisher_of[block.block_id] = request_id
            self._keys.add(block.block_hash)

    def has_published(self, block: KVCacheBlock) -> bool:
        """Whether the block got a key in this step; O(1)."""
        return block.block_id in self._publisher_of

    def has_published_key(self, block: KVCacheBlock) -> bool:
        """Whether any block got this one's key in this step, taken back or not; O(1)."""
        return block.block_hash in self._keys

    def take_back(self, request_id: str, group_id: int) -> tuple[int | None, list[KVCacheBlock]] | None:
        """The count before the step and the blocks to unkey, or None if the request published nothing; O(its blocks).

        A block that was released, reused and published anew in the same step belongs to its last publisher.
        """
        entry = self._published_by.pop(request_id, None)
        if entry is None:
            return None
        num_cached_before, blocks = entry
        own = [block for block in blocks if self._publisher_of.get(block.block_id) == request_id and block.group_id == group_id]
        for block in own:
            self._publisher_of.pop(block.block_id, None)
        return num_cached_before, own

    def forget(self, request_id: str) -> None:
        """The request is gone; what it published stays published, and counts as this step's; O(1)."""
        self._published_by.pop(request_id, None)

    def clear(self) -> None:
        """A new step starts; O(published blocks)."""
        self._published_by.clear()
        self._publisher_of.clear()
        self._keys.clear()
