"""Carrying out a given list of operations on a fresh planner, and making one that breaks a clause small."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from attrs import frozen

from kvwitness.model.caller import Illegal
from kvwitness.model.kinds import ConfigError
from kvwitness.properties.operations import Operation
from kvwitness.properties.planning import PlannerOperation, PlannerSetting
from kvwitness.properties.replay import Replayed, Setting
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation
from kvwitness.shrink import MOST_REPLAYS, Also, Shrunk, shrink_by
from kvwitness.vllm.build import NotOffered
from kvwitness.vllm.loader import Release, ReleaseError
from kvwitness.vllm.planner.driver import PlannerRun

Watch = Callable[[PlannerOperation, list[View]], object]
"""Is shown each operation that was carried out with what it came to, before it is judged."""


@frozen
class PlannerReplayed:
    """How a replay went.

    Attributes:
        operations: The operations that were carried out; the last one broke the clause, if any was.
        violation: The broken clause, or None.
    """

    operations: tuple[PlannerOperation, ...]
    violation: Violation | None


def replay_planner(
    release: Release,
    setting: PlannerSetting,
    operations: Sequence[PlannerOperation],
    *,
    skip_illegal: bool = False,
    watch: Watch | None = None,
) -> PlannerReplayed:
    """Carry out the operations on a fresh planner until a clause breaks.

    Raises:
        Illegal: An operation cannot occur where it stands, and such are not left out.
        NotOffered: The release cannot plan for these groups.
    """
    run = PlannerRun(release, setting.config, setting.profile, setting.planner, oracles=setting.oracles)
    violation = None
    for operation in operations:
        try:
            views = run.perform(operation)
        except Illegal:
            if not skip_illegal:
                raise
            continue
        if watch is not None:
            watch(operation, views)
        violation = run.judge(views)
        if violation is not None:
            break
    return PlannerReplayed(tuple(run.operations), violation)


def shrink_planner(
    release: Release,
    setting: PlannerSetting,
    operations: Sequence[PlannerOperation],
    clause: str,
    *,
    most_replays: int = MOST_REPLAYS,
    also: Also | None = None,
) -> Shrunk:
    """Make a planner's run small that breaks ``clause``.

    Raises:
        ValueError: The run does not break it.
    """

    def trial(candidate: Setting, tried: Sequence[Operation]) -> Replayed:
        try:
            done = replay_planner(release, cast("PlannerSetting", candidate), cast("Any", tried), skip_illegal=True)
        except (NotOffered, ReleaseError, ConfigError):
            return Replayed((), None, 0)
        return Replayed(cast("Any", done.operations), done.violation, 0)

    return shrink_by(trial, setting, cast("Any", tuple(operations)), clause, most_replays=most_replays, also=also)


__all__ = ["PlannerReplayed", "replay_planner", "shrink_planner"]
