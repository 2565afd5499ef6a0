"""Errata: where a release's rules break a clause, and how a finding is told to be one of them.

A finding is attributed by a counterfactual: the same operations, with the erratum's rules replaced by the sound ones, must hold.
What no erratum explains in this way is a new finding.
"""

from collections.abc import Sequence

from attrs import evolve, frozen

from kvwitness.model.profile import SOUND, Profile, with_axis_of
from kvwitness.properties.operations import Operation
from kvwitness.properties.replay import MakePort, Replayed, Setting, replay
from kvwitness.properties.violation import Violation

CONTENTS = ("CONTENTS.CACHED", "CONTENTS.READ.OWN", "CONTENTS.READ.FREED", "CONTENTS.READ.PRESENT")


@frozen
class Erratum:
    """A known departure from `sound`.

    Attributes:
        id: Its name.
        sentence: What goes wrong, in the words of someone it happens to.
        axes: The rules that cause it; with all of them sound it is gone.
        clauses: The clauses that it breaks.
        values: Those values of the axes that cause it; none for any other than the sound one.
    """

    id: str
    sentence: str
    axes: tuple[str, ...]
    clauses: tuple[str, ...]
    values: tuple[object, ...] = ()

    @property
    def is_of_mixes(self) -> bool:
        """Whether only mixed groups can show it."""
        return all(axis.startswith("hybrid_") for axis in self.axes)

    @property
    def is_of_events(self) -> bool:
        """Whether only somebody who listens to KV events can see it."""
        return all(axis.startswith("event_") for axis in self.axes)

    @property
    def is_past_the_protocol(self) -> bool:
        """Whether only raw calls show it: our caller gives no external tokens to Mamba."""
        return self.axes == ("external_state",)

    def is_of(self, profile: Profile) -> bool:
        """Whether the profile has the rules that cause it."""
        rules = [(getattr(profile, axis), getattr(SOUND, axis)) for axis in self.axes]
        return any(rule != sound and (not self.values or rule in self.values) for rule, sound in rules)


ERRATA = (
    Erratum(
        "same-step-state",
        "A request starts from a Mamba state that another request computes in the same step.",
        ("mamba_same_step_guard",),
        ("MAMBA.HIT.COMPUTED", *CONTENTS),
    ),
    Erratum(
        "guard-by-key",
        "A request is put off for a Mamba state that is computed long since, because another request computes it again in this step.",
        ("mamba_guard_scope",),
        ("LIVE.REFUSAL",),
    ),
    Erratum(
        "states-kept-by-drafts",
        "Mamba states that nobody reads are held until the request has gone on by as many tokens as it has speculative blocks.",
        ("mamba_release_lag",),
        ("LIVE.RELEASED",),
    ),
    Erratum(
        "states-stranded",
        "With steps planned ahead, Mamba align states left of a null entry are held until the request ends.",
        ("mamba_release_walk",),
        ("LIVE.RELEASED",),
    ),
    Erratum(
        "resumed-chunk-unaligned",
        "A resumed request ends a chunk inside a block, which is later keyed as full and holds an earlier state.",
        ("resumed_split",),
        CONTENTS,
    ),
    Erratum(
        "tail-chunk-unaligned",
        "With a draft model, a chunk behind the last kept position ends inside a block that is later keyed as full.",
        ("tail_chunks",),
        CONTENTS,
    ),
    Erratum(
        "optimistic-release",
        "Blocks are released by a length that counts unverified drafts, and are read or written after a rejection.",
        ("release_basis",),
        (*CONTENTS, "CONTENTS.READ.LATENT", "CONTENTS.WRITE.PRESENT", "CONTENTS.WRITE.ALONE"),
    ),
    Erratum(
        "preempted-plan-keyed",
        "A request preempted in the step that planned it leaves blocks findable that are never computed.",
        ("preempted_in_plan",),
        ("MAMBA.HIT.COMPUTED", "LIVE.REFUSAL", *CONTENTS),
    ),
    Erratum(
        "external-evicts-hit",
        "With two groups, the blocks that one takes for external tokens are the other's hits.",
        ("adoption",),
        ("HYBRID.ADOPT.KEPT", "BOOKS.ONCE", "BOOKS.EXCLUSIVE", "BOOKS.ACCEPTED", "BOOKS.ESTIMATE", "CONTENTS.WRITE.ALONE", *CONTENTS),
    ),
    Erratum(
        "drop-alignment",
        "A sliding-window look-up under a draft model fails, or misses a hit, where the alignment is not the block size.",
        ("sliding_draft_drop",),
        ("BOOKS.ACCEPTED", "LIVE.HIT.FOUND", "LIVE.HIT.NULLS", "HYBRID.HIT.LONGEST", "HYBRID.HIT.SOUND", *CONTENTS),
    ),
    Erratum(
        "draft-block-unpublished",
        "A sliding window publishes the ends of aligned segments without the block that a draft model's hit asks for: nothing is hit.",
        ("sliding_publish",),
        ("LIVE.PUBLISHED",),
        ("segment_tails",),
    ),
    Erratum(
        "window-one",
        "A window of one token reads nothing earlier, and yet a hit needs a cached block.",
        ("sliding_window_one",),
        ("LIVE.HIT.FOUND", "HYBRID.HIT.LONGEST"),
    ),
    Erratum(
        "sink-blocks-reset",
        "With attention sinks the prefix cache can never be reset.",
        ("sink_reservation",),
        ("LIVE.RESET",),
        ("taken",),
    ),
    Erratum(
        "align-shrink",
        "A Mamba align request whose drafts shrink across a block's edge is rejected, or estimated below zero.",
        ("mamba_align_shrink", "estimate_floor"),
        ("BOOKS.ACCEPTED", "BOOKS.ESTIMATE.FLOOR"),
    ),
    Erratum(
        "external-state-uncounted",
        "With a connector and Mamba align the block of the external state is not counted: an admission that fits on paper fails.",
        ("external_state",),
        ("BOOKS.ESTIMATE",),
    ),
    Erratum(
        "drop-in-every-pass",
        "With a draft model and mixed groups, every pass of the look-up drops one more block, until little or nothing is hit.",
        ("hybrid_hit",),
        ("HYBRID.HIT.LONGEST",),
        ("drop_every_pass",),
    ),
    Erratum(
        "second-full-uncut",
        "Of two sizes of full attention the second keeps blocks of a hit that is longer than the common one.",
        ("hybrid_trim",),
        ("HYBRID.HIT.SOUND",),
        ("first_full",),
    ),
    Erratum(
        "mamba-lengthens-hit",
        "With a draft model a Mamba group looks a block further than the others and may find a hit that they do not have.",
        ("hybrid_hit",),
        ("HYBRID.HIT.SOUND", "HYBRID.HIT.LONGEST"),
        ("drop_once",),
    ),
    Erratum(
        "drop-not-renewed",
        "With a draft model, a group that dropped its block once keeps none back when another group makes the hit shorter.",
        ("hybrid_hit",),
        ("HYBRID.HIT.DROP-ONCE", "HYBRID.HIT.LONGEST"),
        ("drop_once", "drop_once_in_reach", "drop_once_past_cap"),
    ),
    Erratum(
        "copy-removed",
        "Whoever keeps a set of the keys in KV events takes a key for gone when one copy of its block is evicted and another is found.",
        ("event_copies",),
        ("EVENTS.PLAIN",),
    ),
    Erratum(
        "run-over-gaps",
        "A KV event that stores blocks names the tokens of null and left-out blocks too, so its tokens do not hash to its keys.",
        ("event_runs",),
        ("EVENTS.RANGE",),
    ),
    Erratum(
        "group-untold",
        "With several groups, KV events do not say whose keys they are about.",
        ("event_groups",),
        ("EVENTS.GROUP.NAMED",),
    ),
)
"""Every erratum that a profile of ours can show; a profile has those whose axes it does not take from `sound`."""


def errata_of(profile: Profile) -> tuple[Erratum, ...]:
    """The errata whose rules a profile has."""
    return tuple(erratum for erratum in ERRATA if erratum.is_of(profile))


def attribute(make_port: MakePort, setting: Setting, operations: Sequence[Operation], violation: Violation) -> Erratum | None:
    """The erratum that explains a finding: with its rules sound, the same operations break nothing; None for a new finding.

    Where mending one lets another show, the finding is explained if that one is in turn.
    Where errata are entangled more closely, the smallest set is sought that must be mended together,
    and the finding is counted under the one of them that lists its clause.
    """
    known = errata_of(setting.profile)
    listing = [erratum for erratum in known if violation.clause in erratum.clauses]
    left = {erratum.id: _left_by(make_port, setting, operations, (erratum,)) for erratum in listing}
    for erratum in listing:
        if left[erratum.id].violation is None:
            return erratum
    before = len(_left_by(make_port, setting, operations, ()).operations)
    for erratum in listing:
        other = left[erratum.id]
        moved = other.violation is not None and (other.violation.clause != violation.clause or len(other.operations) > before)
        if moved and other.violation and attribute(make_port, _mended(setting, (erratum,)), operations, other.violation):
            return erratum
    return _entangled(make_port, setting, operations, violation)


def _mended(setting: Setting, errata: Sequence[Erratum]) -> Setting:
    """The setting with the rules of some errata sound."""
    profile = setting.profile
    for axis in [axis for erratum in errata for axis in erratum.axes]:
        profile = with_axis_of(profile, axis, SOUND)
    return evolve(setting, profile=profile)


def _left_by(make_port: MakePort, setting: Setting, operations: Sequence[Operation], errata: Sequence[Erratum]) -> Replayed:
    """How the same operations go once some errata are mended."""
    return replay(make_port, _mended(setting, errata), operations, skip_illegal=True)


def _entangled(make_port: MakePort, setting: Setting, operations: Sequence[Operation], violation: Violation) -> Erratum | None:
    """The erratum that lists the clause among the smallest set that must be mended together."""
    needed = list(errata_of(setting.profile))
    if _left_by(make_port, setting, operations, needed).violation is not None:
        return None
    for erratum in tuple(needed):
        fewer = [other for other in needed if other is not erratum]
        if _left_by(make_port, setting, operations, fewer).violation is None:
            needed = fewer
    return next((erratum for erratum in needed if violation.clause in erratum.clauses), None)
