"""The index: of the copies behind one key the one that was published first is found, whatever came and went since."""

from typing import Any

from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, either, iff, implies, updated, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem

CLAUSES = "POOL.FOUND, LIVE.HIT.KEYED"
IN_ORDER = "copies stand in the order of their publishing"


def _copies(domain: Domain) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The blocks behind a key, from place 0 to before ``count``, and the time that each was published at."""
    at, time, count = domain.function("at"), domain.function("time"), domain.number("count")
    ordered = domain.every(
        lambda one, two: implies(both(0 <= one, one < two, two < count), time(at(one)) < time(at(two))),
        lambda one, two: (at(one), at(two)),
    )
    return at, time, count, {IN_ORDER: ordered}


WITNESS = {"at": {0: 3, 1: 1, 2: 4}, "time": {3: 0, 1: 1, 4: 2, 2: 3}, "count": 3, "one": 0, "two": 2}


@theorem(
    "first-published-is-found",
    clauses=CLAUSES,
    witness=WITNESS,
    reach=4,
    wrong=[Wrong("the copy that was published last is found", {"last": True})],
)
def first_published_is_found(domain: Domain, last: bool = False) -> Statement:
    """What a look-up finds, the first of the copies, was published before every other copy that is still there."""
    at, time, count, holds = _copies(domain)
    two = domain.number("two")
    found = at(count - 1) if last else at(0)
    hypotheses = {**holds, "there is another copy": both(within(0, two, count), at(two) != found)}
    return Statement(hypotheses, {"it came before": time(found) < time(at(two))})


@theorem(
    "a-new-copy-is-found-last",
    clauses=f"{CLAUSES}, POOL.PUBLISH",
    witness={**WITNESS, "block": 2},
    reach=4,
    wrong=[Wrong("it is put in front of the last", {"where": -1})],
)
def a_new_copy_is_found_last(domain: Domain, where: int = 0) -> Statement:
    """A copy that is published comes behind those that were there, which keep their places, and the copies stand in order still."""
    at, time, count, holds = _copies(domain)
    one, two, block = numbers(domain, "one two block")
    after = updated(at, count + where, block)
    newest = domain.every(lambda place: implies(within(0, place, count), time(at(place)) < time(block)), lambda place: at(place))
    goals = {
        IN_ORDER: implies(both(0 <= one, one < two, two < count + 1), time(after(one)) < time(after(two))),
        "the others keep their places": implies(within(0, one, count), after(one) == at(one)),
    }
    return Statement({**holds, "it is published after all of them": newest}, goals)


@theorem(
    "a-lost-copy-leaves-the-order",
    clauses=f"{CLAUSES}, POOL.TAKE, STEP.WITHDRAWN",
    witness={**WITNESS, "gone": 1},
    reach=4,
    wrong=[Wrong("the last takes its place", {"closes": False}), Wrong("the copy behind goes too", {"width": 2})],
)
def a_lost_copy_leaves_the_order(domain: Domain, closes: bool = True, width: int = 1) -> Statement:
    """A copy whose block is taken anew, or whose key is withdrawn, is found no more; all others are, in the order they had."""
    at, time, count, holds = _copies(domain)
    gone, one, two = numbers(domain, "gone one two")

    def after(place: Any) -> Any:
        if not closes:
            return chosen(place == gone, at(count - 1), at(place))
        return chosen(place < gone, at(place), at(place + width))

    kept = either(both(one < gone, after(one) == at(one)), both(one > gone, after(one - 1) == at(one)))
    goals = {
        IN_ORDER: implies(both(0 <= one, one < two, two < count - 1), time(after(one)) < time(after(two))),
        "it is found no more": implies(within(0, one, count - 1), after(one) != at(gone)),
        "the others keep their order": implies(within(0, one, count), iff(one != gone, kept)),
    }
    return Statement({**holds, "it is one of the copies": within(0, gone, count)}, goals)
