"""A port's own source on symbolic integers: which claims there are, and that a release's classes are run as they are."""

import pytest

from kvwitness.cut_port import CutTheorem, cut_theorems
from kvwitness.model.kinds import Kind
from kvwitness.model.profile import VLLM_0_16
from kvwitness.ports.resolve import PortError
from kvwitness.proofs.engines.managers_on_paths import LookUp
from kvwitness.symbolic_port import ImplSources, ReleaseSources, Theorem, estimate_theorems, look_up_theorems, skipped_theorems, sources_of
from kvwitness.vllm.loader import ReleaseError


def test_every_claim_has_an_id_of_its_own() -> None:
    sources = ImplSources(VLLM_0_16)
    theorems: list[Theorem | CutTheorem] = [
        *cut_theorems(sources),
        *look_up_theorems(sources),
        *skipped_theorems(sources),
        *estimate_theorems(sources),
    ]

    assert len({theorem.id for theorem in theorems}) == len(theorems) == 56


def test_a_port_without_source_is_told() -> None:
    with pytest.raises(PortError, match="allowed is impl"):
        sources_of("cmd:./port")


def test_a_result_says_how_far_it_goes() -> None:
    result = Theorem("X", "a claim", "2 blocks", LookUp(Kind("full"), ImplSources(VLLM_0_16), 2), 2).prove()

    assert (result.verdict, result.bound, result.counterexample) == ("proved", "2 blocks", {})


@pytest.mark.slow
def test_the_seed_s_own_look_ups_are_run() -> None:
    try:
        sources = ReleaseSources("vllm==0.16.0", VLLM_0_16)
    except (PortError, ReleaseError) as reason:
        pytest.skip(f"the sources of vllm 0.16.0 cannot be had: {reason}")
    for kind in (Kind("full"), Kind("mamba", mode="all"), Kind("sliding"), Kind("chunked")):
        result = Theorem("X", "a claim", "3 blocks", LookUp(kind, sources, 3), 3).prove()

        assert result.verdict == "proved", result.because
