"""Closure: all states that a small world can reach, to the fixpoint, and every transition between them made on a port.

The search is breadth-first, so that the first difference has a shortest run.
A port is brought to a state by the calls of that state's own run, on a fresh pool.
"""

from collections.abc import Iterator, Sequence

from attrs import define, frozen

from kvwitness.model.caller import Caller, Illegal
from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.model.managers import State, apply, initial_state, observe
from kvwitness.model.profile import Profile
from kvwitness.proofs.engines.canonical import Form, canonical_form
from kvwitness.proofs.engines.staging import Stage
from kvwitness.proofs.engines.worlds import World, misuses, operations
from kvwitness.properties.books_told import explain_state
from kvwitness.properties.operations import Operation
from kvwitness.properties.port import Capabilities
from kvwitness.properties.replay import MakePort
from kvwitness.properties.run import Run
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

Answered = Sequence[tuple[Call, Outcome]]


@define
class Node:
    """A state that was reached.

    Attributes:
        state: The pool.
        caller: What the planner knows.
        parent: The state it was reached from, or None.
        operation: By which operation.
        calls: The calls of it that changed the pool.
        depth: Operations since the pool was idle.
    """

    state: State
    caller: Caller
    parent: "Node | None" = None
    operation: Operation | None = None
    calls: Answered = ()
    depth: int = 0

    def path(self) -> list["Node"]:
        """The states from the first operation to here."""
        node: Node | None = self
        found = []
        while node is not None and node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]


@frozen
class Found:
    """What is wrong: a run of operations, the last of which shows it."""

    operations: tuple[Operation, ...]
    violation: Violation


@frozen
class Closed:
    """What the closure of one world came to.

    Attributes:
        world: The world.
        states: States up to renaming.
        transitions: Transitions made on the model, and on the port where there is one.
        refused: How many of them the pool could not serve.
        rejected: How many ended in a rejected call; the run ends there.
        depth: The longest shortest run.
        fixpoint: Whether there is no further state.
        found: The first difference, or broken clause, or None; the search ends there.
    """

    world: World
    states: int
    transitions: int
    refused: int
    rejected: int
    depth: int
    fixpoint: bool
    found: Found | None

    @property
    def verdict(self) -> str:
        """``held``, ``bound`` where states were left out, or ``failed``."""
        if self.found is not None:
            return "failed"
        return "held" if self.fixpoint else "bound"


class Spec:
    """The model as the port of a run that starts anywhere.

    Attributes:
        state: Where it is.
        changing: The calls since the last leap that made another state, each with its outcome.
    """

    state: State
    changing: list[tuple[Call, Outcome]]

    def __init__(self, profile: Profile) -> None:
        """Follow ``profile``."""
        self._profile = profile

    def hello(self) -> Capabilities:
        """The model itself."""
        return Capabilities("model", self._profile.name, frozenset())

    def reset(self, config: Config) -> Observation:
        """Begin with an idle pool."""
        self.state, self.changing = initial_state(config, self._profile), []
        return observe(self.state)

    def call(self, call: Call) -> Outcome:
        """Apply one transition."""
        before = self.state
        self.state, outcome = apply(before, call)
        if self.state is not before:
            self.changing.append((call, outcome))
        return outcome

    def observe(self) -> Observation:
        """The whole state."""
        return observe(self.state)

    def close(self) -> None:
        """Nothing to let go of."""


class Leaping(Run):
    """The one loop, put into any state before each operation; whoever leaps knows the state and need not look."""

    def look(self) -> Observation:
        """What was seen last."""
        return self.seen

    def leap(self, spec: Spec, node: Node, operation: Operation) -> View:
        """Carry out one operation in a state.

        Raises:
            Illegal: The operation breaks a precondition there.
        """
        spec.state, spec.changing, self.caller = node.state, [], node.caller
        self.operations.clear()
        return self.perform(operation)


class Closure:
    """The search through one world."""

    def __init__(self, world: World, profile: Profile, make_port: MakePort | None = None) -> None:
        """Search under ``profile``, with every transition made on the port if one is given."""
        self._world, self._config = world, world.config.under(profile)
        self._spec = Spec(profile)
        self._run = Leaping(self._spec, world.config, profile, oracles=(), strict=world.strict)
        self._stage = Stage(make_port(profile), self._config) if make_port is not None else None
        self._queue = [Node(self._spec.state, self._run.caller)]
        self._seen: set[Form] = {canonical_form(self._spec.state, self._run.caller)}
        self._counts = {"planned": 0, "refused": 0, "broken": 0}
        self._is_whole = True

    def search(self, most: int) -> Closed:
        """Go on to the fixpoint, to ``most`` states, or to the first thing that is wrong."""
        transitions, depth, found = 0, 0, None
        # The queue grows while it is gone through.
        for node in self._queue:
            depth = node.depth
            for view in self._views(node):
                transitions += 1
                found = self._judged(node, view) or self._kept(node, view, most)
                if found is not None:
                    break
            if found is not None:
                break
        counts, whole = self._counts, self._is_whole and found is None
        return Closed(self._world, len(self._queue), transitions, counts["refused"], counts["broken"], depth, whole, found)

    def _views(self, node: Node) -> Iterator[View]:
        """Every operation that is legal in a state, carried out on the model."""
        for operation in (*operations(self._world, node.caller), *misuses(node.state)):
            try:
                view = self._run.leap(self._spec, node, operation)
            except Illegal:
                continue
            kind = "broken" if any(outcome.status != "ok" for _, outcome in view.calls) else view.event.kind
            if kind in self._counts:
                self._counts[kind] += 1
            yield view

    def _judged(self, node: Node, view: View) -> Found | None:
        """The first difference between the port and the model, if there is a port."""
        if self._stage is None:
            return None
        violation = self._stage.compare(node, view.operation, view.calls, self._spec.state)
        if violation is None:
            return None
        path = (*(step.operation for step in node.path()), view.operation)
        alone = self._stage.anew().compare(node, view.operation, view.calls, self._spec.state)
        extra = () if alone is not None else self._stage.since
        return Found(tuple(operation for operation in (*path[:-1], *extra, path[-1]) if operation is not None), alone or violation)

    def _kept(self, node: Node, view: View, most: int) -> Found | None:
        """Remember the state after an operation if it is new; after a rejected call the run ends."""
        if view.event.kind in ("broken", "raw"):
            return None
        form = canonical_form(self._spec.state, self._run.caller)
        if form in self._seen:
            return None
        if len(self._queue) >= most:
            self._is_whole = False
            return None
        self._seen.add(form)
        reached = Node(self._spec.state, self._run.caller, node, view.operation, self._spec.changing, node.depth + 1)
        self._queue.append(reached)
        violation = explain_state(observe(reached.state), self._config.blocks)
        run = tuple(step.operation for step in reached.path() if step.operation is not None)
        return None if violation is None else Found(run, violation)


MOST_STATES = 50_000
"""Where a search gives up if nothing else is said."""


def close(world: World, profile: Profile, make_port: MakePort | None = None, *, most: int = MOST_STATES) -> Closed:
    """Every state of a world, and every transition on the port: to the fixpoint, or to ``most`` states."""
    return Closure(world, profile, make_port).search(most)


__all__ = ["MOST_STATES", "Closed", "Found", "close"]
