"""Every fact of the lemma base is proved as it stands, and true of all small numbers."""

import inspect
from itertools import product

import pytest

from kvwitness.proofs import branches, lemmas
from kvwitness.proofs.engines.prove import MOST_WORK
from kvwitness.proofs.lemmas import LEMMAS
from kvwitness.proofs.terms import integer


@pytest.mark.slow
@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_is_proved_by_the_solver(name: str) -> None:
    import z3

    branches.register()
    states = LEMMAS[name]
    stated = states(*(integer(each) for each in inspect.signature(states).parameters))
    for seed in range(3):
        context = z3.Context()
        solver = z3.Solver(ctx=context)
        solver.set("rlimit", MOST_WORK)
        solver.set("random_seed", seed)
        solver.add(z3.Not(z3.Implies(stated.condition, stated.fact)).translate(context))

        assert str(solver.check()) == "unsat"


@pytest.mark.parametrize("name", LEMMAS)
def test_a_lemma_is_true_of_all_small_numbers(name: str) -> None:
    states = LEMMAS[name]
    *others, divisor = inspect.signature(states).parameters
    tried = 0
    order = list(inspect.signature(states).parameters)
    for values in product(range(-4, 7), repeat=len(others)):
        for size in range(1, 5):
            given = dict(zip(others, values, strict=True)) | {divisor: size}
            if "d" in given and given["d"] < 1:
                continue
            stated = states(*(given[each] for each in order))
            tried += bool(stated.condition)
            assert not stated.condition or stated.fact
    assert tried


def test_there_is_no_product_of_unknowns_elsewhere_than_in_about_twenty_lemmas() -> None:
    assert 15 <= len(LEMMAS) <= 25
    assert lemmas.quotient_of_multiple(3, 4) is True
