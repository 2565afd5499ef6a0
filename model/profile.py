"""Profiles: the rules on which releases differ, each a field with its closed list of values.

A profile is one point in that space.
``vllm-0.16`` is the seed; ``sound`` takes, on every axis, the choice that is safe and finds the longest hit.
"""

from typing import Literal

from attrs import evolve, fields, frozen

FreeOrder = Literal["appended", "skipped_keyless_first", "keyless_first", "keyless_first_if_caching"]
ReleaseLag = Literal["none", "drafts"]
AlignShrink = Literal["raises", "nothing"]
EstimateFloor = Literal["raw", "zero"]
SlidingDraftDrop = Literal["raises", "drop_then_align", "align_after_drop", "longest"]
SlidingWindowOne = Literal["needs_a_block", "needs_nothing"]
SlidingPublish = Literal["all", "segment_tails", "segment_tails_with_draft"]
SinkReservation = Literal["taken", "reserved", "none"]
MambaCaching = Literal["any_mode", "align_only"]
NullReferences = Literal["drift", "untouched"]
ContextParallel = Literal["dcp_pcp", "dcp"]
PublishPastHashed = Literal["raises", "index_error", "clipped"]
Adoption = Literal["one_phase", "two_phase"]
ReleaseBasis = Literal["optimistic", "settled"]
ResumedSplit = Literal["unsplit", "as_new"]
TailChunks = Literal["cut_anywhere", "end_at_blocks"]
PreemptedInPlan = Literal["keeps_keys", "withdrawn"]
GuardScope = Literal["block", "key"]
ReleaseWalk = Literal["to_first_null", "all"]
ExternalCut = Literal["whole_blocks", "tokens"]
ExternalState = Literal["forgotten", "counted"]
HybridHit = Literal["drop_every_pass", "drop_once", "drop_once_in_reach", "drop_once_past_cap", "longest"]
HybridTrim = Literal["first_full", "every_full"]
HybridPublish = Literal["all", "aligned", "aligned_with_draft"]
EventRuns = Literal["one_a_call", "contiguous"]
EventCopies = Literal["each", "first_and_last"]
EventGroups = Literal["untold", "told"]


@frozen
class Profile:
    """One choice on every axis.

    Attributes:
        name: What reports call it.
        free_order: Where released blocks join the free queue: at the tail in the order given,
            or those without a key at the head (reused first) and the others at the tail,
            the latter always, only where skipped blocks or a sliding window's are released, or only while caching is on.
        mamba_release_lag: How far Mamba's release stays behind the computed count: not at all, or by the speculative blocks.
        mamba_release_walk: Whether releasing skipped states of mode align goes from the right to the first null entry only:
            where several steps are planned ahead there are states left of it.
        mamba_same_step_guard: Whether a hit on a state that is published in the step being planned is put off.
        mamba_guard_scope: What the guard goes by: the very block that is published, or its key, so that an earlier copy is put off as well.
        mamba_align_shrink: What growing to fewer blocks than held does in mode align.
        estimate_floor: Whether an estimate may be negative or stops at zero.
        sliding_draft_drop: How the draft drop and an alignment other than the block size go together.
        sliding_window_one: Whether a window of one token, which reads nothing earlier, asks for a cached block all the same.
        sliding_publish: Which full blocks of a sliding window get a key: all, or the tails of the aligned segments;
            the tails reckon with a draft model's block or they do not.
        external_cut: When external tokens that are all skipped take no block: once they skip a whole block, or at once.
        external_state: Whether Mamba align's estimate counts the block that takes an external state.
        sink_reservation: How sink blocks leave the pool: taken without a trace, reserved and accounted for, or not at all.
        mamba_caching: In which Mamba modes prefix caching may be on.
        null_references: Whether releasing null entries moves the null block's reference count.
        context_parallel: Which parallel sizes widen a block of full attention.
        partial_hits: Whether a hit may end inside a block.
        publish_past_hashed: What publishing more tokens than are hashed does.
        adoption: Whether each group adopts its hits and takes blocks for external tokens at once,
            or all groups adopt before any takes.
        release_basis: Whether skipped blocks are released by the optimistic or by the settled length.
        resumed_split: Whether a resumed request's chunks keep Mamba align's split.
        tail_chunks: Whether Mamba align's chunks behind the last position worth keeping may start inside a block and step over its end.
        preempted_in_plan: What becomes of the keys that a request published in the very step that preempts it.
        hybrid_hit: How mixed groups come to a common hit: by passes over the groups in which each may shorten the length,
            with a draft model's block dropped in every pass, or once a length (in one way a Mamba group may lengthen it,
            in another nothing grows past full attention, in a third the dropped block may lie past the cap),
            or as the longest length that every group accepts.
        hybrid_trim: Whether only the first kind of full attention is cut to the common length at the end, or every one.
        hybrid_publish: How far mixed groups publish: all that is computed, up to the last multiple of their blocks,
            or a draft model's block further.
        event_runs: Whether publishing tells of all its blocks in one KV event, which then speaks of more tokens than its keys do
            where some got none, or in one for each stretch that got keys.
        event_copies: Whether every block that gets or loses a key is told, or only the first that gets and the last that loses it.
        event_groups: Whether KV events name the group of their keys.
    """

    name: str
    free_order: FreeOrder
    mamba_release_lag: ReleaseLag
    mamba_release_walk: ReleaseWalk
    mamba_same_step_guard: bool
    mamba_guard_scope: GuardScope
    mamba_align_shrink: AlignShrink
    estimate_floor: EstimateFloor
    sliding_draft_drop: SlidingDraftDrop
    sliding_window_one: SlidingWindowOne
    sliding_publish: SlidingPublish
    external_cut: ExternalCut
    external_state: ExternalState
    sink_reservation: SinkReservation
    mamba_caching: MambaCaching
    null_references: NullReferences
    context_parallel: ContextParallel
    partial_hits: bool
    publish_past_hashed: PublishPastHashed
    adoption: Adoption
    release_basis: ReleaseBasis
    resumed_split: ResumedSplit
    tail_chunks: TailChunks
    preempted_in_plan: PreemptedInPlan
    hybrid_hit: HybridHit
    hybrid_trim: HybridTrim
    hybrid_publish: HybridPublish
    event_runs: EventRuns
    event_copies: EventCopies
    event_groups: EventGroups


VLLM_0_16 = Profile(
    name="vllm-0.16",
    free_order="appended",
    mamba_release_lag="none",
    mamba_release_walk="to_first_null",
    mamba_same_step_guard=False,
    mamba_guard_scope="block",
    mamba_align_shrink="raises",
    estimate_floor="raw",
    sliding_draft_drop="raises",
    sliding_window_one="needs_a_block",
    sliding_publish="all",
    external_cut="whole_blocks",
    external_state="forgotten",
    sink_reservation="taken",
    mamba_caching="any_mode",
    null_references="drift",
    context_parallel="dcp_pcp",
    partial_hits=False,
    publish_past_hashed="raises",
    adoption="one_phase",
    release_basis="optimistic",
    resumed_split="unsplit",
    tail_chunks="cut_anywhere",
    preempted_in_plan="keeps_keys",
    hybrid_hit="drop_every_pass",
    hybrid_trim="first_full",
    hybrid_publish="all",
    event_runs="one_a_call",
    event_copies="each",
    event_groups="untold",
)

SOUND = Profile(
    name="sound",
    free_order="keyless_first",
    mamba_release_lag="none",
    mamba_release_walk="all",
    mamba_same_step_guard=True,
    mamba_guard_scope="block",
    mamba_align_shrink="nothing",
    estimate_floor="zero",
    sliding_draft_drop="longest",
    sliding_window_one="needs_nothing",
    sliding_publish="all",
    external_cut="whole_blocks",
    external_state="counted",
    sink_reservation="reserved",
    mamba_caching="any_mode",
    null_references="untouched",
    context_parallel="dcp_pcp",
    partial_hits=False,
    publish_past_hashed="raises",
    adoption="two_phase",
    release_basis="settled",
    resumed_split="as_new",
    tail_chunks="end_at_blocks",
    preempted_in_plan="withdrawn",
    hybrid_hit="longest",
    hybrid_trim="every_full",
    hybrid_publish="all",
    event_runs="contiguous",
    event_copies="first_and_last",
    event_groups="told",
)

# A release's profile is the one before it with what changed; vllm-0.16 is the seed.
VLLM_0_15 = evolve(VLLM_0_16, name="vllm-0.15")
VLLM_0_17 = evolve(
    VLLM_0_16, name="vllm-0.17", mamba_release_lag="drafts", mamba_same_step_guard=True, mamba_guard_scope="key", resumed_split="as_new"
)
VLLM_0_19 = evolve(VLLM_0_17, name="vllm-0.19", sliding_draft_drop="drop_then_align")
VLLM_0_20 = evolve(VLLM_0_19, name="vllm-0.20", sliding_draft_drop="align_after_drop", hybrid_hit="drop_once", event_groups="told")
VLLM_0_22 = evolve(VLLM_0_20, name="vllm-0.22", sliding_publish="segment_tails", hybrid_publish="aligned")
VLLM_0_23 = evolve(
    VLLM_0_22,
    name="vllm-0.23",
    free_order="skipped_keyless_first",
    mamba_align_shrink="nothing",
    sliding_publish="segment_tails_with_draft",
    hybrid_publish="aligned_with_draft",
)
VLLM_0_24 = evolve(
    VLLM_0_23,
    name="vllm-0.24",
    free_order="keyless_first",
    external_cut="tokens",
    adoption="two_phase",
)
VLLM_0_26 = evolve(
    VLLM_0_24,
    name="vllm-0.26",
    mamba_release_lag="none",
    context_parallel="dcp",
    publish_past_hashed="index_error",
    release_basis="settled",
    hybrid_hit="drop_once_in_reach",
)
VLLM_0_27 = evolve(VLLM_0_26, name="vllm-0.27", free_order="keyless_first_if_caching")
VLLM_0_28 = evolve(VLLM_0_27, name="vllm-0.28", free_order="keyless_first", tail_chunks="end_at_blocks")
VLLM_0_29 = evolve(VLLM_0_28, name="vllm-0.29", hybrid_trim="every_full")
VLLM_0_30 = evolve(VLLM_0_29, name="vllm-0.30", mamba_release_walk="all", sink_reservation="none")
VLLM_0_32 = evolve(VLLM_0_30, name="vllm-0.32", hybrid_hit="drop_once_past_cap")
VLLM_0_33 = evolve(VLLM_0_32, name="vllm-0.33", mamba_caching="align_only", null_references="untouched", publish_past_hashed="clipped")

RELEASES = (
    VLLM_0_15,
    VLLM_0_16,
    VLLM_0_17,
    VLLM_0_19,
    VLLM_0_20,
    VLLM_0_22,
    VLLM_0_23,
    VLLM_0_24,
    VLLM_0_26,
    VLLM_0_27,
    VLLM_0_28,
    VLLM_0_29,
    VLLM_0_30,
    VLLM_0_32,
    VLLM_0_33,
)
"""The profile of every release from which on something changed, oldest first."""

PROFILES = {profile.name: profile for profile in (SOUND, *RELEASES)}

AXES = tuple(field.name for field in fields(Profile) if field.name != "name")


def with_axis_of(profile: Profile, axis: str, other: Profile) -> Profile:
    """The profile with one axis taken from another: the counterfactual that an erratum is attributed by."""
    return evolve(profile, name=f"{profile.name}+{other.name}.{axis}", **{axis: getattr(other, axis)})


def differing_axes(left: Profile, right: Profile) -> tuple[str, ...]:
    """The axes on which two profiles choose differently, in the order of the fields."""
    return tuple(axis for axis in AXES if getattr(left, axis) != getattr(right, axis))
