"""What cut source calls instead of what counts for itself: Python's own functions on things of any size, and what they promise."""

import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from kvwitness.model.profile import Profile
from kvwitness.proofs.engines.cut import make_range
from kvwitness.proofs.engines.cut_lists import Block, Key, Keys, Strip, both, chosen, strip_of
from kvwitness.proofs.engines.cut_numbers import Alignment, Number, Step, bare
from kvwitness.proofs.engines.cut_ways import Ways
from kvwitness.proofs.logic import implies, negated


class Pool:
    """A pool in which any blocks are cached.

    Attributes:
        null_block: The null block.
        profile: The rules in force.
        hash_block_size: Tokens that one key adds: a block.
        freed: What was released, in order, by call.
    """

    def __init__(self, ways: Ways, profile: Profile, cached: Callable[[Any], Any]) -> None:
        """What is cached is told by ``cached``, by the place of a prefix."""
        self.null_block, self.profile = ways.null, profile
        self.hash_block_size = Number(ways, ways.sizes[0])
        self.freed: list[Strip] = []
        self.ways, self.cached = ways, cached

    def _found(self, key: Key) -> Block | None:
        return Block(key.place) if self.ways.decide(self.cached(key.place)) else None

    def finder(self, kv_cache_group_ids: Sequence[int]) -> Callable[[Key], Block | None]:
        """A probe for one group."""
        return self._found

    def get_cached_block(self, block_hash: Key, kv_cache_group_ids: Sequence[int]) -> list[Block] | None:
        """The block of one group."""
        found = self._found(block_hash)
        return None if found is None else [found]

    def free_blocks(self, ordered_blocks: Strip) -> None:
        """Note what is released."""
        self.freed.append(Strip(self.ways, ordered_blocks.length, ordered_blocks.at))

    free_skipped = free_blocks


@frozen
class Probes:
    """What ``map`` makes of a probe and keys."""

    probe: Callable[[Key], Block | None]
    keys: Keys


def _length(values: Any) -> Any:
    return Number(values.ways, values.length) if isinstance(values, Strip | Keys) else len(values)


def _larger(first: Any, second: Any) -> Any:
    return _picked(first, second, lambda one, other: one >= other) if _is_open(first, second) else max(first, second)


def _smaller(first: Any, second: Any) -> Any:
    return _picked(first, second, lambda one, other: one <= other) if _is_open(first, second) else min(first, second)


def _is_open(*values: Any) -> bool:
    return any(isinstance(value, Number) for value in values)


def _picked(first: Any, second: Any, prefers_first: Callable[[Any, Any], Any]) -> Number:
    ways = next(value.ways for value in (first, second) if isinstance(value, Number))
    return Number(ways, chosen(prefers_first(bare(first), bare(second)), bare(first), bare(second)))


def _mapped(function: Any, *items: Any) -> Any:
    return Probes(function, *items) if isinstance(items[0], Keys) else map(function, *items)


def _first_keys(keys: Any, stop: Any) -> Any:
    return keys[:stop] if isinstance(keys, Keys) else itertools.islice(keys, stop)


def promises(ways: Ways, pool: Pool, step: Step | None = None) -> dict[str, Any]:
    """The names that take the place of Python's own, and of what a port computes with them.

    - ``takewhile`` gives as many found blocks as there are before the first key that is not found.
    - ``aligned_step`` gives a step such that exactly the multiples of it are aligned lengths (`proofs.cuts.alignment`).
    """

    def taken_while(_holds: Any, probes: Probes) -> Strip:
        count, first = ways.number("taken").term, probes.keys.first
        every = _every(lambda place: implies(both(place >= 0, place < count), pool.cached(first + place)), pool, first)
        ends = implies(count < probes.keys.length, negated(pool.cached(first + count)))
        ways.facts.append(both(count >= 0, count <= probes.keys.length, every, ends))
        return Strip(ways, count, lambda index: first + index)

    def step_of(block: Any, alignment: Any) -> Any:
        return step if isinstance(alignment, Alignment) else 1

    def table(null: Any, num_nulls: Any, tail: Any) -> Strip:
        return strip_of(ways, [null]) * Number(ways, bare(num_nulls)) + tail

    names: dict[str, Any] = {"len": _length, "range": make_range, "max": _larger, "min": _smaller, "map": _mapped, "islice": _first_keys}
    names |= {"itertools": types.SimpleNamespace(islice=_first_keys), "takewhile": taken_while, "list": _listed}
    return {**names, "aligned_step": step_of, "BlockTable": table}


def _listed(values: Any = ()) -> Any:
    return values if isinstance(values, Strip) else list(values)


def _every(body: Callable[[Any], Any], pool: Pool, first: Any) -> Any:
    import z3

    place = z3.Int("place!")
    shifted = z3.substitute(body(place), (place, place - first)) if not isinstance(first, int) else body(place)
    return z3.ForAll([place], shifted, patterns=[pool.cached(place)])


__all__ = ["Pool", "promises"]
