"""Cuts of a release's own source: every wrong variant is refuted, and a vacuous or unproved claim is not called proved."""

import pytest

from kvwitness.cut_port import CutTheorem, cut_theorems
from kvwitness.model.profile import SOUND, VLLM_0_16
from kvwitness.ports.resolve import PortError
from kvwitness.proofs.cuts import wrong
from kvwitness.proofs.engines.paths import run_again
from kvwitness.symbolic_port import ImplSources, ReleaseSources
from kvwitness.vllm.loader import ReleaseError


def seed_theorem(name: str) -> CutTheorem:
    try:
        sources = ReleaseSources("vllm==0.16.0", VLLM_0_16)
    except (PortError, ReleaseError) as reason:
        pytest.skip(f"the sources of vllm 0.16.0 cannot be had: {reason}")
    return next(theorem for theorem in cut_theorems(sources) if theorem.id == name)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(wrong.RELEASES))
def test_a_wrong_variant_of_the_seed_is_refuted_by_a_run_on_plain_numbers(name: str) -> None:
    theorem = seed_theorem(name)
    for change in wrong.RELEASES[name]:
        result = theorem.prove(change)

        assert result.verdict == "refuted"
        assert result.scenario is not None
        assert run_again(result.scenario, result.counterexample) == result.because


def test_a_claim_says_what_it_is_for_all_of() -> None:
    claims = {theorem.id: theorem.claim for theorem in cut_theorems(ImplSources(VLLM_0_16))}

    assert "any window of 2 tokens or more" in claims["CUT.HIT.SLIDING"]
    assert "the block as alignment" in claims["CUT.HIT.SLIDING.DRAFT"]
    assert "any alignment" in {theorem.id: theorem.claim for theorem in cut_theorems(ImplSources(SOUND))}["CUT.HIT.SLIDING.DRAFT"]
