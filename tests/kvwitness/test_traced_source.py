"""A counterexample about a port's source becomes a run that breaks its clause there, or says that it does not replay."""

import pytest

import kvwitness.traced_source
from kvwitness.model.kinds import Kind
from kvwitness.model.profile import SOUND
from kvwitness.proofs.engines.managers_on_paths import LookUp
from kvwitness.symbolic_port import ImplSources, Result
from kvwitness.traced import Unreproduced
from kvwitness.traced_source import trace_of


def test_a_counterexample_that_no_run_shows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvwitness.traced_source, "MOST_SECONDS", 0.0)
    scenario = LookUp(Kind("full"), ImplSources(SOUND), 2)
    numbers = {"block size": 1, "max length": 1, "cached 0": 1}
    result = Result("PATHS.HIT.FULL", "a claim", "refuted", "2 blocks", 0.0, numbers, "made up", 1, scenario=scenario)

    with pytest.raises(Unreproduced, match="does not replay"):
        trace_of(result, "impl", SOUND)


def test_a_seeded_defect_in_a_look_up_is_traced() -> None:
    scenario = LookUp(Kind("mamba", mode="all"), ImplSources(SOUND), 2, alignment=2)
    numbers = {"block size": 1, "max length": 1, "cached 0": 1}
    result = Result("CUT.HIT.MAMBA-ALL", "a claim", "refuted", "none", 0.0, numbers, "made up", 1, "cut", scenario)
    found = trace_of(result, "mutant:alignment-loop-missing", SOUND)

    assert found.expected is not None
    assert found.origin is not None
    assert (found.origin.source, found.origin.port) == ("proof", "mutant:alignment-loop-missing")
