"""Look-ups: what the search of each kind returns is usable, and no usable length is longer.

The search is stated as a loop with its invariant; of a candidate length it says "longer than what is left to search, so not
usable", for one candidate that stands for all. Lengths are counted in blocks here; what a length needs is `need.needed_blocks`.
Which lengths are aligned, and which blocks are cached, is left open.
"""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kvwitness.model import need
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, floor_div, round_down
from kvwitness.proofs import lemmas
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, either, implies, negated, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem
from kvwitness.proofs.theorems.drops import DROP_ERRATA
from kvwitness.proofs.theorems.need import FULL, MAMBA, POSITIVE_WINDOW, chunked, sliding
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK

POSITIVE_PIECES = "a chunk has 1 block or more"
REAL_WINDOW = "the window reaches back: 2 tokens or more"
LIVE = "LIVE.HIT.FOUND, LIVE.HIT.NULLS, LIVE.HIT.CAP"
ALL_CACHED = frozenset(range(-1, 7))


@frozen
class Search:
    """What every look-up is about.

    Attributes:
        domain: Where it is read.
        kind: Whose needs count.
        block: Tokens a block.
        drop: How many blocks behind the hit must be cached too: one under a draft model.
    """

    domain: Domain
    kind: Kind
    block: Any
    drop: int = 0

    def cached(self, place: Any) -> Any:
        """Whether the block at a place is cached."""
        return self.domain.predicate("cached")(place)

    def aligned(self, blocks: Any) -> Any:
        """Whether so many blocks are an aligned length."""
        return self.domain.predicate("aligned")(blocks)

    def run(self, first: Any, end: Any) -> Any:
        """All blocks from one to before another are cached."""
        cached = self.domain.predicate("cached")
        return self.domain.every(lambda place: implies(within(first, place, end), cached(place)), lambda place: cached(place))

    def usable(self, blocks: Any) -> Any:
        """Whether everything is cached that a hit of so many blocks needs."""
        first, end = need.needed_blocks(self.kind, blocks * self.block, self.block)
        return self.run(first, end + self.drop)

    def candidate(self, blocks: Any, most: Any) -> Any:
        """Whether so many blocks, one or more, are a hit that may be returned."""
        return both(blocks >= 1, blocks + self.drop <= most, self.aligned(blocks), self.usable(blocks))


def _scan_from_start(search: Search, result: Callable[..., Any]) -> dict[str, Any]:
    """Full attention: walk from the start while blocks are cached, then align; the goals of its loop."""
    place, most, found, other = numbers(search.domain, "place most found other")
    invariant = both(place >= 0, place <= most, search.run(0, place))
    stopped = both(invariant, either(place == most, negated(search.cached(place))))
    ended = both(stopped, result(search, place, found))
    return {
        "before the first block nothing is claimed": implies(most >= 0, both(most >= 0, search.run(0, 0))),
        "a cached block makes the run longer": implies(both(invariant, place < most, search.cached(place)), search.run(0, place + 1)),
        "what is returned is usable": implies(both(ended, found > 0), both(search.usable(found), found + search.drop <= most)),
        "no usable length is longer": implies(both(ended, search.candidate(other, most)), other <= found),
    }


def _last_aligned(search: Search, place: Any, found: Any) -> Any:
    """The largest aligned length in the run, less what is dropped; 0 if there is none."""
    aligned = search.domain.predicate("aligned")
    longer = search.domain.every(lambda n: implies(both(found < n, n + search.drop <= place), negated(aligned(n))), lambda n: aligned(n))
    return both(found >= 0, either(found == 0, both(found + search.drop <= place, aligned(found))), longer)


def _any_aligned(search: Search, place: Any, found: Any) -> Any:
    return both(found >= 0, found + search.drop <= place, either(found == 0, search.aligned(found)))


def _unaligned_drop(search: Search, place: Any, found: Any) -> Any:
    return both(found >= 0, found == place)


SCAN_WITNESS = {"place": 2, "most": 4, "found": 2, "other": 1, "block": 2, "cached": frozenset({0, 1}), "aligned": frozenset(range(7))}


@theorem(
    "full-hit-is-longest",
    clauses=f"FULL.HIT.LONGEST, {LIVE}, LIVE.HIT.KEYED",
    witness=SCAN_WITNESS,
    kinds=("full", "sink"),
    sizes=("block",),
    reach=4,
    wrong=[Wrong("any aligned length of the run is returned", {"result": _any_aligned})],
)
def full_hit_is_longest(domain: Domain, result: Any = _last_aligned) -> Statement:
    """Full attention's search returns a usable length, aligned and within the cap, and no usable length is longer."""
    search = Search(domain, FULL, domain.size("block"))
    return Statement({POSITIVE_BLOCK: search.block >= 1}, _scan_from_start(search, result))


@theorem(
    "full-hit-with-draft-is-longest",
    clauses=f"FULL.HIT.LONGEST, {LIVE}",
    witness={**SCAN_WITNESS, "found": 1},
    kinds=("full", "sink"),
    sizes=("block",),
    reach=4,
    wrong=[Wrong("nothing is dropped", {"result": _unaligned_drop}), Wrong("any aligned length is returned", {"result": _any_aligned})],
)
def full_hit_with_draft_is_longest(domain: Domain, result: Any = _last_aligned) -> Statement:
    """With a draft model full attention returns the longest aligned length behind which one cached block is left."""
    search = Search(domain, FULL, domain.size("block"), drop=1)
    return Statement({POSITIVE_BLOCK: search.block >= 1}, _scan_from_start(search, result))


def _allowed(search: Search, place: Any) -> Any:
    return both(search.cached(place), search.aligned(place + 1))


def _only_cached(search: Search, place: Any) -> Any:
    return both(search.cached(place), search.aligned(place))


@theorem(
    "mamba-hit-is-longest",
    clauses=f"MAMBA.HIT.LONGEST, {LIVE}, LIVE.HIT.KEYED",
    witness={"place": 2, "most": 4, "other": 1, "block": 2, "cached": frozenset({2}), "aligned": frozenset(range(7))},
    kinds=("mamba",),
    sizes=("block",),
    reach=4,
    wrong=[Wrong("alignment is asked of the state's place, not of the length", {"stops": _only_cached})],
)
def mamba_hit_is_longest(domain: Domain, stops: Any = _allowed) -> Statement:
    """Mamba's search from the right stops at a state that alone makes its length usable, and no longer aligned length is usable."""
    search = Search(domain, MAMBA, domain.size("block"))
    place, most, other = numbers(domain, "place most other")
    candidate = search.candidate(other, most)
    invariant = both(place < most, implies(candidate, other <= place + 1))
    goals = {
        "at the last block nothing is ruled out": implies(candidate, other <= (most - 1) + 1),
        "a block that does not stop it is ruled out": implies(
            both(invariant, place >= 0, negated(stops(search, place))), implies(candidate, other <= place)
        ),
        "where it stops the length is usable": implies(
            both(invariant, place >= 0, stops(search, place)), both(search.usable(place + 1), search.aligned(place + 1))
        ),
        "where it stops no usable length is longer": implies(both(invariant, stops(search, place), candidate), other <= place + 1),
        "where it never stops nothing is usable": implies(both(invariant, place == -1), negated(candidate)),
    }
    return Statement({POSITIVE_BLOCK: search.block >= 1}, goals)


def _shifted(search: Search, end: Any) -> Any:
    """The run may end where the length without the dropped block is aligned."""
    return search.aligned(end - search.drop)


def _unshifted(search: Search, end: Any) -> Any:
    return search.aligned(end + 1)


def _anywhere(search: Search, end: Any) -> Any:
    return either(search.aligned(end), True)


def _reach(window: Any, block: Any) -> Any:
    return ceil_div(window - 1, block)


def _one_short(window: Any, block: Any) -> Any:
    return ceil_div(window - 1, block) - 1


def _one_over(window: Any, block: Any) -> Any:
    return ceil_div(window - 1, block) + 1


@frozen
class Sweep:
    """The sliding search in the middle: which block is looked at, how long the run behind it is, and what is known by then.

    Attributes:
        search: What is looked for.
        place: The block that is looked at; -1 for past the first.
        run: The cached blocks behind it that make up the run.
        most: Blocks within the cap.
        other: Any length.
        allowed: Whether a run may end somewhere.
        wanted: The run that is long enough.
    """

    search: Search
    place: Any
    run: Any
    most: Any
    other: Any
    allowed: Any
    wanted: Any

    @property
    def end(self) -> Any:
        """Where the run ends."""
        return self.place + 1 + self.run

    @property
    def candidate(self) -> Any:
        """Whether any length is a hit that may be returned."""
        return self.search.candidate(self.other, self.most)

    @property
    def invariant(self) -> Any:
        """The run is cached, may end where it ends, is not yet long enough, and no candidate is longer."""
        sizes = both(within(-1, self.place, self.most), within(0, self.run, self.wanted), self.end <= self.most)
        ruled_out = implies(self.candidate, self.other + self.search.drop <= self.end)
        ends_well = implies(self.run > 0, self.allowed(self.search, self.end))
        return both(sizes, self.search.run(self.place + 1, self.end), ends_well, ruled_out)

    @property
    def grows(self) -> Any:
        """Whether the block lengthens the run: it is cached, and a run may end behind it if it is the first."""
        return both(self.search.cached(self.place), either(self.run > 0, self.allowed(self.search, self.place + 1)))


def _steps(sweep: Sweep) -> dict[str, Any]:
    """Each step keeps the invariant."""
    search, place, candidate = sweep.search, sweep.place, sweep.candidate
    looking, cached = both(sweep.invariant, place >= 0), search.cached(place)
    passed = sweep.other + search.drop <= place
    return {
        "the search can begin": implies(0 <= sweep.most, both(within(-1, sweep.most - 1, sweep.most), within(0, 0, sweep.wanted))),
        "at the last block nothing is ruled out": implies(candidate, sweep.other + search.drop <= (sweep.most - 1) + 1),
        "a block that lengthens the run keeps it cached": implies(both(looking, sweep.grows), search.run(place, sweep.end)),
        "a block that may not end a hit is ruled out": implies(both(looking, cached, negated(sweep.grows), candidate), passed),
        "a miss rules out what needs it": implies(both(looking, negated(cached), candidate), passed),
    }


def _results(sweep: Sweep) -> dict[str, Any]:
    """Where it stops, it has the longest."""
    search, found = sweep.search, sweep.end - sweep.search.drop
    enough = both(sweep.invariant, sweep.place >= 0, sweep.grows, sweep.run + 1 == sweep.wanted)
    exhausted, longest = both(sweep.invariant, sweep.place == -1), implies(sweep.candidate, sweep.other <= found)
    usable = both(search.usable(found), search.aligned(found), sweep.end <= sweep.most)
    return {
        "a run that is long enough is usable": implies(both(enough, found > 0), usable),
        "and no usable length is longer": implies(enough, longest),
        "a short run from the start is usable": implies(both(exhausted, found > 0), search.usable(found)),
        "and there too no usable length is longer": implies(exhausted, longest),
    }


def _sliding(domain: Domain, drop: int, allowed: Any, asked: Any) -> Statement:
    """The sliding search: from the right, a run grows by a cached block, starts only where it may end, and stops when it is long enough."""
    place, run, most, other, window = numbers(domain, "place run most other window")
    block = domain.size("block")
    search = Search(domain, sliding(window), block, drop)
    sweep = Sweep(search, place, run, most, other, allowed, asked(window, block) + drop)
    reach = ceil_div(window - 1, block)
    hints = [lemmas.product_of_difference(length, reach, block) for length in (other, sweep.end - drop)]
    reaches_back = {POSITIVE_WINDOW: window >= 1} if drop else {REAL_WINDOW: window >= 2}  # noqa: PLR2004 - as the name says
    return Statement({POSITIVE_BLOCK: block >= 1, **reaches_back}, {**_steps(sweep), **_results(sweep)}, hints)


SLIDING_WITNESS = {
    "place": 2,
    "run": 1,
    "most": 4,
    "other": 1,
    "window": 4,
    "block": 2,
    "cached": frozenset({2, 3}),
    "aligned": frozenset(range(-1, 7)),
}
SLIDING_WRONG = [
    Wrong("a run of one block fewer is enough", {"asked": _one_short}),
    Wrong("a run of one block more is asked for", {"asked": _one_over}),
    Wrong("a run may end anywhere", {"allowed": _anywhere}),
]


@theorem(
    "sliding-hit-is-longest",
    clauses=f"SLIDING.HIT.LONGEST, {LIVE}, LIVE.HIT.KEYED",
    witness=SLIDING_WITNESS,
    kinds=("sliding",),
    sizes=("block",),
    reach=4,
    wrong=SLIDING_WRONG,
)
def sliding_hit_is_longest(domain: Domain, allowed: Any = _shifted, asked: Any = _reach) -> Statement:
    """A sliding window's search returns a usable length at any alignment, and no usable length is longer, for a window of 2 tokens
    or more.
    """
    return _sliding(domain, 0, allowed, asked)


@theorem(
    "sliding-hit-with-draft-is-longest",
    clauses=f"SLIDING.HIT.LONGEST, {LIVE}, BOOKS.ACCEPTED",
    witness={**SLIDING_WITNESS, "run": 1},
    kinds=("sliding",),
    sizes=("block",),
    reach=4,
    wrong=[*SLIDING_WRONG, Wrong("the run is aligned as if a block were added", {"allowed": _unshifted}), *DROP_ERRATA],
)
def sliding_hit_with_draft_is_longest(domain: Domain, allowed: Any = _shifted, asked: Any = _reach) -> Statement:
    """With a draft model, aligning the length after the drop, a sliding window's search is sound and longest at every alignment."""
    return _sliding(domain, 1, allowed, asked)


def _every_block(search: Search, end: Any) -> Any:
    return either(search.aligned(end), True)


@theorem(
    "sliding-window-one-hits-anywhere",
    clauses=f"SLIDING.HIT.LONGEST, {LIVE}",
    witness={"length": 3, "block": 2},
    kinds=("sliding",),
    sizes=("block",),
    wrong=[Wrong("a window of two tokens", {"window": 2}), Wrong("the seed asks for a block all the same", {"asks": 1})],
)
def sliding_window_one_hits_anywhere(domain: Domain, window: int = 1, asks: int = 0) -> Statement:
    """A window of one token reads nothing earlier, so every aligned length within the cap is a hit of null blocks."""
    length, block = domain.number("length"), domain.size("block")
    first, end = need.needed_blocks(sliding(window), length * block, block)
    hypotheses = {POSITIVE_BLOCK: block >= 1, "the length is 1 block or more": length >= 1}
    return Statement(hypotheses, {"no block is needed": first >= end + asks, "all are null": first == length})


def _fitting(domain: Domain, block: Any) -> Any:
    return domain.size("pieces") * block


def _any_chunk(domain: Domain, block: Any) -> Any:
    return domain.size("pieces")


def _refuses_no_chunk(profile: Any) -> bool:
    return bool(profile.name != "sound")


@theorem(
    "chunked-hit-is-longest",
    clauses=f"CHUNKED.HIT.LONGEST, {LIVE}, LIVE.HIT.KEYED",
    witness={"place": 2, "most": 5, "other": 1, "block": 2, "pieces": 2, "cached": ALL_CACHED, "aligned": ALL_CACHED},
    kinds=("chunked",),
    sizes=("block", "pieces"),
    reach=5,
    wrong=[
        Wrong("the chunk does not fit the block: neither a multiple nor a divisor", {"chunk_of": _any_chunk}, found_in=_refuses_no_chunk),
        Wrong("the search starts a block late", {"late": 1}),
    ],
)
def chunked_hit_is_longest(domain: Domain, chunk_of: Any = _fitting, late: int = 0) -> Statement:
    """Chunked attention's search from its chunk's start is sound and longest where whole blocks make up a chunk."""
    most, place, other = numbers(domain, "most place other")
    block = domain.size("block")
    chunk = chunk_of(domain, block)
    search = Search(domain, chunked(chunk), block)
    start = floor_div(round_down(most * block, chunk), block) + late
    stopped = both(start <= place, place <= most, search.run(start, place), either(place == most, negated(search.cached(place))))
    goals = {
        "the chunk's start is no later than the cap": implies(most >= 0, start <= most),
        "a cached block makes the run longer": implies(both(search.run(start, place), search.cached(place)), search.run(start, place + 1)),
        "what is returned is usable": implies(both(stopped, place > 0), search.usable(place)),
        "no usable length is longer": implies(both(stopped, other >= 1, other <= most, search.usable(other)), other <= place),
    }
    hypotheses = {POSITIVE_BLOCK: block >= 1, POSITIVE_PIECES: domain.size("pieces") >= 1}
    chunks = [floor_div(length * block, chunk) for length in (most, place, other)]
    exact = [lemmas.multiple_of_multiple(count, domain.size("pieces"), block) for count in chunks] if chunk_of is _fitting else []
    return Statement(hypotheses, goals, exact)
