"""Replaying a trace of what happens to a real planner: only a release of vLLM has one."""

from typing import Any, cast

from kvwitness.cli.replay import Replay
from kvwitness.model.caller import Illegal
from kvwitness.model.profile import Profile
from kvwitness.ports.resolve import PortError, is_release
from kvwitness.properties.planning import PlannerOperation, PlannerSetting
from kvwitness.properties.run import ORACLES
from kvwitness.properties.view import View
from kvwitness.reading import TraceError, one_line
from kvwitness.trace import Trace


def replayed_on_planner(port: str, rules: Profile, wanted: Trace, file: str, oracles: tuple[str, ...]) -> Replay:
    """Carry out a planner's trace on the planner of a release.

    Raises:
        PortError: The port has no planner.
        TraceError: A step that cannot occur where it stands, or groups that the release cannot plan for.
    """
    if not is_release(port):
        raise PortError(f"got the port {port!r} for a planner's trace; allowed is vllm, vllm==X or vllm:PATH; name a release")
    from kvwitness.vllm.build import NotOffered
    from kvwitness.vllm.planner.loading import open_planner
    from kvwitness.vllm.planner.replaying import replay_planner
    from kvwitness.vllm.planner.telling import told_of_planner

    assert wanted.planner is not None
    setting = PlannerSetting(wanted.config, rules, oracles=oracles or ORACLES, planner=wanted.planner)
    steps: list[str] = []

    def watch(operation: PlannerOperation, views: list[View]) -> None:
        steps.append(told_of_planner(operation, views))

    try:
        done = replay_planner(open_planner(port), setting, cast("Any", wanted.operations), watch=watch)
    except Illegal as illegal:
        raise TraceError(one_line(f"{file}: steps[{len(steps)}]: {illegal} Correct the step or remove it.")) from illegal
    except NotOffered as reason:
        raise TraceError(one_line(f"{file}: config: {reason}; allowed is what the release can plan for; choose another")) from reason
    return Replay(wanted, tuple(steps), done.violation)


__all__ = ["replayed_on_planner"]
