"""The pool and its tables: one call on one slot at a time keeps the books, for any number of blocks, requests and slots.

A slot is a place in some request's table. That references count holders is said by a numbering: the slots that hold a block
are numbered from 0 to below its references, each number once. A call of many blocks is such steps one after the other.
"""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from kvwitness.model.pool import NULL
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, either, iff, implies, negated, updated, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem

Function = Callable[..., Any]
BOOKS = "BOOKS.REFERENCES, BOOKS.FREE, BOOKS.INDEX, BOOKS.NULL, BOOKS.EXCLUSIVE, BOOKS.SET-APART"


@frozen
class Books:
    """A pool with the tables of all requests.

    Attributes:
        holds: The block in each slot; null for nothing.
        references: The reference count of each block.
        free: Whether a block is in the free queue.
        apart: Whether a block is set apart for a sink.
        keyed: Whether a block carries a key.
        listed: Whether look-ups of its key find it.
        number: The number of a slot among those that hold the same block.
        slot: The slot that has a number among those that hold a block.
    """

    holds: Function
    references: Function
    free: Function
    apart: Function
    keyed: Function
    listed: Function
    number: Function
    slot: Function


def books(domain: Domain) -> Books:
    """Any books."""
    predicates = {name: domain.predicate(name) for name in ("free", "apart", "keyed", "listed")}
    functions = {name: domain.function(name) for name in ("holds", "references", "number")}
    return Books(**functions, **predicates, slot=domain.function("slot", 2))


def numbered(state: Books, slot: Any) -> Any:
    """A slot that holds a block has a number below the block's references, and is the slot of that number."""
    block = state.holds(slot)
    number = state.number(slot)
    return implies(block != NULL, both(within(0, number, state.references(block)), state.slot(block, number) == slot))


def counted(state: Books, block: Any, number: Any) -> Any:
    """Each number below a block's references has a slot, which holds the block and has that number."""
    slot = state.slot(block, number)
    counts = both(block != NULL, within(0, number, state.references(block)))
    return implies(counts, both(state.holds(slot) == block, state.number(slot) == number))


def block_rules(state: Books, block: Any) -> dict[str, Any]:
    """What holds of each block."""
    references, real = state.references(block), block != NULL
    unheld = both(references == 0, negated(state.apart(block)))
    return {
        "references are 0 or more": implies(real, references >= 0),
        "free exactly if unheld": implies(real, iff(state.free(block), unheld)),
        "what is set apart is unheld and keyless": implies(state.apart(block), both(references == 0, negated(state.keyed(block)))),
        "indexed exactly if keyed": iff(state.listed(block), state.keyed(block)),
        "null is neither free nor keyed": implies(negated(real), both(negated(state.free(block)), negated(state.keyed(block)))),
        "without a key at most one holder": implies(both(real, negated(state.keyed(block))), references <= 1),
    }


def assumed(domain: Domain, state: Books) -> dict[str, Any]:
    """The books hold before the step."""
    one_each = domain.every(lambda slot: numbered(state, slot), lambda slot: state.number(slot), lambda slot: state.holds(slot))
    all_counted = domain.every(lambda block, number: counted(state, block, number), lambda block, number: state.slot(block, number))

    def rules(block: Any) -> Any:
        return both(*block_rules(state, block).values())

    patterns = [lambda block: state.references(block), lambda block: state.free(block), lambda block: state.keyed(block)]
    return {
        "each holding slot has its number": one_each,
        "each number has its slot": all_counted,
        "the rules of each block": domain.every(rules, *patterns),
    }


def kept(domain: Domain, before: Books, after: Books, step: dict[str, Any]) -> Statement:
    """The books hold after the step too: for any slot, any block, any number."""
    slot, block, number = numbers(domain, "any_slot any_block any_number")
    goals = {
        "each holding slot has its number": numbered(after, slot),
        "each number has its slot": counted(after, block, number),
        **block_rules(after, block),
    }
    return Statement({**assumed(domain, before), **step}, goals)


def held_more(state: Books, slot: Any, block: Any) -> Books:
    """An empty slot gets a block, and with it the block's next number."""
    references = state.references(block)
    return evolve(
        state,
        holds=updated(state.holds, slot, block),
        references=updated(state.references, block, references + 1),
        number=updated(state.number, slot, references),
        slot=updated(state.slot, (block, references), slot),
    )


def held_less(state: Books, slot: Any) -> Books:
    """A slot is emptied; the slot with the last number takes over its number."""
    block = state.holds(slot)
    last = state.references(block) - 1
    moved, number = state.slot(block, last), state.number(slot)
    return evolve(
        state,
        holds=updated(state.holds, slot, NULL),
        references=updated(state.references, block, last),
        number=updated(state.number, moved, number),
        slot=updated(state.slot, (block, number), moved),
    )


def is_set(places: Function, place: Any, truth: Any) -> Function:
    """The predicate with another truth at one place."""

    def changed(at: Any) -> Any:
        return either(both(at == place, truth), both(at != place, places(at)))

    return changed


IDLE: dict[str, Any] = {
    "holds": {1: 2, 2: 2, 3: 3},
    "references": {2: 2, 3: 1},
    "free": frozenset({-1, 1}),
    "apart": frozenset(),
    "keyed": frozenset({1, 2}),
    "listed": frozenset({1, 2}),
    "number": {1: 0, 2: 1, 3: 0},
    "slot": {(2, 0): 1, (2, 1): 2, (3, 0): 3},
    "any_slot": 1,
    "any_block": 2,
    "any_number": 0,
}
"""Block 1 is free and keyed, 2 is shared and keyed, 3 has one holder; below null is one more free block."""
EMPTY_SLOT = "the slot is empty"
REACH = 3


def taken(state: Books, slot: Any, block: Any, forgets: bool) -> Books:
    """A free block goes into a slot without what it was keyed under."""
    after = held_more(state, slot, block)
    after = evolve(after, free=is_set(state.free, block, False))
    return evolve(after, keyed=is_set(state.keyed, block, False), listed=is_set(state.listed, block, False)) if forgets else after


@theorem(
    "taking-keeps-the-books",
    clauses=f"POOL.TAKE, TABLE.GROW, {BOOKS}",
    witness={**IDLE, "slot_taken": 0, "block": 1},
    reach=REACH,
    wrong=[
        Wrong("the block stays in the free queue", {"leaves": False}),
        Wrong("what it is keyed under is kept in the index alone", {"unlists": False}),
        Wrong("its reference count stays 0", {"counts": False}),
    ],
)
def taking_keeps_the_books(domain: Domain, leaves: bool = True, unlists: bool = True, counts: bool = True) -> Statement:
    """A free block that is taken into an empty slot loses its key and leaves the queue, and the books of all blocks hold as before."""
    state, slot, block = books(domain), domain.number("slot_taken"), domain.number("block")
    after = taken(state, slot, block, forgets=True)
    after = evolve(after, free=after.free if leaves else state.free, listed=after.listed if unlists else state.listed)
    after = after if counts else evolve(after, references=state.references)
    return kept(domain, state, after, {EMPTY_SLOT: state.holds(slot) == NULL, "the block is free": state.free(block)})


@theorem(
    "touching-keeps-the-books",
    clauses=f"POOL.TOUCH, TABLE.ADOPT, {BOOKS}",
    witness={**IDLE, "slot_taken": 0, "block": 1},
    reach=REACH,
    wrong=[
        Wrong("a free block stays in the queue", {"leaves": False}),
        Wrong("the holder is not counted", {"counts": False}),
    ],
)
def touching_keeps_the_books(domain: Domain, leaves: bool = True, counts: bool = True) -> Statement:
    """A keyed block that is adopted into an empty slot gets a holder more, leaves the queue if it was free, and the books hold."""
    state, slot, block = books(domain), domain.number("slot_taken"), domain.number("block")
    after = held_more(state, slot, block)
    after = evolve(after, free=is_set(state.free, block, False) if leaves else state.free)
    after = after if counts else evolve(after, references=state.references)
    return kept(domain, state, after, {EMPTY_SLOT: state.holds(slot) == NULL, "the block is keyed": state.keyed(block)})


@theorem(
    "releasing-keeps-the-books",
    clauses=f"POOL.RELEASE, TABLE.FREE, TABLE.RELEASE-SKIPPED, {BOOKS}",
    witness={**IDLE, "slot_left": 1},
    reach=REACH,
    wrong=[
        Wrong("the last holder's block does not join the queue", {"joins": False}),
        Wrong("a block joins the queue while others hold it", {"early": True}),
        Wrong("the slot keeps the block", {"empties": False}),
    ],
)
def releasing_keeps_the_books(domain: Domain, joins: bool = True, early: bool = False, empties: bool = True) -> Statement:
    """A slot that is emptied takes a holder from its block, which joins the queue if it was the last, still keyed, and the books hold."""
    state, slot = books(domain), domain.number("slot_left")
    block = state.holds(slot)
    after = held_less(state, slot)
    unheld = True if early else state.references(block) == 1
    after = evolve(after, free=is_set(state.free, block, unheld) if joins else state.free)
    after = after if empties else evolve(after, holds=state.holds)
    return kept(domain, state, after, {"the slot holds a block": block != NULL})


@theorem(
    "publishing-keeps-the-books",
    clauses=f"POOL.PUBLISH, TABLE.PUBLISH, {BOOKS}",
    witness={**IDLE, "block": 3},
    reach=REACH,
    wrong=[Wrong("the index is not told", {"lists": False}), Wrong("null may be published", {"null_too": True})],
)
def publishing_keeps_the_books(domain: Domain, lists: bool = True, null_too: bool = False) -> Statement:
    """A held block that is published is keyed and indexed, and the books hold; null is never published."""
    state, block = books(domain), domain.number("block")
    after = evolve(state, keyed=is_set(state.keyed, block, True))
    after = evolve(after, listed=is_set(state.listed, block, True)) if lists else after
    return kept(domain, state, after, {"the block is held": both(either(block != NULL, null_too), state.references(block) >= 1)})


@theorem(
    "withdrawing-keeps-the-books",
    clauses=f"STEP.WITHDRAWN, {BOOKS}",
    witness={**IDLE, "block": 1},
    reach=REACH,
    wrong=[Wrong("the index still lists it", {"unlists": False}), Wrong("a block that others adopted loses its key", {"most": 2})],
)
def withdrawing_keeps_the_books(domain: Domain, unlists: bool = True, most: int = 1) -> Statement:
    """A key that is withdrawn while at most one request holds the block leaves books that hold."""
    state, block = books(domain), domain.number("block")
    after = evolve(state, keyed=is_set(state.keyed, block, False))
    after = evolve(after, listed=is_set(state.listed, block, False)) if unlists else after
    return kept(domain, state, after, {"at most one request holds it": state.references(block) <= most})


@theorem(
    "reset-keeps-the-books",
    clauses=f"POOL.RESET, LIVE.RESET, {BOOKS}",
    witness={**IDLE, "holds": {}, "references": {}, "free": frozenset({-1, 1, 2, 3}), "number": {}, "slot": {}},
    reach=REACH,
    wrong=[Wrong("the index keeps its entries", {"unlists": False}), Wrong("keys are forgotten while blocks are shared", {"idle": False})],
)
def reset_keeps_the_books(domain: Domain, unlists: bool = True, idle: bool = True) -> Statement:
    """A reset of an idle pool forgets every key, in the blocks and in the index, and the books hold."""
    state = books(domain)
    nothing: Function = lambda block: False  # noqa: E731 - a predicate as good as any
    after = evolve(state, keyed=nothing, listed=nothing if unlists else state.listed)
    unheld = domain.every(lambda block: implies(block != NULL, state.references(block) == 0), lambda block: state.references(block))
    statement = kept(domain, state, after, {"no block is held": either(unheld, negated(idle))})
    needed = {name: holds for name, holds in statement.hypotheses.items() if name != "each number has its slot"}
    return evolve(statement, hypotheses=needed)


@theorem(
    "setting-apart-keeps-the-books",
    clauses=f"SINK.RESERVED, {BOOKS}",
    witness={**IDLE, "block": -1},
    kinds=("sink",),
    reach=REACH,
    wrong=[Wrong("the block stays in the queue", {"leaves": False})],
)
def setting_apart_keeps_the_books(domain: Domain, leaves: bool = True) -> Statement:
    """A free keyless block that is set apart for a sink leaves the queue for good, unheld, and the books hold."""
    state, block = books(domain), domain.number("block")
    after = evolve(state, apart=is_set(state.apart, block, True), free=is_set(state.free, block, False) if leaves else state.free)
    return kept(domain, state, after, {"the block is free": state.free(block), "it has no key": negated(state.keyed(block))})


@theorem(
    "nothing-is-lost-when-all-is-freed",
    clauses="BOOKS.REST, BOOKS.FREE, BOOKS.REFERENCES",
    witness={**IDLE, "holds": {}, "references": {}, "free": frozenset({-1, 1, 2, 3}), "number": {}, "slot": {}, "block": 3},
    reach=REACH,
    wrong=[Wrong("one slot still holds a block", {"all_but": 1})],
)
def nothing_is_lost_when_all_is_freed(domain: Domain, all_but: int = 0) -> Statement:
    """When no slot holds a block, every real block that is not set apart is free again."""
    state, block = books(domain), domain.number("block")

    def is_empty(slot: Any) -> Any:
        return either(state.holds(slot) == NULL, slot == all_but - 1 if all_but else False)

    # The block's first slot is named beside all of them: whoever looks for instances finds it there.
    empty = both(domain.every(is_empty, lambda slot: state.holds(slot)), is_empty(state.slot(block, 0)))
    chosen_block = {"the block is real and not set apart": both(block != NULL, negated(state.apart(block)))}
    books_hold = {name: holds for name, holds in assumed(domain, state).items() if name != "each holding slot has its number"}
    return Statement({**books_hold, **chosen_block, "no slot holds a block": empty}, {"it is free": state.free(block)})


@theorem(
    "what-is-taken-is-nobody-elses",
    clauses="BOOKS.ONCE, BOOKS.EXCLUSIVE, CONTENTS.WRITE.ALONE",
    witness={**IDLE, "slot_taken": 1, "block": 1},
    reach=REACH,
    wrong=[Wrong("a held block is taken", {"free_only": False})],
)
def what_is_taken_is_nobody_elses(domain: Domain, free_only: bool = True) -> Statement:
    """A block from the free queue is real and in no slot of any table, so who takes it writes it alone and holds it once."""
    state, slot, block = books(domain), domain.number("slot_taken"), domain.number("block")
    books_hold = {name: holds for name, holds in assumed(domain, state).items() if name != "each number has its slot"}
    free = {"the block is free": either(state.free(block), negated(free_only))}
    return Statement({**books_hold, **free}, {"it is real": block != NULL, "no slot holds it": state.holds(slot) != block})
