"""From a refuted theorem to a trace file: the counterexample is run on our implementation, and must break its clause there."""

from kvwitness.model.caller import Illegal
from kvwitness.model.kinds import ConfigError
from kvwitness.model.profile import Profile
from kvwitness.ports.resolve import resolve
from kvwitness.proofs.verdicts import Verdict
from kvwitness.properties.replay import Setting, replay
from kvwitness.trace import Origin, Trace, failure_trace


class Unreproduced(Exception):
    """A counterexample whose run does not break the clause that it should."""


def traced(verdict: Verdict, profile: Profile, port: str = "impl") -> Trace:
    """The trace of a refutation.

    Raises:
        Unreproduced: The run holds, breaks another clause, or is not allowed.
    """
    scenario = verdict.scenario
    assert scenario is not None, "a verdict without a run"
    setting = Setting(scenario.config, profile)
    try:
        done = replay(resolve(port), setting, scenario.operations)
    except (Illegal, ConfigError) as error:
        raise Unreproduced(f"the run of the counterexample is not allowed: {error}") from error
    if done.violation is None or done.violation.clause != scenario.clause:
        broke = done.violation.clause if done.violation else "nothing"
        raise Unreproduced(f"the run of the counterexample breaks {broke} on {port}, not {scenario.clause}")
    return failure_trace(setting, done.operations, done.violation, Origin("proof", clause=scenario.clause, port=port))


__all__ = ["Unreproduced", "traced"]
