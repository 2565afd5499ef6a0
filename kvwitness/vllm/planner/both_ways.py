"""Both ways: what a planner does is repeated by our caller on the managers of the same release, and the states are compared.

Where they part, either our caller may not do what the planner did, or it makes other calls: both are told, with how often.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from attrs import define, evolve, field

from kvwitness.model.caller import Illegal
from kvwitness.model.calls import Observation
from kvwitness.model.profile import PROFILES, Profile
from kvwitness.properties.operations import Close, Free, Operation
from kvwitness.properties.planning import Plan, PlannerOperation
from kvwitness.properties.run import Run
from kvwitness.properties.view import View
from kvwitness.vllm.adapter import VllmPort
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.loader import Release
from kvwitness.vllm.opening import open_release
from kvwitness.vllm.planner.campaign import planner_run
from kvwitness.vllm.planner.driver import PlannerRun
from kvwitness.vllm.planner.loading import open_planner
from kvwitness.vllm.planner.translating import repeated

COMPARED = ("tables", "free", "references", "keys", "published")
"""The parts of a state that are compared."""


@define
class BothWays:
    """How far a planner and our caller went together.

    Attributes:
        steps: Planner steps that were repeated.
        agreed: Those after which the states were the same.
        parted: Why and how often they parted, each run at most once but for what only a strict caller refuses.
    """

    steps: int = 0
    agreed: int = 0
    parted: "Counter[str]" = field(factory=Counter)

    def add(self, other: "BothWays") -> None:
        """Take in what another part came to."""
        self.steps += other.steps
        self.agreed += other.agreed
        self.parted.update(other.parted)


def differing_parts(planner: Observation, ours: Observation) -> list[str]:
    """The parts of two states that differ."""
    parts = [part for part in COMPARED if getattr(planner, part) != getattr(ours, part)]
    if "references" in parts and (planner.references or ())[1:] == (ours.references or ())[1:]:
        # How often null is counted depends on calls that are made for nothing.
        parts.remove("references")
    return parts


class Repeater:
    """Our caller on a release's managers, doing what a planner does."""

    def __init__(self, release: Release, profile: Profile, planner: PlannerRun) -> None:
        """Begin beside an idle planner of the same release."""
        self._planner = planner
        self._run = Run(VllmPort(profile, release), planner.given, profile, oracles=(), prefixes=planner.prefixes)
        self.parted = ""
        self.told = BothWays()

    def follow(self, operation: PlannerOperation, views: Sequence[View]) -> None:
        """Repeat one operation of the planner, unless they have parted."""
        if self.parted:
            return
        for ours in repeated(operation, views):
            if self._applies(ours) and not self._carry_out(ours):
                return
        self.told.steps += isinstance(operation, Plan)
        parts = differing_parts(self._planner.seen, self._run.seen)
        if parts:
            self._part(f"after {type(operation).__name__.lower()} the states differ in {', '.join(parts)}")
        else:
            self.told.agreed += isinstance(operation, Plan)

    def _applies(self, operation: Operation) -> bool:
        """Nobody who was never admitted is freed, and no step is closed that was not opened."""
        caller = self._run.caller
        if isinstance(operation, Free):
            return operation.id in caller.requests
        return not isinstance(operation, Close) or caller.open is not None

    def _carry_out(self, operation: Operation) -> bool:
        try:
            view = self._run.perform(operation)
        except Illegal as illegal:
            if not illegal.clause.startswith("CALLER.STRICT."):
                self._part(f"our caller may not {type(operation).__name__.lower()}: {illegal.clause}")
                return False
            self.told.parted[f"only a caller that is not strict may {type(operation).__name__.lower()}: {illegal.clause}"] += 1
            self._run.caller = evolve(self._run.caller, strict=False)
            return self._carry_out(operation)
        if view.event.kind == "broken":
            self._part(f"{type(operation).__name__.lower()} is not accepted: {view.calls[-1][0].name} ended {view.calls[-1][1].status}")
        return not self.parted

    def _part(self, why: str) -> None:
        self.parted = why
        self.told.parted[why] += 1


def follow_run(release: Release, profile: Profile, planner: PlannerRun, operations: Iterable[PlannerOperation]) -> BothWays:
    """Drive a planner, and our caller beside it, to the end of the operations or until they part."""
    beside = Repeater(release, profile, planner)
    for operation in operations:
        views = planner.perform(operation)
        beside.follow(operation, views)
        if beside.parted or planner.judge(views) is not None:
            break
    return beside.told


def both_ways(port: str, label: str, seed: int, goes_on: Callable[[BothWays], bool]) -> BothWays:
    """Runs of one kind, both ways, while ``goes_on`` says so.

    Raises:
        NotOffered: The release cannot plan for these groups.
        PortError: There is no such release.
        ReleaseError: It cannot be loaded.
    """
    planners, managers, told = open_planner(port), open_release(port), BothWays()
    profile = PROFILES[profile_name_for(planners.version)]
    for number in itertools.count():
        if not goes_on(told):
            break
        run, operations = planner_run(planners, profile, label, seed, number)
        told.add(follow_run(managers, profile, run, operations))
    return told


__all__ = ["BothWays", "Repeater", "both_ways", "differing_parts", "follow_run"]
