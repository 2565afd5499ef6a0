"""A port's own source on symbolic integers: its look-ups and estimates, proved along all paths."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from kvwitness.impl import specs
from kvwitness.impl.factory import get_manager_for_kv_cache_spec, spec_manager_map
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.model.kinds import MAMBA_MODES, Kind
from kvwitness.model.profile import PROFILES, Profile
from kvwitness.ports.resolve import PortError, is_release
from kvwitness.proofs.engines.managers_on_paths import Admission, Growth, LookUp, Sources
from kvwitness.proofs.engines.paths import Number, Paths, Scenario, run_again
from kvwitness.proofs.engines.skipped_on_paths import Skipping
from kvwitness.proofs.engines.small_numbers import broken_by

LOOK_UP_BLOCKS = {"full": 32, "mamba-all": 32, "sliding": 8, "chunked": 8}
"""How long a look-up is proved, in blocks; for sizes there is no bound."""

ALIGNMENTS = (1, 2, 3)
"""Hits are multiples of so many blocks; any alignment at all is for the engine `cut`."""

ALIGNED_BLOCKS = {"full": 32, "mamba-all": 8, "sliding": 6}
"""The same for further alignments: a search that asks whether a block is cached before it asks for alignment has many more ways."""

ESTIMATE_BLOCKS = 4
SKIPPED_BLOCKS = 6
ALIGN_STEPS = 4
GROWTH_STEPS = 3

KINDS: tuple[Kind, ...] = (
    Kind("full"),
    Kind("sliding"),
    Kind("chunked"),
    *(Kind("mamba", mode=mode, drafts=drafts) for mode in MAMBA_MODES for drafts in (0, 1, 2)),
    Kind("cross"),
    Kind("sink"),
)
"""What estimates are proved for; the sizes that are not here are unknown."""


@frozen
class Result:
    """What one claim about a port's source came to.

    Attributes:
        id: Its name.
        claim: What is claimed, in words.
        verdict: ``proved``, ``refuted``, ``unknown`` or ``vacuous``.
        bound: How far it is proved.
        seconds: How long that took.
        counterexample: Numbers for which it is wrong; the source was run on them again, without any solver.
        because: What is wrong there, or why it is unknown.
        paths: Ways that were run.
        engine: What decided it: ``paths`` or ``cut``.
        scenario: What breaks the claim when it is run on the counterexample.
    """

    id: str
    claim: str
    verdict: str
    bound: str
    seconds: float
    counterexample: Mapping[str, int]
    because: str
    paths: int
    engine: str = "paths"
    scenario: Scenario | None = None


@frozen
class Theorem:
    """A claim about a port's source, not yet run.

    Attributes:
        id: Its name.
        claim: What is claimed, in words.
        bound: How far it is proved.
        scenario: What is run.
        blocks: How many blocks it bounds; quotients further beyond need not be told apart.
    """

    id: str
    claim: str
    bound: str
    scenario: Scenario
    blocks: int

    def prove(self) -> Result:
        """Run it along all paths, and a counterexample once more on plain numbers; one that does not come back is no refutation."""
        outcome = Paths(self.blocks + 1).run(self.scenario)
        verdict, because, numbers = outcome.verdict, outcome.because, outcome.counterexample
        if verdict == "refuted" and not (because := run_again(self.scenario, numbers)):
            verdict, because = "unknown", f"a counterexample does not come back on plain numbers: {outcome.because}"
        if verdict == "unknown" and (small := broken_by(self.scenario)) is not None:
            # Source that is not run symbolically may still be wrong on plain numbers.
            verdict, because, numbers = "refuted", *small
        found = (outcome.seconds, numbers, because, outcome.paths)
        return Result(self.id, self.claim, verdict, self.bound, *found, scenario=self.scenario)


def counterexample(scenario: Scenario, beyond: int) -> tuple[str, Mapping[str, int]] | None:
    """What is wrong, and for which numbers, confirmed without any solver; None where nothing is found."""
    outcome = Paths(beyond).run(scenario)
    if outcome.verdict == "refuted" and (because := run_again(scenario, outcome.counterexample)):
        return because, outcome.counterexample
    return None if outcome.verdict in ("proved", "vacuous") else broken_by(scenario)


def impl_spec(kind: Kind, block: Number) -> specs.KVCacheSpec:
    """Our spec object of a kind; its sizes may be symbolic."""
    fields: dict[str, Callable[[], specs.KVCacheSpec]] = {
        "full": lambda: specs.FullAttentionSpec(block_size=block),
        "sliding": lambda: specs.SlidingWindowSpec(block_size=block, sliding_window=kind.window),
        "chunked": lambda: specs.ChunkedLocalAttentionSpec(block_size=block, attention_chunk_size=kind.chunk),
        "mamba": lambda: specs.MambaSpec(block_size=block, mamba_cache_mode=kind.mode, num_speculative_blocks=kind.drafts),
        "cross": lambda: specs.CrossAttentionSpec(block_size=block),
        "sink": lambda: specs.SinkFullAttentionSpec(block_size=block, sink_len=kind.sink_tokens),
    }
    return fields[kind.kind]()


class ImplSources:
    """The classes of `kvwitness.impl`."""

    def __init__(self, profile: Profile) -> None:
        """Follow ``profile``."""
        self.profile = profile

    def spec(self, kind: Kind, block: Number) -> specs.KVCacheSpec:
        """Our spec object of a kind."""
        return impl_spec(kind, block)

    def manager_class(self, kind: Kind, block: Number) -> type[SingleTypeKVCacheManager]:
        """Our class of its managers."""
        return spec_manager_map[type(impl_spec(kind, block))]

    def look_up(self, kind: Kind, block: Number, *, keys: Sequence[Any], pool: Any, **arguments: Any) -> Sequence[Any]:
        """The hit of one group."""
        spec, manager = self.spec(kind, block), self.manager_class(kind, block)
        found = manager.find_longest_cache_hit(block_hashes=keys, block_pool=pool, kv_cache_spec=spec, kv_cache_group_ids=[0], **arguments)
        return found[0]

    def manager(self, kind: Kind, block: Number, num_blocks: int, *, caching: bool) -> Any:
        """A manager on a pool of its own."""
        pool = BlockPool(num_blocks, caching, 1, profile=self.profile)
        spec = impl_spec(kind, block)
        return get_manager_for_kv_cache_spec(spec, block_pool=pool, enable_caching=caching, kv_cache_group_id=0)


class ReleaseSources:
    """The unmodified classes of a release of vLLM."""

    def __init__(self, name: str, profile: Profile) -> None:
        """Those of the release of that name.

        Raises:
            PortError: There is no such release.
            ReleaseError: It cannot be fetched or loaded.
        """
        from kvwitness.vllm.opening import open_release

        self.profile, self._release = profile, open_release(name)

    def spec(self, kind: Kind, block: Number) -> Any:
        """The release's spec object of a kind."""
        from kvwitness.vllm.build import spec_of

        return spec_of(self._release, _Sizes(block), kind)  # type: ignore[arg-type]

    def manager_class(self, kind: Kind, block: Number) -> Any:
        """The release's class of its managers."""
        from kvwitness.vllm.build import manager_class_of

        return manager_class_of(self._release, self.spec(kind, block))

    def look_up(self, kind: Kind, block: Number, *, keys: Sequence[Any], pool: Any, **arguments: Any) -> Sequence[Any]:
        """The hit of one group."""
        from kvwitness.vllm.build import manager_class_of
        from kvwitness.vllm.by_name import ByName

        spec = self.spec(kind, block)
        offered = {"block_hashes": keys, "block_pool": pool, "kv_cache_spec": spec, "kv_cache_group_ids": [0], **arguments}
        offered |= {"dcp_world_size": 1, "pcp_world_size": 1}
        find = manager_class_of(self._release, spec).find_longest_cache_hit
        found = ByName(self._release.label, find, offered)(**offered)
        # Later releases give the hit's length in tokens too.
        hits: Sequence[Sequence[Any]] = found[0] if isinstance(found[0], tuple) else found
        return hits[0]

    def manager(self, kind: Kind, block: Number, num_blocks: int, *, caching: bool) -> Any:
        """A manager on a pool of its own."""
        from kvwitness.vllm.build import manager_class_of
        from kvwitness.vllm.by_name import ByName
        from kvwitness.vllm.loader import POOL

        label, spec = self._release.label, self.spec(kind, block)
        sizes = {"num_gpu_blocks": num_blocks, "enable_caching": caching, "hash_block_size": 1}
        pool = ByName(label, self._release[POOL].BlockPool, sizes)(**sizes)
        offered = {"kv_cache_spec": spec, "block_pool": pool, "enable_caching": caching, "kv_cache_group_id": 0}
        offered |= {"dcp_world_size": 1, "pcp_world_size": 1, "scheduler_block_size": block}
        return ByName(label, manager_class_of(self._release, spec), offered)(**offered)


@frozen
class _Sizes:
    """What a release's spec is built from: a configuration of which only the block size is looked at."""

    block_size: Number


def sources_of(port: str, profile: Profile | None = None) -> Sources:
    """The classes of a port: ``impl``, or a release of vLLM.

    Raises:
        PortError: The port has no Python source that can be run this way.
        ReleaseError: It is a release that cannot be loaded.
    """
    if port == "impl":
        return ImplSources(profile or PROFILES["sound"])
    if is_release(port):
        from kvwitness.vllm.likeness import profile_of

        return ReleaseSources(port, profile or PROFILES[profile_of(port)])
    raise PortError(f"got the port {port!r}; allowed is impl, vllm, vllm==X or vllm:PATH; only their source is run on symbolic integers")


def _name(kind: Kind) -> str:
    return f"{kind.label} k={kind.drafts}" if kind.kind == "mamba" else kind.label


def look_up_theorems(sources: Sources) -> Iterator[Theorem]:
    """For every kind that caches: the hit that its source finds is the longest that the spec allows."""
    for kind in (Kind("full"), Kind("sliding"), Kind("chunked"), Kind("mamba", mode="all")):
        for alignment in ALIGNMENTS if kind.kind != "chunked" else (1,):
            for drop in (False, True) if kind.kind != "chunked" else (False,):
                if drop and alignment > 1 and kind.kind == "sliding" and sources.profile.sliding_draft_drop != "longest":
                    continue
                blocks = (LOOK_UP_BLOCKS if alignment == 1 else ALIGNED_BLOCKS)[kind.label]
                yield _look_up_theorem(LookUp(kind, sources, blocks, draft_drop=drop, alignment=alignment))


def _look_up_theorem(scenario: LookUp) -> Theorem:
    kind, blocks, alignment = scenario.kind, scenario.most_blocks, scenario.alignment
    aligned = f", of a multiple of {alignment} blocks" if alignment > 1 else ""
    rule = " with the draft drop" if scenario.draft_drop else ""
    claim = f"the look-up of {kind.label} finds the longest hit{aligned}{rule}, for any sizes and any pattern of cached blocks"
    name = f"PATHS.HIT.{kind.label}{f'.aligned-{alignment}' if alignment > 1 else ''}{'.draft' if scenario.draft_drop else ''}"
    return Theorem(name.upper(), claim, f"{blocks} blocks", scenario, blocks)


def estimate_theorems(sources: Sources) -> Iterator[Theorem]:
    """For every kind: the estimate is what is taken, at admission and while it runs."""
    for kind in KINDS:
        name, bound = _name(kind), f"{ESTIMATE_BLOCKS} blocks"
        id_part = name.replace(" k=", ".").upper()
        # The blocks for drafts are quotients too: they come on top of what the request may need.
        apart = ESTIMATE_BLOCKS + kind.drafts
        admission = Admission(kind, sources, ESTIMATE_BLOCKS)
        yield Theorem(f"PATHS.ESTIMATE.ADMIT.{id_part}", f"a new request of {name} takes what was estimated", bound, admission, apart)
        steps = ALIGN_STEPS if kind.label == "mamba-align" else GROWTH_STEPS
        growth = Growth(kind, sources, ESTIMATE_BLOCKS, steps)
        claim = f"a running request of {name} takes what was estimated"
        if kind.label == "mamba-align":
            claim += f", one block a step at most, and holds at most {2 + kind.drafts}"
        yield Theorem(f"PATHS.ESTIMATE.GROW.{id_part}", claim, f"{bound}, {steps} steps", growth, apart)


def skipped_theorems(sources: Sources) -> Iterator[Theorem]:
    """For the kinds that release as they go: exactly what no later token reads is released."""
    for kind in (Kind("sliding"), Kind("chunked")):
        claim = f"what {kind.label} releases after a step is exactly what no later token reads, for any sizes"
        scenario = Skipping(kind, sources, SKIPPED_BLOCKS)
        yield Theorem(f"PATHS.SKIPPED.{kind.label}".upper(), claim, f"{SKIPPED_BLOCKS} blocks, 2 steps", scenario, SKIPPED_BLOCKS)


def prove_port_lookups(port: str, profile: Profile | None = None) -> list[Result]:
    """The look-ups of a port's own source."""
    return [theorem.prove() for theorem in look_up_theorems(sources_of(port, profile))]


def prove_port_estimates(port: str, profile: Profile | None = None) -> list[Result]:
    """The estimates of a port's own source."""
    return [theorem.prove() for theorem in estimate_theorems(sources_of(port, profile))]


def port_theorems(port: str, profile: Profile | None = None) -> list[Result]:
    """Everything that is claimed of a port's own source, each along all paths.

    Raises:
        PortError: The port has no Python source that can be run this way.
        ReleaseError: It is a release that cannot be loaded.
    """
    sources = sources_of(port, profile)
    return [theorem.prove() for theorem in (*look_up_theorems(sources), *skipped_theorems(sources), *estimate_theorems(sources))]


__all__ = [
    "ImplSources",
    "ReleaseSources",
    "Result",
    "Theorem",
    "counterexample",
    "estimate_theorems",
    "look_up_theorems",
    "port_theorems",
    "prove_port_estimates",
    "prove_port_lookups",
    "skipped_theorems",
    "sources_of",
]
