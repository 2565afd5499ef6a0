"""The caller: chunks that keep Mamba's states at block ends, and lengths that stay true while drafts are unverified."""

from types import SimpleNamespace
from typing import Any

from kvwitness.model import legal
from kvwitness.model.numbers import floor_div, maximum, minimum
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, either, implies, negated
from kvwitness.proofs.theorem import Statement, Wrong, theorem
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK

PREFILLING = "it computes its prompt: 0 or more tokens are computed, and not all"
ASKED = "1 token or more is asked for, no more than is known"


def _split(domain: Domain, computed: Any, prefill: Any, new: Any, tail: str, draft_model: bool) -> Any:
    """What mode align lets through of a chunk, by the model's own function."""

    def run(at: Any, end: Any, tokens: Any, block: Any) -> Any:
        request: Any = SimpleNamespace(outputs=0, computed=at, prefill=end)
        rules: Any = SimpleNamespace(resumed_split="as_new", tail_chunks=tail)
        return legal.let_through((block,), rules, request, tokens, draft_model=draft_model)

    return merged(run, computed, prefill, new, domain.size("block"))


def _chunk(domain: Domain) -> tuple[Any, Any, Any, dict[str, Any]]:
    computed, prefill, new = numbers(domain, "computed prefill new")
    hypotheses = {
        POSITIVE_BLOCK: domain.size("block") >= 1,
        PREFILLING: both(0 <= computed, computed < prefill),
        ASKED: both(1 <= new, new <= prefill - computed),
    }
    return computed, prefill, new, hypotheses


CHUNK_WITNESS = {"computed": 2, "prefill": 5, "new": 3, "block": 2}


def _any_chunk(_domain: Domain, _computed: Any, _prefill: Any, new: Any, _tail: str, _draft_model: bool) -> Any:
    return new


def _up_to_the_end(_domain: Domain, computed: Any, prefill: Any, _new: Any, _tail: str, _draft_model: bool) -> Any:
    return prefill - computed


def _ends_well(domain: Domain, split: Any, tail: str, draft_model: bool) -> Statement:
    computed, prefill, new, hypotheses = _chunk(domain)
    block = domain.size("block")
    kept = split(domain, computed, prefill, new, tail, draft_model)
    after = computed + kept
    on_edge, whole = floor_div(after, block) * block == after, floor_div(prefill, block) * block
    worth = maximum(whole - block, 0) if draft_model else whole
    crosses = both(floor_div(computed, block) * block != computed, floor_div(computed, block) != floor_div(after - 1, block), kept > 0)
    goals = {
        "no more than asked, no less than none": both(0 <= kept, kept <= new),
        "it ends on a block's edge or in the last block": implies(kept > 0, either(on_edge, after > whole - (block if draft_model else 0))),
        "begun inside a block it ends in it": implies(crosses, computed < whole - (block if draft_model else 0)),
        "it does not step over the last position worth keeping": negated(both(computed < worth, worth < after)),
    }
    return Statement(hypotheses, goals)


@theorem(
    "aligned-chunk-ends-at-blocks",
    clauses="CALLER.ALIGN.SPLIT, CONTENTS.CACHED",
    witness=CHUNK_WITNESS,
    kinds=("mamba",),
    sizes=("block",),
    reach=8,
    wrong=[
        Wrong("any chunk is let through", {"split": _any_chunk}),
        Wrong("the rest of the prompt is let through", {"split": _up_to_the_end}),
    ],
)
def aligned_chunk_ends_at_blocks(domain: Domain, split: Any = _split) -> Statement:
    """A chunk that mode align lets through ends on a block's edge or in the prompt's last block, so each full block's state is at
    its end.
    """
    return _ends_well(domain, split, "end_at_blocks", draft_model=False)


@theorem(
    "aligned-chunk-with-draft-model-ends-at-blocks",
    clauses="CALLER.ALIGN.SPLIT, CONTENTS.CACHED",
    witness=CHUNK_WITNESS,
    kinds=("mamba",),
    sizes=("block",),
    reach=8,
    wrong=[Wrong("behind the last kept position a chunk ends anywhere", {"tail": "cut_anywhere"})],
)
def aligned_chunk_with_draft_model_ends_at_blocks(domain: Domain, tail: str = "end_at_blocks") -> Statement:
    """With a draft model too, a chunk that begins inside a block behind the last kept position does not step over the block's end."""
    return _ends_well(domain, _split, tail, draft_model=True)


@theorem(
    "aligned-chunk-is-let-through-again",
    clauses="CALLER.ALIGN.SPLIT",
    witness=CHUNK_WITNESS,
    kinds=("mamba",),
    sizes=("block",),
    reach=8,
    wrong=[Wrong("the second look asks for one token less", {"less": 1})],
)
def aligned_chunk_is_let_through_again(domain: Domain, less: int = 0) -> Statement:
    """What mode align lets through of a chunk it lets through whole: the planner's chunk and the precondition agree."""
    computed, prefill, new, hypotheses = _chunk(domain)
    kept = _split(domain, computed, prefill, new, "end_at_blocks", False)
    again = _split(domain, computed, prefill, kept - less, "end_at_blocks", False)
    return Statement({POSITIVE_BLOCK: hypotheses[POSITIVE_BLOCK]}, {"the same again": implies(kept > 0, again == kept)})


@theorem(
    "aligned-chunks-reach-the-end",
    clauses="CALLER.ALIGN.SPLIT",
    witness=CHUNK_WITNESS,
    kinds=("mamba",),
    sizes=("block",),
    reach=8,
    wrong=[Wrong("less than a block may be asked for", {"least": 1})],
)
def aligned_chunks_reach_the_end(domain: Domain, least: int = 0) -> Statement:
    """A prompt whose chunks may have a block or all that is left is never put off: each step computes something, whatever the rule
    for the last tokens.
    """
    computed, prefill, new, hypotheses = _chunk(domain)
    block = domain.size("block")
    del hypotheses[ASKED]
    enough = {"a block may be computed, or all that is left": new >= minimum(least or block, prefill - computed)}
    goals = {
        f"something is computed: {tail}": _split(domain, computed, prefill, new, tail, False) > 0
        for tail in ("end_at_blocks", "cut_anywhere")
    }
    return Statement({**hypotheses, **enough}, goals)


def _resumed(domain: Domain, rule: str, computed: Any, prefill: Any, new: Any, outputs: Any) -> Any:
    """What is let through of a request that has sampled so many tokens before it was preempted."""

    def run(at: Any, end: Any, tokens: Any, sampled: Any, block: Any) -> Any:
        request: Any = SimpleNamespace(outputs=sampled, computed=at, prefill=end)
        rules: Any = SimpleNamespace(resumed_split=rule, tail_chunks="end_at_blocks")
        return legal.let_through((block,), rules, request, tokens, draft_model=False)

    return merged(run, computed, prefill, new, outputs, domain.size("block"))


@theorem(
    "only-prompts-are-split",
    clauses="CALLER.ALIGN.SPLIT",
    witness={**CHUNK_WITNESS, "outputs": 1},
    kinds=("mamba",),
    sizes=("block",),
    reach=8,
    wrong=[Wrong("a resumed request is let through whole", {"rule": "unsplit"})],
)
def only_prompts_are_split(domain: Domain, rule: str = "as_new") -> Statement:
    """Behind its prompt a request is let through whole; a resumed one is split as a new one, unless the profile splits new ones only."""
    computed, prefill, new, outputs = numbers(domain, "computed prefill new outputs")
    as_new = _split(domain, computed, prefill, new, "end_at_blocks", False)
    goals = {
        "behind the prompt, whole": implies(computed >= prefill, _resumed(domain, rule, computed, prefill, new, outputs) == new),
        "resumed, as new": _resumed(domain, rule, computed, prefill, new, outputs) == as_new,
        "if only new ones are split": _resumed(domain, "unsplit", computed, prefill, new, outputs) == chosen(outputs > 0, new, as_new),
    }
    return Statement({}, goals)


@theorem(
    "settled-length-is-not-ahead",
    clauses="CALLER.OUTPUTS, CALLER.EXECUTE, CALLER.CHUNK",
    witness={"computed": 7, "settled": 4, "in_flight": 3, "new": 3, "drafts": 2, "outputs": 1},
    wrong=[Wrong("rejected drafts stay counted", {"rejects": 0})],
)
def settled_length_is_not_ahead(domain: Domain, rejects: int = 1) -> Statement:
    """When a step is judged the settled length grows by what is verified and never passes the computed length, which loses the
    rejected drafts.
    """
    computed, settled, in_flight, new, drafts, outputs = numbers(domain, "computed settled in_flight new drafts outputs")
    fits = merged(legal.outputs_fit, drafts, outputs)
    rejected = drafts - (outputs - 1)
    verified = settled + new - rejected
    after, left = computed - rejected * rejects, in_flight - new
    hypotheses = {
        "settled and in flight make up the computed": computed == settled + in_flight,
        "the oldest step is in flight": both(drafts < new, new <= in_flight),
        "outputs fit the drafts": fits,
    }
    goals = {"they still do": after == verified + left, "it is not ahead": verified <= after, "it grows": verified > settled}
    return Statement(hypotheses, goals)


def _known(tokens: Any, placeholders: Any, computed: Any, new: Any, drafts: Any) -> Any:
    return legal.chunk_is_known(SimpleNamespace(num_tokens=tokens, placeholders=placeholders, computed=computed), new, drafts)  # type: ignore[arg-type]


def _unlimited(tokens: Any, placeholders: Any, computed: Any, new: Any, drafts: Any) -> Any:
    return both(1 <= new, drafts < new)


@theorem(
    "a-step-computes-what-is-known",
    clauses="CALLER.CHUNK, CALLER.DRAFTS",
    witness={"tokens": 5, "placeholders": 0, "computed": 4, "new": 3, "drafts": 2},
    wrong=[Wrong("a chunk of any length is planned", {"known": _unlimited})],
)
def a_step_computes_what_is_known(domain: Domain, known: Any = _known) -> Statement:
    """Of what a step computes, all but the drafts is known or will be by then, and at least one token beside the drafts is computed."""
    tokens, placeholders, computed, new, drafts = numbers(domain, "tokens placeholders computed new drafts")
    allowed = (
        known(tokens, placeholders, computed, new, drafts)
        if known is _unlimited
        else merged(known, tokens, placeholders, computed, new, drafts)
    )
    hypotheses = {"the chunk is allowed": allowed}
    goals = {"no more than is known": computed + new - drafts <= tokens + placeholders, "one beside the drafts": new - drafts >= 1}
    return Statement(hypotheses, goals)


def _capped(slots: Any, most: Any) -> Any:
    return minimum(slots, most)


def _uncapped(slots: Any, most: Any) -> Any:
    return slots


@theorem(
    "slots-stay-within-the-longest-length",
    clauses="CALLER.LENGTH, TABLE.GROW",
    witness={"main": 5, "ahead": 3, "most": 6, "block": 2},
    sizes=("block",),
    wrong=[Wrong("slots for the look-ahead are not capped", {"cap": _uncapped})],
)
def slots_stay_within_the_longest_length(domain: Domain, cap: Any = _capped) -> Statement:
    """A table never has more blocks than the longest length fills, and yet a slot for every token of the step."""
    main, ahead, most = numbers(domain, "main ahead most")
    slots = cap(main + ahead, most)
    hypotheses = {
        POSITIVE_BLOCK: domain.size("block") >= 1,
        "the step stays within the longest length": main <= most,
        "the look-ahead is 0 or more": ahead >= 0,
    }
    block = domain.size("block")
    goals = {
        "no block too many": floor_div(slots + block - 1, block) <= floor_div(most + block - 1, block),
        "slots for the step": slots >= main,
    }
    return Statement(hypotheses, goals)


@theorem(
    "drafts-find-their-state-blocks",
    clauses="CALLER.DRAFTS, CONTENTS.WRITE.PRESENT",
    witness={"running": 2, "length": 5, "drafts": 1, "accepted": 1, "k": 2},
    kinds=("mamba",),
    wrong=[Wrong("a step may carry one draft more", {"spare": 1})],
)
def drafts_find_their_state_blocks(domain: Domain, spare: int = 0) -> Statement:
    """With no more drafts than speculative blocks, each draft's state and the state of the accepted ones has a place in an align table."""
    running, length, drafts, accepted, k = numbers(domain, "running length drafts accepted k")
    hypotheses = {
        "the table reaches k blocks behind the running state": length == running + 1 + k,
        "drafts are at most k": drafts <= k + spare,
        "the accepted are among the drafts": accepted <= drafts,
    }
    return Statement(hypotheses, {"each draft": running + drafts < length, "the accepted": running + accepted < length})
