"""Campaigns on a planner, shared out among processes."""

import itertools
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from attrs import frozen

from kvwitness.campaign import Tally
from kvwitness.checking import ENOUGH_FINDINGS


@frozen
class PlannerPart:
    """A share of a campaign, for one process.

    Attributes:
        port: The release.
        label: The kind, or the mix.
        seed: The campaign's seed.
        first: The number of its first run.
        stride: Distance between its runs' numbers.
        seconds: How long it may take; 0 for no such limit.
        plans: How many steps are to be planned; 0 for no such limit.
    """

    port: str
    label: str
    seed: int
    first: int
    stride: int
    seconds: float
    plans: int


def run_planner_part(part: PlannerPart) -> Tally:
    """Make the runs of a part; a kind that the release cannot plan for comes back without a run."""
    from kvwitness.vllm.build import NotOffered
    from kvwitness.vllm.planner.campaign import Campaign

    started = time.monotonic()

    def goes_on(tally: Tally) -> bool:
        enough = len(tally.findings) >= ENOUGH_FINDINGS or (part.plans and tally.calls >= part.plans)
        return not enough and (not part.seconds or time.monotonic() - started < part.seconds)

    campaign = Campaign(part.port, part.label, part.seed)
    try:
        return campaign.run(itertools.count(part.first, part.stride), goes_on)
    except NotOffered as reason:
        campaign.tally.situations[f"not offered: {reason}"] += 1
        return campaign.tally


def run_planner_parts(parts: Sequence[PlannerPart], jobs: int, done: Callable[[PlannerPart, Tally], object]) -> list[Tally]:
    """The tally of each kind, in the order of the parts; ``done`` is told of every part that ends."""
    tallies: dict[str, Tally] = {}
    if jobs == 1:
        results = ((part, run_planner_part(part)) for part in parts)
        for part, tally in results:
            _add(tallies, part, tally)
            done(part, tally)
        return list(tallies.values())
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        futures = {executor.submit(run_planner_part, part): part for part in parts}
        for future in as_completed(futures):
            _add(tallies, futures[future], future.result())
            done(futures[future], future.result())
    order = list(dict.fromkeys(part.label for part in parts))
    return [tallies[label] for label in order]


def _add(tallies: dict[str, Tally], part: PlannerPart, tally: Tally) -> None:
    tallies.setdefault(part.label, Tally(tally.label, tally.profile)).add(tally)


__all__ = ["PlannerPart", "run_planner_part", "run_planner_parts"]
