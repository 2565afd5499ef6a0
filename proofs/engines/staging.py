"""A port on the stage: brought to a state by that state's own calls, and compared with the model there."""

from collections.abc import Sequence
from typing import Protocol

from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.model.managers import State, observe
from kvwitness.properties.books_told import explain_state
from kvwitness.properties.operations import Operation
from kvwitness.properties.port import Port
from kvwitness.properties.refinement import DECIDED_BY, DECIDED_FOR_ALL, clause_of, is_same
from kvwitness.properties.violation import Violation

NAME = "refinement"
"""A difference found here is one that the oracle of that name sees when the run is replayed."""

Answered = Sequence[tuple[Call, Outcome]]


class Scene(Protocol):
    """A state with the way that leads to it."""

    state: State
    calls: Answered

    def path(self) -> Sequence["Scene"]:
        """The states from the first operation to here."""


class Stage:
    """One port, and the state it is in.

    Attributes:
        since: The operations that were made in this state and left it as it was.
    """

    since: list[Operation]

    def __init__(self, port: Port, config: Config) -> None:
        """Put pools of this configuration on the port."""
        self._port, self._config = port, config
        self._scene: Scene | None = None
        self.since = []

    def anew(self) -> "Stage":
        """The same port, in no state."""
        return Stage(self._port, self._config)

    def compare(self, scene: Scene, operation: Operation, calls: Answered, after: State) -> Violation | None:
        """Make the calls of one operation in a state; the first way in which they or the state after them differ from the model's.

        An operation that leaves the state as it was leaves the port where it is for the next one.
        """
        if self._scene is not scene:
            violation = self._enter(scene)
            if violation is not None:
                return violation
        self._scene = None
        violation = self._make(calls, after)
        if violation is None and after is scene.state:
            self._scene = scene
            self.since.append(operation)
        return violation

    def _enter(self, scene: Scene) -> Violation | None:
        """Bring the port to a state: build it anew and make all calls that lead there."""
        self._port.reset(self._config)
        self.since = []
        for step in scene.path():
            for call, expected in step.calls:
                outcome = self._port.call(call)
                if outcome != expected:
                    return _differs(self._config, call, outcome, expected)
        return None

    def _make(self, calls: Answered, after: State) -> Violation | None:
        for call, expected in calls:
            outcome = self._port.call(call)
            if outcome != expected:
                return _differs(self._config, call, outcome, expected)
        seen = self._port.observe()
        return None if is_same(seen, after) else _differs_in_state(self._config, [call for call, _ in calls], seen, observe(after))


def _differs(config: Config, call: Call, outcome: Outcome, expected: Outcome) -> Violation:
    told = f"{call.name}{call.arguments} came to {_spoken(outcome)}, the model to {_spoken(expected)}"
    return Violation(_clause(config, call), told, NAME)


def _differs_in_state(config: Config, calls: Sequence[Call], seen: Observation, expected: Observation) -> Violation | None:
    """The clause of the books that is broken, or else the first part that is shown and is not the model's; None where all is."""
    broken = explain_state(seen, config.blocks)
    if broken is not None:
        return broken
    call = next((call for call in reversed(calls) if call.name in DECIDED_BY), Call("reset_prefix_cache", ()))
    for part in Observation._fields:
        got, wanted = getattr(seen, part), getattr(expected, part)
        if got is not None and got != wanted:
            return Violation(_clause(config, call, part), f"after {call.name} the {part} are {got}, the model's {wanted}", NAME)
    return None


def _clause(config: Config, call: Call, part: str = "") -> str:
    """The clause that decides a call."""
    return clause_of(config, call, part) if call.name in DECIDED_BY or call.name in DECIDED_FOR_ALL else "BOOKS.ACCEPTED"


def _spoken(outcome: Outcome) -> str:
    return str(outcome.value) if outcome.status == "ok" else f"{outcome.status} ({outcome.reason})"


__all__ = ["Answered", "Scene", "Stage"]
