"""The checks of a theorem can fail: made-up theorems that are vacuous, false, or assume what they do not need."""

from collections.abc import Callable
from typing import Any

import pytest

from kvwitness.model.profile import SOUND
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.engines import prove, refute
from kvwitness.proofs.logic import both
from kvwitness.proofs.theorem import THEOREMS, Statement, Theorem, Wrong, made_theorem, theorem
from kvwitness.proofs.verdicts import judged, shown_needed, unrefuted

WITNESS = {"n": 3, "m": 4}


def made(states: Callable[..., Statement], **facts: Any) -> Theorem:
    return made_theorem("made-up", states, clauses="NEED.FIRST", **{"witness": WITNESS, **facts})


def contradictory(domain: Domain) -> Statement:
    """Anything follows."""
    n, m = numbers(domain, "n m")
    return Statement({"less": n < m, "more": m < n}, {"equal": n == m})


def overloaded(domain: Domain) -> Statement:
    """More is assumed than is needed."""
    n, m = numbers(domain, "n m")
    return Statement({"less": n < m, "natural": n >= 0}, {"no more": n <= m})


def false(domain: Domain) -> Statement:
    """A neighbour is always less."""
    n, m = numbers(domain, "n m")
    return Statement({"less": n < m}, {"by one": n + 1 == m})


def true(domain: Domain, strict: bool = True) -> Statement:
    """What is less by one is less."""
    n, m = numbers(domain, "n m")
    return Statement({"by one": n + 1 == m}, {"less": n < m if strict else n <= m})


def quantified(domain: Domain) -> Statement:
    """What holds of nothing that can be found by its pattern stays unknown."""
    f = domain.function("f")
    hypotheses = {"somewhere it is": domain.every(lambda x: f(x) >= x + 1)}
    return Statement(hypotheses, {"it is no constant": f(f(0)) != 99})


def test_a_theorem_that_is_one_is_proved() -> None:
    assert judged(made(true)).status == "proved"


def test_a_witness_that_does_not_satisfy_the_hypotheses_makes_it_vacuous() -> None:
    verdict = judged(made(contradictory))

    assert (verdict.status, verdict.because) == ("vacuous", "the witness does not satisfy: more")


def test_hypotheses_that_contradict_each_other_prove_false() -> None:
    assert prove.proves_false(prove.stated(made(contradictory)))
    assert not prove.proves_false(prove.stated(made(true)))


def test_a_hypothesis_that_no_goal_needs_is_an_error() -> None:
    verdict = judged(made(overloaded))

    assert (verdict.status, verdict.because) == ("unknown", "no goal needs the hypothesis: natural")
    assert shown_needed(made(overloaded)) == {"less": True, "natural": False}


def test_a_false_goal_is_refuted_by_an_example() -> None:
    verdict = judged(made(false))

    assert verdict.status == "refuted"
    assert verdict.example is not None
    assert verdict.example.values["n"] + 1 < verdict.example.values["m"]


def test_a_goal_that_its_own_witness_breaks_is_refuted_without_a_solver() -> None:
    verdict = judged(made(false, witness={"n": 1, "m": 5}))

    assert (verdict.status, verdict.engine) == ("refuted", "evaluation")


def test_a_goal_that_is_neither_proved_nor_refuted_is_unknown() -> None:
    table = {place: place + 1 for place in range(-4, 9)}

    assert judged(made(quantified, witness={"f": table})).status == "unknown"


def test_a_wrong_variant_that_is_not_refuted_is_an_error() -> None:
    spared = made(true, wrong=(Wrong("it is only said that it is no more", {"strict": False}),))

    assert [wrong.words for wrong in unrefuted(spared)] == ["it is only said that it is no more"]
    assert judged(spared).status == "unknown"
    assert judged(spared, quick=True).status == "proved"


def test_a_departure_without_an_example_is_unknown() -> None:
    spared = made(true, wrong=(Wrong("as it should be", {}, lambda profile: profile is SOUND),))

    assert judged(spared).status == "unknown"


def test_a_lemma_that_does_not_hold_is_refused() -> None:
    def states(domain: Domain) -> Statement:
        return Statement({}, {"goal": True}, [domain.number("n") > 9])

    with pytest.raises(ValueError, match="got a lemma that does not hold"):
        refute.evaluate(states, WITNESS)


def test_the_registry_refuses_a_second_theorem_an_unknown_clause_and_a_claim_that_is_no_sentence() -> None:
    taken = next(iter(THEOREMS), "made-up")
    THEOREMS.setdefault(taken, made(true))
    with pytest.raises(ValueError, match="ids are unique"):
        theorem(taken, clauses="NEED.FIRST", witness=WITNESS)(true)
    with pytest.raises(ValueError, match=r"unknown clauses \['NO.SUCH'\]"):
        made_theorem("x", true, clauses="NO.SUCH", witness=WITNESS)

    def untold(domain: Domain) -> Statement:
        return Statement({}, {"both": both(True, True)})

    with pytest.raises(ValueError, match="give a docstring"):
        made_theorem("x", untold, clauses="NEED.FIRST", witness=WITNESS)
