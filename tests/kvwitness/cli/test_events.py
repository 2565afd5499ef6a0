"""KV events are judged where they are asked for, counted, and never passed over in silence."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kvwitness.cli.main import run
from kvwitness.conforming import aim_at
from kvwitness.ports.impl import ImplPort
from kvwitness.ports.resolve import PortError
from kvwitness.properties.port import Capabilities

Capture = pytest.CaptureFixture[str]


class Silent(ImplPort):
    """Our own implementation, which tells nothing."""

    def hello(self) -> Capabilities:
        told = super().hello()
        return evolve(told, calls=told.calls - {"take_events"})


def told(capsys: Capture, out: Path, *words: str) -> tuple[int, Any]:
    code = run([*words, "--jobs", "1", "--steps", "60", "--json", "--out", str(out)])
    return code, json.loads(capsys.readouterr().out)["kinds"]


@pytest.mark.slow
def test_events_are_judged_only_if_somebody_asks(capsys: Capture, tmp_path: Path) -> None:
    _, silent = told(capsys, tmp_path, "check", "--kind", "full", "--profile", "sound")
    code, heard = told(capsys, tmp_path, "check", "--kind", "full", "--profile", "sound", "--events", "--plain-events")

    assert "events" not in silent[0]["groups"]
    assert (code, heard[0]["groups"]["events"], heard[0]["groups"]["plain-events"]) == (0, "held", "held")
    assert heard[0]["events_told"] > 0


@pytest.mark.slow
def test_the_report_counts_what_was_told(capsys: Capture, tmp_path: Path) -> None:
    run(["conform", "impl", "--kind", "full", "--events", "--jobs", "1", "--steps", "60", "--out", str(tmp_path)])
    printed = capsys.readouterr().out

    assert " KV events told" in printed
    assert "  0 KV events told" not in printed
    assert "copy-removed" not in printed


@pytest.mark.slow
def test_what_misleads_a_plain_consumer_is_a_known_erratum(capsys: Capture, tmp_path: Path) -> None:
    code, kinds = told(capsys, tmp_path, "conform", "impl", "--profile", "vllm-0.33", "--kind", "full", "--plain-events")

    assert code == 0
    assert list(kinds[0]["errata"]) == ["copy-removed"]


@pytest.mark.slow
def test_a_defect_of_events_fails_and_its_file_shows_it_again(capsys: Capture, tmp_path: Path) -> None:
    port = "mutant:stored-twice"
    code, kinds = told(capsys, tmp_path, "conform", port, "--profile", "sound", "--kind", "full", "--events")
    file = next(tmp_path.glob("*.json"))

    assert (code, kinds[0]["levels"]["L0"][:6], kinds[0]["findings"][0]["clause"]) == (1, "FAILED", "EVENTS.ONCE")
    assert run(["replay", str(file), "--port", port]) == 1
    assert run(["replay", str(file)]) == 0


def test_a_file_whose_events_the_model_compared_shows_them_again(capsys: Capture) -> None:
    traces = Path(__file__).parents[3] / "docs" / "traces"
    run(["replay", str(traces / "axis-event-copies-each-first-and-last.json"), "--port", "mutant:copies-never-removed"])

    assert "reproduced: the file expects EVENTS.STORED at step 2" in capsys.readouterr().out


def test_a_port_that_tells_no_events_is_not_held_to_them() -> None:
    port = f"py:{__name__}:Silent"
    with pytest.raises(PortError, match="without take_events; allowed is one that tells KV events; leave --events out"):
        aim_at(port, hearing=("events",))
    assert aim_at(port).hearing == ()
