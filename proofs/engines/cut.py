"""Cut: real Python source with loops, proved for any size and any number of blocks by an invariant at each loop.

A function is run from its start on all ways. Where a loop begins, its invariant is shown; then the loop's variables become any
values that satisfy it. From there the ways go on: through the body once, at whose end the invariant is shown again, and past the
loop to what was claimed. The invariants stand in `proofs.cuts`; the source is the port's own, cut in memory.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NoReturn

from attrs import frozen

from kvwitness.proofs.engines.cut_lists import Block, Keys, Strip, both, strip_of
from kvwitness.proofs.engines.cut_numbers import CannotCut, Number, Step, bare
from kvwitness.proofs.engines.cut_ways import WayEnds, Ways


@frozen
class Loop:
    """What holds whenever a loop begins another round.

    Attributes:
        values: The names whose values the loop changes.
        holds: The invariant, by name in words, of the values at the loop's head and of those before the loop.
        stays: Names that the body gives values to on its way out of the loop only.
        measure: Becomes smaller with every round and is never negative.
    """

    values: Collection[str]
    holds: Callable[[Any, Any], Mapping[str, Any]]
    stays: Collection[str] = ()
    measure: Callable[[Any], Any] | None = None


class View:
    """The values of a function's names, as terms."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        """Show these values as they are now, though lists may change later."""
        self._values = {name: _frozen(value) for name, value in values.items()}

    def __getattr__(self, name: str) -> Any:
        if name not in self._values:
            raise CannotCut(f"the invariant speaks of {name}, which the source does not have there: its shape is another")
        return self._values[name]


def _frozen(value: Any) -> Any:
    """A value as it is now; of several lists the only one."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return Strip(value.ways, value.length, value.at) if isinstance(value, Strip) else value.term if isinstance(value, Number) else value


@frozen
class Range:
    """The numbers of a range that has any length."""

    start: Any
    stop: Any
    step: Any


def make_range(*bounds: Any) -> Any:
    """What stands for ``range``: Python's own where the bounds are plain."""
    start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), bounds)
    if all(isinstance(bound, int) for bound in (start, stop, step)):
        return range(start, stop, step)
    if step not in (1, -1) if isinstance(step, int) else not isinstance(step, Step):
        raise CannotCut("a range goes in steps that are neither 1, -1 nor the alignment's")
    return Range(start, stop, step)


class Head:
    """A loop that is being run.

    Attributes:
        is_cut: Whether it is cut; a loop over things that are there is run as it is.
    """

    def __init__(self, items: Any, is_cut: bool) -> None:
        """A loop over these items."""
        self.items, self.is_cut = items, is_cut
        self.values: dict[str, Any] = {}
        self.rounds = 0

    def value(self, name: str) -> Any:
        """What a name is at the loop's head."""
        return self.values[name]


class Unset:
    """What a name is that is only set inside a loop: using it before fails."""

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise CannotCut("a name is used that an earlier round of a loop set: its invariant has to speak of it")

    def __eq__(self, other: object) -> NoReturn:
        bool(self)
        raise AssertionError


class Carrier:
    """Carries the cut loops of one run."""

    def __init__(self, ways: Ways, loops: Mapping[str, Mapping[int, Loop]]) -> None:
        """Cut these loops, by function and number."""
        self._ways, self._loops = ways, loops

    def strip(self, values: list[Any]) -> Any:
        """A list of blocks that may grow; other lists stay what they are."""
        fits = all(value is self._ways.null or isinstance(value, Block) for value in values)
        return strip_of(self._ways, values) if fits else values

    def enter(self, function: str, number: int, items: Any, getters: Mapping[str, Callable[[], Any]], stored: list[str]) -> Head:
        """Show the invariant, and give the loop's names any values that satisfy it."""
        is_cut = items is None or isinstance(items, Range | Keys | Strip)
        head = Head(items, is_cut)
        if not is_cut:
            return head
        loop = self._loops.get(function, {}).get(number)
        if loop is None:
            raise CannotCut(f"loop {number} of {function} has no invariant: it is another loop than the one known")
        head.loop, head.place, head.getters = loop, f"loop {number} of {function}", getters  # type: ignore[attr-defined]
        before = _read(getters)
        head.before = View(before)  # type: ignore[attr-defined]
        first = _first(items)
        self._ways.claim(_named(f"{head.place}: at the start", loop.holds(View({**before, "at": first}), head.before)))  # type: ignore[attr-defined]
        kept = [name for name in loop.values if name not in stored]
        head.values = {name: self._any(name, before, loop) for name in stored}
        head.values |= {name: self._changed(name, before.get(name)) for name in kept}
        head.at = None if items is None else self._ways.number("at")  # type: ignore[attr-defined]
        self._begin(head, before)
        return head

    def _changed(self, name: str, value: Any) -> Any:
        """A list that stays the same object and gets any contents."""
        lists = _lists([value])
        if not lists:
            raise CannotCut(f"{name} is a {type(value).__name__} before the loop: its shape is another")
        for each in lists:
            contents = self._ways.strip(name)
            each.become(contents.length, contents.at)
        return value

    def _begin(self, head: Any, before: Mapping[str, Any]) -> None:
        """From here on the values are any that satisfy the invariant."""
        now = {**before, **head.values, "at": head.at}
        head.lists = [(value, value.version) for value in _lists(now.values())]
        head.now = View(now)
        self._ways.facts += list(head.loop.holds(head.now, head.before).values())
        self._ways.note_reached(f"{head.place}: its head")

    def _any(self, name: str, before: Mapping[str, Any], loop: Loop) -> Any:
        """Any value of the sort that a name has, or the one that it keeps."""
        if name in loop.stays:
            return before[name]
        if name not in loop.values:
            return Unset()
        value = before.get(name)
        if isinstance(value, tuple) and all(isinstance(each, Strip) for each in value):
            return tuple(self._ways.strip(name) for _ in value)
        if isinstance(value, Strip):
            return self._ways.strip(name)
        if isinstance(value, bool) or not isinstance(value, int | Number):
            raise CannotCut(f"{name} is a {type(value).__name__} before the loop: its shape is another")
        return self._ways.number(name)

    def items(self, head: Any) -> Iterator[Any]:
        """The items of a loop: of a cut one the next, if there is one."""
        if not head.is_cut:
            yield from head.items
            return
        at = head.at.term
        if self._ways.decide(_has_next(head.items, at)):
            yield head.items.key(at) if isinstance(head.items, Keys) else head.at
            self._come_round(head, _next(self._ways, head.items, at))

    def again(self, head: Any) -> bool:
        """Whether a while loop is at its head for the first time; the second ends the way."""
        head.rounds += 1
        if head.rounds > 1:
            self._come_round(head, None)
        return True

    def _come_round(self, head: Any, at: Any) -> None:
        """Show the invariant after a round."""
        self._ways.note_reached(f"{head.place}: its end")
        now = {**_read(head.getters), "at": at}
        for name in head.loop.stays:
            if now.get(name) is not head.values[name]:
                raise CannotCut(f"{head.place} changes {name} in its rounds: its shape is another")
        if any(value.version != version for value, version in head.lists if not _is_among(value, head, now)):
            raise CannotCut(f"{head.place} changes a list that its invariant does not speak of")
        goals = dict(head.loop.holds(View(now), head.before))
        if head.loop.measure is not None:
            left, was = head.loop.measure(View(now)), head.loop.measure(head.now)
            goals["it comes to an end"] = both(left < was, was >= 0)
        self._ways.claim(_named(f"{head.place}: after a round", goals))
        raise WayEnds


def _is_among(value: Strip, head: Any, now: Mapping[str, Any]) -> bool:
    """Whether a list is one that the loop gives values to."""
    return any(value is each for name in head.loop.values for each in _lists([now.get(name), head.values.get(name)]))


def _lists(values: Any) -> list[Strip]:
    flat = [each for value in values for each in (value if isinstance(value, tuple) else (value,))]
    return [each for each in flat if isinstance(each, Strip)]


def _read(getters: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
    """The names that have values."""
    values = {}
    for name, get in getters.items():
        try:
            values[name] = get()
        except NameError:
            continue
    return values


def _named(where: str, goals: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{where}, {name}": goal for name, goal in goals.items()}


def _first(items: Any) -> Any:
    return Number(None, _term(items.start)) if isinstance(items, Range) else Number(None, _term(0))  # type: ignore[arg-type]


def _term(value: Any) -> Any:
    import z3

    term = bare(value)
    return z3.IntVal(term) if isinstance(term, int) else term


def _has_next(items: Any, at: Any) -> Any:
    if not isinstance(items, Range):
        return at < items.length
    return at < bare(items.stop) if isinstance(items.step, int) and items.step > 0 else at > bare(items.stop)


def _next(ways: Ways, items: Any, at: Any) -> Number:
    """The item after this one; a step of the alignment leads from an aligned length to the next below."""
    if not isinstance(items, Range):
        return Number(ways, at + 1)
    after = at + bare(items.step)
    if not isinstance(items.step, int):
        import z3

        ways.facts.append(z3.Implies(ways.aligned(at), both(ways.aligned(after), ways.nothing_between(after, at - 1))))
    return Number(ways, after)


__all__ = ["Carrier", "Loop", "Range", "View", "make_range"]
