"""Paths: every way is run, what is wrong comes back on plain numbers, and nothing is proved of nothing."""

from collections.abc import Sequence
from typing import Any

import pytest

from kvwitness.model.kinds import Kind
from kvwitness.model.profile import SOUND, VLLM_0_16
from kvwitness.proofs.engines.managers_on_paths import Admission, LookUp
from kvwitness.proofs.engines.paths import Paths, World, run_again
from kvwitness.symbolic_port import ImplSources, estimate_theorems


def test_both_sides_of_a_branch_are_run() -> None:
    def never(world: World) -> str:
        return "it is 7" if world.integer("n") * 2 == 14 else ""

    outcome = Paths().run(never)

    assert outcome.verdict == "refuted"
    assert outcome.counterexample == {"n": 7}
    assert run_again(never, outcome.counterexample) == "it is 7"


def test_an_assumption_without_any_way_proves_nothing() -> None:
    def nothing(world: World) -> str:
        world.assume(world.integer("n", 1) < 1)
        return ""

    assert Paths().run(nothing).verdict == "vacuous"


def test_source_that_needs_a_number_is_unknown_not_proved() -> None:
    outcome = Paths().run(lambda world: "" if range(world.integer("n")) else "empty")

    assert outcome.verdict == "unknown"
    assert "plain number" in outcome.because


def test_a_bound_on_the_number_of_paths_is_told() -> None:
    outcome = Paths().run(lambda world: "" if world.truth("a") else "" * world.pick("b", 0, 1), most=1)

    assert outcome.verdict == "unknown"


@pytest.mark.parametrize("kind", [Kind("full"), Kind("mamba", mode="all"), Kind("chunked")], ids=lambda kind: str(kind.label))
def test_a_look_up_is_the_longest(kind: Kind) -> None:
    outcome = Paths(5).run(LookUp(kind, ImplSources(SOUND), 4))

    assert outcome.verdict == "proved"
    assert outcome.paths > 10


@pytest.mark.parametrize("kind", [Kind("full"), Kind("mamba", mode="all"), Kind("sliding")], ids=lambda kind: str(kind.label))
def test_a_look_up_is_the_longest_of_multiples_of_two_blocks(kind: Kind) -> None:
    outcome = Paths(4).run(LookUp(kind, ImplSources(SOUND), 3, alignment=2))

    assert outcome.verdict == "proved"
    assert outcome.paths > 5


@pytest.mark.slow
@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("profile", [VLLM_0_16, SOUND], ids=lambda profile: profile.name)
def test_a_sliding_look_up_is_the_longest(profile: object, drop: bool) -> None:
    outcome = Paths(5).run(LookUp(Kind("sliding"), ImplSources(profile), 4, draft_drop=drop))  # type: ignore[arg-type]

    assert outcome.verdict == "proved"


def test_a_wrong_spec_is_refuted_by_numbers_that_come_back() -> None:
    class Dropping(ImplSources):
        """A source that drops a block where the spec drops none."""

        def look_up(self, kind: Kind, block: Any, *, keys: Sequence[Any], pool: Any, **arguments: Any) -> Sequence[Any]:
            return super().look_up(kind, block, keys=keys, pool=pool, **{**arguments, "use_eagle": True})

    scenario = LookUp(Kind("full"), Dropping(SOUND), 3)
    outcome = Paths(4).run(scenario)

    assert outcome.verdict == "refuted"
    assert outcome.counterexample["cached 0"] == 1
    assert "the longest is ['block 0']" in run_again(scenario, outcome.counterexample)


@pytest.mark.parametrize("kind", [Kind("full"), Kind("mamba", mode="align", drafts=1), Kind("cross")], ids=lambda kind: str(kind.label))
def test_an_estimate_is_what_is_taken(kind: Kind) -> None:
    assert Paths(4).run(Admission(kind, ImplSources(SOUND), 3)).verdict == "proved"


def test_blocks_for_drafts_are_told_apart_like_all_others() -> None:
    claims = {claim.id: claim for claim in estimate_theorems(ImplSources(SOUND))}

    assert claims["PATHS.ESTIMATE.ADMIT.MAMBA-ALL.2"].prove().verdict == "proved"
