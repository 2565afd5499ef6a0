"""State machines: Hypothesis chooses the operations of a run, all oracles judge it, and a failure comes out as our own operations.

Every rule draws one integer and decodes it, since what the framework costs, it costs for each draw.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, ClassVar, TypeVar

from attrs import fields
from hypothesis import strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from kvwitness.model.caller import Caller
from kvwitness.model.profile import Profile
from kvwitness.properties import moves
from kvwitness.properties.digits import Digits
from kvwitness.properties.operations import Close, Operation, Preempt, Probe, Reset, Share
from kvwitness.properties.port import Port
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.run import Run
from kvwitness.properties.situations import random_config
from kvwitness.properties.violation import Violation

RuleFunction = TypeVar("RuleFunction", bound=Callable[..., Any])

# Up to 24 bits Hypothesis draws evenly; above, it prefers small numbers.
NUMBERS = strategies.integers(0, 2**24 - 1)
SITUATIONS = strategies.integers(0, 2**12 - 1)
OPERATIONS_BETWEEN_RESETS = 20
FREE_ONE_IN = 4
PROMPTS_REMEMBERED = 6


class ClauseBroken(AssertionError):
    """A clause does not hold on a run.

    Attributes:
        setting: Everything about the run but its operations.
        operations: What was done; the last one breaks the clause.
        violation: The broken clause.
    """

    def __init__(self, setting: Setting, operations: Sequence[Operation], violation: Violation) -> None:
        steps = "".join(f"\n  {number}. {told(operation)}" for number, operation in enumerate(operations, start=1))
        reason = f"{violation.clause}: {violation.sentence}\nbecause {violation.because}"
        super().__init__(f"{reason}\n{setting.config}, profile {setting.profile.name}, strict {setting.strict}{steps}")
        self.setting = setting
        self.operations = tuple(operations)
        self.violation = violation


def told(operation: Operation) -> str:
    """An operation with its arguments, those at their default left out.

    >>> told(Probe((1, 2))), told(Reset())
    ('probe tokens=(1, 2)', 'reset')
    """
    values = [(attribute, getattr(operation, attribute.name)) for attribute in fields(type(operation))]
    arguments = [f"{attribute.name}={value!r}" for attribute, value in values if value not in (attribute.default, {})]
    return " ".join([type(operation).__name__.lower(), *arguments])


def when(allowed: Callable[[Caller], object]) -> Callable[[RuleFunction], RuleFunction]:
    """A rule's precondition: what the caller knows must allow it."""
    return precondition(lambda machine: bool(allowed(machine.caller)))


class Machine(RuleBasedStateMachine):
    """A run on a port, one rule an operation; `machine_for` binds it to a kind, a port and a profile."""

    label: ClassVar[str]
    make_port: ClassVar["staticmethod[[Profile], Port]"]
    profile: ClassVar[Profile]

    def __init__(self) -> None:
        """Be told the situation by the first rule."""
        super().__init__()
        self._run: Run | None = None
        self._setting: Setting | None = None
        self._prompts: list[tuple[int, ...]] = []
        self._num_started = 0
        self._reset_at = 0
        self._broken = False

    @property
    def run(self) -> Run:
        """The run, once a situation was chosen."""
        assert self._run is not None
        return self._run

    @property
    def caller(self) -> Caller:
        """What the planner knows."""
        return self.run.caller

    @property
    def was_asked(self) -> bool:
        """Whether the last operation only asked: two in a row learn nothing new."""
        return bool(self.run.operations) and isinstance(self.run.operations[-1], Probe | Share)

    @initialize(number=SITUATIONS)
    def situation(self, number: int) -> None:
        """Choose sizes, and for one run in ``FREE_ONE_IN`` a caller that keeps to no planner's order."""
        self._setting = Setting(random_config(Random(number), self.label), self.profile, strict=number % FREE_ONE_IN != FREE_ONE_IN - 1)
        self._run = Run(self.make_port(self.profile), self._setting.config, self.profile, strict=self._setting.strict)

    def do(self, operation: Operation) -> None:
        """Carry out one operation and have it judged.

        Raises:
            ClauseBroken: An oracle finds a broken clause.
        """
        violation = self.run.apply(operation)
        if violation is not None:
            self._broken = True
            raise self._failure(violation)

    def _failure(self, violation: Violation) -> ClauseBroken:
        """The failure as a replay tells it, which looks after every call and so names the first clause that breaks."""
        assert self._setting is not None
        again = replay(self.make_port, self._setting, self.run.operations)
        return ClauseBroken(self._setting, again.operations, again.violation or violation)

    def _prompt(self, digits: Digits) -> tuple[int, ...]:
        tokens = moves.prompt(self.run.config, self._prompts, digits)
        self._prompts = [*self._prompts[1 - PROMPTS_REMEMBERED :], tokens]
        return tokens

    @when(lambda caller: moves.startable(caller) or moves.resumable(caller))
    @rule(number=NUMBERS)
    def admit(self, number: int) -> None:
        """Admit a new request, or a preempted one again."""
        digits = Digits(number)
        waiting = moves.resumable(self.caller)
        if waiting and not (moves.startable(self.caller) and digits.chance(2)):
            self.do(moves.resumption(self.caller, digits.one_of(waiting), digits))
        else:
            self._start(digits)

    @when(moves.growable)
    @rule(number=NUMBERS)
    def grow(self, number: int) -> None:
        """Plan a request further."""
        digits = Digits(number)
        self.do(moves.growth(self.caller, digits.one_of(moves.growable(self.caller)), digits))

    @when(moves.executable)
    @rule(number=NUMBERS)
    def work(self, number: int) -> None:
        """Compute the oldest planned step, or end planning so that the next is planned ahead."""
        digits = Digits(number)
        ahead = self.caller.open is not None and self.caller.config.depth > 1 and digits.chance(2)
        self.do(Close() if ahead else moves.execution(self.caller, digits))

    @when(moves.interruptable)
    @rule(number=NUMBERS)
    def interrupt(self, number: int) -> None:
        """External tokens arrive, a request is preempted, or one ends."""
        digits = Digits(number)
        self.do(digits.one_of(moves.interruptable(self.caller)))

    @rule(number=NUMBERS)
    def steps(self, number: int) -> None:
        """One step of a planner, or a few in a row: most operations for one draw."""
        digits = Digits.spread(number)
        for _ in range(digits.between(1, 3)):
            self._step(digits)

    def _step(self, digits: Digits) -> None:
        """What a planner does: the running requests, then waiting and new ones, then the worker, then what happens meanwhile."""
        for request in moves.growable(self.caller):
            if not digits.chance(6):
                self._plan(request.id, digits)
        for _ in range(digits.below(3)):
            self._admit(digits)
        ahead = len(self.caller.steps) + bool(self.caller.open) < self.caller.config.depth and digits.chance(2)
        if ahead and self.caller.open is not None:
            self.do(Close())
        elif moves.executable(self.caller):
            self.do(moves.execution(self.caller, digits))
        interruptions = moves.interruptable(self.caller)
        if interruptions and digits.chance(3):
            self.do(digits.one_of(interruptions))

    def _plan(self, name: str, digits: Digits) -> None:
        """Plan one request, and for as long as it is refused preempt another."""
        while (request := next((other for other in moves.growable(self.caller) if other.id == name), None)) is not None:
            self.do(moves.growth(self.caller, request, digits))
            victims = moves.preemptable(self.caller)
            if not self.caller.refused or not victims:
                return
            self.do(Preempt(victims[-1 - digits.below(len(victims))].id))

    def _admit(self, digits: Digits) -> None:
        """Admit one request: a preempted one before a new one."""
        waiting = moves.resumable(self.caller)
        if waiting:
            self.do(moves.resumption(self.caller, waiting[0], digits))
        elif moves.startable(self.caller):
            self._start(digits)

    def _start(self, digits: Digits) -> None:
        self._num_started += 1
        self.do(moves.admission(self.caller, f"r{self._num_started}", self._prompt(digits), digits))

    @precondition(lambda machine: not machine.was_asked)
    @rule(number=NUMBERS)
    def ask(self, number: int) -> None:
        """Look up a prefix and abandon it, ask what is shared, or reset the cache: not often, or nothing is ever found in it."""
        digits = Digits(number)
        way = digits.below(4)
        running = [name for name, request in self.caller.requests.items() if request.status == "running"]
        if way == 1 and running and "get_num_common_prefix_blocks" in self.run.port.hello().calls:
            self.do(Share(digits.one_of(running)))
        elif way > 1 and self.run.steps - self._reset_at >= OPERATIONS_BETWEEN_RESETS:
            self._reset_at = self.run.steps
            self.do(Reset(force=digits.chance(2)))
        else:
            self.do(Probe(moves.prompt(self.run.config, self._prompts, digits)))

    def teardown(self) -> None:
        """Empty the pool: what was planned is executed, every request freed, the cache reset."""
        if self._run is not None and not self._broken:
            for operation in self._run.drain_operations():
                self.do(operation)
            self._run.port.close()


def machine_for(label: str, make_port: MakePort, profile: Profile) -> type[Machine]:
    """The state machine of one kind, on the port that ``make_port`` builds, under a profile."""
    name = "".join(part.title() for part in label.split("-")) + "Machine"
    return type(name, (Machine,), {"label": label, "make_port": staticmethod(make_port), "profile": profile})
