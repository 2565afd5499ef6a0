"""Hunting a seeded defect: seeded runs against the broken port until each oracle has seen it or the budget is spent.

The oracles only watch, so one run shows what each of them would have said alone.
The same budget gives the same result.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from attrs import frozen

from kvwitness.campaign import planned_operations, setting_of
from kvwitness.ports.mutant import mutant
from kvwitness.properties.defects.catalogue import defect_named
from kvwitness.properties.defects.defect import Defect
from kvwitness.properties.operations import Operation
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.run import HEARING, ORACLES, Run, make_oracles
from kvwitness.shrink import shrink

HUNTERS = (*ORACLES[:-1], *HEARING[:1], *ORACLES[-1:])
"""The oracles that hunt, in the order in which they judge."""


@frozen
class Budget:
    """How long a defect is hunted.

    Attributes:
        runs: Runs until some oracle has seen it; without that it survives.
        runs_alone: Runs in which each oracle may see it on its own.
        replays: Replays for shrinking; 0 for none.
        seed: Another seed makes other runs.
    """

    runs: int = 600
    runs_alone: int = 60
    replays: int = 200
    seed: int = 0


@frozen
class Kill:
    """A run in which an oracle saw the defect.

    Attributes:
        oracle: Which one.
        clause: What it says is broken.
        label: The kind.
        run: The number of the run, from 1 on.
        step: The operation that broke the clause, from 1 on.
    """

    oracle: str
    clause: str
    label: str
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
        shrunk_steps: Operations of the first kill after shrinking; None without shrinking.
        is_expected: Whether the first kill names a clause that must catch the defect.
        seconds: How long it took.
    """

    name: str
    first: Kill | None
    alone: dict[str, Kill]
    runs: int
    shrunk_steps: int | None
    is_expected: bool
    seconds: float

    @property
    def is_caught(self) -> bool:
        """Whether it was killed, and by a clause that must catch it."""
        return self.first is not None and self.is_expected


def hunt(defect: Defect, budget: Budget, kinds: Sequence[str] = ()) -> Hunted:
    """Hunt one defect, on all its kinds in turn or on those named."""
    started, make_port = time.perf_counter(), mutant(defect)
    labels = [kind for kind in defect.kinds if not kinds or kind in kinds]
    first: Kill | None = None
    alone: dict[str, Kill] = {}
    runs, shrunk_steps = 0, None
    while labels and len(alone) < len(HUNTERS) and runs < (budget.runs_alone if first else budget.runs):
        label, number = labels[runs % len(labels)], runs // len(labels)
        runs += 1
        setting, rng = setting_of(label, defect.profile, budget.seed, number, HUNTERS)
        run, kills = _watched(make_port, setting, rng, [name for name in HUNTERS if name not in alone])
        found = [Kill(oracle, clause, label, runs, step) for oracle, clause, step in kills]
        alone.update({kill.oracle: kill for kill in found})
        if first is None and found:
            first, shrunk_steps = _told(make_port, setting, run.operations[: found[0].step], found[0], budget)
    is_expected = first is not None and first.clause in defect.clauses
    return Hunted(defect.name, first, alone, runs, shrunk_steps, is_expected, time.perf_counter() - started)


def _watched(make_port: MakePort, setting: Setting, rng: random.Random, oracles: Sequence[str]) -> tuple[Run, list[tuple[str, str, int]]]:
    """One run, in which each oracle judges until it has seen something: its name, the clause and the step.

    The run ends where a call of the protocol is not accepted: whoever made it would have crashed.
    """
    # Who judges events has the run drain them, for the others too.
    run = Run(make_port(setting.profile), setting.config, setting.profile, oracles=HEARING[:1], strict=setting.strict)
    watching = {oracle.name: oracle for oracle in make_oracles(run.config, run.profile, run.prefixes, oracles)}
    kills: list[tuple[str, str, int]] = []
    for operation in planned_operations(run, rng):
        view = run.perform(operation)
        for name, oracle in list(watching.items()):
            violation = oracle.judge(view)
            if violation is not None:
                del watching[name]
                kills.append((name, violation.clause, run.steps))
        if not watching or view.event.kind == "broken":
            break
    return run, kills


def _told(make_port: MakePort, setting: Setting, operations: Sequence[Operation], kill: Kill, budget: Budget) -> tuple[Kill, int | None]:
    """The kill as a replay tells it, which looks after every call, and the steps that are left after shrinking."""
    replayed = replay(make_port, setting, operations)
    violation, steps = replayed.violation, replayed.operations
    if violation is None:
        raise RuntimeError(f"run {kill.run} broke {kill.clause} once and not again: the port is not deterministic")
    kill = Kill(violation.oracle, violation.clause, kill.label, kill.run, len(steps))
    if not budget.replays:
        return kill, None
    return kill, len(shrink(make_port, setting, steps, violation.clause, most_replays=budget.replays).operations)


def hunt_named(name: str, budget: Budget, kinds: Sequence[str] = ()) -> Hunted:
    """Hunt the defect of that name; what another process is sent."""
    return hunt(defect_named(name), budget, kinds)


def hunt_all(defects: Sequence[Defect], budget: Budget, kinds: Sequence[str], jobs: int, done: Callable[[Hunted], object]) -> list[Hunted]:
    """Hunt several defects, shared out among processes, in the order given; ``done`` is told of each as it ends."""
    found = {}
    for hunted in _results(defects, budget, kinds, jobs):
        found[hunted.name] = hunted
        done(hunted)
    return [found[defect.name] for defect in defects]


def _results(defects: Sequence[Defect], budget: Budget, kinds: Sequence[str], jobs: int) -> Iterator[Hunted]:
    if jobs == 1:
        for defect in defects:
            yield hunt(defect, budget, kinds)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        futures = [executor.submit(hunt_named, defect.name, budget, tuple(kinds)) for defect in defects]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise
