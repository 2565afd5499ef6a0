"""Second opinions are told apart: what they prove again, what stays unknown, where they disagree, and that one is not installed."""

import ast
import inspect
import json
import sys
from collections.abc import Callable
from itertools import product, takewhile

import pytest

from kvwitness.cli.main import run
from kvwitness.proofs.engines import lanes
from kvwitness.proofs.second_opinions import CLAIMS

Capture = pytest.CaptureFixture[str]
THEOREM = "full-skips-nothing"


@pytest.fixture(name="installed")
def pretend_that_it_is(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(lanes, "tool", lambda lane: f"{lane} 1.0")
    return monkeypatch


@pytest.mark.parametrize(("lane", "package"), lanes.PACKAGES.items())
def test_a_lane_that_is_not_installed_says_so_in_one_line(
    lane: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setitem(sys.modules, lane, None)

    assert run(["prove", THEOREM, f"--{lane}"]) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"kvwitness: got no {package}; it is optional and not part of a verdict; install kvwitness[{lane}] to ask it\n"


def test_a_goal_that_is_proved_again_and_one_that_stays_unknown(installed: pytest.MonkeyPatch, capsys: Capture) -> None:
    answers = iter(["unsat", "unknown (RESOURCEOUT)"])
    installed.setattr(lanes, "cvc5_says", lambda text: next(answers))

    assert run(["prove", THEOREM, "--cvc5"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("cvc5 1.0 on 2 goals in ")
    assert first.endswith("1 proved, 1 unknown, 0 disagreement; no part of a verdict")
    assert second == f"  unknown: {THEOREM}: it is not skipped (unknown (RESOURCEOUT))"


def test_a_goal_with_a_counterexample_is_a_disagreement(installed: pytest.MonkeyPatch, capsys: Capture) -> None:
    installed.setattr(lanes, "cvc5_says", lambda text: "sat")

    assert run(["prove", THEOREM, "--cvc5", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"proved": 0, "unknown": 0, "disagreement": 2}
    assert {goal["because"] for goal in told["goals"]} == {"sat"}


def test_a_claim_that_does_not_hold_is_a_disagreement(installed: pytest.MonkeyPatch, capsys: Capture) -> None:
    first = CLAIMS[0]
    installed.setattr(lanes, "crosshair_says", lambda states: "EXEC_ERR: when 1, 2" if states is first else "CONFIRMED: all paths")

    assert run(["prove", "--crosshair"]) == 1
    assert f"  disagreement: {first.__name__}: {first.__doc__} (EXEC_ERR: when 1, 2)" in capsys.readouterr().out


def assumed(states: Callable[..., None]) -> list[str]:
    """The assertions that a claim begins with, as text."""
    (function,) = ast.parse(inspect.getsource(states)).body
    assert isinstance(function, ast.FunctionDef)
    first = list(takewhile(lambda line: isinstance(line, ast.Assert), function.body[1:]))
    return [ast.unparse(line.test) for line in first if isinstance(line, ast.Assert)]


@pytest.mark.parametrize("states", CLAIMS, ids=lambda states: states.__name__)
def test_a_claim_holds_of_small_numbers_that_satisfy_what_it_assumes(states: Callable[..., None]) -> None:
    names, conditions = list(inspect.signature(states).parameters), assumed(states)
    tried = 0
    for numbers in product(range(-1, 5), repeat=len(names)):
        if all(eval(condition, dict(zip(names, numbers, strict=True))) for condition in conditions):  # noqa: S307 - our own text
            states(*numbers)
            tried += 1

    assert tried >= 10
