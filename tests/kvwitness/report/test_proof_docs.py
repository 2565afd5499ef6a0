"""The page of theorems is up to date, and leaves out no theorem and no clause."""

from pathlib import Path

import pytest

from kvwitness.proofs.catalogue import all_theorems
from kvwitness.report.clause_docs import all_clauses
from kvwitness.report.proof_docs import page


@pytest.fixture(scope="module", name="text")
def generated() -> str:
    return page()


@pytest.mark.slow
def test_the_page_is_the_generated_one(text: str, pytestconfig: pytest.Config) -> None:
    written = Path(pytestconfig.rootpath / "docs" / "proofs.md").read_text(encoding="utf-8")

    assert written == text, "run: python -m kvwitness.report.proof_docs > docs/proofs.md"


@pytest.mark.slow
def test_every_theorem_has_a_section_with_its_claim_and_every_clause_a_row(text: str) -> None:
    assert all(f"### {theorem.id}\n\n{theorem.claim}\n" in text for theorem in all_theorems())
    assert all(f"\n| {clause.id} | " in text for clause in all_clauses())
    assert "not stated yet" not in text


@pytest.mark.slow
def test_a_hypothesis_that_no_example_shows_to_be_needed_is_told(text: str) -> None:
    section = text.partition("### what-is-asked-leaves-room\n")[2].partition("###")[0]

    assert "- needed: not shown: 1 token or more is known\n" in section
