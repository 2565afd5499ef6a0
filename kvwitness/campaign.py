"""A campaign: many seeded runs of one kind under one profile, with every finding made small and attributed.

A run is fixed by the seed, the kind and its number, so any of them can be repeated alone.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

from attrs import Factory, define, frozen

from kvwitness.model.profile import Profile
from kvwitness.properties.coverage import count
from kvwitness.properties.errata import Erratum, attribute
from kvwitness.properties.generator import Planner
from kvwitness.properties.operations import Operation
from kvwitness.properties.port import Port
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.run import ORACLES, Run
from kvwitness.properties.situations import random_config
from kvwitness.properties.violation import Violation
from kvwitness.shrink import Shrunk, shrink

OPERATIONS_PER_RUN = 100
"""Long enough for pressure to build up, short enough that a finding is near its start."""

SHRUNK_PER_ERRATUM = 3
"""Findings of one erratum that are made small before they are attributed; later ones are attributed as they are found."""

FREE_EVERY = 4
"""Every so many runs the caller is free: any legal order instead of a real planner's."""


@frozen
class Finding:
    """A broken clause, made small.

    Attributes:
        run: The number of the run that found it.
        found_after: Operations of that run up to the violation.
        shrunk: The small run.
        erratum: The erratum that explains it, or None for a new finding.
    """

    run: int
    found_after: int
    shrunk: Shrunk
    erratum: Erratum | None


@define
class Tally:
    """What a campaign did.

    Attributes:
        label: The kind.
        profile: The name of the profile.
        runs: Runs made.
        operations: Operations carried out and judged.
        calls: Calls made and compared with the model.
        seconds: Time it took, shrinking included.
        situations: How often each situation came up.
        findings: New findings.
        errata: How often each known erratum was met, by id, with the smallest run that shows it.
    """

    label: str
    profile: str
    runs: int = 0
    operations: int = 0
    calls: int = 0
    seconds: float = 0.0
    situations: "Counter[str]" = Factory(Counter)
    findings: list[Finding] = Factory(list)
    errata: dict[str, tuple[int, Finding]] = Factory(dict)

    def add(self, other: "Tally") -> None:
        """Take in what another part of the same campaign did."""
        self.runs += other.runs
        self.operations += other.operations
        self.calls += other.calls
        self.seconds += other.seconds
        self.situations.update(other.situations)
        self.findings.extend(other.findings)
        for name, (times, finding) in other.errata.items():
            self._note_erratum(name, times, finding)

    def note(self, finding: Finding) -> None:
        """Take in one finding."""
        if finding.erratum is None:
            self.findings.append(finding)
        else:
            self._note_erratum(finding.erratum.id, 1, finding)

    def meet_again(self, erratum: Erratum) -> None:
        """Count a known erratum without another small run."""
        times, smallest = self.errata[erratum.id]
        self.errata[erratum.id] = (times + 1, smallest)

    def is_well_known(self, erratum: Erratum | None) -> bool:
        """Whether enough small runs of an erratum were made."""
        return erratum is not None and self.errata.get(erratum.id, (0,))[0] >= SHRUNK_PER_ERRATUM

    def _note_erratum(self, name: str, times: int, finding: Finding) -> None:
        before, smallest = self.errata.get(name, (0, finding))
        if len(finding.shrunk.operations) < len(smallest.shrunk.operations):
            smallest = finding
        self.errata[name] = (before + times, smallest)


def setting_of(label: str, profile: Profile, seed: int, number: int, oracles: tuple[str, ...]) -> tuple[Setting, random.Random]:
    """The setting of one run, and the source of chance that goes on to plan it."""
    rng = random.Random(f"{seed}:{label}:{number}")
    return Setting(random_config(rng, label), profile, number % FREE_EVERY != FREE_EVERY - 1, "L3", oracles), rng


def planned_operations(run: Run, rng: random.Random) -> Iterator[Operation]:
    """So many planned operations, then what empties the pool."""
    for operation in Planner(rng, run).operations():
        yield operation
        if run.steps >= OPERATIONS_PER_RUN:
            break
    yield from run.drain_operations()


def one_run(port: Port, setting: Setting, rng: random.Random, situations: "Counter[str]") -> tuple[Run, Violation | None]:
    """Drive one run to its end or to the first broken clause."""
    run = Run(port, setting.config, setting.profile, oracles=setting.oracles, strict=setting.strict, level=setting.level)
    for operation in planned_operations(run, rng):
        view = run.perform(operation)
        count(view, setting.config, situations)
        violation = run.judge(view)
        if violation is not None:
            return run, violation
    return run, None


def investigate(make_port: MakePort, setting: Setting, run: Run, number: int) -> Finding:
    """Name the broken clause exactly, make the run small, and ask which erratum explains it."""
    exact = replay(make_port, setting, run.operations).violation
    if exact is None:
        raise RuntimeError(f"run {number} of {setting.config.kind.label} broke a clause once and not again: the port is not deterministic")
    shrunk = shrink(make_port, setting, run.operations, exact.clause)
    erratum = attribute(make_port, shrunk.setting, shrunk.operations, shrunk.violation)
    return Finding(number, run.steps, shrunk, erratum)


def _take_note(make_port: MakePort, setting: Setting, run: Run, number: int, violation: Violation, tally: Tally) -> None:
    """Attribute a finding: as it is where its erratum is well known, else after making it small."""
    known = attribute(make_port, setting, run.operations, violation) if tally.errata else None
    if known is not None and tally.is_well_known(known):
        tally.meet_again(known)
    else:
        tally.note(investigate(make_port, setting, run, number))


def campaign(
    make_port: MakePort,
    label: str,
    profile: Profile,
    *,
    seed: int,
    first: int = 0,
    stride: int = 1,
    oracles: tuple[str, ...] = ORACLES,
    goes_on: Callable[[Tally], bool],
) -> Tally:
    """Make runs ``first``, ``first + stride``, … while ``goes_on`` says so."""
    tally = Tally(label, profile.name)
    started, number = time.perf_counter(), first
    port = make_port(profile)
    while goes_on(tally):
        setting, rng = setting_of(label, profile, seed, number, oracles)
        run, violation = one_run(port, setting, rng, tally.situations)
        tally.runs += 1
        tally.operations += run.steps
        tally.calls += run.num_calls
        if violation is not None:
            _take_note(make_port, setting, run, number, violation, tally)
        number += stride
        tally.seconds = time.perf_counter() - started
    port.close()
    return tally
