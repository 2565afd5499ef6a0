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
from kvwitness.shrink import MOST_REPLAYS
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.loader import Release
from kvwitness.vllm.planner.attributing import attributed_on_planner
from kvwitness.vllm.planner.coverage import count
from kvwitness.vllm.planner.driver import PlannerRun
from kvwitness.vllm.planner.generator import Surroundings
from kvwitness.vllm.planner.loading import open_planner
from kvwitness.vllm.planner.replaying import shrink_planner
from kvwitness.vllm.planner.situations import random_planner

OPERATIONS_PER_RUN = 100
"""Operations before a run is given nothing new and emptied."""

SHRUNK_PER_ERRATUM = 1
"""Findings of one erratum that are made small; later ones are counted."""

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
    config, settings = random_planner(rng, label)
    run = PlannerRun(release, config, profile, settings)
    return run, _operations(run, Surroundings(rng, run))


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
        """Name a finding: as it was found, or if that does not tell, as the small run that it shrinks to."""
        setting = PlannerSetting(run.given, self._profile, planner=run.settings)
        known = self._known(setting, tuple(run.operations), violation)
        if known is not None and self.tally.errata.get(known.id, (0,))[0] >= SHRUNK_PER_ERRATUM:
            self.tally.meet_again(known)
            return
        replays = MOST_REPLAYS if known is None else REPLAYS_FOR_KNOWN
        small = shrink_planner(self._release, setting, run.operations, violation.clause, most_replays=replays)
        small_setting = cast("PlannerSetting", small.setting)
        erratum = self._known(small_setting, cast("Any", small.operations), small.violation) or known
        self.tally.note(Finding(number, len(run.operations), small, erratum, level_of(small.violation)))

    def _known(self, setting: PlannerSetting, operations: tuple[PlannerOperation, ...], violation: Violation) -> Erratum | None:
        found = attributed_on_planner(self._release, self._reference, setting, operations, violation)
        return Erratum(found.id, found.sentence, (), (violation.clause,)) if found is not None else None


__all__ = ["Campaign", "one_planner_run", "planner_run"]
