"""KV events: whoever hears all that is told knows what look-ups may find, and where each key stands."""

from collections.abc import Callable
from typing import Any

from kvwitness.model import events, index_told
from kvwitness.model.profile import Profile
from kvwitness.proofs import lemmas
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, either, iff, implies, negated, updated, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK

Function = Callable[..., Any]
CARRIED = {"carriers": {1: 2, 2: 1}, "key": 1, "any_key": 2}


def _carriers(domain: Domain) -> tuple[Any, Any, Any]:
    """How many blocks carry each key; a key that a block gets or loses, and any."""
    return domain.function("carriers"), domain.number("key"), domain.number("any_key")


@theorem(
    "counted-events-make-the-index",
    clauses="EVENTS.INDEX, EVENTS.ONCE, EVENTS.REMOVED.KNOWN, EVENTS.STORED, EVENTS.REMOVED",
    witness={**CARRIED, "counted": {1: 2, 2: 1}},
    reach=4,
    wrong=[
        Wrong("only the last copy's removal is told", {"removed": lambda before: chosen(before == 1, 1, 0)}),
        Wrong("a reset is not told", {"clears": False}),
    ],
)
def counted_events_make_the_index(domain: Domain, removed: Function = lambda before: 1, clears: bool = True) -> Statement:
    """If each copy that is stored or removed is told, and each reset, counting gives for every key how many blocks carry it, and no
    key is removed that is not known.
    """
    carriers, key, anyone = _carriers(domain)
    counted = domain.function("counted")

    def known(has: Function, told: Function) -> Any:
        return both(told(anyone) == has(anyone), has(anyone) >= 0, iff(told(anyone) > 0, has(anyone) > 0))

    lost = implies(
        carriers(key) >= 1,
        both(
            index_told.removes_what_is_known(counted(key)),
            known(updated(carriers, key, carriers(key) - 1), updated(counted, key, counted(key) - removed(carriers(key)))),
        ),
    )
    hypotheses = {
        "so far the counts are right": domain.every(
            lambda one: both(counted(one) == carriers(one), carriers(one) >= 0), lambda one: counted(one), lambda one: carriers(one)
        ),
    }
    goals = {
        "after one is stored": known(updated(carriers, key, carriers(key) + 1), updated(counted, key, counted(key) + 1)),
        "after one is lost": lost,
        "after a reset": known(lambda one: 0, (lambda one: 0) if clears else counted),
    }
    return Statement(hypotheses, goals)


@theorem(
    "kept-keys-make-the-index",
    clauses="EVENTS.PLAIN, EVENTS.STORED, EVENTS.REMOVED",
    witness={**CARRIED, "kept": frozenset({1, 2})},
    reach=4,
    wrong=[Wrong("the removal of each copy is told", {"last": 9})],
)
def kept_keys_make_the_index(domain: Domain, last: int = 1) -> Statement:
    """If a key is told when its first copy is stored and when its last one goes, a set of keys is what look-ups may find."""
    carriers, key, anyone = _carriers(domain)
    kept = domain.predicate("kept")

    def right(has: Function, holds: Function) -> Any:
        return both(has(anyone) >= 0, iff(holds(anyone), has(anyone) > 0))

    def told(truth: Any, change: Any) -> Function:
        """The set after an event about the key, or without one."""
        return lambda one: either(
            both(one == key, either(both(change, truth), both(negated(change), kept(one)))), both(one != key, kept(one))
        )

    hypotheses = {
        "so far the set is right": domain.every(
            lambda one: both(carriers(one) >= 0, iff(kept(one), carriers(one) > 0)), lambda one: kept(one), lambda one: carriers(one)
        ),
    }
    before = carriers(key)
    goals = {
        "after one is stored": right(updated(carriers, key, before + 1), told(True, before == 0)),
        "after one is lost": implies(before >= 1, right(updated(carriers, key, before - 1), told(False, before <= last))),
    }
    return Statement(hypotheses, goals)


def _one_run(profile: Profile) -> bool:
    return profile.event_runs == "one_a_call"


@theorem(
    "a-run-follows-its-parent",
    clauses="EVENTS.PARENT, EVENTS.ORDER, EVENTS.RANGE, EVENTS.STORED",
    witness={"first": 1, "keys": 2, "at": 1, "gaps": 0, "block": 2},
    sizes=("block",),
    wrong=[Wrong("one run is told over blocks that got no key", {"stretch": False}, found_in=_one_run)],
)
def a_run_follows_its_parent(domain: Domain, stretch: bool = True) -> Statement:
    """A run told for a stretch of blocks that got keys begins where its parent's tokens end, has a key for each block of its tokens,
    and each key stands in them.
    """
    first, keys, at, gaps = numbers(domain, "first keys at gaps")
    block = domain.size("block")
    start, end = first * block, (first + keys + gaps) * block
    own = first + at + 1
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "its blocks follow one another": either(gaps == 0, both(not stretch, gaps >= 0)),
    }
    goals = {
        "no parent exactly at the start": iff(first == 0, start == 0),
        "a key for each block": (end - start) == keys * block,
        "each key's block is in its tokens": implies(within(0, at, keys), both(start < own * block, own * block <= end)),
    }
    return Statement(hypotheses, goals, [lemmas.product_of_sum(first, keys, block)])


@theorem(
    "a-parent-was-stored-before",
    clauses="EVENTS.KNOWN, EVENTS.PARENT",
    witness={"done": 2, "full": 3, "place": 1, "stored": frozenset({0, 1})},
    kinds=("full", "sink"),
    reach=4,
    wrong=[Wrong("a block is left out", {"skips": 1})],
)
def a_parent_was_stored_before(domain: Domain, skips: int = 0) -> Statement:
    """Where every full block gets a key, all before those that are published were stored, so the parent of a run was, if there is one."""
    done, full, place = numbers(domain, "done full place")
    stored = domain.predicate("stored")
    hypotheses = {
        "so far every published block was stored": domain.every(lambda at: implies(within(0, at, done), stored(at)), lambda at: stored(at)),
    }
    after = either(stored(place), within(done + skips, place, full))
    goals = {"the parent was": implies(done > 0, stored(done - 1)), "now every one is": implies(within(0, place, full), after)}
    return Statement(hypotheses, goals)


def _names_none(profile: Profile) -> bool:
    return profile.event_groups != "told"


def _named(group: Any, groups: Any, profile: Profile) -> Any:
    """Whether the event of a group may pass for that of another, by the model's own functions."""

    def judged(number: Any, many: Any) -> Any:
        event = events.Removed(events.named_group(number, profile), 0)
        return index_told.names_its_group(event, many) and (event.group is None or event.group == number)

    return merged(judged, group, groups)


def _unnamed(_group: Any, groups: Any, _profile: Profile) -> Any:
    return groups == 1


@theorem(
    "an-event-names-its-group",
    clauses="EVENTS.GROUP, EVENTS.GROUP.NAMED",
    witness={"group": 1, "groups": 2},
    wrong=[Wrong("no group is named", {"named": _unnamed}, found_in=_names_none)],
)
def an_event_names_its_group(domain: Domain, named: Function = _named) -> Statement:
    """An event names the group of its keys, whatever its number and however many there are."""
    group, groups = numbers(domain, "group groups")
    return Statement({}, {"its own": named(group, groups, domain.profile)})


def _told(done: Any) -> Any:
    """How many times a reset is told."""
    return merged(lambda truth: len(events.cleared_by(truth)), done)


@theorem(
    "each-reset-is-told-once",
    clauses="EVENTS.CLEARED, EVENTS.CLEARED.RESET",
    witness={"told": 2, "resets": 2, "done": True},
    wrong=[Wrong("one that fails is told too", {"tells": lambda done: 1})],
)
def each_reset_is_told_once(domain: Domain, tells: Function = _told) -> Statement:
    """Consumers are told to forget everything as often as the cache was reset: a reset that does not succeed tells nothing."""
    told, resets = numbers(domain, "told resets")
    done = domain.truth("done")
    after = index_told.clears_when_reset(told + tells(done), resets + chosen(done, 1, 0))
    return Statement({"so far as often": index_told.clears_when_reset(told, resets)}, {"as often still": after})
