"""The page of clauses is up to date, and no method of the seed goes without one."""

import inspect
from pathlib import Path

import pytest

from kvwitness import impl
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.report.clause_docs import all_clauses, clauses_of, function_of, page
from kvwitness.report.seed_methods import METHODS, OUTSIDE, all_methods

CLAUSES = all_clauses()
# What our managers and pool offer beyond the seed: later releases' calls and looks inside.
OURS_ALONE = {
    "add_local_computed_blocks",
    "allocate_external_computed_blocks",
    "withdraw_blocks",
    "new_step_starts",
    "expect_look_ups",
    "free_skipped",
    "begin_events",
    "demand_adoptable",
    "num_blocks_for_adoption",
    "num_blocks_for_growth",
    "snapshot",
    "check",
    "finder",
    "publish",
    "shift_null_references",
    "reserve",
    "withdraw",
}


@pytest.mark.parametrize("method", all_methods())
def test_every_method_of_the_seed_is_bound_by_a_clause(method: str) -> None:
    assert clauses_of(method, CLAUSES)


def test_every_source_is_a_method_of_the_seed() -> None:
    known = {*all_methods(), *(method.split(".")[1] for method in all_methods() if "__init__" not in method), "safety"}

    assert {source for clause in CLAUSES for source in clause.source} <= known


@pytest.mark.parametrize("owner", METHODS)
def test_the_list_of_methods_leaves_out_none_that_we_implement(owner: str) -> None:
    implemented = SingleTypeKVCacheManager if owner == "SingleTypeKVCacheManager" else getattr(impl, owner)
    public = {name for name, member in inspect.getmembers(implemented) if callable(member) and not name.startswith("_")}
    outside = {method.split(".")[1] for method in OUTSIDE}

    assert public <= {*METHODS["SingleTypeKVCacheManager"], *METHODS[owner], *OURS_ALONE, *outside}


def test_a_rule_of_ones_own_stands_before_the_one_for_all() -> None:
    ids = [clause.id for clause in clauses_of("MambaManager.get_num_blocks_to_allocate", CLAUSES)]

    assert "MAMBA.ESTIMATE" in ids
    assert "TABLE.ESTIMATE" not in ids
    assert "LIVE.REFUSAL" in ids


def test_a_method_that_offers_nothing_has_no_other_clause() -> None:
    assert [clause.id for clause in clauses_of("CrossAttentionManager.cache_blocks", CLAUSES)] == ["CROSS.PUBLISH.NONE"]


def test_a_method_without_a_clause_is_found() -> None:
    assert clauses_of("MambaManager.take_a_rest", CLAUSES) == []
    assert clauses_of("BlockPool.free", CLAUSES) == []


def test_a_function_is_named_by_its_module() -> None:
    (clause,) = (clause for clause in CLAUSES if clause.id == "NEED.FIRST")

    assert function_of(clause) == "need.first_needed"


def test_the_page_is_the_generated_one(pytestconfig: pytest.Config) -> None:
    written = Path(pytestconfig.rootpath / "docs" / "clauses.md").read_text(encoding="utf-8")

    assert written == page(), "run: python -m kvwitness.report.clause_docs > docs/clauses.md"


def test_every_clause_has_a_section_with_its_sentence() -> None:
    text = page()

    assert all(f"### {clause.id}\n\n{clause.sentence}\n" in text for clause in CLAUSES)
