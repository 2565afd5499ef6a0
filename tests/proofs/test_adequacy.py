"""What the theorems state anew is what the pool does: real runs satisfy it call by call, and mutated ones do not.

A run on the model is cut into micro-steps, and each is held to the relation of the theorem of its kind.
"""

import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from attrs import evolve

from kvwitness.model import managers
from kvwitness.model import pool as pools
from kvwitness.model.pool import Pool
from kvwitness.model.profile import SOUND
from kvwitness.ports.model import ModelPort
from kvwitness.proofs import adequacy, mutations
from kvwitness.proofs.domain import Concrete, Values
from kvwitness.proofs.theorem import THEOREMS
from kvwitness.proofs.theorems import pool as theory
from kvwitness.properties.generator import Planner
from kvwitness.properties.run import Run
from kvwitness.properties.situations import LABELS, random_config

BLOCKS = 9
MOST_SLOTS = 200
Slots = dict[int, int]


def assignment(pool: Pool, slots: Slots) -> dict[str, Any]:
    """A real pool and the blocks that slots hold, with the numbering that the theorems speak of."""
    number: Slots = {}
    slot_of: dict[tuple[int, int], int] = {}
    for slot, block in slots.items():
        if block:
            rank = sum(1 for held, _ in slot_of if held == block)
            number[slot], slot_of[block, rank] = rank, slot
    listed = {block for entry, blocks in pool.index.items() for block in blocks if pool.keys[block] == entry}
    # Blocks that the pool does not have are as good as set apart.
    beyond = {block for block in range(-1, MOST_SLOTS) if block and not 0 <= block < len(pool.references)}
    return {
        "holds": slots,
        "references": {block: count for block, count in enumerate(pool.references) if block and count},
        "free": frozenset(pool.free),
        "apart": frozenset(pool.reserved) | beyond,
        "keyed": frozenset(block for block, key in enumerate(pool.keys) if key is not None),
        "listed": frozenset(listed),
        "number": number,
        "slot": slot_of,
    }


def slots_of(state: managers.State) -> Slots:
    """Every table entry, each a slot with a number of its own."""
    entries = [block for table in state.tables for held in table.values() for block in held.blocks]
    return dict(enumerate(entries, start=1))


def faults(values: Values, high: int) -> list[str]:
    """Which of the books' rules do not hold of an assignment."""
    domain = Concrete(values, low=-1, high=high)
    assumed = theory.assumed(domain, theory.books(domain))
    return [name for name, holds in assumed.items() if not holds]


def states_of_runs(label: str, seeds: range, steps: int) -> Iterator[managers.State]:
    for seed in seeds:
        rng = random.Random(f"{label} {seed}")
        config = random_config(rng, label)
        if config.blocks > BLOCKS:
            continue
        port = ModelPort(SOUND)
        run = Run(port, config, SOUND, oracles=())
        for done, operation in enumerate(Planner(rng, run).operations()):
            if done == steps:
                break
            run.perform(operation)
            yield port._state


@pytest.mark.slow
@pytest.mark.parametrize("label", LABELS)
def test_the_states_of_real_runs_satisfy_the_rules_of_the_books(label: str) -> None:
    seen = 0
    for state in states_of_runs(label, range(8), 40):
        slots = slots_of(state)
        seen += 1
        assert faults(assignment(state.pool, slots), max(BLOCKS, len(slots) + 1)) == []
    assert seen > 40


def mutated(rng: random.Random, pool: Pool) -> Pool:
    """A pool with one thing wrong."""
    block = rng.randrange(1, len(pool.references))
    references = list(pool.references)
    references[block] += rng.choice((-1, 1))
    free = tuple(each for each in pool.free if each != block) if block in pool.free else (*pool.free, block)
    keys = tuple(None if each == block else key for each, key in enumerate(pool.keys))
    keyed_free = [evolve(pool, keys=keys)] if pool.keys[block] is not None else []
    wrong: Pool = rng.choice([evolve(pool, references=tuple(references)), evolve(pool, free=free), *keyed_free])
    return wrong


def is_wrong(pool: Pool, slots: Slots) -> bool:
    values = assignment(pool, slots)
    index = {block for blocks in pool.index.values() for block in blocks}
    return bool(faults({**values, "listed": frozenset(index)}, max(BLOCKS, len(slots) + 1)))


@pytest.mark.slow
def test_mutated_states_break_the_rules_of_the_books() -> None:
    rng, seen = random.Random(0), 0
    for state in states_of_runs("full", range(6), 40):
        slots, pool = slots_of(state), state.pool
        set_apart = mutated(rng, pool)
        seen += 1
        assert is_wrong(set_apart, slots)
    assert seen > 60


MICRO_STEPS = {
    "taking-keeps-the-books": ("slot_taken", "block"),
    "touching-keeps-the-books": ("slot_taken", "block"),
    "releasing-keeps-the-books": ("slot_left", ""),
    "publishing-keeps-the-books": ("", "block"),
    "withdrawing-keeps-the-books": ("", "block"),
}


def stepped(name: str, pool: Pool, slots: Slots, slot: int, block: int) -> tuple[Pool, Slots]:
    """The real call of a micro-step."""
    if name == "taking-keeps-the-books":
        # The block that is taken is the first of the queue.
        pool = evolve(pool, free=(block, *(each for each in pool.free if each != block)))
        pool, (taken,) = pools.take(pool, 1)
        return pool, {**slots, slot: taken}
    if name == "touching-keeps-the-books":
        return pools.touch(pool, (block,), SOUND), {**slots, slot: block}
    if name == "releasing-keeps-the-books":
        return pools.release(pool, (slots[slot],), SOUND), {**slots, slot: 0}
    if name == "publishing-keeps-the-books":
        return pools.publish(pool, 0, ((block, 99),)), slots
    return pools.without_keys(pool, (block,)), slots


def applies(name: str, pool: Pool, slots: Slots, slot: int, block: int) -> bool:
    if name == "taking-keeps-the-books":
        return block in pool.free and slots.get(slot, 0) == 0
    if name == "touching-keeps-the-books":
        return pool.keys[block] is not None and slots.get(slot, 0) == 0
    if name == "releasing-keeps-the-books":
        return slots.get(slot, 0) != 0
    if name == "publishing-keeps-the-books":
        return pool.references[block] >= 1 and pool.keys[block] is None
    return pool.references[block] <= 1


def after_theory(name: str, values: Values, slot: int, block: int) -> theory.Books:
    """What the theorem's relation makes of the books."""
    state = theory.books(Concrete(values))
    if name == "taking-keeps-the-books":
        return theory.taken(state, slot, block, forgets=True)
    if name == "touching-keeps-the-books":
        return evolve(theory.held_more(state, slot, block), free=theory.is_set(state.free, block, False))
    if name == "releasing-keeps-the-books":
        left = state.holds(slot)
        return evolve(theory.held_less(state, slot), free=theory.is_set(state.free, left, state.references(left) == 1))
    keyed = name == "publishing-keeps-the-books"
    return evolve(state, keyed=theory.is_set(state.keyed, block, keyed), listed=theory.is_set(state.listed, block, keyed))


def agree(related: theory.Books, pool: Pool, slots: Slots, most_slots: int) -> bool:
    """Whether the relation's books are the real ones, but for how holders are numbered."""
    real = theory.books(Concrete(assignment(pool, slots)))
    blocks, places = range(1, len(pool.references)), range(most_slots)
    same = all(
        related.references(block) == real.references(block)
        and bool(related.free(block)) == bool(real.free(block))
        and bool(related.keyed(block)) == bool(real.keyed(block))
        and bool(related.listed(block)) == bool(real.listed(block))
        for block in blocks
    )
    return same and all(related.holds(place) == real.holds(place) for place in places)


@pytest.mark.slow
@pytest.mark.parametrize("name", MICRO_STEPS)
def test_the_relation_of_a_micro_step_is_what_the_pool_does(name: str) -> None:
    assert name in THEOREMS
    rng, compared, told_apart = random.Random(name), 0, 0
    for state, _ in product(states_of_runs("full", range(60), 40), range(4)):
        pool, slots = state.pool, slots_of(state)
        slot, block = rng.randint(0, len(slots) + 1), rng.randrange(1, len(pool.references))
        if not applies(name, pool, slots, slot, block):
            continue
        before = assignment(pool, slots)
        real_pool, real_slots = stepped(name, pool, slots, slot, block)
        related = after_theory(name, before, slot, block)
        compared += 1
        assert agree(related, real_pool, real_slots, len(slots) + 3)
        told_apart += not agree(related, mutated(rng, real_pool), real_slots, len(slots) + 3)
    assert compared > 200
    assert told_apart == compared


@pytest.mark.parametrize("name", adequacy.COMPARISONS)
def test_what_is_stated_anew_is_what_the_model_does(name: str) -> None:
    assert adequacy.difference(name, tries=800) is None


@pytest.mark.parametrize("name", adequacy.COMPARISONS)
def test_a_comparison_draws_more_than_a_few_cases(name: str) -> None:
    rng = random.Random(0)
    seen = {repr(adequacy.COMPARISONS[name](rng, adequacy.any_pool(rng))) for _ in range(200)}

    assert len(seen) > 20 or name in ("sharing", "looking up", "counting evictable hits")


def twins() -> list[Any]:
    rules = [rule for rule in mutations.RESTATED if list(mutations.mutants_of(rule))]
    return [pytest.param(rule, id=f"{rule.__module__.rpartition('.')[2]}.{rule.__name__}") for rule in rules]


@pytest.mark.parametrize("rule", twins())
def test_a_mutated_twin_of_a_rule_is_told_from_what_is_stated(rule: Callable[..., Any]) -> None:
    told = next(mutant for mutant in mutations.mutants_of(rule) if (mutant.name, mutant.number) not in mutations.SAME)

    assert mutations.noticed(told, ())
