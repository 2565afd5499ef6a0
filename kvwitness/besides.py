"""What a check of our own implementation does besides runs: proofs, closure, seeded defects; a little of each, or all of it.

Each is cut into shares, which processes take one after the other.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context

from attrs import evolve, frozen

from kvwitness.hunt import Budget, hunt
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import resolve
from kvwitness.proofs.catalogue import all_theorems, covering_theorems
from kvwitness.proofs.engines.closure import MOST_STATES, close
from kvwitness.proofs.engines.worlds import WORLDS
from kvwitness.proofs.verdicts import STATUSES, judged
from kvwitness.properties.defects.catalogue import DEFECTS, defect_named

PARTS = ("proofs", "closure", "defects")
PROFILE = "sound"
"""The rules under which a check proves and closes."""

FEW_STATES = 60
"""States of each small world that a quick check visits."""

FEW_DEFECTS = (
    "estimate-short",
    "touch-forgotten",
    "stale-key-after-eviction",
    "skipped-never-released",
    "sliding-run-short",
    "draft-drops-twice",
    "state-freed-before-copy",
    "same-step-guard-stays",
    "encoder-blocks-shared",
    "sink-never-resets",
    "key-cut-short",
    "eviction-untold",
)
"""The seeded defects of a quick check: at least one of each kind, each caught within a few runs."""

QUICK_HUNT = Budget(runs=60, runs_alone=1, replays=0)
SHARE = 12
"""Theorems or defects that a process takes at a time."""


@frozen
class Share:
    """What one process does in one go.

    Attributes:
        part: One of `PARTS`.
        names: Theorems, places of worlds, or defects.
        full: Whether nothing is left out.
    """

    part: str
    names: tuple[str, ...]
    full: bool


@frozen
class Outcome:
    """What a part came to so far.

    Attributes:
        part: One of `PARTS`.
        asked: How many theorems, worlds or defects were asked about.
        total: How many there are.
        full: Whether nothing was left out of each.
        failed: What does not hold, a line each.
        open: What was not decided, a line each.
        transitions: Transitions of worlds that were made on the port.
        seconds: Processor time of all shares.
    """

    part: str
    asked: int
    total: int
    full: bool
    failed: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    transitions: int = 0
    seconds: float = 0.0


def shares_of(labels: Sequence[str], *, full: bool) -> list[Share]:
    """What there is to do for the kinds."""
    theorems = tuple(each.id for each in (all_theorems() if full else covering_theorems()) if _is_about(each.kinds, labels))
    defects = [each.name for each in DEFECTS if (full or each.name in FEW_DEFECTS) and set(each.kinds) & set(labels)]
    worlds = {world.label: number for number, world in reversed(list(enumerate(WORLDS))) if world.label in labels}
    chosen = [number for number, world in enumerate(WORLDS) if world.label in labels and (full or worlds[world.label] == number)]
    return [
        *(Share("proofs", names, full) for names in _cut(theorems)),
        *(Share("closure", (str(number),), full) for number in chosen),
        *(Share("defects", names, full) for names in _cut(defects)),
    ]


def _is_about(kinds: Sequence[str], labels: Sequence[str]) -> bool:
    return not kinds or any(label.split("-", maxsplit=1)[0] in kinds for label in labels)


def _cut(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The names in shares."""
    return (tuple(names[first : first + SHARE]) for first in range(0, len(names), SHARE))


def run_share(share: Share) -> Outcome:
    """Do a share."""
    started = time.process_time()
    done = {"proofs": _prove, "closure": _close, "defects": _hunt}[share.part](share)
    return evolve(done, seconds=time.process_time() - started)


def _prove(share: Share) -> Outcome:
    theorems = {each.id: each for each in all_theorems()}
    verdicts = [judged(theorems[name], PROFILES[PROFILE], quick=not share.full) for name in share.names]
    told = {status: [f"{each.theorem.id}: {each.because}" for each in verdicts if each.status == status] for status in STATUSES}
    return Outcome("proofs", len(verdicts), len(theorems), share.full, tuple(told["refuted"]), (*told["vacuous"], *told["unknown"]))


def _close(share: Share) -> Outcome:
    world = WORLDS[int(share.names[0])]
    closed = close(world, PROFILES[PROFILE], resolve("impl"), most=MOST_STATES if share.full else FEW_STATES)
    named = f"{world.label}, {world.name}"
    failed = (f"{named}: {closed.found.violation.clause}",) if closed.found else ()
    undecided = (f"{named}: states were left out",) if share.full and not failed and not closed.fixpoint else ()
    return Outcome("closure", 1, len(WORLDS), share.full, failed, undecided, closed.transitions)


def _hunt(share: Share) -> Outcome:
    hunted = [hunt(defect_named(name), Budget() if share.full else QUICK_HUNT) for name in share.names]
    failed = tuple(
        f"{each.name}: {'survives' if each.first is None else 'is caught by ' + each.first.clause}" for each in hunted if not each.is_caught
    )
    return Outcome("defects", len(hunted), len(DEFECTS), share.full, failed)


def run_shares(shares: Sequence[Share], jobs: int, done: Callable[[Outcome], object]) -> list[Outcome]:
    """What each part came to; ``done`` is told of every share that ends."""
    sums: dict[str, Outcome] = {}
    for outcome in _outcomes(shares, jobs):
        done(outcome)
        sums[outcome.part] = added(sums[outcome.part], outcome) if outcome.part in sums else outcome
    return [sums[part] for part in PARTS if part in sums]


def added(left: Outcome, right: Outcome) -> Outcome:
    """Two shares of a part together."""
    return evolve(
        left,
        asked=left.asked + right.asked,
        failed=tuple(sorted((*left.failed, *right.failed))),
        open=tuple(sorted((*left.open, *right.open))),
        transitions=left.transitions + right.transitions,
        seconds=left.seconds + right.seconds,
    )


def _outcomes(shares: Sequence[Share], jobs: int) -> Iterator[Outcome]:
    if jobs == 1:
        yield from map(run_share, shares)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        try:
            for future in as_completed([executor.submit(run_share, share) for share in shares]):
                yield future.result()
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


__all__ = ["PARTS", "Outcome", "Share", "added", "run_share", "run_shares", "shares_of"]
