"""The errata of planners that our caller cannot repeat: each by the clause, what must be so for it, and the releases that have it."""

import itertools
from collections.abc import Callable, Sequence

from attrs import frozen

from kvwitness.properties.operations import Arrive, Close, Grow, Operation, Preempt, Reset, Resume, Start
from kvwitness.properties.planning import PlannerOperation, PlannerSetting, Submit
from kvwitness.properties.violation import Violation
from kvwitness.vllm.generations import Version, version_numbers


@frozen
class Seen:
    """A finding, as its erratum is told by.

    Attributes:
        setting: Sizes and settings.
        operations: What happened to the planner.
        theirs: What the planner did, as operations of our caller.
        violation: What broke.
    """

    setting: PlannerSetting
    operations: Sequence[PlannerOperation]
    theirs: Sequence[Operation]
    violation: Violation


Matches = Callable[[Seen], bool]


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


def _reset_ahead(seen: Seen) -> bool:
    return seen.setting.config.depth > 1 and any(map(_is_forced_reset, seen.operations))


def _reset_ahead_with_drafts(seen: Seen) -> bool:
    return seen.setting.config.drafts > 0 and _reset_ahead(seen)


def _reset_fenced(seen: Seen) -> bool:
    fenced = seen.setting.config.depth > 1 and seen.setting.planner.connector and _is_forced_reset(seen.operations[-1])
    return fenced and seen.violation.because.startswith("reset_prefix_cache raises RuntimeError")


def _padded_past_chunk(seen: Seen) -> bool:
    cut = 0 < seen.setting.planner.longest_chunk <= seen.setting.config.drafts
    because = seen.violation.because
    return cut and (because.startswith("the worker is told of") or "num_new_tokens == 1 + self.num_spec_tokens" in because)


def _loads(seen: Seen) -> bool:
    return seen.setting.planner.connector and any(isinstance(operation, Submit) and operation.delayed for operation in seen.operations)


def _load_waits(seen: Seen) -> bool:
    return _loads(seen) and any(isinstance(operation, Arrive) for operation in seen.operations)


def _holders(seen: Seen) -> list[str]:
    """Who holds blocks while it waits, by what was told of a planner that does not go on."""
    return seen.violation.because.partition("planned; ")[2].partition(" hold")[0].split(", ")


def _waits_behind(seen: Seen) -> bool:
    return _load_waits(seen) and seen.violation.because.split()[0] not in _holders(seen)


def _wait_for_each_other(seen: Seen) -> bool:
    return _load_waits(seen) and seen.violation.because.split()[0] in _holders(seen) and len(_holders(seen)) > 1


def _wait_with_drafts(seen: Seen) -> bool:
    return seen.setting.config.drafts > 0 and _load_waits(seen) and len(_holders(seen)) > 1


def _drop_is_rejected(seen: Seen) -> bool:
    told = seen.violation.because == "find_longest_cache_hit ended rejected (draft_drop_alignment)"
    return told and seen.setting.profile.sliding_draft_drop == "raises"


def _drop_is_not_renewed(seen: Seen) -> bool:
    config = seen.setting.config
    return config.draft_model and seen.setting.profile.hybrid_hit in ("drop_once", "drop_once_in_reach", "drop_once_past_cap")


def _second_full_uncut(seen: Seen) -> bool:
    sizes = {kind.block_size for kind in seen.setting.config.groups if kind.kind == "full"}
    return len(sizes) > 1 and seen.setting.profile.hybrid_trim == "first_full"


def _put_off_by_key(seen: Seen) -> bool:
    """Somebody else, whose state has the key that is asked for, is planned before the refused one."""
    plan = list(itertools.takewhile(lambda operation: not isinstance(operation, Close), reversed(seen.theirs[:-1])))
    others = [operation for operation in plan if isinstance(operation, Grow | Start | Resume)]
    states = any(kind.kind == "mamba" for kind in seen.setting.config.groups)
    return states and len(others) > 1 and seen.setting.profile.mamba_guard_scope == "key"


def _external_with_groups(seen: Seen) -> bool:
    """A connector frees in an order that our caller does not repeat, so whose block is taken is another's there."""
    supplied = any(isinstance(operation, Submit) and operation.external for operation in seen.operations)
    if seen.violation.clause == "BOOKS.ACCEPTED" and not seen.violation.because.endswith("(pool_exhausted)"):
        return False
    return supplied and len(seen.setting.config.groups) > 1 and seen.setting.profile.adoption == "one_phase"


def _load_reserves(seen: Seen) -> bool:
    return _loads(seen) and seen.setting.config.drafts > 0


def _ahead_with_drafts(seen: Seen) -> bool:
    config = seen.setting.config
    forgets = any(kind.kind in ("sliding", "chunked", "mamba") for kind in config.groups)
    return forgets and config.drafts > 0 and seen.setting.profile.release_basis == "optimistic"


def _states_kept(seen: Seen) -> bool:
    drafts = any(kind.label == "mamba-align" and kind.drafts for kind in seen.setting.config.groups)
    return drafts and seen.setting.profile.mamba_release_lag == "drafts"


def _states_stranded(seen: Seen) -> bool:
    states = any(kind.label == "mamba-align" for kind in seen.setting.config.groups)
    return states and seen.setting.config.depth > 1 and seen.setting.profile.mamba_release_walk == "to_first_null"


def _preempted_in_plan(seen: Seen) -> bool:
    """Somebody is preempted in the very plan that had granted slots to it."""
    planned: set[str] = set()
    for operation in seen.theirs:
        if isinstance(operation, Close):
            planned.clear()
        elif isinstance(operation, Grow | Start | Resume):
            planned.add(operation.id)
        elif isinstance(operation, Preempt) and operation.id in planned:
            return seen.setting.planner.policy == "priority"
    return False


CONTENTS = tuple(f"CONTENTS.{name}" for name in ("CACHED", "READ.OWN", "READ.FREED", "READ.PRESENT", "READ.LATENT", "WRITE.PRESENT"))

PLANNER_ERRATA: tuple[PlannerErratum, ...] = (
    PlannerErratum(
        "reset-drops-output",
        "With steps planned ahead, a forced reset of the prefix cache loses a token that is sampled afterwards, or kills the engine.",
        ("PLAN.OUTPUT.KEPT", "PLAN.OUTPUT.STALE", "PLAN.SURVIVES", *CONTENTS, "CONTENTS.WRITE.ALONE"),
        (0, 14),
        (0, 21),
        _reset_ahead,
    ),
    PlannerErratum(
        "reset-drops-drafted",
        "With steps planned ahead and drafts, a forced reset of the prefix cache loses a token that is sampled afterwards.",
        ("PLAN.OUTPUT.KEPT", "PLAN.OUTPUT.STALE", *CONTENTS, "CONTENTS.WRITE.ALONE"),
        (0, 22),
        (0, 26),
        _reset_ahead_with_drafts,
    ),
    PlannerErratum(
        "preempted-plan-keyed",
        "A request preempted in the step that planned it leaves blocks findable that are never computed.",
        ("CONTENTS.CACHED", "CONTENTS.READ.OWN", "CONTENTS.READ.FREED", "MAMBA.HIT.COMPUTED", "LIVE.REFUSAL"),
        (0, 14),
        (0, 33),
        _preempted_in_plan,
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
        "drop-alignment",
        "A sliding-window look-up under a draft model fails, or misses a hit, where the alignment is not the block size.",
        ("BOOKS.ACCEPTED",),
        (0, 14),
        (0, 18),
        _drop_is_rejected,
    ),
    PlannerErratum(
        "drop-not-renewed",
        "With a draft model, a group that dropped its block once keeps none back when another group makes the hit shorter.",
        ("HYBRID.HIT.DROP-ONCE",),
        (0, 20),
        (0, 33),
        _drop_is_not_renewed,
    ),
    PlannerErratum(
        "second-full-uncut",
        "Of two sizes of full attention the second keeps blocks of a hit that is longer than the common one.",
        ("HYBRID.HIT.SOUND",),
        (0, 14),
        (0, 28),
        _second_full_uncut,
    ),
    PlannerErratum(
        "guard-by-key",
        "A request is put off for a Mamba state that is computed long since, because another request computes it again in this step.",
        ("LIVE.REFUSAL",),
        (0, 17),
        (0, 33),
        _put_off_by_key,
    ),
    PlannerErratum(
        "external-evicts-hit",
        "With two groups, the blocks that one takes for external tokens are the other's hits.",
        ("HYBRID.ADOPT.KEPT", "BOOKS.ONCE", "BOOKS.EXCLUSIVE", "BOOKS.ACCEPTED", "BOOKS.ESTIMATE", "CONTENTS.WRITE.ALONE"),
        (0, 14),
        (0, 23),
        _external_with_groups,
    ),
    PlannerErratum(
        "states-kept-by-drafts",
        "Mamba states that nobody reads are held until the request has gone on by as many tokens as it has speculative blocks.",
        ("LIVE.RELEASED",),
        (0, 17),
        (0, 25),
        _states_kept,
    ),
    PlannerErratum(
        "states-stranded",
        "With steps planned ahead, Mamba align states left of a null entry are held until the request ends.",
        ("LIVE.RELEASED",),
        (0, 14),
        (0, 29),
        _states_stranded,
    ),
    PlannerErratum(
        "loaded-behind-refused",
        "A request that waits with its loaded blocks stands behind one for which they are missing: nothing is planned any more.",
        ("PLAN.PROGRESS",),
        (0, 14),
        (0, 30),
        _waits_behind,
    ),
    PlannerErratum(
        "loads-wait-for-each-other",
        "Requests with loaded blocks wait for the blocks that the others hold, and nobody runs who could be preempted.",
        ("PLAN.PROGRESS",),
        (0, 14),
        (0, 22),
        _wait_for_each_other,
    ),
    PlannerErratum(
        "loads-wait-with-drafts",
        "Requests with loaded blocks wait for room for their drafts that the others hold, and nobody runs who could be preempted.",
        ("PLAN.PROGRESS",),
        (0, 23),
        (0, 30),
        _wait_with_drafts,
    ),
    PlannerErratum(
        "load-never-admitted",
        "With drafts, a request whose tokens are loaded is never admitted, since room for drafts is asked for that the pool does not have.",
        ("PLAN.PROGRESS",),
        (0, 31),
        (0, 33),
        _load_reserves,
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
        "With drafts and a longest prefill chunk that is not longer, a decode is padded with drafts and cut again: the two disagree.",
        ("PLAN.SURVIVES", "PLAN.TOLD"),
        (0, 25),
        (0, 33),
        _padded_past_chunk,
    ),
)
"""Those that were found; `reset-drops-output` first, since what follows from it shows in many ways."""


def planner_erratum_of(version: str, seen: Seen) -> PlannerErratum | None:
    """The erratum of the list that a finding on that release is, or None."""
    numbers = version_numbers(version)
    for erratum in PLANNER_ERRATA:
        if numbers is not None and not erratum.first <= numbers <= erratum.last:
            continue
        if seen.violation.clause in erratum.clauses and erratum.matches(seen):
            return erratum
    return None


__all__ = ["PLANNER_ERRATA", "PlannerErratum", "Seen", "planner_erratum_of"]
