"""What a seeded defect is, and the parts that a broken port is built from."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from kvwitness.impl import specs
from kvwitness.impl.common_hit import CommonHit
from kvwitness.impl.factory import spec_manager_map
from kvwitness.impl.hybrid import HybridKVCacheCoordinator
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.table import BlockTable
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile, with_axis_of

Hits = tuple[BlockTable, ...]
LookUp = Callable[..., Hits]
WrongLookUp = Callable[[LookUp, dict[str, Any]], Hits]
"""A look-up that is given the right one and what was asked, by the names of the seed's parameters."""

SPECS: Mapping[str, type[specs.KVCacheSpec]] = {
    "full": specs.FullAttentionSpec,
    "sliding": specs.SlidingWindowSpec,
    "chunked": specs.ChunkedLocalAttentionSpec,
    "mamba-none": specs.MambaSpec,
    "mamba-all": specs.MambaSpec,
    "mamba-align": specs.MambaSpec,
    "cross": specs.CrossAttentionSpec,
    "sink": specs.SinkFullAttentionSpec,
}
"""The spec that each label's manager is built from."""

LOOK_UP_PARAMETERS = tuple(inspect.signature(SingleTypeKVCacheManager.find_longest_cache_hit).parameters)
"""The names of the seed's parameters, for callers that pass them by position."""


@frozen
class Parts:
    """What of the implementation is replaced.

    Attributes:
        pool: The pool's class.
        coordinator: The class that brings mixed groups together.
        managers: Other managers for some specs.
    """

    pool: type[BlockPool] = BlockPool
    coordinator: type[HybridKVCacheCoordinator] = HybridKVCacheCoordinator
    managers: Mapping[type[specs.KVCacheSpec], type[SingleTypeKVCacheManager]] = field(factory=dict)


@frozen
class Defect:
    """One wrong variant.

    Attributes:
        name: What it is asked for by.
        wrong: What goes wrong, in one sentence.
        kinds: The labels of the kinds that it shows on.
        clauses: The clauses of which one must catch it.
        parts: What it is built from.
        mechanism: Its id in the catalogue of public defects, or "".
        profile: The rules that caller and model follow; another than ``sound`` where a rule itself is the defect.
    """

    name: str
    wrong: str
    kinds: tuple[str, ...]
    clauses: tuple[str, ...]
    parts: Parts = Parts()
    mechanism: str = ""
    profile: Profile = SOUND

    @property
    def is_rule(self) -> bool:
        """Whether implementation and model agree on it, so that a comparison of the two is blind to it."""
        return self.profile is not SOUND


def in_manager(name: str, mixin: type[Any], kinds: tuple[str, ...], clauses: tuple[str, ...], mechanism: str = "") -> Defect:
    """A defect whose class stands in front of each kind's manager; its docstring is the sentence."""
    managers = {SPECS[kind]: _in_front(mixin, spec_manager_map[SPECS[kind]]) for kind in kinds}
    return Defect(name, _sentence(mixin), kinds, clauses, Parts(managers=managers), mechanism)


def in_look_up(name: str, wrong: WrongLookUp, kinds: tuple[str, ...], clauses: tuple[str, ...], mechanism: str = "") -> Defect:
    """A defect of each kind's ``find_longest_cache_hit``; its docstring is the sentence."""
    managers = {SPECS[kind]: _looking_up(wrong, spec_manager_map[SPECS[kind]]) for kind in kinds}
    return Defect(name, _sentence(wrong), kinds, clauses, Parts(managers=managers), mechanism)


def in_pool(name: str, pool: type[BlockPool], kinds: tuple[str, ...], clauses: tuple[str, ...], mechanism: str = "") -> Defect:
    """A defect of the pool; its class's docstring is the sentence."""
    return Defect(name, _sentence(pool), kinds, clauses, Parts(pool=pool), mechanism)


def in_groups(name: str, mixin: type[Any], kinds: tuple[str, ...], clauses: tuple[str, ...], mechanism: str = "") -> Defect:
    """A defect whose class stands in front of the coordinator of mixed groups; its docstring is the sentence."""
    coordinator = type(HybridKVCacheCoordinator.__name__, (mixin, HybridKVCacheCoordinator), {})
    return Defect(name, _sentence(mixin), kinds, clauses, Parts(coordinator=coordinator), mechanism)


def in_common_hit(name: str, mixin: type[Any], kinds: tuple[str, ...], clauses: tuple[str, ...], mechanism: str = "") -> Defect:
    """A defect whose class stands in front of the look-up of mixed groups; its docstring is the sentence."""
    common_hit = type(CommonHit.__name__, (mixin, CommonHit), {})
    coordinator = type(HybridKVCacheCoordinator.__name__, (HybridKVCacheCoordinator,), {"common_hit_class": common_hit})
    return Defect(name, _sentence(mixin), kinds, clauses, Parts(coordinator=coordinator), mechanism)


def in_rule(
    name: str,
    wrong: str,
    axis: str,
    kinds: tuple[str, ...],
    clauses: tuple[str, ...],
    mechanism: str = "",
    *,
    release: Profile = VLLM_0_16,
) -> Defect:
    """A defect of a rule: on one axis everybody follows a release, ``vllm-0.16`` unless another is named, instead of the sound choice."""
    return Defect(name, wrong, kinds, clauses, Parts(), mechanism, with_axis_of(SOUND, axis, release))


def _sentence(documented: object) -> str:
    return " ".join((inspect.getdoc(documented) or "").split())


def _in_front(mixin: type[Any], manager: type[SingleTypeKVCacheManager]) -> type[SingleTypeKVCacheManager]:
    return type(manager.__name__, (mixin, manager), {})


def _looking_up(wrong: WrongLookUp, manager: type[SingleTypeKVCacheManager]) -> type[SingleTypeKVCacheManager]:
    right: Any = manager.find_longest_cache_hit

    def find_longest_cache_hit(cls: type, *arguments: Any, **named: Any) -> Hits:
        return wrong(right, {**dict(zip(LOOK_UP_PARAMETERS, arguments, strict=False)), **named})

    return type(manager.__name__, (manager,), {"find_longest_cache_hit": classmethod(find_longest_cache_hit)})
