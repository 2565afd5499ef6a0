"""A look-up as a question to a port's own source: any sizes, any alignment, any length, any pattern of cached blocks."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import field, frozen

from kvwitness.model import need
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div
from kvwitness.model.profile import Profile
from kvwitness.proofs import lemmas
from kvwitness.proofs.cuts.promises import Pool, promises
from kvwitness.proofs.domain import Unbounded, numbers
from kvwitness.proofs.engines.cut import Carrier, Loop
from kvwitness.proofs.engines.cut_lists import NULL, Keys, Strip, both, chosen, every_place
from kvwitness.proofs.engines.cut_numbers import Alignment, CannotCut, Number, Step
from kvwitness.proofs.engines.cut_source import Change, Cutting, compiled
from kvwitness.proofs.engines.cut_ways import Ways
from kvwitness.proofs.logic import implies, within
from kvwitness.proofs.theorems.hits import Search

Loops = Mapping[str, Mapping[int, Loop]]


class Classes(Protocol):
    """A port's classes, as far as cuts run them."""

    profile: Profile

    def manager_class(self, kind: Kind, block: Any) -> Any:
        """The class of a kind's managers."""

    def spec(self, kind: Kind, block: Any) -> Any:
        """The port's own description of a group."""


@frozen
class Question:
    """One look-up, with everything unknown.

    Attributes:
        ways: The run that it is asked in.
        search: What the spec says of it.
        most: Blocks within the cap.
        other: Any length in blocks.
        window: A sliding window in tokens.
    """

    ways: Ways
    search: "NamedSearch"
    most: Any
    other: Any
    window: Any
    max_length: Any

    @property
    def drop(self) -> int:
        """Blocks behind the hit that must be cached too."""
        return self.search.drop

    @property
    def candidate(self) -> Any:
        """Whether any length is a hit that may be returned."""
        return self.search.candidate(self.other, self.most)

    def found_in(self, strip: Strip, low: Any, end: Any, shift: Any = 0) -> Any:
        """In a list stand the blocks of the prefix at places from one to before another, so many places further on."""
        return self.every(lambda place: implies(within(low, place, end), strip.at(place) == place + shift), strip)

    def null_in(self, strip: Strip, low: Any, end: Any) -> Any:
        """In a list stand nulls at these places."""
        return self.every(lambda place: implies(within(low, place, end), strip.at(place) == NULL), strip)

    def every(self, body: Callable[[Any], Any], strip: Strip) -> Any:
        """Of all places of a list."""
        return every_place(strip, body)

    def none_aligned(self, low: Any, high: Any) -> Any:
        """No length above the one, up to the other, is aligned."""
        return self.ways.nothing_between(low, high)


@frozen
class NamedSearch(Search):
    """What the spec says, with a name for the first block that is needed, which is a quotient.

    Attributes:
        ways: The run that it is said in.
    """

    ways: Any = None

    def usable(self, blocks: Any) -> Any:
        """Whether everything is cached that a hit of so many blocks needs."""
        first, end = need.needed_blocks(self.kind, blocks * self.block, self.block)
        return self.run(self.ways.named(first) if hasattr(first, "sexpr") else first, self.ways.named(end) + self.drop)


@frozen
class LookUpCut:
    """A look-up whose source is cut at its loops.

    Attributes:
        kind: The kind's name and mode.
        classes: Whose source.
        loops: The invariants, for a question.
        drop: Whether a draft model shares the cache.
        change: A wrong variant of the source.
    """

    kind: Kind
    classes: Classes
    loops: Callable[[Question], Loops] = field(repr=False)
    drop: bool = False
    change: Change | None = None

    @property
    def any_alignment(self) -> bool:
        """Whether hits may be multiples of any alignment; else of the block."""
        drops = self.drop and self.kind.kind == "sliding"
        return self.kind.kind != "chunked" and (not drops or self.classes.profile.sliding_draft_drop == "longest")

    @property
    def needs_wide_window(self) -> bool:
        """Whether the claim is for windows of 2 tokens or more: a window of one departs from the spec."""
        return self.kind.kind == "sliding" and not self.drop and self.classes.profile.sliding_window_one == "needs_a_block"

    def __call__(self, ways: Ways) -> None:
        """Run the source once and claim what it found."""
        question, kind = self._question(ways)
        block = Number(ways, question.search.block)
        step = Step(ways, _integer("step"))
        alignment: Any = Alignment(ways, question.search.aligned, _truth("the alignment is the block")) if self.any_alignment else block
        pool = Pool(ways, self.classes.profile, question.search.cached)
        loops = self.loops(question)
        names = {name: {number: loop.values for number, loop in of.items()} for name, of in loops.items()}
        manager = self.classes.manager_class(kind, block)
        cutting = Cutting(names, promises(ways, pool, step), Carrier(ways, loops), self.change)
        find = compiled(manager.find_longest_cache_hit, cutting)
        keys = Keys(ways, _integer("keys"))
        offered = {"cls": manager, "block_hashes": keys, "max_length": Number(ways, question.max_length), "kv_cache_group_ids": [0]}
        offered |= {"block_pool": pool, "kv_cache_spec": self.classes.spec(kind, block), "use_eagle": self.drop}
        offered |= {"alignment_tokens": alignment, "dcp_world_size": 1, "pcp_world_size": 1, "drop_eagle_block": self.drop}
        found = find(**by_name(find, offered))
        self._claim(question, found[0][0] if isinstance(found[0], tuple) else found[0])

    def _question(self, ways: Ways) -> tuple[Question, Kind]:
        """The question, what is known of its numbers, and the kind as the source gets it."""
        domain = Unbounded(self.classes.profile)
        block, max_length, other, window, pieces = numbers(domain, "block max_length other window pieces")
        kind, given = self._sized(ways, block, window, pieces)
        search = NamedSearch(domain, kind, block, 1 if self.drop and self.kind.kind != "mamba" else 0, ways)
        # A chunk's start is a quotient of a product: below a quantifier it needs a name.
        ways.names_quotients = self.kind.kind == "chunked"
        most = ways.named(max_length / block)
        ways.block, ways.aligned, ways.sizes = block, search.aligned, [block, pieces * block]
        all_aligned = domain.every(lambda n: search.aligned(n), lambda n: search.aligned(n))  # noqa: PLW0108 - its arguments are read
        same = implies(_truth("the alignment is the block"), all_aligned) if self.any_alignment else all_aligned
        ways.facts += [block >= 1, pieces >= 1, max_length >= 0, _integer("keys") >= most, _integer("step") >= 1, most >= 0]
        ways.proofs.lemmas[:] = self._lemmas(search, window, [max_length, other * block], other)
        ways.facts += [search.aligned(0), same, window >= (2 if self.needs_wide_window else 1)]
        return Question(ways, search, most, other, window, max_length), given

    def _sized(self, ways: Ways, block: Any, window: Any, pieces: Any) -> tuple[Kind, Kind]:
        """The kind as the spec reads it, and as the source gets it."""
        if self.kind.kind == "sliding":
            return Kind("sliding", window=window), Kind("sliding", window=Number(ways, window))  # type: ignore[arg-type]
        if self.kind.kind == "chunked":
            chunk = pieces * block
            return Kind("chunked", chunk=chunk), Kind("chunked", chunk=Number(ways, chunk))  # type: ignore[arg-type]
        return self.kind, self.kind

    def _claim(self, question: Question, hit: Strip) -> None:
        """What is found is the longest hit, laid out as the spec says."""
        search, found, place = question.search, hit.length, _integer("place")
        first, _ = need.needed_blocks(search.kind, found * search.block, search.block)
        layout = hit.at(place) == chosen(place < first, NULL, place)
        lengths = [question.max_length, question.other * search.block, found * search.block]
        question.ways.proofs.lemmas[:] = self._lemmas(search, question.window, lengths, question.other, found)
        fits = both(search.aligned(found), found + search.drop <= question.most)
        question.ways.note_reached("the end")
        question.ways.claim(
            {
                "what is returned is aligned and within the cap": implies(found > 0, fits),
                "what is returned is usable": implies(found > 0, search.usable(found)),
                "every block is in its place, nulls before": implies(within(0, place, found), layout),
                "no usable length is longer": implies(question.candidate, question.other <= found),
            }
        )

    def _lemmas(self, search: NamedSearch, window: Any, tokens: Sequence[Any], *blocks: Any) -> list[Any]:
        """Instances of the lemma base: for lengths in tokens, and in blocks."""
        block = search.block
        if self.kind.kind == "sliding":
            reach = search.ways.named(ceil_div(window - 1, block))
            return [lemmas.product_of_difference(length, reach, block) for length in blocks]
        if self.kind.kind == "chunked":
            pieces = _integer("pieces")
            return [lemmas.multiple_of_multiple(length / (pieces * block), pieces, block) for length in tokens]
        return []


def by_name(function: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """What a function takes of what is offered: releases name more or fewer arguments.

    Raises:
        CannotCut: It needs another one.
    """
    parameters = inspect.signature(function).parameters.values()
    unknown = [each.name for each in parameters if each.name not in offered and each.default is inspect.Parameter.empty]
    if unknown:
        raise CannotCut(f"the look-up takes {', '.join(unknown)}, which the ones known do not")
    return {each.name: offered[each.name] for each in parameters if each.name in offered}


def _integer(name: str) -> Any:
    import z3

    return z3.Int(name)


def _truth(name: str) -> Any:
    import z3

    return z3.Bool(name)


__all__ = ["Classes", "LookUpCut", "Loops", "Question", "by_name"]
