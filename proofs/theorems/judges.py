"""What judges of a run go by is exact: no more is let pass than the clause says, and no less."""

from types import SimpleNamespace
from typing import Any

from kvwitness.model import liveness
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, maximum, round_down
from kvwitness.model.table import num_new_blocks
from kvwitness.proofs import lemmas
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, iff
from kvwitness.proofs.theorem import Statement, Wrong, theorem
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK


def _either_way(found: Any, most: Any, unit: Any) -> Any:
    return found <= most or found % unit == 0


@theorem(
    "a-hit-that-breaks-its-cap-is-told",
    clauses="LIVE.HIT.CAP",
    witness={"found": 4, "most": 5, "alignment": 2},
    sizes=("alignment",),
    wrong=[Wrong("one of the two is enough", {"judge": _either_way})],
)
def a_hit_that_breaks_its_cap_is_told(domain: Domain, judge: Any = liveness.hit_keeps_cap) -> Statement:
    """The judge of a hit's length lets it pass exactly if it is within the cap and a multiple of the alignment."""
    found, most = numbers(domain, "found most")
    alignment = domain.size("alignment")
    passes = merged(judge, found, most, alignment)
    goals = {"exactly so": iff(passes, both(found <= most, round_down(found, alignment) == found))}
    return Statement({}, goals)


def _worst(kind: Kind, slots: Any, encoder: Any, held: Any, block: Any) -> Any:
    return liveness.worst_need(kind, block, slots, slots, encoder, held)


def _without_drafts(kind: Any, slots: Any, encoder: Any, held: Any, block: Any) -> Any:
    return maximum(0, ceil_div(encoder if kind.kind == "cross" else slots, block) - held)


@theorem(
    "the-worst-need-is-a-table-of-ones-own",
    clauses="LIVE.REFUSAL, TABLE.GROW, MAMBA.GROW",
    witness={"slots": 5, "encoder": 3, "held": 1, "k": 2, "block": 2},
    kinds=("full", "sliding", "chunked", "sink", "cross", "mamba"),
    sizes=("block",),
    wrong=[Wrong("state blocks for drafts are left out", {"worst": _without_drafts})],
)
def the_worst_need_is_a_table_of_ones_own(domain: Domain, worst: Any = _worst) -> Statement:
    """What a refusal is held to is what the table would take to grow with nothing shared, for encoder tokens and for drafts as well."""
    slots, encoder, held, k = numbers(domain, "slots encoder held k")
    block = domain.size("block")
    states: Any = SimpleNamespace(kind="mamba", mode="all", drafts=k)
    goals = {
        "attention": worst(Kind("full"), slots, encoder, held, block) == num_new_blocks(slots, block, 0, held),
        "cross attention": worst(Kind("cross"), slots, encoder, held, block) == num_new_blocks(encoder, block, 0, held),
        "states": worst(states, slots, encoder, held, block) == num_new_blocks(slots + block * k, block, 0, held),
    }
    shifted = [lemmas.quotient_of_shifted(slots + block - 1, block, k)]
    return Statement({POSITIVE_BLOCK: block >= 1, "it holds 0 blocks or more": held >= 0}, goals, shifted)
