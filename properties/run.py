"""The one loop: an operation becomes calls on a port, gives outcomes and an observation, and is judged by the oracles.

The generator, the state machines, replay, shrinking and the workload differ only in where operations come from.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from kvwitness.model import caller as protocol
from kvwitness.model.caller import Broken, Caller, Event, Illegal
from kvwitness.model.calls import Call, Key, Observation, Outcome
from kvwitness.model.events import TAKE_EVENTS
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.model.request import Step
from kvwitness.properties.accounting import Accounting
from kvwitness.properties.contents import Contents
from kvwitness.properties.events import NAME as EVENTS
from kvwitness.properties.events import PLAIN, Events
from kvwitness.properties.liveness import Liveness
from kvwitness.properties.operations import (
    Arrive,
    Close,
    Execute,
    Free,
    Grow,
    Operation,
    Preempt,
    Probe,
    Raw,
    Reset,
    Resume,
    Share,
    Start,
)
from kvwitness.properties.port import Port
from kvwitness.properties.prefixes import Keys, Prefixes
from kvwitness.properties.refinement import Refinement
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

CHANGING = frozenset(
    {
        "allocate_new_blocks",
        "allocate_new_computed_blocks",
        "cache_blocks",
        "find_longest_cache_hit",
        "free",
        "remove_skipped_blocks",
        "reset_prefix_cache",
        "withdraw_blocks",
    }
)
"""The calls after which the state is looked at again: those that may change it, and the look-up, which must not."""

ORACLES = ("accounting", "contents", "liveness", "refinement")
"""Who judges if nothing else is said."""

HEARING = (EVENTS, PLAIN)
"""Who judges KV events too, if asked to: telling and hearing them takes a seventh of a run's time."""

ALL_ORACLES = ("accounting", "contents", *HEARING, "liveness", "refinement")
"""Everybody, in the order in which they judge."""


class Oracle(Protocol):
    """One judge of a run."""

    name: str

    def judge(self, view: View) -> Violation | None:
        """The first clause that the operation breaks, or None."""


def make_oracles(config: Config, profile: Profile, prefixes: Keys, names: Sequence[str], level: str = "L3") -> list[Oracle]:
    """The oracles of those names, in the order in which they judge."""
    makers: dict[str, Callable[[], Oracle]] = {
        "accounting": lambda: Accounting(config),
        "contents": lambda: Contents(config, prefixes.ancestor),
        "liveness": lambda: Liveness(config),
        "refinement": lambda: Refinement(config, profile, level),
        EVENTS: lambda: Events(config, profile, prefixes.ancestor),
        PLAIN: lambda: Events(config, profile, prefixes.ancestor, plain=True),
    }
    return [makers[name]() for name in ALL_ORACLES if name in names]


def first_broken(oracles: Sequence[Oracle], view: View) -> Violation | None:
    """The first clause that an operation breaks, or None."""
    for oracle in oracles:
        violation = oracle.judge(view)
        if violation is not None:
            return violation
    return None


class Run:
    """One pool from idle on, driven operation by operation.

    Attributes:
        caller: What the planner knows.
        seen: The last observation.
        operations: The operations carried out so far.
        steps: How many.
        num_calls: How many calls they made.
        num_told: How many KV events were told.
    """

    def __init__(
        self,
        port: Port,
        config: Config,
        profile: Profile,
        *,
        oracles: Sequence[str] = ORACLES,
        strict: bool = True,
        level: str = "L3",
        closely: bool = False,
        prefixes: Keys | None = None,
    ) -> None:
        """Begin with an idle pool.

        Args:
            port: What is checked.
            config: Sizes.
            profile: The rules that the caller follows and the model refines.
            oracles: Which oracles judge, by name.
            strict: Whether the caller does only what a real planner does.
            level: Conformance level of the refinement: L2 or L3.
            closely: Whether the state is compared after every call, not only after every operation.
            prefixes: The table that keys are decoded by.
        """
        config = config.under(profile)
        self.port, self.config, self.profile = port, config, profile
        self.prefixes: Keys = prefixes or Prefixes()
        self.caller = Caller(config, profile, strict)
        self.seen = port.reset(config)
        self.operations: list[Operation] = []
        self.num_calls = self.num_told = 0
        self._closely = closely
        self._oracles = make_oracles(config, profile, self.prefixes, oracles, level)
        self._hears = not set(HEARING).isdisjoint(oracles) and TAKE_EVENTS.name in port.hello().calls
        if self._hears:
            # The first time begins the telling.
            port.call(TAKE_EVENTS)

    @property
    def steps(self) -> int:
        """Operations carried out."""
        return len(self.operations)

    def apply(self, operation: Operation) -> Violation | None:
        """Carry out one operation and judge it.

        Raises:
            Illegal: The operation breaks a precondition; nothing was called, nothing changed.
        """
        return self.judge(self.perform(operation))

    def judge(self, view: View) -> Violation | None:
        """The first clause that the last operation carried out breaks, or None."""
        return first_broken(self._oracles, view)

    def perform(self, operation: Operation) -> View:
        """Carry out one operation without judging it."""
        calls: list[tuple[Call, Outcome]] = []
        looks: list[Observation] = []
        before, was_open = self.seen, self.caller.open
        executed: Step | None = None
        try:
            if isinstance(operation, Raw):
                result, event = self._make_raw(operation, calls)
            else:
                result, event = self._drive(PROTOCOLS[type(operation)](self, operation), calls, looks)
        except Broken:
            result, event = self.caller, Event("broken", getattr(operation, "id", ""))
        if isinstance(operation, Execute) and event.kind == "executed":
            executed = (self.caller.steps or (was_open or (),))[0]
        self.caller = result
        self.operations.append(operation)
        self.num_calls += len(calls)
        after, told = before, None
        if any([call[0] in CHANGING for call, _ in calls]) or isinstance(operation, Raw):
            looked = self.look()
            # The same object says that nothing changed, so no oracle compares it again.
            after = self.seen = before if looked == before else looked
            told = self._hear() if self._hears else None
        closed = was_open if was_open and result.open is None else None
        return View(operation, event, calls, before, after, result, closed, executed, looks, told)

    def _hear(self) -> Outcome:
        """What the operation told to those who see events only."""
        told = self.port.call(TAKE_EVENTS)
        if told.status == "ok":
            self.num_told += len(told.value)
        return told

    def look(self) -> Observation:
        """The state after an operation; a run that is judged less often looks less often."""
        return self.port.observe()

    def _drive(
        self, generator: Generator[Call, Any, tuple[Caller, Event]], calls: list[tuple[Call, Outcome]], looks: list[Observation]
    ) -> tuple[Caller, Event]:
        """Put the port behind the calls of the protocol."""
        make, send = self.port.call, generator.send
        try:
            call = next(generator)
            while True:
                outcome = make(call)
                calls.append((call, outcome))
                if self._closely:
                    looks.append(self.port.observe())
                if outcome[0] != "ok":
                    raise Broken(call, outcome)
                call = send(outcome[1])
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _make_raw(self, operation: Raw, calls: list[tuple[Call, Outcome]]) -> tuple[Caller, Event]:
        """Make one call past the protocol, and ask how many blocks are free; from here on only the books judge."""
        made = (Call(operation.name, operation.arguments), Call("get_num_free_blocks", ()))
        calls.extend((call, self.port.call(call)) for call in made)
        self._oracles = [oracle for oracle in self._oracles if isinstance(oracle, Accounting)]
        return self.caller, Event("raw")

    def outputs(self, operation: Execute) -> dict[str, Sequence[Key]]:
        """The chains of what the step to be executed yields: for every request that samples the given tokens, or one token 0."""
        step = (self.caller.steps or (self.caller.open or (),))[0]
        chains: dict[str, Sequence[Key]] = {}
        for planned in step:
            request = self.caller.requests.get(planned.request)
            if planned.samples and request is not None:
                tokens = operation.outputs.get(planned.request, (0,))
                chains[planned.request] = self.prefixes.chain(tokens, request.chain[-1])
        return chains

    def drain_operations(self) -> list[Operation]:
        """What empties the pool from here: execute what was planned, free every request, reset."""
        pending = len(self.caller.steps) + bool(self.caller.open)
        return [*(Execute() for _ in range(pending)), *(Free(name) for name in self.caller.requests), Reset()]


Handler = Callable[[Run, Any], Generator[Call, Any, tuple[Caller, Event]]]


def _start(run: Run, operation: Start) -> protocol.Protocol:
    return protocol.admit(
        run.caller,
        operation.id,
        run.prefixes.chain(operation.tokens),
        new=operation.new,
        external=operation.external,
        delayed=operation.delayed,
        encoder=operation.encoder,
    )


def _resume(run: Run, operation: Resume) -> protocol.Protocol:
    return protocol.resume(run.caller, operation.id, new=operation.new, external=operation.external, delayed=operation.delayed)


def _close(run: Run, operation: Close) -> protocol.Protocol:
    protocol.require(run.caller.open is not None, "CALLER.EXECUTE", "no open step")
    return protocol.close_step(run.caller), Event("closed")
    yield


def _execute(run: Run, operation: Execute) -> protocol.Protocol:
    caller, _ = yield from protocol.execute(run.caller, run.outputs(operation))
    return caller, Event("executed")


PROTOCOLS: dict[type[Operation], Handler] = {
    Start: _start,
    Resume: _resume,
    Grow: lambda run, operation: protocol.grow(run.caller, operation.id, new=operation.new, drafts=operation.drafts),
    Close: _close,
    Execute: _execute,
    Arrive: lambda run, operation: protocol.arrive(run.caller, operation.id),
    Preempt: lambda run, operation: protocol.preempt(run.caller, operation.id),
    Free: lambda run, operation: protocol.finish(run.caller, operation.id),
    Probe: lambda run, operation: protocol.probe(run.caller, run.prefixes.chain(operation.tokens)),
    Share: lambda run, operation: protocol.share(run.caller, operation.id),
    Reset: lambda run, operation: protocol.reset(run.caller, forced=operation.force),
}

__all__ = ["ALL_ORACLES", "HEARING", "ORACLES", "Illegal", "Oracle", "Run", "first_broken", "make_oracles"]
