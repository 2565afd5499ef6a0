"""The errata of planners that our caller cannot repeat: each by the clause, what must be so for it, and the releases that have it."""

from collections.abc import Callable, Sequence

from attrs import frozen

from kvwitness.properties.operations import Reset
from kvwitness.properties.planning import PlannerOperation, PlannerSetting, Submit
from kvwitness.properties.violation import Violation
from kvwitness.vllm.generations import Version, version_numbers

Matches = Callable[[PlannerSetting, Sequence[PlannerOperation], Violation], bool]


@frozen
class PlannerErratum:
    """A known fault of planners.

    Attributes:
        id: Its name.
        sentence: What goes wrong, in the words of someone it happens to.
        clauses: The clauses that it breaks.
        first: The first release that was seen to have it.
        last: The last one.
        matches: What a run must be like to show it.
    """

    id: str
    sentence: str
    clauses: tuple[str, ...]
    first: Version
    last: Version
    matches: Matches


def _is_forced_reset(operation: PlannerOperation) -> bool:
    return isinstance(operation, Reset) and operation.force


def _reset_ahead(setting: PlannerSetting, operations: Sequence[PlannerOperation], _violation: Violation) -> bool:
    return setting.config.depth > 1 and any(map(_is_forced_reset, operations))


def _reset_fenced(setting: PlannerSetting, operations: Sequence[PlannerOperation], violation: Violation) -> bool:
    fenced = setting.config.depth > 1 and setting.planner.connector and _is_forced_reset(operations[-1])
    return fenced and violation.because.startswith("reset_prefix_cache raises RuntimeError")


def _padded_past_chunk(setting: PlannerSetting, _operations: Sequence[PlannerOperation], violation: Violation) -> bool:
    cut = 0 < setting.planner.longest_chunk <= setting.config.drafts
    return cut and "schedule raises AssertionError" in violation.because and "num_spec_tokens" in violation.because


def _load_waits(setting: PlannerSetting, operations: Sequence[PlannerOperation], _violation: Violation) -> bool:
    return setting.planner.connector and any(isinstance(operation, Submit) and operation.delayed for operation in operations)


def _ahead_with_drafts(setting: PlannerSetting, _operations: Sequence[PlannerOperation], _violation: Violation) -> bool:
    config = setting.config
    forgets = any(kind.kind in ("sliding", "chunked", "mamba") for kind in config.groups)
    return forgets and config.drafts > 0 and setting.profile.release_basis == "optimistic"


CONTENTS = tuple(f"CONTENTS.{name}" for name in ("CACHED", "READ.OWN", "READ.FREED", "READ.PRESENT", "READ.LATENT", "WRITE.PRESENT"))

PLANNER_ERRATA: tuple[PlannerErratum, ...] = (
    PlannerErratum(
        "reset-drops-output",
        "With steps planned ahead, a forced reset of the prefix cache loses a token that is sampled afterwards, or kills the engine.",
        ("PLAN.OUTPUT.KEPT", "PLAN.OUTPUT.STALE", "PLAN.SURVIVES", *CONTENTS, "CONTENTS.WRITE.ALONE"),
        (0, 14),
        (0, 20),
        _reset_ahead,
    ),
    PlannerErratum(
        "optimistic-release",
        "Blocks are released by a length that counts unverified drafts, and are read or written after a rejection.",
        (*CONTENTS, "CONTENTS.WRITE.ALONE"),
        (0, 14),
        (0, 25),
        _ahead_with_drafts,
    ),
    PlannerErratum(
        "loaded-behind-refused",
        "A request that waits with its loaded blocks stands behind one for which they are missing: nothing is planned any more.",
        ("PLAN.PROGRESS",),
        (0, 14),
        (0, 33),
        _load_waits,
    ),
    PlannerErratum(
        "reset-fenced",
        "With a connector and a step in flight, a forced reset of the prefix cache raises: blocks are kept back until the step has run.",
        ("PLAN.SURVIVES",),
        (0, 24),
        (0, 33),
        _reset_fenced,
    ),
    PlannerErratum(
        "padded-past-chunk",
        "With drafts and a longest prefill chunk that is not longer, the engine dies when a decode is padded with drafts and cut again.",
        ("PLAN.SURVIVES",),
        (0, 22),
        (0, 33),
        _padded_past_chunk,
    ),
)
"""Those that were found; `reset-drops-output` first, since what follows from it shows in many ways."""


def planner_erratum_of(
    version: str, setting: PlannerSetting, operations: Sequence[PlannerOperation], violation: Violation
) -> PlannerErratum | None:
    """The erratum of the list that a finding on that release is, or None."""
    numbers = version_numbers(version)
    for erratum in PLANNER_ERRATA:
        if numbers is not None and not erratum.first <= numbers <= erratum.last:
            continue
        if violation.clause in erratum.clauses and erratum.matches(setting, operations, violation):
            return erratum
    return None


__all__ = ["PLANNER_ERRATA", "PlannerErratum", "planner_erratum_of"]
