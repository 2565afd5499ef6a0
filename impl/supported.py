"""Which configurations of a pool this implementation honours."""

from typing import Any

from kvwitness.impl.errors import RejectedAssertion, RejectedNotImplemented
from kvwitness.model.profile import Profile

SUPPORTED: dict[str, tuple[Any, ...]] = {
    "free_order": ("appended", "skipped_keyless_first", "keyless_first", "keyless_first_if_caching"),
    "mamba_release_lag": ("none", "drafts"),
    "mamba_release_walk": ("to_first_null", "all"),
    "mamba_same_step_guard": (False, True),
    "mamba_guard_scope": ("block", "key"),
    "mamba_align_shrink": ("raises", "nothing"),
    "estimate_floor": ("raw", "zero"),
    "sliding_draft_drop": ("raises", "drop_then_align", "align_after_drop", "longest"),
    "sliding_window_one": ("needs_a_block", "needs_nothing"),
    "sliding_publish": ("all", "segment_tails", "segment_tails_with_draft"),
    "external_cut": ("whole_blocks", "tokens"),
    "external_state": ("forgotten", "counted"),
    "sink_reservation": ("taken", "reserved", "none"),
    "mamba_caching": ("any_mode", "align_only"),
    "null_references": ("drift", "untouched"),
    "context_parallel": ("dcp_pcp", "dcp"),
    "partial_hits": (False,),
    "publish_past_hashed": ("raises", "index_error", "clipped"),
    "hybrid_hit": ("drop_every_pass", "drop_once", "drop_once_in_reach", "drop_once_past_cap", "longest"),
    "hybrid_trim": ("first_full", "every_full"),
    "hybrid_publish": ("all", "aligned", "aligned_with_draft"),
    "event_runs": ("one_a_call", "contiguous"),
    "event_copies": ("each", "first_and_last"),
    "event_groups": ("untold", "told"),
}
"""The values that are honoured, by axis."""

LEFT_TO_THE_CALLER = ("adoption", "release_basis", "resumed_split", "tail_chunks", "preempted_in_plan")
"""The axes that are decided by which calls are made; any value will do here."""


def check_pool_configuration(num_gpu_blocks: int, hash_block_size: int, profile: Profile) -> None:
    """Raise a rejection with reason ``invalid_configuration`` for a pool that cannot be built.

    Raises:
        RejectedAssertion: For sizes below one.
        RejectedNotImplemented: For an axis value that is not honoured.
    """
    sizes: dict[str, Any] = {"num_gpu_blocks": num_gpu_blocks, "hash_block_size": hash_block_size}
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise RejectedAssertion("invalid_configuration", f"{name} {size!r}", "a whole number of 1 or more", f"raise {name}")
    for axis, values in SUPPORTED.items():
        value = getattr(profile, axis)
        if value not in values:
            allowed = " or ".join(map(repr, values))
            raise RejectedNotImplemented("invalid_configuration", f"{axis} {value!r}", allowed, "choose a profile with one of these")
