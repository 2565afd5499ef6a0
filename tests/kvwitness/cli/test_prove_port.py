"""Claims about a port's own source: proved, or refuted by a run that anybody can replay."""

import json
import re
import shutil
from pathlib import Path

import pytest

from kvwitness.cli.main import run
from kvwitness.vllm.sources import Sources


@pytest.mark.slow
def test_the_source_of_our_implementation_is_proved_claim_by_claim(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["prove", "--port", "impl", "PATHS.ESTIMATE.ADMIT.FULL", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 0
    assert [(claim["id"], claim["verdict"]) for claim in told["claims"]] == [("PATHS.ESTIMATE.ADMIT.FULL", "proved")]
    assert told["profile"] == "sound"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--port", "mutant:touch-forgotten"], "allowed is impl, vllm"), (["--port", "impl", "NOBODY"], "no claim about a port's source")],
)
def test_a_port_without_source_or_an_unknown_claim_is_bad_input(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prove", *arguments]) == 2
    assert says in capsys.readouterr().err


MANAGERS = "vllm/v1/core/single_type_kv_cache_manager.py"

CHANGES = {
    "CUT.HIT.SLIDING": ("SlidingWindowManager", r"num_contiguous_blocks >= sliding", "num_contiguous_blocks > sliding"),
    "CUT.HIT.MAMBA-ALL": ("MambaManager", r"alignment_tokens != 0\n", "alignment_tokens == 0\n"),
    "CUT.HIT.CHUNKED": ("ChunkedLocalAttentionManager", r"if max_length > 0:", "if max_length < 0:"),
    "PATHS.ESTIMATE.ADMIT.MAMBA-ALIGN.1": ("MambaManager", r"= 1 \+ self\.num_spec", "= 1 - self.num_spec"),
}
"""Of a claim, one operator of 0.16.0 that breaks it, and the manager that it stands in."""


@pytest.fixture
def fork(tmp_path: Path, seed_sources: Sources) -> Path:
    """A copy of the seed's core."""
    root = tmp_path / "fork"
    for path in [*(seed_sources.root / "vllm" / "v1").rglob("*.py"), *(seed_sources.root / "vllm" / "utils").rglob("*.py")]:
        copied = root / path.relative_to(seed_sources.root)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("claim", CHANGES)
def test_a_changed_operator_is_refuted_by_a_file_that_replays(
    claim: str, fork: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manager, pattern, replacement = CHANGES[claim]
    file = fork / MANAGERS
    before, start, after = file.read_text(encoding="utf-8").partition(f"class {manager}(")
    body, following, rest = after.partition("\nclass ")
    body, changed = re.subn(pattern, replacement, body)
    file.write_text(before + start + body + following + rest, encoding="utf-8")
    port, out = f"vllm:{fork}", tmp_path / "found"
    code = run(["prove", "--port", port, "--profile", "vllm-0.16", claim, "--out", str(out), "--json"])
    told = json.loads(capsys.readouterr().out)["claims"][0]
    replayed = run(["replay", told["file"], "--port", port, "--json"])
    again = json.loads(capsys.readouterr().out)

    assert changed == 1
    assert (code, told["verdict"], told["engine"]) == (1, "refuted", claim.partition(".")[0].lower())
    assert (replayed, again["verdict"]) == (1, "reproduced")
    assert run(["replay", told["file"], "--port", "impl"]) == 0


@pytest.mark.slow
def test_a_loop_of_another_shape_is_told_and_not_taken_for_proved(fork: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = fork / MANAGERS
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("removed_blocks", "gone"), encoding="utf-8")
    words = ["prove", "--port", f"vllm:{fork}", "--profile", "vllm-0.16", "CUT.SKIPPED.SLIDING"]
    code = run([*words, "--out", str(tmp_path / "found")])
    told = capsys.readouterr().out

    assert code == 0
    assert "1 not cut" in told
    assert "speaks of removed_blocks, which the source does not have there" in told


@pytest.mark.slow
@pytest.mark.parametrize("claim", ["CUT.HIT.FULL", "CUT.HIT.MAMBA-ALL", "CUT.SKIPPED.SLIDING"])
def test_the_seed_s_own_loops_are_proved_without_a_bound(claim: str, seed_sources: Sources, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["prove", "--port", f"vllm:{seed_sources.root}", "--profile", "vllm-0.16", claim, "--json"])
    told = json.loads(capsys.readouterr().out)["claims"][0]

    assert code == 0
    assert (told["verdict"], told["engine"], told["bound"]) == ("proved", "cut", "none")
