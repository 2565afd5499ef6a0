"""A release's real managers as a port, called by the names of arguments.

For groups of one kind the adapter does what the release's coordinator does between planner and managers, and nothing more;
mixed groups are driven through that coordinator itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

from kvwitness.model.calls import Blocks, Call, Key, Observation, Outcome
from kvwitness.model.events import KVEvent
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.properties.port import Capabilities, NotOffered
from kvwitness.vllm.build import build, missing_kinds, only_built_directly
from kvwitness.vllm.coordinator import Coordinated, CoordinatorCalls, build_coordinator
from kvwitness.vllm.generations import remark_on
from kvwitness.vllm.loader import MANAGERS, Release, ReleaseError
from kvwitness.vllm.looking import Hashes, look
from kvwitness.vllm.methods import methods_of
from kvwitness.vllm.mixes import missing_mixes
from kvwitness.vllm.rejections import reason_of
from kvwitness.vllm.requests import HashedRequest
from kvwitness.vllm.telling import told_by

UTILS = "vllm.v1.core.kv_cache_utils"


class ReleaseNotOffered(ReleaseError, NotOffered):
    """A configuration that a release cannot build."""


class VllmPort:
    """A release's managers behind the port's calls.

    Attributes:
        release: What is driven.
        pool: The release's block pool.
        managers: The release's managers, one a group.
    """

    pool: Any
    managers: Sequence[Any]

    def __init__(self, profile: Profile, release: Release) -> None:
        """Follow ``profile`` with that release.

        Raises:
            ReleaseError: The release cannot be driven.
        """
        self.release, self._profile = release, profile
        self._missing = missing_kinds(release)
        self._hashes = Hashes(getattr(release[UTILS], "make_block_hash_with_group_id", None))
        self._by_managers: dict[str, Callable[..., Any]] = {
            name.removeprefix("_call_"): getattr(self, name) for name in dir(self) if name.startswith("_call_")
        }
        self._answers = self._by_managers

    def hello(self) -> Capabilities:
        """What the release is, and what it does not have."""
        remark = remark_on(self.release.version)
        name = f"{self.release.label} ({remark})" if remark else self.release.label
        calls = frozenset(self._answers) - ({"get_num_common_prefix_blocks"} if not self._has_common_prefix() else frozenset())
        return Capabilities(name, self._profile.name, calls, missing=self._told_missing())

    def _told_missing(self) -> tuple[str, ...]:
        told = [f"{label}: {reason}" for label, reason in self._missing.items()]
        if "sink" not in self._missing and only_built_directly(self.release):
            told.append("sink by the coordinator: its manager lacks arguments that the coordinator passes; built directly here")
        told += [f"{mix}: {reason}" for mix, reason in missing_mixes(self.release).items()]
        if not self._has_common_prefix():
            told.append("get_num_common_prefix_blocks: the release has no such method")
        return tuple(told)

    def _has_common_prefix(self) -> bool:
        return hasattr(self.release[MANAGERS].FullAttentionManager, "get_num_common_prefix_blocks")

    def reset(self, config: Config) -> Observation:
        """Build pool and managers, idle.

        Raises:
            ReleaseNotOffered: The release has no such kind or mix.
        """
        try:
            built = self._coordinated(config) if config.is_hybrid else build(self.release, config)
        except NotOffered as reason:
            raise ReleaseNotOffered(f"{self.release.label} does not offer {config.label}: {reason}") from reason
        self._config, self.pool, self.managers = config, built.pool, built.managers
        self._answers = self._by_managers
        if isinstance(built, Coordinated):
            self._answers = self._by_managers | CoordinatorCalls(built, config, self._hashes).answers()
        self._encodes = config.kind.kind == "cross"
        self._groups = list(range(len(self.managers)))
        self._methods = [methods_of(self.release.label, manager) for manager in self.managers]
        return self.observe()

    def _coordinated(self, config: Config) -> Coordinated:
        """The coordinator of mixed groups."""
        return build_coordinator(self.release, config)

    def call(self, call: Call) -> Outcome:
        """Make one call on every group's manager."""
        answer = self._answers.get(call[0])
        if answer is None:
            return Outcome("failed", None, f"{self.release.label} has no {call[0]}")
        try:
            return Outcome("ok", answer(*call[1]))
        except Exception as error:  # noqa: BLE001  a port's failure of any kind is an outcome, not ours
            reason = reason_of(call, self._config, error, self.managers)
            return Outcome("rejected", None, reason) if reason else Outcome("failed", None, f"{type(error).__name__}: {error}")

    def observe(self) -> Observation:
        """The state as plain data."""
        return look(self.pool, self.managers, self._hashes)

    def close(self) -> None:
        """Nothing to let go of."""

    def _blocks(self, ids: Blocks) -> list[Any]:
        blocks = self.pool.blocks
        return [blocks[block] for block in ids]

    def _call_find_longest_cache_hit(self, keys: tuple[Key, ...], max_length: int) -> tuple[Blocks, ...]:
        config = self._config
        found = self._methods[0]["find_longest_cache_hit"](
            block_hashes=self._hashes.of(keys),
            max_length=max_length,
            kv_cache_group_ids=self._groups,
            block_pool=self.pool,
            kv_cache_spec=self.managers[0].kv_cache_spec,
            use_eagle=config.draft_model,
            alignment_tokens=config.hit_alignment,
            dcp_world_size=config.dcp,
            pcp_world_size=config.pcp,
        )
        # Later releases say the length too; with whole blocks it follows from the blocks.
        hits = found[0] if isinstance(found[-1], int) else found
        return tuple([tuple([block.block_id for block in hit]) for hit in hits])

    def _call_remove_skipped_blocks(self, request: str, num_computed_tokens: int) -> None:
        for methods in self._methods:
            methods["remove_skipped_blocks"](request_id=request, total_computed_tokens=num_computed_tokens)

    def _call_get_num_blocks_to_allocate(
        self, request: str, num_tokens: int, hits: tuple[Blocks, ...], total: int, main: int, encoder_tokens: int
    ) -> int:
        tokens, needed = encoder_tokens if self._encodes else num_tokens, 0
        for group, methods in enumerate(self._methods):
            found = self._blocks(hits[group]) if hits else []
            needed += methods["get_num_blocks_to_allocate"](
                request_id=request,
                num_tokens=tokens,
                new_computed_blocks=found,
                total_computed_tokens=total,
                num_local_computed_tokens=len(found) * self.managers[group].block_size,
                num_tokens_main_model=main,
            )
        return needed

    def _call_get_num_free_blocks(self) -> int:
        return self.pool.get_num_free_blocks()  # type: ignore[no-any-return]

    def _call_allocate_new_computed_blocks(
        self, request: str, hits: tuple[Blocks, ...], num_local: int, num_external: int
    ) -> tuple[Blocks, ...]:
        found = [self._blocks(hits[group]) if hits else [] for group in self._groups]
        arguments = {"request_id": request, "num_local_computed_tokens": num_local, "num_external_computed_tokens": num_external}
        adopt = self._adopt_in_two_phases if "add_local_computed_blocks" in self._methods[0] else self._adopt_at_once
        lengths = adopt(request, found, arguments)
        return tuple([self._table(group, request)[length:] for group, length in zip(self._groups, lengths, strict=True)])

    def _adopt_at_once(self, request: str, found: list[list[Any]], arguments: dict[str, Any]) -> list[int]:
        """Each group adopts its hits and takes blocks for external tokens; the lengths of the tables in between."""
        total = arguments["num_local_computed_tokens"] + arguments["num_external_computed_tokens"]
        lengths = []
        for manager, methods, blocks in zip(self.managers, self._methods, found, strict=True):
            skipped = max(0, methods["get_num_skipped_tokens"](total_computed_tokens=total)) // manager.block_size
            lengths.append(max(skipped, len(blocks)))
            methods["allocate_new_computed_blocks"](new_computed_blocks=blocks, **arguments)
        return lengths

    def _adopt_in_two_phases(self, request: str, found: list[list[Any]], arguments: dict[str, Any]) -> list[int]:
        """All groups adopt before any takes; for a running request nothing happens. The lengths of the tables in between."""
        if any(request in manager.num_cached_block for manager in self.managers):
            if any(found):
                raise AssertionError("hits for a running request")
            return [len(self._table(group, request)) for group in self._groups]
        for methods, blocks in zip(self._methods, found, strict=True):
            methods["add_local_computed_blocks"](new_computed_blocks=blocks, **arguments)
        lengths = [len(self._table(group, request)) for group in self._groups]
        if arguments["num_external_computed_tokens"] > 0:
            for methods in self._methods:
                methods["allocate_external_computed_blocks"](**arguments)
        return lengths

    def _table(self, group: int, request: str) -> Blocks:
        return tuple([block.block_id for block in self.managers[group].req_to_blocks.get(request, ())])

    def _call_allocate_new_blocks(self, request: str, num_tokens: int, main: int, encoder_tokens: int) -> tuple[Blocks, ...]:
        tokens = encoder_tokens if self._encodes else num_tokens
        taken = [
            methods["allocate_new_blocks"](request_id=request, num_tokens=tokens, num_tokens_main_model=main) for methods in self._methods
        ]
        return tuple([tuple([block.block_id for block in blocks]) for blocks in taken])

    def _call_cache_blocks(self, request: str, keys: tuple[Key, ...], num_tokens: int) -> None:
        config = self._config
        hashed = HashedRequest(request, self._hashes.of(keys), len(keys) * config.tokens_per_block)
        # Only the coordinator of groups with different block sizes hands the alignment on.
        alignment = config.hit_alignment if config.hit_alignment > config.tokens_per_block else None
        for methods in self._methods:
            methods["cache_blocks"](request=hashed, num_tokens=num_tokens, alignment_tokens=alignment, replay_boundaries=())

    def _call_free(self, request: str) -> None:
        for methods in self._methods:
            methods["free"](request_id=request)

    def _call_new_step_starts(self) -> None:
        for methods in self._methods:
            if "new_step_starts" in methods:
                methods["new_step_starts"]()

    def _call_get_num_common_prefix_blocks(self, request: str) -> tuple[int, ...]:
        return tuple([methods["get_num_common_prefix_blocks"](running_request_id=request) for methods in self._methods])

    def _call_get_num_skipped_tokens(self, num_computed_tokens: int) -> tuple[int, ...]:
        return tuple([methods["get_num_skipped_tokens"](total_computed_tokens=num_computed_tokens) for methods in self._methods])

    def _call_reset_prefix_cache(self) -> bool:
        return self.pool.reset_prefix_cache()  # type: ignore[no-any-return]

    def _call_take_events(self) -> tuple[KVEvent, ...]:
        # What the pool would be built with: whoever asks for none need not pay for them.
        self.pool.enable_kv_cache_events = True
        return tuple([event for record in self.pool.take_events() for event in told_by(record)])

    def _call_get_new_blocks(self, count: int) -> Blocks:
        return tuple([block.block_id for block in self.pool.get_new_blocks(count)])

    def _call_touch(self, ids: Blocks) -> None:
        self.pool.touch(self._blocks(ids))

    def _call_free_blocks(self, ids: Blocks) -> None:
        self.pool.free_blocks(self._blocks(ids))


__all__ = ["VllmPort"]
