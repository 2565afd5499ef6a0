"""The null prefix: exactly the blocks that lie wholly before what is still needed, and so few are left."""

from typing import Any

from kvwitness.model import need
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, floor_div, maximum
from kvwitness.proofs import lemmas
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, iff, implies, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem
from kvwitness.proofs.theorems.need import FULL, KNOWN, MAMBA, ORDER, POSITIVE_CHUNK, POSITIVE_WINDOW, chunked, sliding

POSITIVE_BLOCK = "a block has 1 token or more"
CLAUSES = "NEED.FIRST, TABLE.RELEASE-SKIPPED"


def _rounded_up(kind: Kind, n: Any, block: Any) -> Any:
    return ceil_div(maximum(0, need.first_needed(kind, n)), block)


def _one_fewer(kind: Kind, n: Any, block: Any) -> Any:
    return maximum(0, need.num_skipped_blocks(kind, n, block) - 1)


def _by_last_token(kind: Kind, n: Any, block: Any) -> Any:
    return floor_div(maximum(0, n), block) + 1


VARIANTS = [
    Wrong("a block that is skipped in part becomes null", {"rule": _rounded_up}),
    Wrong("the last skipped block is kept", {"rule": _one_fewer}),
]
TOO_FAR = [Wrong("the block of the next token becomes null", {"rule": _by_last_token})]


def exact(kind: Kind, rule: Any, n: Any, block: Any, place: Any) -> dict[str, Any]:
    """Both directions: null only if wholly skipped, and null if wholly skipped."""
    nulls, skipped = rule(kind, n, block), maximum(0, need.first_needed(kind, n))
    whole = place * block + block <= skipped
    return {
        "a null block is skipped wholly": implies(place < nulls, whole),
        "a wholly skipped block is null": implies(whole, place < nulls),
    }


def own_block_is_real(kind: Kind, rule: Any, n: Any, block: Any) -> dict[str, Any]:
    """The block of the next token is not null."""
    return {"the block of the next token is not null": rule(kind, n, block) <= floor_div(n, block)}


@theorem(
    "sliding-nulls-exactly",
    clauses=CLAUSES,
    witness={"n": 5, "block": 2, "place": 0, "window": 3},
    kinds=("sliding",),
    sizes=("block",),
    wrong=VARIANTS,
)
def sliding_nulls_exactly(domain: Domain, rule: Any = need.num_skipped_blocks) -> Statement:
    """A block of a sliding window becomes null exactly if it lies wholly outside the window of the next token."""
    n, place, window = numbers(domain, "n place window")
    block = domain.size("block")
    return Statement({POSITIVE_BLOCK: block >= 1}, exact(sliding(window), rule, n, block, place))


@theorem(
    "chunked-nulls-exactly",
    clauses=CLAUSES,
    witness={"n": 5, "block": 2, "place": 0, "chunk": 4},
    kinds=("chunked",),
    sizes=("block", "chunk"),
    wrong=VARIANTS,
)
def chunked_nulls_exactly(domain: Domain, rule: Any = need.num_skipped_blocks) -> Statement:
    """A block of chunked attention becomes null exactly if it lies wholly before the chunk of the next token."""
    n, place = numbers(domain, "n place")
    block, chunk = domain.size("block"), domain.size("chunk")
    return Statement({POSITIVE_BLOCK: block >= 1}, exact(chunked(chunk), rule, n, block, place))


@theorem(
    "mamba-nulls-exactly",
    clauses=CLAUSES,
    witness={"n": 5, "block": 2, "place": 1},
    kinds=("mamba",),
    sizes=("block",),
    wrong=VARIANTS,
)
def mamba_nulls_exactly(domain: Domain, rule: Any = need.num_skipped_blocks) -> Statement:
    """A state block becomes null exactly if all its tokens come before the last computed one."""
    n, place = numbers(domain, "n place")
    block = domain.size("block")
    return Statement({POSITIVE_BLOCK: block >= 1}, exact(MAMBA, rule, n, block, place))


@theorem(
    "sliding-nulls-grow",
    clauses=CLAUSES,
    witness={"n": 2, "m": 5, "block": 2, "window": 2},
    kinds=("sliding",),
    sizes=("block",),
    wrong=[Wrong("the null prefix is counted from the end", {"rule": lambda kind, n, block: floor_div(6 - n, block)})],
)
def sliding_nulls_grow(domain: Domain, rule: Any = need.num_skipped_blocks) -> Statement:
    """The null prefix of a sliding window never shrinks."""
    n, m, window = numbers(domain, "n m window")
    block, kind = domain.size("block"), sliding(window)
    hypotheses = {ORDER: n <= m, POSITIVE_BLOCK: block >= 1}
    return Statement(hypotheses, {"it does not shrink": rule(kind, n, block) <= rule(kind, m, block)})


@theorem(
    "chunked-nulls-grow",
    clauses=CLAUSES,
    witness={"n": 2, "m": 5, "block": 2, "chunk": 4},
    kinds=("chunked",),
    sizes=("block", "chunk"),
    wrong=[Wrong("the null prefix is counted from the end", {"rule": lambda kind, n, block: floor_div(6 - n, block)})],
)
def chunked_nulls_grow(domain: Domain, rule: Any = need.num_skipped_blocks) -> Statement:
    """The null prefix of chunked attention never shrinks."""
    n, m = numbers(domain, "n m")
    block, kind = domain.size("block"), chunked(domain.size("chunk"))
    hypotheses = {ORDER: n <= m, POSITIVE_BLOCK: block >= 1, POSITIVE_CHUNK: kind.chunk >= 1}
    return Statement(hypotheses, {"it does not shrink": rule(kind, n, block) <= rule(kind, m, block)})


@theorem(
    "mamba-nulls-grow",
    clauses=CLAUSES,
    witness={"n": 2, "m": 5, "block": 2},
    kinds=("mamba",),
    sizes=("block",),
    wrong=[Wrong("the null prefix is counted from the end", {"rule": lambda kind, n, block: floor_div(6 - n, block)})],
)
def mamba_nulls_grow(domain: Domain, rule: Any = need.num_skipped_blocks) -> Statement:
    """The null prefix of Mamba never shrinks."""
    n, m = numbers(domain, "n m")
    block = domain.size("block")
    hypotheses = {ORDER: n <= m, POSITIVE_BLOCK: block >= 1}
    return Statement(hypotheses, {"it does not shrink": rule(MAMBA, n, block) <= rule(MAMBA, m, block)})


@theorem(
    "next-block-is-never-null",
    clauses="TABLE.RELEASE-SKIPPED, CONTENTS.WRITE.PRESENT",
    witness={"n": 5, "block": 2, "window": 1, "chunk": 4},
    kinds=("sliding", "chunked", "mamba"),
    sizes=("block", "chunk"),
    wrong=TOO_FAR,
)
def next_block_is_never_null(domain: Domain, rule: Any = need.num_skipped_blocks) -> Statement:
    """The block that the next token is written into never belongs to the null prefix, whatever the kind."""
    n, window = numbers(domain, "n window")
    block, chunk = domain.size("block"), domain.size("chunk")
    hypotheses = {
        KNOWN: n >= 0,
        POSITIVE_BLOCK: block >= 1,
        POSITIVE_WINDOW: window >= 1,
        POSITIVE_CHUNK: chunk >= 1,
    }
    kinds = {"sliding": sliding(window), "chunked": chunked(chunk), "mamba": MAMBA}
    goals = {f"{name}: {goal}": holds for name, kind in kinds.items() for goal, holds in own_block_is_real(kind, rule, n, block).items()}
    return Statement(hypotheses, goals)


@theorem(
    "sliding-holds-few-blocks",
    clauses="TABLE.RELEASE-SKIPPED",
    witness={"n": 5, "block": 2, "window": 3},
    kinds=("sliding",),
    sizes=("block",),
    wrong=[Wrong("one block fewer", {"spare": 0}), Wrong("the null prefix stops a block early", {"rule": _one_fewer})],
)
def sliding_holds_few_blocks(domain: Domain, rule: Any = need.num_skipped_blocks, spare: int = 1) -> Statement:
    """From the null prefix to the next token's block, a sliding window holds at most ceil((window - 1) / block) + 1 blocks."""
    n, window = numbers(domain, "n window")
    block = domain.size("block")
    nulls, reach = rule(sliding(window), n, block), ceil_div(window - 1, block)
    held = floor_div(n, block) + 1 - nulls
    return Statement({POSITIVE_BLOCK: block >= 1}, {"so many": held <= reach + spare}, [lemmas.product_of_sum(nulls, reach, block)])


@theorem(
    "chunked-holds-few-blocks",
    clauses="TABLE.RELEASE-SKIPPED",
    witness={"n": 5, "block": 2, "chunk": 4},
    kinds=("chunked",),
    sizes=("block", "chunk"),
    wrong=[
        Wrong("no block to spare", {"spare": -1}),
        Wrong("the null prefix stops two blocks early", {"rule": lambda *at: _one_fewer(*at) - 1}),
    ],
)
def chunked_holds_few_blocks(domain: Domain, rule: Any = need.num_skipped_blocks, spare: int = 1) -> Statement:
    """From the null prefix to the next token's block, chunked attention holds at most ceil(chunk / block) + 1 blocks."""
    n = domain.number("n")
    block, chunk = domain.size("block"), domain.size("chunk")
    nulls, reach = rule(chunked(chunk), n, block), ceil_div(chunk, block)
    held = floor_div(n, block) + 1 - nulls
    hypotheses = {POSITIVE_BLOCK: block >= 1, POSITIVE_CHUNK: chunk >= 1}
    return Statement(hypotheses, {"so many": held <= reach + spare}, [lemmas.product_of_sum(nulls, reach, block)])


def _one_block_more(kind: Kind, length: Any, block: Any) -> Any:
    first, end = need.needed_blocks(kind, length, block)
    return first, end + 1


def _from_the_start(kind: Kind, length: Any, block: Any) -> Any:
    return 0, need.needed_blocks(kind, length, block)[1]


@theorem(
    "needed-blocks-are-those-read",
    clauses="NEED.FIRST, LIVE.HIT.FOUND, LIVE.HIT.NULLS",
    witness={"count": 3, "block": 2, "place": 2, "window": 3, "chunk": 4},
    sizes=("block", "chunk"),
    wrong=[
        Wrong("the block behind the hit is asked for too", {"rule": _one_block_more}),
        Wrong("blocks that are skipped are asked for", {"rule": _from_the_start}),
    ],
)
def needed_blocks_are_those_read(domain: Domain, rule: Any = need.needed_blocks) -> Statement:
    """A hit needs a block exactly if the next token reads the block's last entry, whatever the kind."""
    count, place, window = numbers(domain, "count place window")
    block, chunk = domain.size("block"), domain.size("chunk")
    length, last = count * block, place * block + block - 1

    def exactly(kind: Kind) -> Any:
        read = both(0 <= place, last < length, need.reads(kind, length, last))
        return iff(within(rule(kind, length, block)[0], place, rule(kind, length, block)[1]), read)

    hypotheses = {POSITIVE_BLOCK: block >= 1, POSITIVE_CHUNK: chunk >= 1}
    kinds = {"full": FULL, "sliding": sliding(window), "chunked": chunked(chunk), "mamba": MAMBA}
    return Statement(hypotheses, {f"{name}: exactly what is read": exactly(kind) for name, kind in kinds.items()})
