"""A release's own coordinator of several groups behind the port's calls, called by the names of arguments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from kvwitness.model.calls import Blocks, Key
from kvwitness.model.kinds import Config
from kvwitness.vllm.build import NotOffered, spec_of
from kvwitness.vllm.by_name import ByName
from kvwitness.vllm.loader import COORDINATOR, SPECS, Release
from kvwitness.vllm.looking import Hashes
from kvwitness.vllm.requests import HashedRequest

OFFERED: dict[str, tuple[str, ...]] = {
    "find_longest_cache_hit": ("block_hashes", "max_cache_hit_length"),
    "remove_skipped_blocks": ("request_id", "total_computed_tokens"),
    "get_num_blocks_to_allocate": (
        "request_id",
        "num_tokens",
        "new_computed_blocks",
        "num_encoder_tokens",
        "total_computed_tokens",
        "num_local_computed_tokens",
        "num_tokens_main_model",
    ),
    "allocate_new_computed_blocks": ("request_id", "new_computed_blocks", "num_local_computed_tokens", "num_external_computed_tokens"),
    "allocate_new_blocks": ("request_id", "num_tokens", "num_tokens_main_model", "num_encoder_tokens"),
    "cache_blocks": ("request", "num_computed_tokens"),
    "free": ("request_id",),
    "get_num_common_prefix_blocks": ("running_request_id",),
    "new_step_starts": (),
}
"""The arguments that each method of a coordinator may take, by the seed's names."""


@frozen
class Coordinated:
    """A release's coordinator, idle.

    Attributes:
        coordinator: The release's object.
        methods: Its methods, matched with what they take.
    """

    coordinator: Any
    methods: Mapping[str, ByName]

    @property
    def pool(self) -> Any:
        """The pool that all groups share."""
        return self.coordinator.block_pool

    @property
    def managers(self) -> Sequence[Any]:
        """One manager a group."""
        return self.coordinator.single_type_managers  # type: ignore[no-any-return]


def cache_config_of(release: Release, config: Config) -> Any:
    """The release's own description of a pool and its groups."""
    specs = [spec_of(release, config, kind) for kind in config.groups]
    offered = {"layer_names", "kv_cache_spec"}
    group = ByName(release.label, release[SPECS].KVCacheGroupSpec, offered)
    groups = [group(layer_names=[f"layer.{number}"], kv_cache_spec=spec) for number, spec in enumerate(specs)]
    described = {"num_blocks": config.blocks, "kv_cache_tensors": [], "kv_cache_groups": groups}
    return ByName(release.label, release[SPECS].KVCacheConfig, described)(**described)


def sizes_of(config: Config) -> dict[str, Any]:
    """What a coordinator, and the manager above it, is built from beside the groups; in flight is never more than a request is long."""
    return {
        "max_model_len": config.max_model_len,
        "max_num_batched_tokens": config.max_model_len,
        "use_eagle": config.draft_model,
        "enable_caching": config.caching,
        "enable_kv_cache_events": False,
        "dcp_world_size": config.dcp,
        "pcp_world_size": config.pcp,
        "scheduler_block_size": config.hit_alignment,
        "hash_block_size": config.tokens_per_block,
    }


def coordinated(release: Release, coordinator: Any) -> Coordinated:
    """A coordinator with its methods matched."""
    methods = {
        name: ByName(release.label, getattr(coordinator, name), taken) for name, taken in OFFERED.items() if hasattr(coordinator, name)
    }
    return Coordinated(coordinator, methods)


def build_coordinator(release: Release, config: Config) -> Coordinated:
    """The coordinator that the release itself chooses for these groups.

    Raises:
        NotOffered: The release cannot build it, or it does what is not judged here.
        ReleaseError: The release has no coordinator, or it takes something that is not known here.
    """
    offered = {"kv_cache_config": cache_config_of(release, config), **sizes_of(config)}
    choose = ByName(release.label, release.load(COORDINATOR, "get_kv_cache_coordinator"), offered)
    try:
        coordinator = choose(**offered)
    except (AssertionError, TypeError, ValueError, NotImplementedError) as error:
        raise NotOffered(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
    if getattr(coordinator, "enable_partial_hash_hits", False):
        raise NotOffered("hits may end inside a block, which the specification does not have")
    return coordinated(release, coordinator)


class CoordinatorCalls:
    """The port's calls, made on a release's coordinator.

    Attributes:
        built: The coordinator.
    """

    def __init__(self, built: Coordinated, config: Config, hashes: Hashes) -> None:
        """Speak to that coordinator in these keys."""
        self.built, self._config, self._hashes = built, config, hashes
        # A prompt of so many tokens has no end inside a block; from 0.32 on the last one is left out where no draft model is.
        self._prompt_tokens = int(hasattr(built.coordinator, "get_num_cacheable_tokens") and not config.draft_model)
        self._none: tuple[tuple[Any, ...], ...] = ((),) * len(config.groups)

    def answers(self) -> dict[str, Callable[..., Any]]:
        """What answers each call that differs from those on single managers."""
        return {name.removeprefix("_call_"): getattr(self, name) for name in dir(self) if name.startswith("_call_")}

    def _blocks(self, hits: Sequence[Blocks]) -> tuple[Sequence[Any], ...]:
        blocks = self.built.pool.blocks
        return tuple([[blocks[block] for block in ids] for ids in hits]) if hits else self._none

    def _tables(self, request: str) -> list[Blocks]:
        return [tuple([block.block_id for block in manager.req_to_blocks.get(request, ())]) for manager in self.built.managers]

    def request(self, name: str, keys: tuple[Key, ...]) -> HashedRequest:
        """A request by this name with these keys, and without a prompt.

        From 0.26 on releases key the end of a prompt inside a block as well, which the specification does not have.
        """
        request = HashedRequest(name, self._hashes.of(keys), len(keys) * self._config.tokens_per_block)
        request.num_prompt_tokens = self._prompt_tokens
        return request

    def _call_find_longest_cache_hit(self, keys: tuple[Key, ...], max_length: int) -> tuple[Blocks, ...]:
        found = self.built.methods["find_longest_cache_hit"](block_hashes=self._hashes.of(keys), max_cache_hit_length=max_length)
        return tuple([tuple([block.block_id for block in hit]) for hit in found[0]])

    def _call_remove_skipped_blocks(self, request: str, num_computed_tokens: int) -> None:
        self.built.methods["remove_skipped_blocks"](request_id=request, total_computed_tokens=num_computed_tokens)

    def _call_get_num_blocks_to_allocate(
        self, request: str, num_tokens: int, hits: tuple[Blocks, ...], total: int, main: int, encoder_tokens: int
    ) -> int:
        return self.built.methods["get_num_blocks_to_allocate"](  # type: ignore[no-any-return]
            request_id=request,
            num_tokens=num_tokens,
            new_computed_blocks=self._blocks(hits),
            num_encoder_tokens=encoder_tokens,
            total_computed_tokens=total,
            num_local_computed_tokens=len(hits[0]) * self._config.block_of(0) if hits else 0,
            num_tokens_main_model=main,
        )

    def _call_allocate_new_computed_blocks(
        self, request: str, hits: tuple[Blocks, ...], num_local: int, num_external: int
    ) -> tuple[Blocks, ...]:
        total = num_local + num_external
        known = any(request in manager.num_cached_block for manager in self.built.managers)
        before = self._tables(request)
        self.built.methods["allocate_new_computed_blocks"](
            request_id=request,
            new_computed_blocks=self._blocks(hits),
            num_local_computed_tokens=num_local,
            num_external_computed_tokens=num_external,
        )
        taken = []
        for group, (manager, table) in enumerate(zip(self.built.managers, self._tables(request), strict=True)):
            skipped = max(0, manager.get_num_skipped_tokens(total)) // manager.block_size
            adopted = len(before[group]) if known else max(skipped, len(hits[group]) if hits else 0)
            taken.append(table[adopted:])
        return tuple(taken)

    def _call_allocate_new_blocks(self, request: str, num_tokens: int, main: int, encoder_tokens: int) -> tuple[Blocks, ...]:
        taken = self.built.methods["allocate_new_blocks"](
            request_id=request, num_tokens=num_tokens, num_tokens_main_model=main, num_encoder_tokens=encoder_tokens
        )
        return tuple([tuple([block.block_id for block in blocks]) for blocks in taken])

    def _call_cache_blocks(self, request: str, keys: tuple[Key, ...], num_tokens: int) -> None:
        self.built.methods["cache_blocks"](request=self.request(request, keys), num_computed_tokens=num_tokens)

    def _call_free(self, request: str) -> None:
        self.built.methods["free"](request_id=request)

    def _call_new_step_starts(self) -> None:
        if "new_step_starts" in self.built.methods:
            self.built.methods["new_step_starts"]()

    def _call_get_num_common_prefix_blocks(self, request: str) -> tuple[int, ...]:
        if self._config.caching:
            return tuple(self.built.methods["get_num_common_prefix_blocks"](running_request_id=request))
        # Without caching a coordinator says 0 of every group and asks none; what the groups would say is what is compared.
        return tuple([manager.get_num_common_prefix_blocks(running_request_id=request) for manager in self.built.managers])


__all__ = ["Coordinated", "CoordinatorCalls", "build_coordinator", "cache_config_of", "coordinated", "sizes_of"]
