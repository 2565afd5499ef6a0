"""``conform --planner``: a release holds but for what is known, a changed line is found, a missing name is told."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kvwitness.cli.main import run
from tests.kvwitness.planner.conftest import planner_of

SCHEDULER = "vllm/v1/core/sched/scheduler.py"
MANAGER = "vllm/v1/core/kv_cache_manager.py"

Fork = Callable[[str, str, str], Path]


@pytest.fixture
def fork(tmp_path: Path) -> Fork:
    """What copies the core of 0.16.0 with one line of one file changed."""
    source = planner_of("0.16.0")._root

    def make(file: str, pattern: str, replacement: str) -> Path:
        root = tmp_path / "fork"
        for path in [*(source / "vllm" / "v1").rglob("*.py"), *(source / "vllm" / "utils").rglob("*.py")]:
            copied = root / path.relative_to(source)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copied)
        (root / "vllm" / "_version.py").write_text('__version__ = "0.16.0"\n', encoding="utf-8")
        text, times = re.subn(pattern, replacement, (root / file).read_text(encoding="utf-8"))
        (root / file).write_text(text, encoding="utf-8")
        assert times == 1
        return root

    return make


def test_a_release_holds_but_for_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planner_of("0.16.0")
    words = ["conform", "vllm==0.16.0", "--planner", "--kind", "full", "--steps", "300", "--jobs", "1", "--out", str(tmp_path)]
    code = run([*words, "--json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 0
    assert told["verdict"] == "held"
    assert told["kinds"][0]["planner_steps"] >= 300
    assert told["kinds"][0]["situations"]["preempted"] > 0
    assert list(tmp_path.iterdir()) == []


CHANGES = {
    "a preempted request keeps its count": (SCHEDULER, r"request\.num_computed_tokens = 0\n        if request\.spec", "if request.spec"),
    "one token too many is published": (
        MANAGER,
        r"num_tokens_to_cache = min\(\n            total_computed_tokens \+ num_new_tokens,\n",
        "num_tokens_to_cache = min(\n            total_computed_tokens + num_new_tokens + 1,\n",
    ),
    "a rejected draft counts as computed": (SCHEDULER, r"request\.num_computed_tokens -= num_rejected\n", "pass\n"),
}
"""A line of 0.16.0, and what it becomes."""


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_line_is_found(name: str, fork: Fork, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = fork(*CHANGES[name])
    words = ["conform", f"vllm:{root}", "--planner", "--kind", "full", "--for", "20s", "--jobs", "1", "--out", str(tmp_path / "found")]
    code = run(words)
    told = capsys.readouterr().out

    assert code == 1
    assert "FAILED" in told
    assert "kvwitness replay" in told
    assert list((tmp_path / "found" / "planner").iterdir())


def test_a_setting_that_is_not_known_is_told_by_name(fork: Fork, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = fork(SCHEDULER, r"self\.max_num_running_reqs = self\.scheduler_config\.max_num_seqs", "self.x = self.scheduler_config.brand_new")
    code = run(["conform", f"vllm:{root}", "--planner", "--kind", "full", "--steps", "10", "--jobs", "1", "--out", str(tmp_path / "found")])
    told = capsys.readouterr().err

    assert code == 3
    assert "asks for scheduler_config.brand_new, which the planner's settings do not have: it is new or moved" in told


def test_a_module_that_is_gone_is_told_by_name(fork: Fork, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = fork(SCHEDULER, r"^# SPDX-License-Identifier: Apache-2\.0\n", "")
    (root / "vllm/v1/core/sched/async_scheduler.py").unlink()
    code = run(["conform", f"vllm:{root}", "--planner", "--kind", "full", "--steps", "10", "--jobs", "1", "--out", str(tmp_path / "found")])

    assert code == 3
    assert "has no module vllm.v1.core.sched.async_scheduler" in capsys.readouterr().err


def test_only_a_release_can_be_driven(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conform", "impl", "--planner"]) == 2
    assert "got the port 'impl' with --planner" in capsys.readouterr().err


def test_a_kind_that_needs_a_model_around_it_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["conform", "vllm==0.16.0", "--planner", "--kind", "cross"]) == 2
    assert "got 'cross'; allowed is full, sliding, chunked, mamba-none, mamba-all, mamba-align or a mix" in capsys.readouterr().err
