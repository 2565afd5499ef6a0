"""The common prefix: what is said to be in every table is."""

from collections.abc import Callable
from typing import Any

from kvwitness.model import chunked, cross, full, mamba, sliding
from kvwitness.model.pool import Pool
from kvwitness.model.table import Held
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, either, implies, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem

NO_PREFIX = (sliding, chunked, mamba, cross)


def _claimed(module: Any, references: Any) -> Any:
    """How many of a table's blocks, here one, a kind's rule says are in every table."""
    pool = Pool((), (0, references), (None, None), {})
    return module.num_common_prefix_blocks(pool, {"A": Held((1,))}, "A")


def _as_full(_module: Any, references: Any) -> Any:
    return _claimed(full, references)


@theorem(
    "no-common-prefix-is-claimed",
    clauses="SLIDING.COMMON-PREFIX, CHUNKED.COMMON-PREFIX, MAMBA.COMMON-PREFIX, CROSS.COMMON-PREFIX, LIVE.COMMON",
    witness={"references": 1, "place": 0, "mine": {0: 1}, "others": {}},
    kinds=("sliding", "chunked", "mamba", "cross"),
    wrong=[Wrong("leading blocks are counted by their references", {"claims": _as_full})],
)
def no_common_prefix_is_claimed(domain: Domain, claims: Callable[..., Any] = _claimed) -> Statement:
    """Where a leading block may be null in one table and real in another, or a request's own, no common prefix is claimed, so no
    claimed block differs from another table's.
    """
    references, place = numbers(domain, "references place")
    mine, others = domain.function("mine"), domain.function("others")
    goals = {
        module.__name__.rpartition(".")[2]: implies(
            both(0 <= place, place < merged(lambda count, of=module: claims(of, count), references)), mine(place) == others(place)
        )
        for module in NO_PREFIX
    }
    return Statement({}, goals)


@theorem(
    "a-block-of-all-is-in-every-table",
    clauses="FULL.COMMON-PREFIX, LIVE.COMMON",
    witness={"tables": 1, "count": 1, "table": 0, "holds": frozenset({0, 1})},
    kinds=("full", "sink"),
    reach=4,
    wrong=[Wrong("a table may name the block twice", {"most": 2}), Wrong("one holder fewer is enough", {"lacking": 1})],
)
def a_block_of_all_is_in_every_table(domain: Domain, most: int = 1, lacking: int = 0) -> Statement:
    """If each table holds a block once at most and as many slots hold it as there are tables, each table does: by induction on the
    tables.
    """
    tables, count, table = numbers(domain, "tables count table")
    holds = domain.predicate("holds")
    all_hold = domain.every(lambda at: implies(within(0, at, tables), holds(at)), lambda at: holds(at))
    more = count + chosen(holds(tables), most, 0)
    hypotheses = {
        "so far no more holders than tables": count <= tables,
        "so far, if there are as many, all hold it": implies(count == tables, all_hold),
    }
    enough = both(more == tables + 1 - lacking, within(0, table, tables + 1))
    goals = {
        "with one table more, no more holders than tables": more <= tables + 1,
        "with one table more, if there are as many, all hold it": implies(enough, holds(table)),
    }
    return Statement(hypotheses, goals)


@theorem(
    "full-common-prefix-is-common",
    clauses="FULL.COMMON-PREFIX, LIVE.COMMON",
    witness={
        "place": 1,
        "tables": 2,
        "other": 1,
        "at": 0,
        "mine": {0: 3, 1: 4},
        "entry": {(other, place): place + 3 for other in (0, 1) for place in (0, 1)},
        "references": {3: 2, 4: 2},
        "depth": {3: 0, 4: 1},
    },
    kinds=("full", "sink"),
    reach=3,
    wrong=[
        Wrong("the walk goes on where one table lacks the block", {"lacking": 1}),
        Wrong("a block may lie at another place in another table", {"own_place": False}),
    ],
)
def full_common_prefix_is_common(domain: Domain, lacking: int = 0, own_place: bool = True) -> Statement:
    """Walking a table while each block has as many references as there are tables passes only blocks that every table has there."""
    place, tables, other, at = numbers(domain, "place tables other at")
    mine, references, depth = (domain.function(name) for name in ("mine", "references", "depth"))
    entry = domain.function("entry", 2)
    block = mine(place)
    everywhere = domain.every(
        lambda held, table: implies(both(references(held) == tables, within(0, table, tables)), entry(table, depth(held)) == held),
        lambda held, table: (references(held), entry(table, place)),
    )
    hypotheses = {
        "a block with as many references as tables is in each, at its own place": everywhere,
        "the block's place is its own": either(depth(block) == place, not own_place),
        "the other table is one of them": within(0, other, tables),
        "so far all are common": domain.every(
            lambda spot: implies(within(0, spot, place), entry(other, spot) == mine(spot)), lambda spot: mine(spot)
        ),
        "the walk goes on": references(block) == tables - lacking,
    }
    return Statement(hypotheses, {"one block more is common": implies(within(0, at, place + 1), entry(other, at) == mine(at))})
