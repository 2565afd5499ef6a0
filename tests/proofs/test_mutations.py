"""One operator of a rule changed: some theorem, or some comparison with what is stated, notices."""

from pathlib import Path

import pytest

from kvwitness.model import contents, numbers, pool
from kvwitness.proofs import mutations
from kvwitness.proofs.catalogue import all_theorems
from kvwitness.proofs.theorem import THEOREMS
from kvwitness.report import mutation_docs

PAGE = Path(__file__).parents[2] / "docs" / "proof-mutations.md"
all_theorems()


def test_a_changed_rule_runs_for_all_who_hold_it_and_is_put_back() -> None:
    less = next(mutant for mutant in mutations.mutants_of(numbers.maximum) if mutant.words == ">= becomes >")
    plus = next(mutant for mutant in mutations.mutants_of(contents.running_state) if mutant.words == "- becomes +")
    held = contents.running_state

    assert (held(3, 2, 2), less.place) == (2, "return choose(left >= right, left, right)")
    with mutations.in_place(plus):
        assert held(3, 2, 2) == 4
    assert held(3, 2, 2) == 2


def test_each_operator_of_a_rule_is_changed_once() -> None:
    changed = [(mutant.number, mutant.words) for mutant in mutations.mutants_of(pool.take)]

    assert changed == [(0, "< becomes <="), (1, "> becomes >="), (2, "== becomes !=")]


def test_a_theorem_notices_that_a_full_block_gets_no_state() -> None:
    theorem = THEOREMS["a-full-block-gets-its-state"]
    behind = next(mutant for mutant in mutations.mutants_of(contents.state_kept) if mutant.words == "< becomes <=")

    assert not mutations.notices(theorem)
    with mutations.in_place(behind):
        assert mutations.notices(theorem)


def test_a_change_that_nobody_looks_at_is_a_gap() -> None:
    plus = next(mutations.mutants_of(contents.running_state))

    assert mutations.noticed(plus, [THEOREMS["full-skips-nothing"]]) == ""
    assert mutation_docs.unnoticed([(plus, "")]) == [(plus, "")]


@pytest.mark.slow
def test_every_change_is_noticed_but_for_those_that_no_legal_call_can_tell() -> None:
    rows = list(mutations.all_noticed(all_theorems()))
    spared = {(mutant.name, mutant.number) for mutant, by in rows if not by}

    assert len(rows) > 150
    assert spared == set(mutations.SAME)
    assert PAGE.read_text(encoding="utf-8") == mutation_docs.page_of(rows)
