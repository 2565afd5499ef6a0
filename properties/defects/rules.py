"""Defects of a rule: implementation and model agree on it, so that the refinement oracle cannot see it."""

from kvwitness.properties.defects.defect import in_rule

_CACHING = ("full", "sliding", "chunked", "mamba-all", "mamba-align", "sink")
_STATES = ("mamba-all", "mamba-align")
_RELEASED = ("CONTENTS.READ.PRESENT", "CONTENTS.READ.FREED", "CONTENTS.READ.LATENT", "CONTENTS.WRITE.PRESENT", "CONTENTS.CACHED")

DEFECTS = (
    in_rule(
        "rule-same-step-state-hit",
        "A request may start from a state that another request computes in the same step.",
        "mamba_same_step_guard",
        _STATES,
        ("MAMBA.HIT.COMPUTED", "CONTENTS.READ.OWN", "CONTENTS.CACHED"),
        "K36",
    ),
    in_rule(
        "rule-preempted-plan-kept",
        "What a request published in the step that preempts it stays findable and is never computed.",
        "preempted_in_plan",
        ("full", "sliding", "chunked", "mamba-align", "sink"),
        ("CONTENTS.CACHED",),
        "K37",
    ),
    in_rule(
        "rule-optimistic-release",
        "Skipped blocks are released on the optimistic count, and read again after drafts are rejected.",
        "release_basis",
        ("sliding", "chunked", "mamba-align"),
        _RELEASED,
        "K43",
    ),
    in_rule(
        "rule-tail-chunks-cut",
        "A chunk behind the last position worth keeping may start inside a block and step over its end.",
        "tail_chunks",
        ("mamba-align",),
        ("CONTENTS.CACHED",),
    ),
    in_rule(
        "rule-resumed-unsplit",
        "A resumed request's chunks end inside a block that is keyed as full.",
        "resumed_split",
        ("mamba-align",),
        ("CONTENTS.CACHED",),
    ),
    in_rule(
        "rule-one-phase-adoption",
        "A group takes blocks for external tokens before the next one has referenced its hits.",
        "adoption",
        ("sliding", "sink"),
        ("BOOKS.ONCE", "BOOKS.EXCLUSIVE", "BOOKS.ESTIMATE", "CONTENTS.CACHED"),
        "K05",
    ),
    in_rule(
        "rule-draft-drop-raises",
        "A draft drop under an alignment other than the block size ends in a failed assertion.",
        "sliding_draft_drop",
        ("sliding",),
        ("BOOKS.ACCEPTED",),
        "K21",
    ),
    in_rule(
        "rule-window-of-one-needs-a-block",
        "A window of one token, which reads nothing earlier, asks for a cached block all the same.",
        "sliding_window_one",
        ("sliding",),
        ("LIVE.HIT.FOUND",),
    ),
)
"""The defects of this file, in the order of reports."""
