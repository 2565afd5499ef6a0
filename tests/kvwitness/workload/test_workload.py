"""Serving a trace ends with a verdict on every step, the same one each time."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kvwitness.cli.main import run
from kvwitness.model.calls import Call, Outcome
from kvwitness.ports.impl import ImplPort

ROOT = Path(__file__).resolve().parents[3]
REAL = ROOT.parent / "shared" / "data" / "mooncake-conversation.jsonl.gz"

# Pools that a few made-up requests fill: with each, requests are preempted and keys lost.
TIGHT: dict[str, tuple[str, ...]] = {
    "full": ("--kind", "full", "--blocks", "60"),
    "full, drafts": ("--kind", "full", "--blocks", "60", "--drafts", "2"),
    "sliding": ("--kind", "sliding", "--window", "100", "--blocks", "24"),
    "sliding, drafts": ("--kind", "sliding", "--window", "100", "--blocks", "24", "--drafts", "2"),
    "chunked": ("--kind", "chunked", "--chunk", "128", "--blocks", "18"),
    "chunked, drafts": ("--kind", "chunked", "--chunk", "128", "--blocks", "18", "--drafts", "2"),
    "mamba-align": ("--kind", "mamba", "--blocks", "8"),
    "mamba-align, drafts": ("--kind", "mamba", "--blocks", "14", "--drafts", "2"),
    "mamba-all": ("--kind", "mamba", "--mode", "all", "--blocks", "14"),
}
SMALL = ("--block-size", "32", "--batch-tokens", "300", "--max-running", "8")


class ForgetsToTouch(ImplPort):
    """A port whose hits are adopted without a reference."""

    def call(self, call: Call) -> Outcome:
        if call.name != "allocate_new_computed_blocks":
            return super().call(call)
        touch = self.pool.touch
        self.pool.touch = lambda blocks: None  # type: ignore[method-assign]
        try:
            return super().call(call)
        finally:
            self.pool.touch = touch  # type: ignore[method-assign]


class PublishesTooMuch(ImplPort):
    """A port that publishes the block that is being filled as well, under the key of the one before it."""

    def call(self, call: Call) -> Outcome:
        if call.name != "cache_blocks":
            return super().call(call)
        request, keys, num_tokens = call.arguments
        held = len(self.managers[0].req_to_blocks.get(request, ()))
        full = num_tokens // self.managers[0].block_size
        if full < held and full == len(keys) and keys:
            return super().call(Call(call.name, (request, (*keys, keys[-1] + 1), num_tokens + self.managers[0].block_size)))
        return super().call(call)


class Overestimates(ImplPort):
    """A port that now and then asks for a block more than it takes."""

    def call(self, call: Call) -> Outcome:
        outcome = super().call(call)
        return outcome._replace(value=outcome.value + 1) if call.name == "get_num_blocks_to_allocate" and outcome.value == 3 else outcome


class HidesItsKeys(ImplPort):
    """A port that does not show which keys its blocks carry."""

    def observe(self) -> Any:
        return super().observe()._replace(keys=None, index=None)


def made_up(number: int) -> dict[str, Any]:
    """Requests that share one block, or two, and end in blocks of their own."""
    shared = [1, 2] if number % 3 else [1]
    ids = [*shared, *(100 * number + place for place in range(10, 10 + number % 2))]
    return {
        "timestamp": number // 2,
        "input_length": len(ids) * 512 - 37 * (number % 4) if number % 2 else len(ids) * 512,
        "output_length": 3 + 40 * (number % 5),
        "hash_ids": ids,
    }


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "made-up.jsonl"
    path.write_text("".join(json.dumps(made_up(number)) + "\n" for number in range(1, 13)))
    return path


def served(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code = run(["workload", *map(str, arguments), "--json"])
    out = capsys.readouterr().out
    report: dict[str, Any] = json.loads(out) if out else {}
    report.pop("timing", None)
    return code, report


@pytest.mark.slow
@pytest.mark.parametrize("kind", TIGHT)
def test_every_kind_serves_a_trace_under_pressure(trace: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    code, report = served(capsys, trace, *TIGHT[kind], *SMALL, "--refine", "10000")
    counts = report["counts"]

    assert (code, report["verdict"]) == (0, "held")
    assert counts["served"] == 12
    assert counts["preemptions"] > 0
    assert counts["evictions"] > 0
    assert counts["hit_tokens"] > 0
    assert set(report["judged_steps"].values()) <= {counts["steps"], counts["steps"] + 1}
    assert report["refined_operations"] == counts["operations"]


@pytest.mark.slow
def test_mode_none_serves_without_a_cache(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, report = served(capsys, trace, "--kind", "mamba", "--mode", "none", "--block-size", "4096", "--blocks", "4")

    assert (code, report["counts"]["hit_tokens"], report["counts"]["served"]) == (0, 0, 12)


@pytest.mark.parametrize(
    ("port", "clause"),
    [
        ("ForgetsToTouch", "BOOKS.REFERENCES"),
        ("PublishesTooMuch", "CONTENTS.CACHED"),
        ("Overestimates", "BOOKS.ESTIMATE"),
    ],
)
def test_a_seeded_defect_is_caught(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, port: str, clause: str
) -> None:
    monkeypatch.setattr("kvwitness.ports.impl.ImplPort", globals()[port])

    code = run(["workload", str(trace), *TIGHT["full"], *SMALL, "--refine", "0"])
    out = capsys.readouterr().out

    assert code == 1
    assert out.startswith(f"{clause}: ")
    assert "\nat engine step " in out
    assert "\nbecause " in out
    assert out.endswith(f"failed: {clause}\n")


def test_what_a_port_hides_leaves_the_verdict_open(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvwitness.ports.impl.ImplPort", HidesItsKeys)

    code, report = served(capsys, trace, *TIGHT["full"], *SMALL, "--refine", "0", "--requests", "2")

    assert (code, report["verdict"], report["not_shown"]) == (3, "undecided", ["keys", "index"])


@pytest.mark.slow
def test_plain_and_gzip_and_a_second_time_give_the_same_report(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = trace.with_name("made-up.jsonl.gz")
    packed.write_bytes(gzip.compress(trace.read_bytes()))

    first, second, unpacked = (served(capsys, path, *TIGHT["full"], *SMALL) for path in (packed, packed, trace))

    assert first == second
    assert first[1] | {"trace": ""} == unpacked[1] | {"trace": ""}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--blocks", "5"), "line 1: got a request of 1,499 prompt and 43 output tokens; allowed is what fits 4 usable blocks; raise"),
        (("--kind", "sliding", "--window", "900", "--blocks", "4"), "line 1: got a request of 1,499 prompt"),
        (("--kind", "mamba", "--batch-tokens", "130"), "got batch-tokens 130; allowed is 135 or more: one block of 128 beside 7 decodes"),
        (("--kind", "mamba", "--mode", "all", "--drafts", "1"), "use mode align"),
        (("--port", "nonsense"), "got the port 'nonsense'"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    trace: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    code = run(["workload", str(trace), "--block-size", "128", "--max-running", "8", "--batch-tokens", "1500", *arguments])
    captured = capsys.readouterr()

    assert (code, captured.out) == (2, "")
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason=f"the trace is not there: {REAL.name} belongs in ../shared/data")
@pytest.mark.parametrize("kind", ["full", "sliding", "chunked", "mamba"])
def test_fifty_real_requests_are_served(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    code, report = served(capsys, REAL, "--kind", kind, "--requests", "50", "--refine", "50")

    assert (code, report["counts"]["served"], report["judged_steps"]["refinement"]) == (0, 50, 50)


def test_the_rules_of_a_release_fail_where_sound_ones_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = {"timestamp": 0, "input_length": 1024, "output_length": 2, "hash_ids": [1, 2]}
    second = {"timestamp": 0, "input_length": 1500, "output_length": 2, "hash_ids": [1, 2, 3]}
    path = tmp_path / "twins.jsonl"
    path.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")

    sound, release = (served(capsys, path, "--kind", "mamba", "--blocks", "20", "--profile", name) for name in ("sound", "vllm-0.16"))

    assert (sound[0], sound[1]["counts"]["hit_tokens"]) == (0, 1024)
    assert (release[0], release[1]["violation"]["clause"]) == (1, "MAMBA.HIT.COMPUTED")
    assert release[1]["violation"]["where"] == "engine step 1, operation 3: execute"
