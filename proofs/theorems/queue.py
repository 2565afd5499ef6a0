"""The free queue: who comes first, said by a time for each block, whatever way the queue is kept in memory."""

from typing import Any

from kvwitness.model import misuse
from kvwitness.model.numbers import minimum
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, either, iff, implies, updated, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem

CLAUSES = "BOOKS.QUEUE, POOL.TAKE, POOL.RELEASE"


def _state(domain: Domain) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """A queue: the block at each place from ``head`` to before ``tail``, and the place of each queued block."""
    at, place = domain.function("at"), domain.function("place")
    head, tail = numbers(domain, "head tail")
    queued = domain.every(
        lambda spot: implies(within(head, spot, tail), both(place(at(spot)) == spot, at(spot) != 0)), lambda spot: at(spot)
    )
    return at, place, head, tail, {"each place has its block": queued}


WITNESS = {"at": {0: 3, 1: 1, 2: 4}, "place": {3: 0, 1: 1, 4: 2}, "head": 0, "tail": 3, "one": 0, "other": 1}


@theorem(
    "queue-names-no-block-twice",
    clauses="BOOKS.QUEUE",
    witness=WITNESS,
    reach=4,
    wrong=[Wrong("places are not told apart", {"apart": False})],
)
def queue_names_no_block_twice(domain: Domain, apart: bool = True) -> Statement:
    """A queue in which every block knows its place names no block twice."""
    at, _, head, tail, holds = _state(domain)
    one, other = numbers(domain, "one other")
    spots = {"two places of the queue": both(within(head, one, tail), within(head, other, tail), either(one != other, not apart))}
    return Statement({**holds, **spots}, {"two blocks": at(one) != at(other)})


@theorem(
    "queue-appends-behind-all",
    clauses=CLAUSES,
    witness={**WITNESS, "block": 2, "spot": 1},
    reach=4,
    wrong=[Wrong("it is put in front of the last", {"where": -1})],
)
def queue_appends_behind_all(domain: Domain, where: int = 0) -> Statement:
    """A released block that is appended comes behind all that were free, in a queue that still names each block once."""
    at, place, head, tail, holds = _state(domain)
    block, spot = numbers(domain, "block spot")
    after_at, after_place = updated(at, tail + where, block), updated(place, block, tail + where)
    new = {
        "the block is real and not queued": both(
            block != 0, domain.every(lambda x: implies(within(head, x, tail), at(x) != block), lambda x: at(x))
        ),
    }
    goals = {
        "each place has its block": implies(within(head, spot, tail + 1), both(after_place(after_at(spot)) == spot, after_at(spot) != 0)),
        "all that were free come before it": implies(
            within(head, spot, tail), both(after_at(spot) == at(spot), after_place(at(spot)) < after_place(block))
        ),
    }
    return Statement({**holds, **new}, {**goals, "it is the last": after_at(tail) == block})


@theorem(
    "queue-puts-keyless-in-front",
    clauses=CLAUSES,
    witness={**WITNESS, "block": 2, "spot": 1},
    reach=4,
    wrong=[Wrong("it is put behind the first", {"where": 1})],
)
def queue_puts_keyless_in_front(domain: Domain, where: int = 0) -> Statement:
    """A released block without a key that is put in front is the next to be taken, in a queue that still names each block once."""
    at, place, head, tail, holds = _state(domain)
    block, spot = numbers(domain, "block spot")
    front = head - 1 + where
    after_at, after_place = updated(at, front, block), updated(place, block, front)
    new = {
        "the block is real and not queued": both(
            block != 0, domain.every(lambda x: implies(within(head, x, tail), at(x) != block), lambda x: at(x))
        )
    }
    goals = {
        "each place has its block": implies(within(head - 1, spot, tail), both(after_place(after_at(spot)) == spot, after_at(spot) != 0)),
        "it is the next": after_at(head - 1) == block,
    }
    return Statement({**holds, **new}, goals)


@theorem(
    "queue-takes-the-oldest",
    clauses="POOL.TAKE, BOOKS.QUEUE",
    witness={**WITNESS, "spot": 1},
    reach=4,
    wrong=[Wrong("the last is taken", {"from_tail": True})],
)
def queue_takes_the_oldest(domain: Domain, from_tail: bool = False) -> Statement:
    """The block that is taken has been free longest: all others come behind it and stay in their order."""
    at, place, head, tail, holds = _state(domain)
    spot = domain.number("spot")
    block = at(tail - 1) if from_tail else at(head)
    left = within(head, spot, tail - 1) if from_tail else within(head + 1, spot, tail)
    goals = {"it came before all others": implies(left, place(block) < place(at(spot))), "it is not left": implies(left, at(spot) != block)}
    return Statement(holds, goals)


@theorem(
    "queue-lets-a-touched-block-go",
    clauses="POOL.TOUCH, BOOKS.QUEUE",
    witness={**WITNESS, "gone": 1, "spot": 1},
    reach=4,
    wrong=[Wrong("the gap is not closed", {"closes": False}), Wrong("the block behind goes too", {"width": 2})],
)
def queue_lets_a_touched_block_go(domain: Domain, closes: bool = True, width: int = 1) -> Statement:
    """A hit leaves the middle of the queue: it is queued no more, and all others are, in the order they had."""
    at, _, head, tail, holds = _state(domain)
    gone, spot = numbers(domain, "gone spot")

    def after(place: Any) -> Any:
        return chosen(place < gone, at(place), at(place + width)) if closes else at(place)

    goals = {
        "it is queued no more": implies(within(head, spot, tail - 1), after(spot) != at(gone)),
        "the others keep their order": implies(
            within(head, spot, tail),
            iff(spot != gone, either(both(spot < gone, after(spot) == at(spot)), both(spot > gone, after(spot - 1) == at(spot)))),
        ),
    }
    return Statement({**holds, "the block is queued": within(head, gone, tail)}, goals)


@theorem(
    "a-kept-count-is-the-queues-length",
    clauses="BOOKS.COUNT, POOL.TAKE, POOL.RELEASE, POOL.TOUCH",
    witness={"counted": 3, "head": 0, "tail": 3, "taken": 2, "front": 1, "back": 2},
    wrong=[
        Wrong("more is taken than there is, and only what there is leaves", {"most": 9}),
        Wrong("blocks put in front are not counted", {"counts_front": 0}),
    ],
)
def a_kept_count_is_the_queues_length(domain: Domain, most: int = 0, counts_front: int = 1) -> Statement:
    """A count that is kept beside the queue is its length after blocks are taken, of which there must be enough, after others join in
    front and behind, and after one that is touched leaves.
    """
    counted, head, tail, taken, front, back = numbers(domain, "counted head tail taken front back")
    left, count = minimum(head + taken, tail), counted - taken
    joined = (tail + back) - (left - front)
    hypotheses = {
        "it was the length": misuse.counts_free_blocks(counted, tail - head),
        "no more is taken than there is": taken <= counted + most,
    }
    goals = {
        "after blocks are taken": misuse.counts_free_blocks(count, tail - left),
        "after blocks join": misuse.counts_free_blocks(count + back + front * counts_front, joined),
        "after one leaves": misuse.counts_free_blocks(counted - 1, (tail - 1) - head),
    }
    return Statement(hypotheses, goals)
