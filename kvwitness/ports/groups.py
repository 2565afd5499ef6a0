"""Our optimised coordinator of mixed groups behind the port's calls."""

from collections.abc import Callable, Sequence
from typing import Any

from kvwitness.impl.block import KVCacheBlock
from kvwitness.impl.hybrid import HybridKVCacheCoordinator
from kvwitness.model.calls import Blocks, Key


class HashedTokens:
    """What publishing needs of a request: its name and the keys of its full blocks."""

    __slots__ = ("block_hashes", "request_id")

    def __init__(self, request_id: str, block_hashes: tuple[Key, ...]) -> None:
        """A request by this name, with these keys."""
        self.request_id = request_id
        self.block_hashes = block_hashes


class GroupCalls:
    """The port's calls, made on a coordinator."""

    def __init__(self, coordinator: HybridKVCacheCoordinator) -> None:
        """Speak to that coordinator."""
        self._coordinator = coordinator
        self._managers = coordinator.single_type_managers
        self._blocks_by_id = coordinator.block_pool.blocks

    def answers(self) -> dict[str, Callable[..., Any]]:
        """What answers each call that speaks to all groups together."""
        made = {name.removeprefix("_call_"): getattr(self, name) for name in dir(self) if name.startswith("_call_")}
        direct = ("remove_skipped_blocks", "free", "withdraw_blocks", "new_step_starts", "reset_prefix_cache")
        return made | {name: getattr(self._coordinator, name) for name in direct}

    def _blocks(self, hits: Sequence[Blocks]) -> tuple[list[KVCacheBlock], ...]:
        blocks = self._blocks_by_id
        return tuple([[blocks[block] for block in ids] for ids in hits])

    def _call_find_longest_cache_hit(self, keys: tuple[Key, ...], max_length: int) -> tuple[Blocks, ...]:
        hits, _ = self._coordinator.find_longest_cache_hit(keys, max_length)
        return tuple([hit.ids() for hit in hits])

    def _call_get_num_blocks_to_allocate(
        self, request: str, num_tokens: int, hits: tuple[Blocks, ...], total: int, main: int, encoder_tokens: int
    ) -> int:
        return self._coordinator.get_num_blocks_to_allocate(request, num_tokens, self._blocks(hits), encoder_tokens, total, main)

    def _call_allocate_new_computed_blocks(
        self, request: str, hits: tuple[Blocks, ...], num_local: int, num_external: int
    ) -> tuple[Blocks, ...]:
        lengths = [self._length_adopted(group, request, hits, num_local + num_external) for group in range(len(self._managers))]
        self._coordinator.allocate_new_computed_blocks(request, self._blocks(hits), num_local, num_external)
        return tuple([self._table(group, request)[length:] for group, length in enumerate(lengths)])

    def _length_adopted(self, group: int, request: str, hits: tuple[Blocks, ...], total: int) -> int:
        """The length of a group's table between adoption and what external tokens take."""
        manager = self._managers[group]
        if request in manager.num_cached_block:
            return len(self._table(group, request))
        return max(max(0, manager.get_num_skipped_tokens(total)) // manager.block_size, len(hits[group]) if hits else 0)

    def _table(self, group: int, request: str) -> Blocks:
        table = self._managers[group].req_to_blocks.get(request)
        return table.ids() if table is not None else ()

    def _call_allocate_new_blocks(self, request: str, num_tokens: int, main: int, encoder_tokens: int) -> tuple[Blocks, ...]:
        appended = self._coordinator.allocate_new_blocks(request, num_tokens, main, encoder_tokens)
        return tuple([tuple([block.block_id for block in blocks]) for blocks in appended])

    def _call_cache_blocks(self, request: str, keys: tuple[Key, ...], num_tokens: int) -> None:
        self._coordinator.cache_blocks(HashedTokens(request, keys), num_tokens)

    def _call_get_num_common_prefix_blocks(self, request: str) -> tuple[int, ...]:
        return tuple(self._coordinator.get_num_common_prefix_blocks(request))


__all__ = ["GroupCalls", "HashedTokens"]
