"""Which known erratum a planner's finding is: by a counterfactual where our caller can repeat it, else by the planner's own list.

What a planner did is a run of our alphabet. Carried out by our caller on the reference under the release's profile, it either breaks the
same clause, and the erratum is sought there as for any release, or the fault is the planner's own.
"""

from collections.abc import Sequence

from attrs import evolve, frozen

from kvwitness.properties.errata import attribute
from kvwitness.properties.planning import PlannerOperation, PlannerSetting
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.violation import Violation
from kvwitness.vllm.loader import Release
from kvwitness.vllm.planner.errata import Seen, planner_erratum_of
from kvwitness.vllm.planner.translating import translation_of

JUDGES = ("accounting", "contents", "liveness")


@frozen
class Attributed:
    """The erratum that explains a finding.

    Attributes:
        id: Its name.
        sentence: What goes wrong.
        by: ``counterfactual`` or ``signature``.
    """

    id: str
    sentence: str
    by: str


def attributed_on_planner(
    release: Release, reference: MakePort, setting: PlannerSetting, operations: Sequence[PlannerOperation], violation: Violation
) -> Attributed | None:
    """The erratum that explains a finding on a planner, or None for a new one."""
    theirs = translation_of(release, setting, operations)
    # From 0.2x on a planner publishes after every step, as our caller does where steps are planned ahead.
    for config in dict.fromkeys((setting.config, evolve(setting.config, depth=max(2, setting.config.depth)))):
        ours = Setting(config, setting.profile, strict=False, oracles=JUDGES)
        shown = replay(reference, ours, theirs, skip_illegal=True).violation
        if shown is not None and shown.clause == violation.clause:
            erratum = attribute(reference, ours, theirs, violation)
            if erratum is not None:
                return Attributed(erratum.id, erratum.sentence, "counterfactual")
    own = planner_erratum_of(release.version, Seen(setting, operations, theirs, violation))
    return Attributed(own.id, own.sentence, "signature") if own is not None else None


__all__ = ["Attributed", "attributed_on_planner"]
