"""What is claimed of a manager's own source, as scenarios for `paths`: the hit is the spec's, the estimate is what is taken.

A port's classes come in through `Sources`; the spec's side is the declarative definition of `kvwitness.model`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from attrs import frozen

from kvwitness.model.hits import hit_table, usable
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import floor_div
from kvwitness.model.profile import Profile
from kvwitness.proofs.engines.paths import Number, World
from kvwitness.proofs.engines.symbolic import Concretised

NULL_BLOCK = "∅"


class Sources(Protocol):
    """The classes of a port, as far as they are run.

    Attributes:
        profile: The rules that they follow.
    """

    profile: Profile

    def spec(self, kind: Kind, block: Number) -> Any:
        """The port's own description of a group."""

    def manager_class(self, kind: Kind, block: Number) -> Any:
        """The class of a kind's managers."""

    def look_up(self, kind: Kind, block: Number, *, keys: Sequence[Any], pool: Any, **arguments: Any) -> Sequence[Any]:
        """The hit of one group, by the manager's own look-up on a stand-in for the pool."""

    def manager(self, kind: Kind, block: Number, num_blocks: int, *, caching: bool) -> Any:
        """A manager on a pool of its own with so many blocks."""


class ProbedPool:
    """A stand-in for the pool in a look-up: whether a block is cached is an unknown truth.

    Attributes:
        null_block: The null block.
        profile: The rules in force.
        hash_block_size: Tokens that one key adds: a block.
    """

    null_block = NULL_BLOCK

    def __init__(self, profile: Profile, is_cached: Callable[[int], bool], hash_block_size: Number = 1) -> None:
        """Answer by ``is_cached``; a key is the place of its block."""
        self.profile, self._is_cached, self.hash_block_size = profile, is_cached, hash_block_size

    def __getattr__(self, name: str) -> NoReturn:
        """What a pool has and this one does not is no fault of the source.

        Raises:
            Concretised: Always.
        """
        raise Concretised(f"the look-up asks the pool for {name}, which its stand-in does not have")

    def finder(self, kv_cache_group_ids: Sequence[int]) -> Callable[[int], str | None]:
        """A probe for one group."""
        return lambda key: block_at(key) if self._is_cached(key) else None

    def get_cached_block(self, block_hash: int, kv_cache_group_ids: Sequence[int]) -> list[str] | None:
        """The block of one group."""
        return [block_at(block_hash)] if self._is_cached(block_hash) else None


def block_at(place: int) -> str:
    """The cached block of that place."""
    return f"block {place}"


@frozen
class LookUp:
    """A look-up: the hit is the longest that the spec allows, for any sizes and any pattern of cached blocks.

    Attributes:
        kind: The kind's name and mode; its sizes are unknown.
        sources: Whose look-up.
        most_blocks: Blocks that the length may hold.
        draft_drop: Whether a draft model shares the cache.
        alignment: Hits are multiples of so many blocks.
    """

    kind: Kind
    sources: Sources
    most_blocks: int
    draft_drop: bool = False
    alignment: int = 1

    def __call__(self, world: World) -> str:
        """What is wrong with the hit, or nothing."""
        block = world.integer("block size", 1)
        max_length = world.integer("max length")
        world.assume(max_length < (self.most_blocks + 1) * block)
        kind = sized(world, self.kind, block, max_length)

        asked: dict[int, bool] = {}

        def is_cached(place: int) -> bool:
            if place not in asked:
                asked[place] = world.truth(f"cached {place}")
            return asked[place]

        drop = self.draft_drop and kind.kind != "mamba"
        most = floor_div(max_length, block)
        # What each length needs is settled before the source runs, so that all its ways share the answers.
        needs = [self._needs(kind, block, length, drop) for length in range(most + 1)]
        found = self._found(kind, block, max_length, is_cached)
        length = self._longest(needs[: max(most - drop, 0) + 1], asked, is_cached)
        (nulls, cached), _ = needs[length]
        expected = [NULL_BLOCK] * nulls + [block_at(place) for place in range(nulls, nulls + cached)]
        return "" if list(found) == expected else f"the hit is {list(found)}, and the longest is {expected}"

    def _found(self, kind: Kind, block: Number, max_length: Number, is_cached: Callable[[int], bool]) -> Sequence[Any]:
        """What the source finds; a key is the place of its block."""
        return self.sources.look_up(
            kind,
            block,
            keys=list(range(self.most_blocks)),
            pool=ProbedPool(self.sources.profile, is_cached, block),
            max_length=max_length,
            use_eagle=self.draft_drop,
            alignment_tokens=block * self.alignment,
        )

    def _needs(self, kind: Kind, block: Number, length: int, drop: bool) -> tuple[tuple[int, int], tuple[int, ...]]:
        """How a hit of so many blocks is laid out, and which blocks must be cached for it: those that the spec asks about."""
        asked: list[int] = []

        def note(place: int) -> bool:
            asked.append(place)
            return True

        profile = self.sources.profile
        usable(kind, profile, block, length * block, draft_drop=drop, is_cached=note)
        return hit_table(kind, profile, block, length * block, draft_drop=drop), tuple(asked)

    def _longest(self, needs: Sequence[tuple[Any, tuple[int, ...]]], asked: Mapping[int, bool], is_cached: Callable[[int], bool]) -> int:
        """The largest aligned length whose needed blocks are all cached; a block that is known to be missing decides first."""
        for length in range((len(needs) - 1) // self.alignment * self.alignment, 0, -self.alignment):
            needed = needs[length][1]
            if all(asked.get(place, True) for place in needed) and all(is_cached(place) for place in needed):
                return length
        return 0


def sized(world: World, kind: Kind, block: Number, most_tokens: Number) -> Kind:
    """The kind with unknown sizes: any window; a chunk of whole blocks, or of more tokens than there are; a sink of one block."""
    if kind.kind == "sliding":
        return Kind("sliding", window=world.integer("window", 1))
    if kind.kind == "chunked":
        chunk = world.integer("chunk", 1)
        if chunk <= most_tokens:
            world.assume(chunk % block == 0)
        return Kind("chunked", chunk=chunk)
    if kind.kind == "sink":
        return Kind("sink", sink_tokens=block)
    return kind


@frozen
class Admission:
    """A new request: the estimate is exactly what adopting its hits, its external tokens and growing take.

    Attributes:
        kind: The kind's name and mode; its sizes are unknown.
        sources: Whose manager.
        most_blocks: Blocks that the request may need.
    """

    kind: Kind
    sources: Sources
    most_blocks: int

    def __call__(self, world: World) -> str:
        """What is wrong with the estimate, or nothing."""
        block, new = world.integer("block size", 1), world.integer("new tokens", 1)
        caches = self.kind.caches
        hit_blocks = world.pick("hit blocks", 0, self.most_blocks - 1) if caches else 0
        external = world.integer("external tokens") if caches and self.kind.kind != "mamba" else 0
        total = hit_blocks * block + external
        main = total + new
        world.assume(main <= self.most_blocks * block)
        kind = sized(world, self.kind, block, main)
        manager = self.sources.manager(kind, block, 3 * self.most_blocks + 2 * kind.drafts + 2, caching=caches)
        hits = self._hits(world, kind, block, hit_blocks, manager.block_pool)
        pool = manager.block_pool
        estimate = manager.get_num_blocks_to_allocate("r", main, hits, total, main)
        before = pool.get_num_free_blocks()
        if hits or external > 0:
            manager.allocate_new_computed_blocks("r", hits, hit_blocks * block, external)
        manager.allocate_new_blocks("r", main, main)
        return told_estimate(estimate, before - pool.get_num_free_blocks())

    def _hits(self, world: World, kind: Kind, block: Number, hit_blocks: int, pool: Any) -> list[Any]:
        """The table of a hit, each block of it held by others or waiting in the free queue."""
        if not hit_blocks:
            return []
        nulls, cached = hit_table(kind, self.sources.profile, block, hit_blocks * block)
        blocks = pool.get_new_blocks(cached)
        pool.free_blocks([each for place, each in enumerate(blocks) if not world.truth(f"held {nulls + place}")])
        return [pool.null_block] * nulls + list(blocks)


@frozen
class Growth:
    """A running request, over some steps: the estimate is exactly what growing takes.

    In Mamba's mode align it also takes at most one block a step, and holds at most two beside its draft blocks.

    Attributes:
        kind: The kind's name and mode; its sizes are unknown.
        sources: Whose manager.
        most_blocks: Blocks that the request may need.
        steps: Steps, the admission counted.
    """

    kind: Kind
    sources: Sources
    most_blocks: int
    steps: int = 2

    def __call__(self, world: World) -> str:
        """What is wrong with an estimate or a table, or nothing."""
        drafts = self.kind.drafts
        block = world.integer("block size", 1 + drafts)
        sizes = [world.integer(f"tokens of step {step}", 1) for step in range(self.steps)]
        mains = [sum(sizes[: step + 1], start=0) for step in range(self.steps)]
        world.assume(mains[-1] <= self.most_blocks * block)
        kind = sized(world, self.kind, block, mains[-1])
        manager = self.sources.manager(kind, block, 2 * self.most_blocks + 4 * drafts + 4, caching=kind.caches)
        if kind.caches and world.truth("counted as running"):
            manager.allocate_new_computed_blocks("r", [], 0, 0)
        computed: Number = 0
        for step, main in enumerate(mains):
            wrong = self._step(manager, computed, main)
            if wrong:
                return f"in step {step}: {wrong}"
            computed = main
        return ""

    def _step(self, manager: Any, computed: Number, main: Number) -> str:
        pool, is_align = manager.block_pool, self.kind.label == "mamba-align"
        held = list(manager.req_to_blocks.get("r", ()))
        manager.remove_skipped_blocks("r", computed)
        estimate = manager.get_num_blocks_to_allocate("r", main, [], computed, main)
        before = pool.get_num_free_blocks()
        manager.allocate_new_blocks("r", main, main)
        taken = before - pool.get_num_free_blocks()
        live = [block for block in manager.req_to_blocks.get("r", ()) if block is not pool.null_block]
        if is_align and held and taken > 1:
            return f"{taken} blocks are taken, and one suffices"
        if is_align and len(live) > 2 + self.kind.drafts:
            return f"{len(live)} blocks are held, and {2 + self.kind.drafts} suffice"
        if len({id(each) for each in live}) != len(live):
            return "the table holds a block twice"
        return told_estimate(estimate, taken)


def told_estimate(estimate: int, taken: int) -> str:
    """What is wrong with an estimate, or nothing."""
    return "" if estimate == taken and estimate >= 0 else f"the estimate is {estimate}, and {taken} blocks are taken"


__all__ = ["Admission", "Growth", "LookUp", "ProbedPool", "Sources", "sized"]
