"""A campaign: many seeded runs of one kind under one profile, with every finding made small and attributed.

A run is fixed by the seed, the kind and its number, so any of them can be repeated alone.

An erratum is told by a counterfactual, so it takes a port that follows any profile.
A real release follows its own, whatever it is told: its findings are attributed on a reference that follows the release's profile,
and one that the reference does not show is new.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import Factory, define, evolve, frozen

from kvwitness.model.profile import Profile
from kvwitness.properties.coverage import count
from kvwitness.properties.errata import Erratum, attribute
from kvwitness.properties.generator import Planner
from kvwitness.properties.operations import Operation, Share
from kvwitness.properties.port import NotOffered, Port
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.run import ORACLES, Run
from kvwitness.properties.situations import random_config
from kvwitness.properties.violation import Violation
from kvwitness.shrink import MOST_REPLAYS, Shrunk, shrink

OPERATIONS_PER_RUN = 100
"""Long enough for pressure to build up, short enough that a finding is near its start."""

SHRUNK_PER_ERRATUM = 2
"""Findings of one erratum that are made small; later ones are attributed as they are found and counted."""

REPLAYS_FOR_KNOWN = 400
"""Replays for making a finding small that is an erratum as it is; a new one gets as many as it takes."""

MOST_NOT_OFFERED = 200
"""Configurations after which a campaign ends whose port could not be built for any of them."""

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
        level: The weakest conformance level at which it shows.
    """

    run: int
    found_after: int
    shrunk: Shrunk
    erratum: Erratum | None
    level: str = "L3"


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
        not_offered: How many configurations the port could not be built for, by reason; they are not counted as runs.
        told: KV events that were told and judged.
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
    not_offered: "Counter[str]" = Factory(Counter)
    told: int = 0
    findings: list[Finding] = Factory(list)
    errata: dict[str, tuple[int, Finding]] = Factory(dict)

    def add(self, other: "Tally") -> None:
        """Take in what another part of the same campaign did."""
        self.runs += other.runs
        self.operations += other.operations
        self.calls += other.calls
        self.seconds += other.seconds
        self.situations.update(other.situations)
        self.not_offered.update(other.not_offered)
        self.told += other.told
        self.findings.extend(other.findings)
        for name, (times, finding) in other.errata.items():
            self._note_erratum(name, times, finding)

    @property
    def is_mixed(self) -> bool:
        """Whether the runs have groups of several kinds or sizes."""
        return "+" in self.label

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


def setting_of(
    label: str, profile: Profile, seed: int, number: int, oracles: tuple[str, ...], level: str = "L3"
) -> tuple[Setting, random.Random]:
    """The setting of one run, and the source of chance that goes on to plan it."""
    rng = random.Random(f"{seed}:{label}:{number}")
    return Setting(random_config(rng, label), profile, number % FREE_EVERY != FREE_EVERY - 1, level, oracles), rng


def planned_operations(run: Run, rng: random.Random, *, asks_common_prefix: bool = True) -> Iterator[Operation]:
    """So many planned operations, then what empties the pool; without the question that a port does not answer."""
    for operation in Planner(rng, run).operations():
        if asks_common_prefix or not isinstance(operation, Share):
            yield operation
        if run.steps >= OPERATIONS_PER_RUN:
            break
    yield from run.drain_operations()


def one_run(port: Port, setting: Setting, rng: random.Random, situations: "Counter[str]") -> tuple[Run, Violation | None]:
    """Drive one run to its end or to the first broken clause."""
    run = Run(port, setting.config, setting.profile, oracles=setting.oracles, strict=setting.strict, level=setting.level)
    asks = "get_num_common_prefix_blocks" in port.hello().calls
    for operation in planned_operations(run, rng, asks_common_prefix=asks):
        view = run.perform(operation)
        count(view, setting.config, situations)
        violation = run.judge(view)
        if violation is not None:
            return run, violation
    return run, None


def shows(reference: MakePort, setting: Setting, operations: Sequence[Operation], clause: str) -> bool:
    """Whether the same operations break the same clause on another port."""
    violation = replay(reference, setting, operations, skip_illegal=True).violation
    return violation is not None and violation.clause == clause


def attributed(
    make_port: MakePort, reference: MakePort | None, setting: Setting, operations: Sequence[Operation], violation: Violation
) -> Erratum | None:
    """The erratum that explains a finding on a port; with a reference, only if the reference shows the finding too.

    Whether the reference refines the model is not asked on the way: that is for a campaign of its own.
    """
    if reference is None:
        return attribute(make_port, setting, operations, violation)
    if violation.oracle != "refinement":
        setting = evolve(setting, oracles=tuple(oracle for oracle in setting.oracles if oracle != "refinement"))
    return attribute(reference, setting, operations, violation) if shows(reference, setting, operations, violation.clause) else None


def investigate(
    make_port: MakePort, setting: Setting, run: Run, number: int, reference: MakePort | None = None, most_replays: int = MOST_REPLAYS
) -> Finding:
    """Name the broken clause exactly, make the run small, and ask which erratum explains it.

    Args:
        make_port: What was run.
        setting: The run's setting.
        run: The run that broke a clause.
        number: The run's number.
        reference: What follows any profile, where the port does not.
        most_replays: When shrinking is content.
    """
    exact = replay(make_port, setting, run.operations).violation
    if exact is None:
        raise RuntimeError(f"run {number} of {setting.config.label} broke a clause once and not again: the port is not deterministic")
    clause = exact.clause
    is_of_port_alone = reference is not None and not shows(reference, setting, run.operations, clause)

    def stays_of_port_alone(smaller: Setting, operations: Sequence[Operation]) -> bool:
        """What the reference does not show must not shrink to something that it does."""
        return not is_of_port_alone or reference is None or not shows(reference, smaller, operations, clause)

    shrunk = shrink(make_port, setting, run.operations, clause, most_replays=most_replays, also=stays_of_port_alone)
    erratum = attributed(make_port, reference, shrunk.setting, shrunk.operations, shrunk.violation)
    return Finding(number, run.steps, shrunk, erratum, weakest_level(make_port, shrunk))


LEVEL_OF = {"accounting": "L0", "contents": "L0", "events": "L0", "plain-events": "L0", "liveness": "L1"}
"""The level of each oracle but the refinement, which judges at two."""


def weakest_level(make_port: MakePort, shrunk: Shrunk) -> str:
    """The weakest level at which a small run shows: of a refinement, whether lengths and counts differ or only ids and orders."""
    oracle = shrunk.violation.oracle
    if oracle in LEVEL_OF:
        return LEVEL_OF[oracle]
    setting = evolve(shrunk.setting, level="L2", oracles=(oracle,))
    return "L3" if replay(make_port, setting, shrunk.operations).violation is None else "L2"


def _take_note(
    make_port: MakePort, setting: Setting, run: Run, number: int, violation: Violation, tally: Tally, reference: MakePort | None
) -> None:
    """Attribute a finding as it is; make it small, and attribute it again, unless its erratum is well known.

    On mixed groups an erratum that kinds show by themselves is counted as it was found: small runs of it are had without them.
    """
    known = attributed(make_port, reference, setting, run.operations, violation)
    if known is not None and tally.is_well_known(known):
        tally.meet_again(known)
    elif known is not None and tally.is_mixed and not violation.clause.startswith("HYBRID."):
        found = Shrunk(setting, tuple(run.operations), violation, 0, 0.0)
        tally.note(Finding(number, run.steps, found, known, weakest_level(make_port, found)))
    else:
        most_replays = MOST_REPLAYS if known is None else REPLAYS_FOR_KNOWN
        tally.note(investigate(make_port, setting, run, number, reference, most_replays))


def campaign(
    make_port: MakePort,
    label: str,
    profile: Profile,
    *,
    seed: int,
    numbers: Iterable[int],
    oracles: tuple[str, ...] = ORACLES,
    level: str = "L3",
    reference: MakePort | None = None,
    goes_on: Callable[[Tally], bool],
) -> Tally:
    """Make the runs of those numbers while ``goes_on`` says so.

    Args:
        make_port: What is run.
        label: The kind.
        profile: The rules in force.
        seed: The campaign's seed.
        numbers: Which runs.
        oracles: Who judges.
        level: Conformance level of the refinement.
        reference: What findings are attributed on, where the port does not follow any profile that it is given.
        goes_on: Is asked before every run.
    """
    tally = Tally(label, profile.name)
    started, port = time.perf_counter(), make_port(profile)
    for number in numbers:
        if not goes_on(tally):
            break
        setting, rng = setting_of(label, profile, seed, number, oracles, level)
        try:
            run, violation = one_run(port, setting, rng, tally.situations)
        except NotOffered as reason:
            tally.not_offered[str(reason)] += 1
            if not tally.runs and tally.not_offered.total() >= MOST_NOT_OFFERED:
                break
            continue
        tally.runs += 1
        tally.operations += run.steps
        tally.calls += run.num_calls
        tally.told += run.num_told
        if violation is not None:
            _take_note(make_port, setting, run, number, violation, tally, reference)
        tally.seconds = time.perf_counter() - started
    port.close()
    return tally
