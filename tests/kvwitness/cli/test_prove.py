"""``kvwitness prove``: the table, the traces of what is refuted, and the exit codes."""

import json
from pathlib import Path

import pytest

from kvwitness.cli.main import run
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import PROFILES, SOUND
from kvwitness.proofs.catalogue import all_theorems
from kvwitness.proofs.theorem import Scenario
from kvwitness.proofs.verdicts import Verdict
from kvwitness.properties.operations import Grow, Start
from kvwitness.report import proof_report
from kvwitness.traced import Unreproduced, traced

Capture = pytest.CaptureFixture[str]
REFUTED = (
    "align-destination-is-held",
    "align-estimate-is-natural",
    "sliding-hit-with-draft-is-longest",
    "idle-reset-succeeds",
    "a-hit-was-computed-before",
    "every-hit-is-held-before-a-block-is-taken",
)


@pytest.mark.slow
def test_a_theorem_by_its_id_is_proved(capsys: Capture) -> None:
    assert run(["prove", "mamba-skip-grows", "full-skips-nothing"]) == 0

    captured = capsys.readouterr()
    assert captured.out.splitlines()[0].split() == ["theorem", "clauses", "verdict", "engine", "time"]
    assert "proved, unbounded" in captured.out
    assert "2 theorems under sound" in captured.out
    assert "kvwitness: 2/2" in captured.err
    assert captured.out.endswith("each hypothesis is needed: without it there is a counterexample\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUTED)
def test_what_a_release_does_wrong_is_refuted_by_a_trace_that_replays(name: str, tmp_path: Path, capsys: Capture) -> None:
    assert run(["prove", name, "--profile", "vllm-0.16", "--quick", "--out", str(tmp_path)]) == 1

    (file,) = tmp_path.iterdir()
    assert f"kvwitness replay {file}" in capsys.readouterr().out
    assert run(["replay", str(file), "--port", "model"]) == 1
    assert "reproduced: the file expects" in capsys.readouterr().out


@pytest.mark.slow
def test_a_chunk_that_does_not_fit_is_refuted_though_no_configuration_has_one(tmp_path: Path, capsys: Capture) -> None:
    arguments = ["prove", "chunked-hit-is-longest", "--profile", "vllm-0.16", "--quick", "--json", "--out", str(tmp_path)]
    assert run(arguments) == 1

    (found,) = json.loads(capsys.readouterr().out)["theorems"]
    assert (found["status"], found["trace"]) == ("refuted", None)
    assert found["example"]["pieces"] % found["example"]["block"]


@pytest.mark.slow
def test_every_goal_is_written_for_other_solvers(tmp_path: Path) -> None:
    assert run(["prove", "sliding-skips-exactly", "--quick", "--smt2", str(tmp_path / "goals")]) == 0

    first, second = sorted((tmp_path / "goals").iterdir())
    assert first.name == "sliding-skips-exactly-1.smt2"
    assert second.read_text().startswith("; sliding-skips-exactly: what is not skipped is read by the next token\n")
    assert "(check-sat)" in first.read_text()


def test_an_id_that_is_none_is_wrong_usage(capsys: Capture) -> None:
    assert run(["prove", "no-such-theorem"]) == 2
    assert "got 'no-such-theorem'" in capsys.readouterr().err


def test_an_id_of_another_kind_is_wrong_usage(capsys: Capture) -> None:
    assert run(["prove", "mamba-skip-grows", "--kind", "cross"]) == 2
    assert "no theorem has these ids and this kind" in capsys.readouterr().err


def test_a_verdict_that_decides_nothing_is_told_with_its_reason() -> None:
    verdict = Verdict(all_theorems()[0], "unknown", "because of the weather")
    text = proof_report.as_text([verdict], {}, profile="sound", seconds=1.0)

    assert "1 theorems under sound in 1.0 s: 1 unknown" in text
    assert text.endswith("  unknown: because of the weather")


def test_a_hypothesis_that_may_be_done_without_is_told() -> None:
    verdict = Verdict(all_theorems()[0], "proved", unshown=("it is Monday",))

    assert proof_report.as_text([verdict], {}, profile="sound", seconds=1.0).endswith(
        f"  {all_theorems()[0].id}: needed: not shown: it is Monday"
    )


def scenario(clause: str, *operations: Start | Grow) -> Verdict:
    config = Config(blocks=4, block_size=2, groups=(Kind("full"),))
    return Verdict(all_theorems()[0], "refuted", scenario=Scenario(config, operations, clause))


def test_a_run_that_does_not_break_its_clause_is_no_refutation() -> None:
    with pytest.raises(Unreproduced, match=r"breaks nothing on impl, not BOOKS\.REST"):
        traced(scenario("BOOKS.REST", Start("A", (0,))), SOUND)


def test_a_run_that_is_not_allowed_is_no_refutation() -> None:
    with pytest.raises(Unreproduced, match="is not allowed: CALLER"):
        traced(scenario("BOOKS.REST", Grow("A")), PROFILES["vllm-0.16"])
