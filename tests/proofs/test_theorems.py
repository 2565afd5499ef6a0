"""Every theorem is proved, every wrong variant is refuted by an example that Python evaluates, and every clause is accounted for."""

import pytest

from kvwitness.model.profile import PROFILES
from kvwitness.proofs.catalogue import NO_THEOREM, SUBJECTS, all_theorems, chosen_theorems
from kvwitness.proofs.engines import prove, refute
from kvwitness.proofs.theorem import THEOREMS, Theorem
from kvwitness.proofs.verdicts import example_of, judged
from kvwitness.report.clause_docs import all_clauses

CATALOGUE = all_theorems()
SEEDS = 10
PARTED = [pytest.param(theorem, id=theorem.id) for theorem in CATALOGUE]
VARIANTS = [pytest.param(theorem, wrong, id=f"{theorem.id}: {wrong.words}") for theorem in CATALOGUE for wrong in theorem.wrong]


@pytest.mark.slow
@pytest.mark.parametrize("theorem", PARTED)
def test_a_theorem_is_proved(theorem: Theorem) -> None:
    verdict = judged(theorem, quick=True)

    assert (verdict.status, verdict.because) == ("proved", "")


@pytest.mark.slow
@pytest.mark.parametrize(("theorem", "wrong"), VARIANTS)
def test_a_wrong_variant_is_refuted_by_an_example(theorem: Theorem, wrong: object) -> None:
    example = example_of(theorem, wrong)  # type: ignore[arg-type]

    assert example is not None
    assert all(example.hypotheses.values())
    assert example.broken


@pytest.mark.slow
@pytest.mark.parametrize("theorem", PARTED)
def test_a_proof_does_not_hang_on_a_seed_or_on_the_way_that_it_is_written(theorem: Theorem) -> None:
    statement = prove.stated(theorem)
    for goal in statement.goals:
        text = prove.smt_text(statement, goal)

        # The solver's own count of work stands for about a second, and is the same however busy the machine is.
        assert all(prove.holds_again(text, seed=seed, work=prove.MOST_WORK // 4) for seed in range(SEEDS))


def test_there_are_sixty_theorems_or_more_in_the_order_of_the_files() -> None:
    subjects = [theorem.subject for theorem in CATALOGUE]

    assert len(CATALOGUE) >= 60
    assert subjects == sorted(subjects, key=SUBJECTS.index)


def test_every_theorem_has_a_wrong_variant() -> None:
    assert [theorem.id for theorem in CATALOGUE if not theorem.wrong] == []


def test_every_clause_has_a_theorem_or_a_reason_why_not() -> None:
    borne_out = {clause for theorem in CATALOGUE for clause in theorem.clauses}
    clauses = {clause.id for clause in all_clauses()}

    assert clauses - borne_out == set(NO_THEOREM)
    assert borne_out.isdisjoint(NO_THEOREM)


def test_theorems_are_chosen_by_their_id_by_a_clause_and_by_kind() -> None:
    assert [each.id for each in chosen_theorems(("cross-takes-all-at-admission",))] == ["cross-takes-all-at-admission"]
    assert {"MAMBA.GROW"} <= {clause for each in chosen_theorems(("MAMBA.GROW",)) for clause in each.clauses}
    assert not {"sliding-skips-exactly"} & {each.id for each in chosen_theorems((), "mamba-align")}
    with pytest.raises(KeyError, match="no-such"):
        chosen_theorems(("no-such",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "profiles"),
    [
        ("align-destination-is-held", {"vllm-0.15", "vllm-0.16"}),
        ("align-estimate-is-natural", set(PROFILES) - {"sound"}),
        ("sliding-hit-with-draft-is-longest", set(PROFILES) - {"sound"}),
    ],
)
def test_what_releases_do_wrong_is_refuted_under_their_profiles(name: str, profiles: set[str]) -> None:
    found = {profile for profile, rules in PROFILES.items() if judged(THEOREMS[name], rules, quick=True).status == "refuted"}

    assert found == profiles


def test_a_chunk_that_does_not_fit_gives_the_real_search_a_hit_of_nothing() -> None:
    from kvwitness.impl.chunked import ChunkedLocalAttentionManager
    from kvwitness.impl.pool import BlockPool
    from kvwitness.impl.specs import ChunkedLocalAttentionSpec

    (wrong, *_) = THEOREMS["chunked-hit-is-longest"].wrong
    example = refute.counterexample(THEOREMS["chunked-hit-is-longest"], rules=wrong.rules)
    assert example is not None
    block, chunk = example.values["block"], example.values["pieces"]
    pool = BlockPool(4, True, block, profile=PROFILES["vllm-0.16"])
    (hit,) = ChunkedLocalAttentionManager.find_longest_cache_hit(
        tuple(range(9)), chunk, [0], pool, ChunkedLocalAttentionSpec(block_size=block, attention_chunk_size=chunk), False, block
    )
    first_read = len(hit) * block // chunk * chunk

    assert len(hit) * block > first_read
    assert [held.block_id for held in hit][first_read // block :] == [0] * (len(hit) - first_read // block)


def test_a_clause_without_a_theorem_says_why_and_what_holds_all_the_same() -> None:
    assert all(why and reached for why, reached in NO_THEOREM.values())
