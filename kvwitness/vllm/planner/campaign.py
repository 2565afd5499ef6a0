"""A campaign on a release's planner: seeded runs of one kind, with every finding attributed or made small."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from kvwitness.campaign import LEVEL_OF, Finding, Tally
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.profile import PROFILES, Profile
from kvwitness.ports.resolve import resolve
from kvwitness.properties.errata import Erratum
from kvwitness.properties.planning import PlannerOperation, PlannerSetting
from kvwitness.properties.replay import MakePort
from kvwitness.properties.violation import Violation
from kvwitness.vllm.build import NotOffered
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.loader import Release
from kvwitness.vllm.planner.attributing import Attributed, attributed_on_planner
from kvwitness.vllm.planner.coverage import count
from kvwitness.vllm.planner.driver import PlannerRun
from kvwitness.vllm.planner.generator import Surroundings
from kvwitness.vllm.planner.loading import open_planner
from kvwitness.vllm.planner.replaying import shrink_planner
from kvwitness.vllm.planner.situations import random_planner

OPERATIONS_PER_RUN = 100
"""Operations before a run is given nothing new and emptied."""

MOST_REPLAYS_FOR_NEW = 2000
"""Replays for making a finding small that nothing explains as it is."""

DRAWS = 40
"""Sizes that are drawn for a mix until a release can plan for them."""

REPLAYS_FOR_KNOWN = 400
"""Replays for making a finding small that is a known erratum as it is."""

REFERENCE = "impl"
"""What findings are attributed on: it follows any profile."""


def planner_run(release: Release, profile: Profile, label: str, seed: int, number: int) -> tuple[PlannerRun, Iterator[PlannerOperation]]:
    """The planner of one run, idle, and the operations of that run, each to be applied before the next is asked for.

    Raises:
        NotOffered: The release cannot plan for these groups.
    """
    rng = random.Random(f"planner:{seed}:{label}:{number}")
    for draws_left in reversed(range(DRAWS)):
        config, settings = random_planner(rng, label)
        try:
            run = PlannerRun(release, config, profile, settings)
        except NotOffered:
            # What no draw of sizes can have, the release does not offer.
            if not draws_left:
                raise
        else:
            return run, _operations(run, Surroundings(rng, run))
    raise AssertionError("a draw ends it")


def _operations(run: PlannerRun, around: Surroundings) -> Iterator[PlannerOperation]:
    for operation in around.operations():
        yield operation
        if len(run.operations) >= OPERATIONS_PER_RUN:
            break
    yield from around.drain()


def one_planner_run(
    release: Release, profile: Profile, label: str, seed: int, number: int, situations: "Counter[str]"
) -> tuple[PlannerRun, Violation | None]:
    """Drive one run to its end or to the first broken clause."""
    run, operations = planner_run(release, profile, label, seed, number)
    for operation in operations:
        views = run.perform(operation)
        count(operation, views, situations)
        violation = run.judge(views)
        if violation is not None:
            return run, violation
    return run, None


def level_of(violation: Violation) -> str:
    """The conformance level at which a finding shows."""
    return LEVEL_OF.get(violation.oracle) or REGISTRY[violation.clause].level


class Campaign:
    """Runs of one kind on one release, with what they came to."""

    def __init__(self, port: str, label: str, seed: int) -> None:
        """Get ready to run the planner of that port.

        Raises:
            PortError: There is no such release.
            ReleaseError: It cannot be loaded.
        """
        self._release = open_planner(port)
        self._profile = PROFILES[profile_name_for(self._release.version)]
        self._reference: MakePort = resolve(REFERENCE)
        self._label, self._seed = label, seed
        self.tally = Tally(label, self._profile.name)
        self._seen_small: set[tuple[str, str]] = set()

    def run(self, numbers: Iterable[int], goes_on: Callable[[Tally], bool]) -> Tally:
        """Make the runs of those numbers while ``goes_on`` says so."""
        started, tally = time.perf_counter(), self.tally
        for number in numbers:
            if not goes_on(tally):
                break
            run, violation = one_planner_run(self._release, self._profile, self._label, self._seed, number, tally.situations)
            tally.runs += 1
            tally.operations += len(run.operations)
            tally.calls += run.plans
            if violation is not None:
                self._take_note(run, number, violation)
            tally.seconds = time.perf_counter() - started
        return tally

    def _take_note(self, run: PlannerRun, number: int, violation: Violation) -> None:
        """Name a finding: by a counterfactual as it was found, or by a signature once it is small, with all that hangs on it.

        What looks like an erratum that was seen small on the same clause is counted without another small run.
        """
        setting = PlannerSetting(run.given, self._profile, planner=run.settings)
        known = attributed_on_planner(self._release, self._reference, setting, tuple(run.operations), violation)
        if known is not None and (known.id, violation.clause) in self._seen_small:
            self.tally.meet_again(_as_erratum(known, violation))
            return
        replays = MOST_REPLAYS_FOR_NEW if known is None else REPLAYS_FOR_KNOWN
        small = shrink_planner(self._release, setting, run.operations, violation.clause, most_replays=replays)
        operations: tuple[PlannerOperation, ...] = cast("Any", small.operations)
        smaller = cast("PlannerSetting", small.setting)
        told = attributed_on_planner(self._release, self._reference, smaller, operations, small.violation)
        if told is None and known is not None and known.by == "counterfactual":
            told = known
        erratum = None
        if told is not None:
            erratum = _as_erratum(told, violation)
            self._seen_small.add((told.id, violation.clause))
        self.tally.note(Finding(number, len(run.operations), small, erratum, level_of(small.violation)))


def _as_erratum(found: Attributed, violation: Violation) -> Erratum:
    return Erratum(found.id, found.sentence, (), (violation.clause,))


__all__ = ["Campaign", "one_planner_run", "planner_run"]
