"""A release's block pool and managers for a configuration of ours."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from kvwitness.model.kinds import MAMBA_MODES, Config, Kind, MambaMode
from kvwitness.properties.port import NotOffered
from kvwitness.vllm.by_name import ByName, parameters_of
from kvwitness.vllm.loader import MANAGERS, POOL, SPECS, Release, ReleaseError

SPEC_NAMES = {
    "full": "FullAttentionSpec",
    "sliding": "SlidingWindowSpec",
    "chunked": "ChunkedLocalAttentionSpec",
    "mamba": "MambaSpec",
    "cross": "CrossAttentionSpec",
    "sink": "SinkFullAttentionSpec",
}

REGISTRY = "vllm.v1.kv_cache_spec_registry"

TENSORS: dict[str, Any] = {"num_kv_heads": 1, "head_size": 1, "dtype": None, "shapes": ((1,),), "dtypes": (None,), "use_mla": False}
"""What a spec says of the tensors in a block; the managers look at none of it."""


@frozen
class Built:
    """A pool with its managers, idle."""

    pool: Any
    managers: Sequence[Any]


def _keyword_fields(kind: Kind) -> dict[str, Any]:
    """The fields of a spec that belong to its kind."""
    if kind.kind == "sliding":
        return {"sliding_window": kind.window}
    if kind.kind == "chunked":
        return {"attention_chunk_size": kind.chunk}
    if kind.kind == "mamba":
        return {"mamba_cache_mode": kind.mode, "num_speculative_blocks": kind.drafts}
    return {"sink_len": kind.sink_tokens} if kind.kind == "sink" else {}


def spec_of(release: Release, config: Config, kind: Kind) -> Any:
    """The release's spec object of a kind.

    Raises:
        NotOffered: The release's specs lack what the kind needs.
    """
    spec_class = getattr(release[SPECS], SPEC_NAMES[kind.kind])
    parameters = parameters_of(spec_class)
    fields = _keyword_fields(kind)
    if "mamba_cache_mode" in fields and "mamba_cache_mode" not in parameters and kind.mode != "align":
        # Before the modes came, a release kept one running state or, with caching on, one a block.
        del fields["mamba_cache_mode"]
    lacking = [name for name in fields if name not in parameters]
    if lacking:
        raise NotOffered(f"{spec_class.__name__} has no {', '.join(lacking)}")
    size = kind.block_size or config.block_size
    return ByName(release.label, spec_class, {"block_size", *fields, *TENSORS})(block_size=size, **fields, **TENSORS)


def manager_class_of(release: Release, spec: Any) -> Any:
    """The class that the release itself would choose for a spec."""
    chosen = getattr(release[MANAGERS], "spec_manager_map", None)
    if chosen is not None:
        return chosen[type(spec)]
    return release[REGISTRY].KVCacheSpecRegistry.get_manager_class(spec)


def _manager(release: Release, config: Config, kind: Kind, group: int, pool: Any) -> Any:
    spec = spec_of(release, config, kind)
    offered = {
        "kv_cache_spec": spec,
        "block_pool": pool,
        "enable_caching": config.caching,
        "kv_cache_group_id": group,
        "scheduler_block_size": config.hit_alignment,
        "dcp_world_size": config.dcp,
        "pcp_world_size": config.pcp,
    }
    manager = ByName(release.label, manager_class_of(release, spec), offered)(**offered)
    if hasattr(manager, "use_eagle"):
        # The coordinator tells a group of its draft model only after it is built.
        manager.use_eagle = config.draft_model
    return manager


def _build(release: Release, config: Config, hash_block_size: int) -> Built:
    offered = {"num_gpu_blocks": config.blocks, "enable_caching": config.caching, "hash_block_size": hash_block_size}
    pool = ByName(release.label, release[POOL].BlockPool, offered)(**offered)
    return Built(pool, [_manager(release, config, kind, group, pool) for group, kind in enumerate(config.groups)])


def build(release: Release, config: Config) -> Built:
    """A pool with a manager a group; its keys stand for as many tokens as a block of the first group.

    Raises:
        NotOffered: The release cannot build such a manager.
    """
    try:
        built = _build(release, config, config.tokens_per_block)
        size = built.managers[0].block_size
        return built if size == config.tokens_per_block else _build(release, config, size)
    except (AssertionError, TypeError, ValueError, NotImplementedError) as error:
        raise NotOffered(f"{type(error).__name__}: {' '.join(str(error).split())}") from error


def _smallest_config(kind: Kind) -> Config:
    return Config(blocks=4, block_size=2, groups=(kind,), caching=kind.caches, max_model_len=2)


def _samples() -> tuple[Kind, ...]:
    modes: tuple[MambaMode, ...] = MAMBA_MODES
    return (
        Kind("full"),
        Kind("sliding", window=2),
        Kind("chunked", chunk=2),
        *(Kind("mamba", mode=mode) for mode in modes),
        Kind("cross"),
        Kind("sink", sink_tokens=2),
    )


@functools.cache
def missing_kinds(release: Release) -> Mapping[str, str]:
    """The kinds and modes that cannot be built, by label, with the reason.

    Raises:
        ReleaseError: None can be built.
    """
    missing: dict[str, str] = {}
    for kind in _samples():
        try:
            build(release, _smallest_config(kind))
        except NotOffered as reason:
            missing[kind.label] = str(reason)
    if len(missing) == len(_samples()):
        raise ReleaseError(f"{release.label} cannot build any manager: {next(iter(missing.values()))}")
    return missing


def only_built_directly(release: Release) -> bool:
    """Whether the sink's manager takes no argument that the release's coordinator passes to every manager."""
    managers = release[MANAGERS]
    passed = set(parameters_of(managers.FullAttentionManager)) - {"max_admission_blocks_per_request"}
    return not passed <= set(parameters_of(managers.SinkFullAttentionManager))


__all__ = ["Built", "NotOffered", "build", "manager_class_of", "missing_kinds", "only_built_directly", "spec_of"]
