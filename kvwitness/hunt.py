"""Hunting a seeded defect: seeded runs against the broken port until each oracle has seen it or the budget is spent.

The oracles only watch, so one run shows what each of them would have said alone.
"""

import random
import time
from collections.abc import Iterator, Sequence

from attrs import field, frozen

from kvwitness.model.kinds import Config
from kvwitness.ports.mutant import mutant
from kvwitness.properties.accounting import Accounting
from kvwitness.properties.contents import Contents
from kvwitness.properties.defects.defect import Defect
from kvwitness.properties.generator import Planner
from kvwitness.properties.liveness import Liveness
from kvwitness.properties.operations import Operation
from kvwitness.properties.refinement import Refinement
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.run import ORACLES, Oracle, Run
from kvwitness.properties.situations import random_config
from kvwitness.shrink import Shrunk, shrink

STEPS = 100
"""Operations of a run, not counting those that empty the pool at its end."""

FREE_EVERY = 4
"""Every so many runs of a kind the caller is free instead of strict."""


@frozen
class Budget:
    """How long a defect is hunted.

    Attributes:
        runs: Runs until some oracle has seen it; without that it survives.
        runs_alone: Runs in which each oracle may see it on its own.
        replays: Replays for shrinking; 0 for none.
    """

    runs: int = 400
    runs_alone: int = 100
    replays: int = 400


@frozen
class Kill:
    """A run in which an oracle saw the defect.

    Attributes:
        oracle: Which one.
        clause: What it says is broken.
        run: The number of the run, from 1 on.
        step: The operation that broke the clause, from 1 on.
    """

    oracle: str
    clause: str
    run: int
    step: int


@frozen
class Hunted:
    """What became of a defect.

    Attributes:
        name: The defect.
        first: The first kill with all oracles; None if it survived.
        alone: Each oracle's own first kill.
        runs: How many runs were made.
        shrunk_steps: Operations of the first kill after shrinking, or None.
        expected: Whether the first kill names a clause that must catch it.
        seconds: How long it took.
    """

    name: str
    first: Kill | None
    alone: dict[str, Kill]
    runs: int
    shrunk_steps: int | None
    expected: bool
    seconds: float

    @property
    def is_caught(self) -> bool:
        """Whether it was killed, and by a clause that must catch it."""
        return self.first is not None and self.expected


@frozen
class _Trial:
    """One run: its sizes, and what it took to get to the first kill."""

    setting: Setting
    operations: tuple[Operation, ...]
    kills: tuple[Kill, ...] = field(factory=tuple)


def hunt(defect: Defect, budget: Budget, kinds: Sequence[str] = ()) -> Hunted:
    """Hunt one defect, on all its kinds or on those named; the same budget gives the same result."""
    started = time.perf_counter()
    make_port, labels = mutant(defect), [kind for kind in defect.kinds if not kinds or kind in kinds]
    first: Kill | None = None
    alone: dict[str, Kill] = {}
    runs, shrunk = 0, None
    while runs < (budget.runs_alone if first else budget.runs) and len(alone) < len(ORACLES):
        label, seed = labels[runs % len(labels)], runs // len(labels)
        runs += 1
        trial = _run(make_port, defect, label, seed, runs, [name for name in ORACLES if name not in alone])
        alone.update({kill.oracle: kill for kill in trial.kills})
        if first is None and trial.kills:
            first, shrunk = _told(make_port, trial, budget)
    expected = first is not None and first.clause in defect.clauses
    steps = len(shrunk.operations) if shrunk else None
    return Hunted(defect.name, first, alone, runs, steps, expected, time.perf_counter() - started)


def _run(make_port: MakePort, defect: Defect, label: str, seed: int, number: int, oracles: Sequence[str]) -> _Trial:
    """One run, in which each oracle judges until it has seen something; it ends when a call of the protocol is not accepted."""
    rng = random.Random(f"{label}{seed}")
    config, strict = random_config(rng, label), seed % FREE_EVERY != FREE_EVERY - 1
    setting = Setting(config, defect.profile, strict)
    run = Run(make_port(defect.profile), config, defect.profile, oracles=(), strict=strict)
    watching = {name: _oracle(name, run, config) for name in oracles}
    kills: list[Kill] = []
    for operation in _operations(rng, run):
        view = run.perform(operation)
        for name, oracle in list(watching.items()):
            violation = oracle.judge(view)
            if violation is not None:
                del watching[name]
                kills.append(Kill(name, violation.clause, number, run.steps))
        if not watching or view.event.kind == "broken":
            break
    return _Trial(setting, tuple(run.operations[: kills[0].step if kills else 0]), tuple(kills))


def _oracle(name: str, run: Run, config: Config) -> Oracle:
    if name == "accounting":
        return Accounting(config)
    if name == "contents":
        return Contents(config, run.prefixes.ancestor)
    return Liveness(config) if name == "liveness" else Refinement(config, run.profile)


def _operations(rng: random.Random, run: Run) -> Iterator[Operation]:
    for operation in Planner(rng, run).operations():
        yield operation
        if run.steps >= STEPS:
            break
    yield from run.drain_operations()


def _told(make_port: MakePort, trial: _Trial, budget: Budget) -> tuple[Kill, Shrunk | None]:
    """The first kill as a replay tells it, which looks after every call, and the run made small."""
    kill = trial.kills[0]
    replayed = replay(make_port, trial.setting, trial.operations)
    violation, steps = replayed.violation, replayed.operations
    if violation is None:
        return kill, None
    kill = Kill(violation.oracle, violation.clause, kill.run, len(steps))
    if not budget.replays:
        return kill, None
    return kill, shrink(make_port, trial.setting, steps, violation.clause, most_replays=budget.replays)


def hunt_named(task: tuple[str, Budget, tuple[str, ...]]) -> Hunted:
    """Hunt the defect of a name; for processes of a pool, which are sent plain values."""
    from kvwitness.properties.defects.catalogue import defect_named

    name, budget, kinds = task
    return hunt(defect_named(name), budget, kinds)
