"""What is owed: refusals have a reason, an idle cache can be reset; and the two kinds that are full attention with a difference."""

from types import SimpleNamespace
from typing import Any

from kvwitness.model import liveness
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.numbers import ceil_div, floor_div, maximum
from kvwitness.model.profile import Profile
from kvwitness.model.table import num_new_blocks
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, Values, numbers
from kvwitness.proofs.logic import both, chosen, iff
from kvwitness.proofs.theorem import Scenario, Statement, Wrong, theorem
from kvwitness.proofs.theorems.mamba import state_blocks
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK
from kvwitness.properties.operations import Execute, Free, Reset, Start


def _worst(kind: Kind, slots: Any, main: Any, encoder: Any, held: Any, block: Any) -> Any:
    return liveness.worst_need(kind, block, slots, main, encoder, held)


@theorem(
    "refusal-is-justified",
    clauses="LIVE.REFUSAL, TABLE.ESTIMATE",
    witness={"slots": 7, "skipped": 1, "hits": 2, "evictable": 1, "free": 2, "block": 2},
    kinds=("full", "sliding", "chunked", "sink"),
    sizes=("block",),
    wrong=[Wrong("evictable hits are counted beside the whole need", {"twice": 1})],
)
def refusal_is_justified(domain: Domain, twice: int = 0) -> Statement:
    """An estimate never exceeds the blocks that the slots fill with nothing shared, so what is refused does not fit without
    sharing either.
    """
    slots, skipped, found, evictable, free = numbers(domain, "slots skipped hits evictable free")
    block = domain.size("block")
    estimate = num_new_blocks(slots, block, skipped, found * (1 - twice)) + evictable
    worst = _worst(Kind("full"), slots, slots, 0, 0, block)
    hypotheses = {
        "hits end within the slots": both(found * block <= slots, found >= 0),
        "evictable ones are hits": evictable <= found,
        POSITIVE_BLOCK: block >= 1,
        "it is refused": estimate > free,
    }
    return Statement(hypotheses, {"it does not fit": worst > free})


@theorem(
    "align-refusal-is-justified",
    clauses="LIVE.REFUSAL, MAMBA.ESTIMATE",
    witness={"main": 5, "length": 0, "k": 1, "evictable": 1, "held": 0, "block": 2},
    kinds=("mamba",),
    sizes=("block",),
    wrong=[Wrong("two states may be adopted", {"most": 2})],
)
def align_refusal_is_justified(domain: Domain, most: int = 1) -> Statement:
    """In mode align a request needs one block if it runs; a new one needs its running state, k behind it and the state it starts from."""
    main, length, k, evictable, held = numbers(domain, "main length k evictable held")
    block = domain.size("block")
    kind: Any = SimpleNamespace(kind="mamba", mode="align", drafts=k)
    lacking = state_blocks(main, block, k) - length
    estimate = chosen(lacking > 0, chosen(held > 0, 1, 1 + k), 0) + evictable
    hypotheses = {
        "only a new request adopts, one state at most": both(0 <= evictable, evictable <= chosen(held > 0, 0, most)),
        "drafts are 0 or more": k >= 0,
    }
    return Statement(hypotheses, {"no more than the worst": estimate <= _worst(kind, main, main, 0, held, block)})


def _reserved(set_apart: Any) -> Any:
    return set_apart


def _forgotten(set_apart: Any) -> Any:
    return 0


def idle_after_use(domain: Domain) -> Statement:
    """A pool with a sink of whole blocks, idle: what is free, beside what a reset asks for if it has forgotten the sink."""
    tokens, blocks, block = domain.number("sink_tokens"), domain.number("blocks"), domain.size("block")
    whole = floor_div(tokens, block) * block == tokens
    free = blocks - 1 - floor_div(tokens, block)
    return Statement({"the sink fills a block or more": both(tokens >= block, whole)}, {"it succeeds": free == blocks - 1})


def _takes_sinks(profile: Profile) -> bool:
    return profile.sink_reservation == "taken"


def _reset_run(values: Values) -> Scenario:
    sink = Kind("sink", sink_tokens=values["sink_tokens"])
    blocks = 4 + floor_div(values["sink_tokens"], values["block"])
    config = Config(blocks=blocks, block_size=values["block"], groups=(sink,))
    return Scenario(config, (Start("A", (0,)), Execute(), Free("A"), Reset()), "LIVE.RESET")


@theorem(
    "idle-reset-succeeds",
    clauses="LIVE.RESET, POOL.RESET, SINK.RESERVED",
    witness={"blocks": 6, "sink_tokens": 4, "held": 1, "block": 2},
    sizes=("block",),
    wrong=[
        Wrong("sink blocks count as in use", {"counted": _forgotten}),
        Wrong("sink blocks count as in use for ever, in a run", {}, found_in=_takes_sinks, scenario=_reset_run, twin=idle_after_use),
    ],
)
def idle_reset_succeeds(domain: Domain, counted: Any = _reserved) -> Statement:
    """A reset succeeds exactly if no request holds a block: all blocks but null and what is set apart for sinks are free."""
    blocks, tokens, held = numbers(domain, "blocks sink_tokens held")
    block = domain.size("block")
    set_apart = floor_div(tokens, block)
    free = blocks - 1 - set_apart - held
    return Statement({}, {"exactly if idle": iff(held == 0, free == blocks - 1 - counted(set_apart))})


def _exactly(tokens: Any, block: Any) -> Any:
    return floor_div(tokens, block)


def _rounded_up(tokens: Any, block: Any) -> Any:
    return ceil_div(tokens, block) + 1


@theorem(
    "sink-fits-its-blocks",
    clauses="SINK.RESERVED, BOOKS.SET-APART",
    witness={"tokens": 4, "pieces": 2, "block": 2},
    kinds=("sink",),
    sizes=("block",),
    wrong=[Wrong("a block more is set apart", {"count": _rounded_up})],
)
def sink_fits_its_blocks(domain: Domain, count: Any = _exactly) -> Statement:
    """A sink whose length is a multiple of the block gets exactly the blocks that hold it."""
    tokens, pieces = numbers(domain, "tokens pieces")
    block = domain.size("block")
    hypotheses = {POSITIVE_BLOCK: block >= 1, "the sink is so many blocks long": tokens == pieces * block}
    goals = {"all of it is held": count(tokens, block) * block >= tokens, "and no block more": count(tokens, block) == pieces}
    return Statement(hypotheses, goals)


@theorem(
    "cross-takes-all-at-admission",
    clauses="TABLE.GROW, CALLER.ENCODER",
    witness={"encoder": 5, "token": 4, "block": 2},
    kinds=("cross",),
    sizes=("block",),
    wrong=[
        Wrong(
            "the encoder's last block is not taken",
            {"takes": lambda tokens, block, skipped, held: maximum(floor_div(tokens, block) - held, 0)},
        )
    ],
)
def cross_takes_all_at_admission(domain: Domain, takes: Any = num_new_blocks) -> Statement:
    """At admission every encoder token of cross attention gets a slot, and no later step takes a block."""
    encoder, token = numbers(domain, "encoder token")
    block = domain.size("block")
    held = takes(encoder, block, 0, 0)
    hypotheses = {POSITIVE_BLOCK: block >= 1, "the token is one of the encoder's": both(0 <= token, token < encoder)}
    goals = {"it has a block": floor_div(token, block) < held, "later steps take none": takes(0, block, 0, held) == 0}
    return Statement(hypotheses, goals)


@theorem(
    "encoder-comes-with-cross-only",
    clauses="CALLER.ENCODER",
    witness={"encoder": 3, "is_cross": True, "block": 2},
    sizes=("block",),
    wrong=[Wrong("an encoder may be left out", {"least": -1})],
)
def encoder_comes_with_cross_only(domain: Domain, least: int = 0) -> Statement:
    """With encoder tokens at admission a cross-attention request holds a block from its first step on, and others hold none for an
    encoder.
    """
    encoder = domain.number("encoder")
    is_cross, block = domain.truth("is_cross"), domain.size("block")
    allowed = iff(encoder > least, is_cross)
    taken = num_new_blocks(maximum(encoder, 0), block, 0, 0)
    hypotheses = {POSITIVE_BLOCK: block >= 1, "encoder tokens come exactly with cross attention": allowed}
    return Statement(hypotheses, {"exactly so": iff(taken >= 1, is_cross)})


def _cap(found: Any, most: Any, unit: Any) -> Any:
    return both(found <= most, found - floor_div(found, unit) * unit == 0)


@theorem(
    "rounded-hit-keeps-its-cap",
    clauses="LIVE.HIT.CAP",
    witness={"most": 7, "alignment": 2},
    sizes=("alignment",),
    wrong=[Wrong("the length is rounded up", {"rounds": lambda most, unit: ceil_div(most, unit) * unit})],
)
def rounded_hit_keeps_its_cap(domain: Domain, rounds: Any = lambda most, unit: floor_div(most, unit) * unit) -> Statement:
    """The length that a look-up begins with, the cap rounded down, is a multiple of the alignment, within the cap, and the largest such."""
    most, alignment = domain.number("most"), domain.size("alignment")
    length = rounds(most, alignment)
    kept = merged(liveness.hit_keeps_cap, length, most, alignment)
    hypotheses = {"the alignment is 1 token or more": alignment >= 1}
    return Statement(hypotheses, {"within cap and alignment": kept, "the largest": length + alignment > most})
