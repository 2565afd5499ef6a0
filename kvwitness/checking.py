"""Campaigns over several kinds and profiles, shared out among processes."""

import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from attrs import evolve, frozen

from kvwitness.campaign import Tally, campaign
from kvwitness.model.profile import PROFILES, SOUND, Profile
from kvwitness.ports.resolve import resolve
from kvwitness.properties.run import ORACLES
from kvwitness.properties.situations import reason_against

ENOUGH_FINDINGS = 3
"""New findings after which a part stops: they are for reading, not for counting."""


NO_PROFILE = evolve(SOUND, name="none", preempted_in_plan="keeps_keys")
"""The rules of a caller that knows no profile: those of `sound`, without the one call that no release has."""


def profile_called(name: str) -> Profile:
    """The profile of that name; ``none`` stands for a port that claims none."""
    return NO_PROFILE if name == NO_PROFILE.name else PROFILES[name]


@frozen
class Part:
    """A share of a campaign, for one process.

    Attributes:
        port: What is checked.
        label: The kind.
        profile: The name of the profile.
        seed: The campaign's seed.
        first: The number of its first run.
        stride: Distance between its runs' numbers.
        seconds: How long it may take; 0 for no such limit.
        operations: How many operations it is to carry out; 0 for no such limit.
        oracles: Who judges.
        level: Conformance level of the refinement.
        reference: The port that findings are attributed on; "" for the port itself, if it follows any profile.
    """

    port: str
    label: str
    profile: str
    seed: int
    first: int
    stride: int
    seconds: float
    operations: int
    oracles: tuple[str, ...] = ORACLES
    level: str = "L3"
    reference: str = ""


def run_part(part: Part) -> Tally:
    """Make the runs of a part."""
    started = time.monotonic()

    def goes_on(tally: Tally) -> bool:
        if len(tally.findings) >= ENOUGH_FINDINGS:
            return False
        if part.operations and tally.operations >= part.operations:
            return False
        return not part.seconds or time.monotonic() - started < part.seconds

    return campaign(
        resolve(part.port),
        part.label,
        profile_called(part.profile),
        seed=part.seed,
        numbers=itertools.count(part.first, part.stride),
        oracles=part.oracles,
        level=part.level,
        reference=resolve(part.reference) if part.reference else None,
        goes_on=goes_on,
    )


def parts_of(
    port: str, labels: Sequence[str], profiles: Sequence[str], *, seed: int, seconds: float, operations: int, jobs: int
) -> list[Part]:
    """Every kind or mix that a profile offers under every profile, each shared out among all processes."""
    pairs = [(label, profile) for profile in profiles for label in labels if not reason_against(profile_called(profile), label)]
    return [
        Part(port, label, profile, seed, first, jobs, seconds / len(pairs) if seconds else 0.0, -(-operations // jobs))
        for label, profile in pairs
        for first in range(jobs)
    ]


def run_parts(parts: Sequence[Part], jobs: int, done: Callable[[Part, Tally], object]) -> list[Tally]:
    """The tally of each kind under each profile, in the order of the parts; ``done`` is told of every part that ends."""
    tallies: dict[tuple[str, str], Tally] = {(part.profile, part.label): Tally(part.label, part.profile) for part in parts}
    for part, tally in _results(parts, jobs):
        tallies[part.profile, part.label].add(tally)
        done(part, tally)
    for tally in tallies.values():
        tally.findings.sort(key=lambda finding: finding.run)
    return list(tallies.values())


def _results(parts: Sequence[Part], jobs: int) -> Iterator[tuple[Part, Tally]]:
    if jobs == 1:
        for part in parts:
            yield part, run_part(part)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        futures: dict[Future[Tally], Part] = {executor.submit(run_part, part): part for part in parts}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def available_jobs() -> int:
    """Processes worth starting: one a core."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
