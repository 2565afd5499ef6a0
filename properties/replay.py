"""Carrying out a given list of operations on a fresh port, for replay, shrinking and attribution."""

from collections.abc import Callable, Sequence

from attrs import frozen

from kvwitness.model.caller import Illegal
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.properties.operations import Operation
from kvwitness.properties.port import Port
from kvwitness.properties.run import ORACLES, Run
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

MakePort = Callable[[Profile], Port]
"""Builds a port that follows a profile."""


@frozen
class Setting:
    """Everything about a run but its operations.

    Attributes:
        config: Sizes.
        profile: The rules in force.
        strict: Whether the caller does only what a real planner does.
        level: Conformance level of the refinement.
        oracles: Which oracles judge.
    """

    config: Config
    profile: Profile
    strict: bool = True
    level: str = "L3"
    oracles: tuple[str, ...] = ORACLES


@frozen
class Replayed:
    """How a replay went.

    Attributes:
        operations: The operations that were carried out; the last one broke the clause, if any was.
        violation: The broken clause, or None.
        num_calls: Calls made.
    """

    operations: tuple[Operation, ...]
    violation: Violation | None
    num_calls: int


def replay(
    make_port: MakePort,
    setting: Setting,
    operations: Sequence[Operation],
    *,
    skip_illegal: bool = False,
    watch: Callable[[View], object] | None = None,
) -> Replayed:
    """Carry out the operations on a fresh port until a clause breaks.

    Args:
        make_port: What stands behind the calls.
        setting: Sizes, rules and oracles.
        operations: What to do.
        skip_illegal: Whether operations that the protocol does not allow are left out; otherwise they raise `Illegal`.
        watch: Is shown each operation that was carried out, before it is judged.
    """
    port = make_port(setting.profile)
    run = Run(port, setting.config, setting.profile, oracles=setting.oracles, strict=setting.strict, level=setting.level, closely=True)
    violation = None
    for operation in operations:
        try:
            view = run.perform(operation)
        except Illegal:
            if not skip_illegal:
                raise
            continue
        if watch is not None:
            watch(view)
        violation = run.judge(view)
        if violation is not None:
            break
    port.close()
    return Replayed(tuple(run.operations), violation, run.num_calls)
