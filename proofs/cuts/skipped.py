"""Releasing skipped blocks as a question to a port's own source: any sizes, any table whose nulls stand in front."""

import types
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from kvwitness.model import need
from kvwitness.model.kinds import Kind
from kvwitness.proofs import lemmas
from kvwitness.proofs.cuts.look_ups import Classes, Loops
from kvwitness.proofs.cuts.promises import Pool, promises
from kvwitness.proofs.domain import Unbounded, numbers
from kvwitness.proofs.engines.cut import Carrier, Loop
from kvwitness.proofs.engines.cut_lists import NULL, Strip, chosen, every_place
from kvwitness.proofs.engines.cut_numbers import Number
from kvwitness.proofs.engines.cut_source import Change, Cutting, compiled
from kvwitness.proofs.engines.cut_ways import Ways
from kvwitness.proofs.logic import both, either, implies, within

NAME = "remove_skipped_blocks"


@frozen
class SkippedCut:
    """The walk that releases skipped blocks, cut at its loop.

    Attributes:
        kind: The kind's name.
        classes: Whose source.
        change: A wrong variant of the source.
    """

    kind: Kind
    classes: Classes
    change: Change | None = None

    def __call__(self, ways: Ways) -> None:
        """Run the source once and claim what it released."""
        domain = Unbounded(self.classes.profile)
        block, pieces, window, computed, nulls, length = numbers(domain, "block pieces window computed nulls entries")
        ways.sizes, ways.names_quotients = [block, pieces * block], self.kind.kind == "chunked"
        ways.facts += [block >= 1, pieces >= 1, window >= 1, computed >= 0, nulls >= 0, length >= nulls]
        sizes = {"window": window} if self.kind.kind == "sliding" else {"chunk": pieces * block}
        kind = Kind(self.kind.kind, **sizes)
        if self.kind.kind == "chunked":
            ways.proofs.lemmas[:] = [lemmas.multiple_of_multiple(computed / (pieces * block), pieces, block)]
        before = domain.function("table")
        ways.facts.append(domain.every(lambda place: before(place) >= 0, lambda place: before(place)))  # noqa: PLW0108 - its arguments are read
        table = _Table(ways, nulls, length, before)
        pool = Pool(ways, self.classes.profile, domain.predicate("cached"))
        self._run(ways, pool, kind, block, computed, table)
        self._claim(ways, pool, need.num_skipped_blocks(kind, computed, block), table, before)

    def _run(self, ways: Ways, pool: Pool, kind: Kind, block: Any, computed: Any, table: "_Table") -> None:
        given = Kind(kind.kind, window=Number(ways, kind.window), chunk=Number(ways, kind.chunk))  # type: ignore[arg-type]
        manager = self.classes.manager_class(given, Number(ways, block))
        is_ours = hasattr(manager, "_free_skipped")
        loops = _walks(table, is_ours=is_ours)
        names = {name: {number: loop.values for number, loop in of.items()} for name, of in loops.items()}
        cutting = Cutting(names, promises(ways, pool), Carrier(ways, loops), self.change)
        own = types.SimpleNamespace(block_size=Number(ways, block), block_pool=pool, _null_block=ways.null)
        own.sliding_window, own.attention_chunk_size = given.window, given.chunk
        own.req_to_blocks = {"r": table if is_ours else table.whole}
        for name in ("get_num_skipped_tokens", "_free_skipped"):
            if hasattr(manager, name):
                setattr(own, name, types.MethodType(compiled(getattr(manager, name), cutting), own))
        compiled(getattr(manager, NAME), cutting)(own, "r", Number(ways, computed))

    def _claim(self, ways: Ways, pool: Pool, skipped: Any, table: "_Table", before: Any) -> None:
        """All skipped blocks are null afterwards, and those that were not were released, the last of them first."""
        import z3

        place, end = z3.Int("place"), chosen(skipped <= table.entries, skipped, table.entries)
        num_released = chosen(end > table.nulls, end - table.nulls, 0)
        released = pool.freed[0] if pool.freed else Strip(ways, z3.IntVal(0), lambda _: z3.IntVal(NULL))
        was = chosen(place < table.nulls, NULL, before(place))
        ways.note_reached("the end")
        ways.claim(
            {
                "it releases once": len(pool.freed) <= 1,
                "skipped entries are null, others as before": implies(
                    within(0, place, table.entries), table.at(place) == chosen(place < end, NULL, was)
                ),
                "no entry comes or goes": table.length == table.entries,
                "as many are released as are skipped and were held": released.length == num_released,
                "the last is released first": implies(within(0, place, num_released), released.at(place) == before(end - 1 - place)),
            }
        )


class _Table:
    """A request's table in both forms: nulls and the rest, as ours, and one list, as the releases'.

    Attributes:
        num_nulls: The null prefix.
        tail: What is behind it.
        whole: All of it.
    """

    def __init__(self, ways: Ways, nulls: Any, entries: Any, before: Any) -> None:
        """Nulls, and then blocks told by ``before``."""
        self._ways, self.nulls, self.entries = ways, nulls, entries
        self.num_nulls = Number(ways, nulls)
        self.tail = Strip(ways, entries - nulls, lambda place: before(place + nulls))
        self.whole = Strip(ways, entries, lambda place: chosen(place < nulls, NULL, before(place)))

    def put_nulls(self, start: Any, end: Any) -> None:
        """Null entries of the tail, which is what ours promises of its own."""
        old, first, last = self.tail.at, start.term, end.term
        self.tail.become(self.tail.length, lambda place: chosen(within(first, place, last), NULL, old(place)))

    def at(self, place: Any) -> Any:
        """What stands at a place now."""
        if self.whole.version:
            return self.whole.at(place)
        return chosen(place < self.nulls, NULL, self.tail.at(place - self.nulls))

    @property
    def length(self) -> Any:
        """How many entries there are now."""
        return self.whole.length if self.whole.version else self.nulls + self.tail.length


def _walks(table: _Table, *, is_ours: bool) -> Loops:
    """The walk of a release, from the last skipped entry to the first null; or ours, which only counts."""

    def walked(now: Any, before: Any) -> Mapping[str, Any]:
        blocks, removed, place, end = now.blocks, now.removed_blocks, now.at, before.num_skipped_blocks
        was = before.blocks
        places = {
            "what was walked over was held": both(place >= -1, place == end - 1 - removed.length, removed.length >= 0),
            "nothing before the nulls' end is walked over": either(removed.length == 0, place + 1 >= table.nulls),
            "no entry comes or goes": blocks.length == was.length,
        }
        same = every_place(blocks, lambda at: implies(either(at <= place, at >= end), blocks.at(at) == was.at(at)))
        nulled = every_place(blocks, lambda at: implies(both(place < at, at < end), blocks.at(at) == NULL))
        kept = every_place(removed, lambda at: implies(within(0, at, removed.length), removed.at(at) == was.at(end - 1 - at)))
        return {**places, "other entries are as before": same, "those are null": nulled, "the last is first": kept}

    def counted(now: Any, _before: Any) -> Mapping[str, Any]:
        return {"it counts back from the end": both(now.start <= now.end, either(now.start == now.end, now.start >= 0))}

    count = Loop(["start"], counted, measure=lambda now: now.start)
    return {NAME: {0: count if is_ours else Loop(["blocks", "removed_blocks"], walked)}}


__all__ = ["NAME", "SkippedCut"]
