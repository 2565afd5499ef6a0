"""Finding how two ports differ, and by which rules: the axes on which their profiles differ, by counterfactual.

An axis explains a difference if the model under the left profile, and the model under it with that axis taken from the right one,
differ in the same way on the same operations.
"""

import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence

from attrs import Factory, define, field, frozen

from kvwitness.campaign import planned_operations, setting_of
from kvwitness.model.caller import Illegal
from kvwitness.model.profile import Profile, differing_axes, with_axis_of
from kvwitness.pair import Difference, Pair, Side, compare, shows_same
from kvwitness.properties.operations import Operation
from kvwitness.properties.replay import MakePort, Replayed, Setting
from kvwitness.properties.run import ORACLES
from kvwitness.shrink import Shrunk, shrink_by

SHRUNK_PER_KIND = 4
"""Differences of one kind that are made small: they may have several reasons."""

MOST_REPLAYS = 1500
"""Replays for making one small."""


@define
class Found:
    """A kind of difference, with one explanation.

    Attributes:
        label: The kind of manager.
        key: The kind of difference.
        axes: The axes that explain it together; none for an unexplained one.
        run: The run that showed it first.
        step: The step at which it showed.
        shrunk: The small run.
        times: How often it was met.
    """

    label: str
    key: str
    axes: tuple[str, ...]
    run: int
    step: int
    shrunk: Shrunk
    times: int = 1


@define
class Differences:
    """What was found.

    Attributes:
        runs: Runs made.
        steps: Operations carried out on both.
        skipped: Runs whose configuration one of the two does not offer.
        found: The kinds of differences.
        seconds: How long it took.
    """

    runs: int = 0
    steps: int = 0
    skipped: int = 0
    found: list[Found] = Factory(list)
    seconds: float = 0.0


@frozen
class Search:
    """Two ports, and the model to explain with.

    Attributes:
        left: The one whose operations are generated.
        right: The one that is driven by them.
        model: A port that follows any profile.
        seed: Another seed makes other runs.
        not_offered: What a port raises for a configuration that it does not have.
        axes: The axes on which the two profiles differ.
    """

    left: Side
    right: Side
    model: MakePort
    seed: int
    not_offered: tuple[type[Exception], ...]
    axes: tuple[str, ...] = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "axes", differing_axes(self.left.profile, self.right.profile))

    def one_run(self, label: str, number: int, differences: Differences) -> None:
        """Make a run, and look into its first difference of shape and its first exact one."""
        setting, rng = setting_of(label, self.left.profile, self.seed, number, ORACLES)
        differences.runs += 1
        try:
            pair = Pair(self.left, self.right, setting, closely=False)
        except self.not_offered:
            differences.skipped += 1
            return
        for difference in _driven(pair, rng):
            self._note(label, number, setting, pair.left.operations, difference, differences)
        differences.steps += pair.left.steps
        pair.close()

    def _note(
        self, label: str, number: int, setting: Setting, operations: Sequence[Operation], difference: Difference, differences: Differences
    ) -> None:
        """Count a difference that is known, and look into one that is not."""
        exact = compare(self.left, self.right, setting, operations, difference.key if difference.is_exact else "")
        if exact.violation is None:
            return
        key = exact.violation.clause
        same = [found for found in differences.found if found.label == label and found.key == key]
        for found in same:
            if found.axes and self._is_explained(found.axes, setting, operations, key):
                found.times += 1
                return
        if len(same) >= SHRUNK_PER_KIND:
            same[-1].times += 1
            return
        shrunk = shrink_by(self._trial(key), setting, exact.operations, key, most_replays=MOST_REPLAYS)
        axes = self.explain(shrunk.setting, shrunk.operations, key)
        twin = next((found for found in same if found.axes == axes), None)
        if twin is None:
            differences.found.append(Found(label, key, axes, number, len(exact.operations), shrunk))
        else:
            twin.times += 1

    def _trial(self, key: str) -> Callable[[Setting, Sequence[Operation]], Replayed]:
        def trial(setting: Setting, operations: Sequence[Operation]) -> Replayed:
            try:
                return compare(self.left, self.right, setting, operations, key)
            except self.not_offered:
                return Replayed((), None, 0)

        return trial

    def explain(self, setting: Setting, operations: Sequence[Operation], key: str) -> tuple[str, ...]:
        """The one axis that explains a difference, or the fewest that do so together, or none."""
        single = next((axis for axis in self.axes if self._is_explained((axis,), setting, operations, key)), None)
        if single is not None:
            return (single,)
        needed = self.axes
        if not self._is_explained(needed, setting, operations, key):
            return ()
        for axis in self.axes:
            fewer = tuple(other for other in needed if other != axis)
            if self._is_explained(fewer, setting, operations, key):
                needed = fewer
        return needed

    def _is_explained(self, axes: Sequence[str], setting: Setting, operations: Sequence[Operation], key: str) -> bool:
        mixed = functools.reduce(lambda profile, axis: with_axis_of(profile, axis, self.right.profile), axes, self.left.profile)
        return shows_same(Side(self.model, self.left.profile), Side(self.model, mixed), setting, operations, key)


def _driven(pair: Pair, rng: random.Random) -> Iterator[Difference]:
    """Drive the left by planned operations and the right by the same ones; their first exact difference and their first of shape."""
    asks = all("get_num_common_prefix_blocks" in run.port.hello().calls for run in (pair.left, pair.right))
    for operation in planned_operations(pair.left, rng, asks_common_prefix=asks):
        try:
            difference = pair.perform(operation)
        except Illegal:
            return
        if difference is not None:
            yield difference
            if not difference.is_exact:
                return
        if pair.is_broken:
            return


def search(
    left: Side,
    right: Side,
    model: MakePort,
    labels: Sequence[str],
    *,
    seed: int,
    seconds: float = 0.0,
    runs: int = 0,
    not_offered: tuple[type[Exception], ...],
) -> Differences:
    """Make runs of all kinds in turn until the time is over, or so many runs whatever time they take."""
    started, differences, number = time.monotonic(), Differences(), 0
    looking = Search(left, right, model, seed, not_offered)
    while number < runs if runs else time.monotonic() - started < seconds:
        looking.one_run(labels[number % len(labels)], number // len(labels), differences)
        number += 1
    differences.seconds = time.monotonic() - started
    return differences


def profiles_told(left: Profile, right: Profile) -> list[tuple[str, object, object]]:
    """The axes on which two profiles differ, with both values."""
    return [(axis, getattr(left, axis), getattr(right, axis)) for axis in differing_axes(left, right)]


__all__ = ["Differences", "Found", "Search", "profiles_told", "search"]
