"""A release's planner for a configuration of ours, idle."""

from math import gcd
from typing import Any

from attrs import frozen

from kvwitness.model.kinds import Config
from kvwitness.properties.planning import PlannerSettings
from kvwitness.vllm.build import NotOffered, spec_of
from kvwitness.vllm.by_name import ByName, parameters_of
from kvwitness.vllm.generations import NEWEST, version_numbers
from kvwitness.vllm.loader import SPECS, Release
from kvwitness.vllm.planner.answers import NoGrammar, NoMedia
from kvwitness.vllm.planner.connector import PlainConnector
from kvwitness.vllm.planner.loading import ASYNC_SCHEDULER, SCHEDULER
from kvwitness.vllm.planner.settings import configuration, scheduler_block


@frozen
class BuiltPlanner:
    """A planner with its connector, idle."""

    scheduler: Any
    connector: PlainConnector | None

    @property
    def pool(self) -> Any:
        """The release's block pool."""
        return self.scheduler.kv_cache_manager.block_pool

    @property
    def managers(self) -> Any:
        """The release's managers, one a group."""
        return self.scheduler.kv_cache_manager.coordinator.single_type_managers


def cache_configuration(release: Release, config: Config) -> Any:
    """The release's description of the pool and its groups."""
    specs = release[SPECS]
    groups = []
    for number, kind in enumerate(config.groups):
        offered = {"layer_names": [f"layer {number}"], "kv_cache_spec": spec_of(release, config, kind)}
        groups.append(ByName(release.label, specs.KVCacheGroupSpec, offered)(**offered))
    told = {
        "num_blocks": config.blocks,
        "kv_cache_tensors": [],
        "kv_cache_groups": groups,
        "hash_block_size": config.tokens_per_block,
        "cache_hit_alignment_tokens": scheduler_block(config),
    }
    return ByName(release.label, specs.KVCacheConfig, told)(**told)


PARTIAL_HITS_SINCE = (0, 26)
"""The first release whose hits may end inside a block where keys are finer than blocks."""


def _check_sizes(release: Release, config: Config) -> None:
    """Refuse what no engine's configuration says, and blocks wider than keys where that means another thing than merged keys."""
    if config.draft_model and not config.drafts:
        raise NotOffered("a draft model makes one draft or more")
    if len({kind for kind in config.groups if kind.kind == "mamba"}) > 1:
        raise NotOffered("an engine has one cache mode and one block size for all its Mamba layers")
    wider = any(config.block_of(group) != config.tokens_per_block for group in range(len(config.groups)))
    if gcd(*map(config.block_of, range(len(config.groups)))) != config.tokens_per_block:
        raise NotOffered("a key stands for what all groups' blocks have in common")
    if wider and (version_numbers(release.version) or NEWEST) >= PARTIAL_HITS_SINCE:
        raise NotOffered("with blocks wider than keys hits may end inside a block, which is not followed here")


def build_planner(release: Release, config: Config, settings: PlannerSettings, connector: PlainConnector | None) -> BuiltPlanner:
    """A planner for that pool; it plans ahead if the configuration's depth is more than 1.

    Raises:
        NotOffered: The release cannot build one for these groups.
        ReleaseError: It asks for something that is not known here.
    """
    _check_sizes(release, config)
    scheduler_class = release[ASYNC_SCHEDULER].AsyncScheduler if config.depth > 1 else release[SCHEDULER].Scheduler
    offered = {
        "vllm_config": configuration(release.label, config, settings, connector),
        "kv_cache_config": cache_configuration(release, config),
        "structured_output_manager": NoGrammar(),
        "block_size": scheduler_block(config) if "hash_block_size" in parameters_of(scheduler_class) else config.tokens_per_block,
        "hash_block_size": config.tokens_per_block,
        "mm_registry": NoMedia(),
        "log_stats": False,
    }
    try:
        return BuiltPlanner(ByName(release.label, scheduler_class, offered)(**offered), connector)
    except (AssertionError, TypeError, ValueError, NotImplementedError) as error:
        raise NotOffered(f"{type(error).__name__}: {' '.join(str(error).split())}") from error


__all__ = ["BuiltPlanner", "build_planner"]
