"""``kvwitness closure``: its table, its exit codes, and the trace file of what it finds."""

import json
from pathlib import Path

import pytest

from kvwitness.cli.main import run


@pytest.mark.slow
def test_a_world_that_is_visited_whole_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["closure", "--kind", "cross", "--json"]) == 0
    (world,) = json.loads(capsys.readouterr().out)["worlds"]

    assert world["fixpoint"]
    assert world["found"] is None


def test_states_that_are_left_out_leave_it_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["closure", "--kind", "cross", "--most", "20"]) == 3

    assert "undecided" in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_found_is_a_file_that_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["closure", "--kind", "sink", "--port", "mutant:touch-forgotten", "--out", str(tmp_path)]) == 1
    (file,) = tmp_path.iterdir()
    capsys.readouterr()

    assert run(["replay", str(file), "--port", "mutant:touch-forgotten"]) == 1
    assert "differs" not in capsys.readouterr().out


def test_a_kind_that_there_is_not_is_bad_input() -> None:
    assert run(["closure", "--kind", "paged"]) == 2
