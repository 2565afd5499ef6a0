"""Two ports side by side: the same operations on both, each with the caller of its own profile, and where they first differ.

What a caller says is not compared, only what the ports answer and how their states look after each call.
A difference is exact (ids, orders, counts of references) or one of shape (lengths, null places, counts, what is accepted).
"""

from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen

from kvwitness.model.caller import Illegal
from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.profile import Profile
from kvwitness.properties.operations import Operation
from kvwitness.properties.replay import MakePort, Replayed, Setting
from kvwitness.properties.run import Run
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

SILENT = "new_step_starts"
"""A call that only some callers make and that by itself changes nothing to be seen."""

NAME = "diff"


@frozen
class Side:
    """A port with the profile that its caller follows."""

    make_port: MakePort
    profile: Profile


@frozen
class Difference:
    """Where two ports part.

    Attributes:
        call: The call after which they differ, or the operation that only one allows.
        part: What differs: ``outcome``, ``allowed``, ``call``, or a part of the state.
        is_exact: Whether only ids, orders and references differ, and no lengths or counts.
        because: The two sides in words.
    """

    call: str
    part: str
    is_exact: bool
    because: str

    @property
    def key(self) -> str:
        """What kind of difference it is."""
        return f"{self.call} {self.part}{' (ids or order)' if self.is_exact else ''}"


class Pair:
    """Two runs in lock-step.

    Attributes:
        left: The run whose operations count.
        right: The run that gets the same ones.
        is_broken: Whether a call of the last operation was not accepted, so that nothing more can be asked.
    """

    def __init__(self, left: Side, right: Side, setting: Setting, *, closely: bool) -> None:
        """Begin with both pools idle."""
        self.left, self.right = (
            Run(side.make_port(side.profile), setting.config, side.profile, oracles=(), strict=setting.strict, closely=closely)
            for side in (left, right)
        )
        self.is_broken = False
        self._is_exact_lost = False

    def perform(self, operation: Operation) -> Difference | None:
        """Carry an operation out on both; the first difference of shape, or the first of all exact ones.

        Raises:
            Illegal: The operation is not allowed on the left.
        """
        mine = self.left.perform(operation)
        self.is_broken = mine.event.kind == "broken"
        try:
            theirs = self.right.perform(operation)
        except Illegal as illegal:
            return Difference(type(operation).__name__.lower(), "allowed", False, f"only the left allows it: {illegal.clause}")
        difference = _first_difference(mine, theirs, shape=True)
        if difference is None and not self._is_exact_lost:
            difference = _first_difference(mine, theirs, shape=False)
            self._is_exact_lost = difference is not None
        return difference

    def close(self) -> None:
        """Let go of both ports."""
        self.left.port.close()
        self.right.port.close()


def compare(left: Side, right: Side, setting: Setting, operations: Sequence[Operation], key: str = "") -> Replayed:
    """Carry out operations on both, what the left does not allow left out, up to the difference of that kind or the first of any."""
    pair, violation = Pair(left, right, setting, closely=True), None
    for operation in operations:
        try:
            difference = pair.perform(operation)
        except Illegal:
            continue
        if difference is not None and (not key or difference.key == key or not difference.is_exact):
            violation = Violation(difference.key, difference.because, NAME)
            break
    pair.close()
    return Replayed(tuple(pair.left.operations), violation, pair.left.num_calls)


def shows_same(left: Side, right: Side, setting: Setting, operations: Sequence[Operation], key: str) -> bool:
    """Whether two ports differ in the same way."""
    violation = compare(left, right, evolve(setting, profile=left.profile), operations, key).violation
    return violation is not None and violation.clause == key


def _first_difference(mine: View, theirs: View, *, shape: bool) -> Difference | None:
    left, right = _told(mine), _told(theirs)
    for (call, outcome, seen), (other_call, other, looked) in zip(left, right, strict=False):
        if call.name != other_call.name:
            return Difference(call.name, "call", False, f"the left goes on with {call.name}, the right with {other_call.name}")
        got, wanted = (_shape_of(outcome), _shape_of(other)) if shape else (outcome, other)
        if got != wanted:
            return Difference(call.name, "outcome", not shape, f"{call.name} gives {_spoken(outcome)}, and on the right {_spoken(other)}")
        if seen is not None and looked is not None:
            part = _differing_part(seen, looked, shape=shape)
            if part:
                said = f"after {call.name} the {part} are {getattr(seen, part)}, and on the right {getattr(looked, part)}"
                return Difference(call.name, part, not shape, said)
    if len(left) != len(right):
        longer, side = (left, "left") if len(left) > len(right) else (right, "right")
        name = longer[min(len(left), len(right))][0].name
        return Difference(name, "call", False, f"only the {side} goes on with {name}")
    return None


def _told(view: View) -> list[tuple[Call, Outcome, Observation | None]]:
    """The calls that show something, each with its outcome and the state after it; without a look after each, after the last one."""
    looks: Sequence[Observation | None] = view.looks or [*[None] * (len(view.calls) - 1), view.after]
    told = zip(view.calls, looks, strict=False)
    return [(call, outcome, look) for (call, outcome), look in told if call.name != SILENT]


def _spoken(outcome: Outcome) -> str:
    return str(outcome.value) if outcome.status == "ok" else f"{outcome.status} ({outcome.reason})"


def _shape_of(outcome: Outcome) -> Any:
    """Whether it was accepted, and lengths and null places of what it gave."""
    return outcome.status, _shape(outcome.value)


def _shape(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(bool(each) if isinstance(each, int) else _shape(each) for each in value)
    return value


def _differing_part(seen: Observation, looked: Observation, *, shape: bool) -> str:
    """The first part of the state that differs, or ""."""
    for part in Observation._fields:
        mine, theirs = getattr(seen, part), getattr(looked, part)
        if mine is None or theirs is None or mine == theirs:
            continue
        if not shape or _SHAPES[part](mine) != _SHAPES[part](theirs):
            return part
    return ""


_SHAPES: dict[str, Any] = {
    "tables": lambda tables: [{name: _shape(blocks) for name, blocks in group.items()} for group in tables],
    "free": len,
    "references": lambda references: sorted(references[1:]),
    "keys": lambda keys: sum(key is not None for key in keys),
    "index": lambda index: {key: len(blocks) for key, blocks in index.items()},
    "published": lambda published: published,
    "reserved": len,
}
"""What of each part is left where ids and orders do not count."""


__all__ = ["Difference", "Pair", "Side", "compare", "shows_same"]
