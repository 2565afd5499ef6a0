import json
from pathlib import Path
from typing import Any

import pytest

from kvwitness.cli.main import run
from kvwitness.cli.replay import judged_by

Capture = pytest.CaptureFixture[str]


def written(folder: Path, **changes: Any) -> Path:
    """A trace of full attention that holds, with some members changed."""
    config = {"blocks": 4, "block_size": 2, "groups": [{"kind": "full"}]}
    steps = [{"op": "start", "id": "A", "tokens": [0]}, {"op": "execute"}]
    path = folder / "run.json"
    path.write_text(json.dumps({"kvwitness": 1, "profile": "sound", "config": config, "steps": steps, **changes}), encoding="utf-8")
    return path


def test_an_expected_violation_is_reproduced_with_one(sample_file: Path, capsys: Capture) -> None:
    assert run(["replay", str(sample_file), "--port", "model"]) == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("MAMBA.HIT.COMPUTED at step 3: ")
    assert lines[1] == "  1 start A [0 0] · plans tokens 0 to 1 · A [1] · free 3 → 2"
    assert lines[-3].startswith("because B ")
    assert lines[-2] == "reproduced: the file expects MAMBA.HIT.COMPUTED at step 3"
    assert lines[-1] == f"kvwitness replay {sample_file} --port model"


def test_our_implementation_is_asked_if_no_port_is_named(sample_file: Path, capsys: Capture) -> None:
    assert run(["replay", str(sample_file)]) == 1
    assert capsys.readouterr().out.endswith("--port impl\n")


def test_under_a_profile_that_guards_against_it_the_violation_does_not_occur(sample_file: Path, capsys: Capture) -> None:
    assert run(["replay", str(sample_file), "--port", "model", "--profile", "sound"]) == 0

    *_, last = capsys.readouterr().out.splitlines()
    assert last.startswith("held: 3 steps, no clause broke; the expected violation did not occur: the file expects MAMBA.HIT.COMPUTED")


def test_judges_that_were_not_called_see_nothing(sample_file: Path, capsys: Capture) -> None:
    assert run(["replay", str(sample_file), "--port", "model", "--oracles", "accounting,liveness"]) == 0
    assert "the expected violation did not occur" in capsys.readouterr().out


def test_another_clause_than_the_expected_one_fails_and_is_told(sample_file: Path, capsys: Capture) -> None:
    sample_file.write_text(sample_file.read_text().replace('"violates": "MAMBA.HIT.COMPUTED"', '"violates": "BOOKS.REST"'))

    assert run(["replay", str(sample_file), "--port", "model"]) == 1
    assert "differs: the file expects BOOKS.REST at step 3, and step 3 breaks MAMBA.HIT.COMPUTED\n" in capsys.readouterr().out


def test_a_trace_that_expects_nothing_holds_with_zero(tmp_path: Path, capsys: Capture) -> None:
    assert run(["replay", str(written(tmp_path)), "--port", "model"]) == 0
    assert capsys.readouterr().out.endswith("  2 execute · A computes token 0\nheld: 2 steps, no clause broke\n")


def test_the_verdict_as_json_is_one_object(sample_file: Path, capsys: Capture) -> None:
    assert run(["replay", str(sample_file), "--port", "model", "--json"]) == 1

    verdict = json.loads(capsys.readouterr().out)
    assert verdict["verdict"] == "reproduced"
    assert verdict["violation"]["clause"] == verdict["expected"]["clause"] == "MAMBA.HIT.COMPUTED"
    assert verdict["violation"]["step"] == verdict["expected"]["step"] == len(verdict["steps"]) == 3


def test_a_trace_that_holds_has_no_violation_in_json(tmp_path: Path, capsys: Capture) -> None:
    assert run(["replay", str(written(tmp_path)), "--port", "model", "--json"]) == 0

    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["verdict"], verdict["violation"], verdict["expected"]) == ("held", None, None)


def test_a_long_replay_shows_that_it_goes_on(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvwitness.cli.replay.STEPS_BETWEEN_SIGNS", 1)

    assert run(["replay", str(written(tmp_path)), "--port", "model"]) == 0
    assert capsys.readouterr().err == "kvwitness: 1 of 2 steps\nkvwitness: 2 of 2 steps\n"


def refused(arguments: list[str], capsys: Capture) -> str:
    assert run(["replay", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_step_on_an_unknown_request_is_bad_input(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, steps=[{"op": "start", "id": "A", "tokens": [0]}, {"op": "grow", "id": "B"}])

    assert refused([str(path), "--port", "model"], capsys) == (
        f"kvwitness: {path}: steps[1]: CALLER.REQUEST.KNOWN: A request is planned, preempted or freed only while it exists."
        " Got B. Correct the step or remove it.\n"
    )


def test_a_step_that_only_a_free_caller_may_take_says_so(tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, steps=[{"op": "start", "id": "A", "tokens": [0]}, {"op": "execute"}, {"op": "preempt", "id": "A"}])

    assert refused([str(path), "--port", "model"], capsys).endswith('Correct the step or remove it, or write "strict": false.\n')


def test_a_free_caller_may_take_it(tmp_path: Path) -> None:
    steps = [{"op": "start", "id": "A", "tokens": [0]}, {"op": "execute"}, {"op": "preempt", "id": "A"}]

    assert run(["replay", str(written(tmp_path, strict=False, steps=steps)), "--port", "model"]) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extra": 1}, "extra: got an unknown field"),
        ({"kvwitness": 9}, "kvwitness: got version 9"),
        ({"config": {"blocks": 1, "block_size": 2, "groups": [{"kind": "full"}]}}, "config: got blocks 1"),
        ({"steps": [{"op": "fly"}]}, 'steps[0].op: got "fly"'),
    ],
)
def test_a_file_that_is_no_trace_is_bad_input(changes: dict[str, Any], message: str, tmp_path: Path, capsys: Capture) -> None:
    path = written(tmp_path, **changes)

    assert refused([str(path), "--port", "model"], capsys).startswith(f"kvwitness: {path}: {message}")


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path, capsys: Capture) -> None:
    assert "got no file to read" in refused([str(tmp_path / "none.json")], capsys)


def test_a_port_that_is_none_is_bad_input(sample_file: Path, capsys: Capture) -> None:
    assert "got the port 'paper'" in refused([str(sample_file), "--port", "paper"], capsys)


@pytest.mark.parametrize("option", [["--oracles", "contents,tea-leaves"], ["--oracles", ""], ["--profile", "vllm-9"]])
def test_a_choice_that_is_none_is_wrong_usage(option: list[str], sample_file: Path, capsys: Capture) -> None:
    assert run(["replay", str(sample_file), *option]) == 2
    assert "Error: Invalid value for" in capsys.readouterr().err


def test_a_port_is_held_only_to_the_level_it_claims() -> None:
    assert judged_by("L0") == ("L3", ("accounting", "contents"))
    assert judged_by("L1") == ("L3", ("accounting", "contents", "liveness"))
    assert judged_by("L2") == ("L2", ("accounting", "contents", "liveness", "refinement"))
    assert judged_by("L3") == ("L3", ("accounting", "contents", "liveness", "refinement"))
