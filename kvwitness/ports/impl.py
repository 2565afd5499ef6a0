"""Our optimised implementation as a port: one manager a group on one pool, mixed groups behind their coordinator."""

from collections.abc import Callable
from typing import Any

from kvwitness.impl import specs
from kvwitness.impl.block import KVCacheBlock
from kvwitness.impl.errors import Rejected
from kvwitness.impl.events import AllBlocksCleared, BlockRemoved, BlockStored
from kvwitness.impl.factory import get_manager_for_kv_cache_spec
from kvwitness.impl.hybrid import HybridKVCacheCoordinator
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.sliding import SlidingWindowManager
from kvwitness.model.calls import Blocks, Call, Key, Observation, Outcome
from kvwitness.model.events import Cleared, KVEvent, Removed, Stored
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import Profile
from kvwitness.ports.groups import GroupCalls, HashedTokens
from kvwitness.properties.port import Capabilities
from kvwitness.properties.situations import not_offered

TOLD: dict[type, Callable[..., KVEvent]] = {BlockStored: Stored, BlockRemoved: Removed, AllBlocksCleared: Cleared}
"""What the events of `kvwitness.impl` are called between ports; the fields stand in the same order."""


def spec_of(config: Config, kind: Kind) -> specs.KVCacheSpec:
    """The spec object that a kind's manager is built from."""
    size = kind.block_size or config.block_size
    if kind.kind == "sliding":
        return specs.SlidingWindowSpec(block_size=size, sliding_window=kind.window)
    if kind.kind == "chunked":
        return specs.ChunkedLocalAttentionSpec(block_size=size, attention_chunk_size=kind.chunk)
    if kind.kind == "mamba":
        return specs.MambaSpec(block_size=size, mamba_cache_mode=kind.mode, num_speculative_blocks=kind.drafts)
    if kind.kind == "cross":
        return specs.CrossAttentionSpec(block_size=size)
    if kind.kind == "sink":
        return specs.SinkFullAttentionSpec(block_size=size, sink_len=kind.sink_tokens)
    return specs.FullAttentionSpec(block_size=size)


class ImplPort:
    """The managers of `kvwitness.impl` behind the port's calls.

    Attributes:
        pool: The block pool.
        managers: One manager a group.
        pool_class: What the pool is built from.
        coordinator_class: What brings mixed groups together.
    """

    pool_class: type[BlockPool] = BlockPool
    coordinator_class: type[HybridKVCacheCoordinator] = HybridKVCacheCoordinator
    pool: BlockPool
    managers: list[SingleTypeKVCacheManager]

    def __init__(self, profile: Profile) -> None:
        """Follow ``profile``."""
        self.profile = profile
        self._by_managers: dict[str, Callable[..., Any]] = {
            name.removeprefix("_call_"): getattr(self, name) for name in dir(self) if name.startswith("_call_")
        }
        self._answers = self._by_managers

    def hello(self) -> Capabilities:
        """It answers every call and shows everything; it has the kinds that its profile has."""
        missing = tuple(f"{label}: {reason}" for label, reason in not_offered(self.profile).items())
        return Capabilities("impl", self.profile.name, frozenset(self._answers), missing=missing)

    def reset(self, config: Config) -> Observation:
        """Build pool and managers, idle."""
        config = config.under(self.profile)
        self._config = config
        self.pool = self.pool_class(config.blocks, config.caching, config.tokens_per_block, profile=self.profile)
        self.managers = [
            self._manager(
                spec_of(config, kind),
                block_pool=self.pool,
                enable_caching=config.caching,
                kv_cache_group_id=group,
                **({"dcp_world_size": config.dcp, "pcp_world_size": config.pcp} if config.dcp * config.pcp > 1 else {}),
            )
            for group, kind in enumerate(config.groups)
        ]
        self._answers = self._by_managers
        if config.is_hybrid:
            coordinator = self.coordinator_class(self.pool, self.managers, config.hit_alignment, config.draft_model)
            self._answers = self._by_managers | GroupCalls(coordinator).answers()
        for manager in self.managers:
            if isinstance(manager, SlidingWindowManager) and not config.is_hybrid:
                manager.expect_look_ups(config.hit_alignment, config.draft_model)
        self._encodes = config.kind.kind == "cross"
        self._groups = list(range(len(self.managers)))
        return self.observe()

    def _manager(self, spec: specs.KVCacheSpec, **arguments: Any) -> SingleTypeKVCacheManager:
        """A group's manager; a port with a seeded defect builds another."""
        return get_manager_for_kv_cache_spec(spec, **arguments)

    def call(self, call: Call) -> Outcome:
        """Make one call on every group's manager."""
        try:
            return Outcome("ok", self._answers[call[0]](*call[1]))
        except Rejected as rejection:
            return Outcome("rejected", None, rejection.reason)
        except Exception as failure:  # noqa: BLE001  a port's failure of any kind is an outcome, not ours
            return Outcome("failed", None, f"{type(failure).__name__}: {failure}")

    def observe(self) -> Observation:
        """The state as plain data."""
        free, references, keys, index, reserved = self.pool.snapshot()
        tables, published = zip(*[manager.snapshot() for manager in self.managers], strict=True)
        # The keys that come back are the ints that went in.
        return Observation(tables, free, references, keys, index, published, reserved)  # type: ignore[arg-type]

    def close(self) -> None:
        """Nothing to let go of."""

    def _blocks(self, ids: Blocks) -> list[KVCacheBlock]:
        blocks = self.pool.blocks
        return [blocks[block] for block in ids]

    def _call_find_longest_cache_hit(self, keys: tuple[Key, ...], max_length: int) -> tuple[Blocks, ...]:
        config, manager = self._config, self.managers[0]
        hits = manager.find_longest_cache_hit(
            block_hashes=keys,
            max_length=max_length,
            kv_cache_group_ids=self._groups,
            block_pool=self.pool,
            kv_cache_spec=manager.kv_cache_spec,
            use_eagle=config.draft_model,
            alignment_tokens=config.hit_alignment,
            dcp_world_size=config.dcp,
            pcp_world_size=config.pcp,
        )
        return tuple([tuple([block.block_id for block in hit]) for hit in hits])

    def _call_remove_skipped_blocks(self, request: str, num_computed_tokens: int) -> None:
        for manager in self.managers:
            manager.remove_skipped_blocks(request, num_computed_tokens)

    def _call_get_num_blocks_to_allocate(
        self, request: str, num_tokens: int, hits: tuple[Blocks, ...], total: int, main: int, encoder_tokens: int
    ) -> int:
        tokens, needed = encoder_tokens if self._encodes else num_tokens, 0
        for group, manager in enumerate(self.managers):
            found = self._blocks(hits[group]) if hits else []
            needed += manager.get_num_blocks_to_allocate(request, tokens, found, total, main)
        return needed

    def _call_get_num_free_blocks(self) -> int:
        return self.pool.get_num_free_blocks()

    def _call_allocate_new_computed_blocks(
        self, request: str, hits: tuple[Blocks, ...], num_local: int, num_external: int
    ) -> tuple[Blocks, ...]:
        found = [self._blocks(hits[group]) if hits else [] for group in self._groups]
        lengths = []
        if self.profile.adoption == "two_phase":
            for manager, blocks in zip(self.managers, found, strict=True):
                manager.add_local_computed_blocks(request, blocks, num_local, num_external)
            for manager in self.managers:
                lengths.append(len(manager.req_to_blocks.get(request, ())))
                manager.allocate_external_computed_blocks(request, num_local, num_external)
        else:
            for manager, blocks in zip(self.managers, found, strict=True):
                skipped = max(0, manager.get_num_skipped_tokens(num_local + num_external)) // manager.block_size
                lengths.append(max(skipped, len(blocks)))
                manager.allocate_new_computed_blocks(request, blocks, num_local, num_external)
        return tuple(self._behind(manager, request, length) for manager, length in zip(self.managers, lengths, strict=True))

    @staticmethod
    def _behind(manager: SingleTypeKVCacheManager, request: str, length: int) -> Blocks:
        """The blocks of a request's table behind the first ``length``: what external tokens took."""
        table = manager.req_to_blocks.get(request)
        return table.ids()[length:] if table is not None else ()

    def _call_allocate_new_blocks(self, request: str, num_tokens: int, main: int, encoder_tokens: int) -> tuple[Blocks, ...]:
        tokens = encoder_tokens if self._encodes else num_tokens
        return tuple([tuple([block.block_id for block in manager.allocate_new_blocks(request, tokens, main)]) for manager in self.managers])

    def _call_cache_blocks(self, request: str, keys: tuple[Key, ...], num_tokens: int) -> None:
        hashed = HashedTokens(request, keys)
        for manager in self.managers:
            manager.cache_blocks(hashed, num_tokens)

    def _call_free(self, request: str) -> None:
        for manager in self.managers:
            manager.free(request)

    def _call_withdraw_blocks(self, request: str) -> None:
        for manager in self.managers:
            manager.withdraw_blocks(request)

    def _call_new_step_starts(self) -> None:
        for manager in self.managers:
            manager.new_step_starts()

    def _call_get_num_common_prefix_blocks(self, request: str) -> tuple[int, ...]:
        return tuple([manager.get_num_common_prefix_blocks(request) for manager in self.managers])

    def _call_get_num_skipped_tokens(self, num_computed_tokens: int) -> tuple[int, ...]:
        return tuple([manager.get_num_skipped_tokens(num_computed_tokens) for manager in self.managers])

    def _call_reset_prefix_cache(self) -> bool:
        return self.pool.reset_prefix_cache()

    def _call_take_events(self) -> tuple[KVEvent, ...]:
        if not self.pool.enable_kv_cache_events:
            self.pool.begin_events()
        return tuple([TOLD[type(event)](*event) for event in self.pool.take_events()])

    def _call_get_new_blocks(self, count: int) -> Blocks:
        return tuple([block.block_id for block in self.pool.get_new_blocks(count)])

    def _call_touch(self, ids: Blocks) -> None:
        self.pool.touch(self._blocks(ids))

    def _call_free_blocks(self, ids: Blocks) -> None:
        self.pool.free_blocks(self._blocks(ids))


__all__ = ["HashedTokens", "ImplPort", "spec_of"]
