"""A checkout that does not say its version is compared with the profile that it is most like, and the report says so."""

import json
import shutil
from pathlib import Path

import pytest

from kvwitness.cli.main import run
from kvwitness.vllm.likeness import nearest_profile, profile_of, remark_of
from kvwitness.vllm.loader import Release
from kvwitness.vllm.sources import locate


@pytest.fixture
def unversioned(seed: Release, tmp_path: Path) -> Path:
    """A copy of the seed that was never built, with a defect that some runs meet."""
    shutil.copytree(locate(seed.label.replace(" ", "==")).root / "vllm", tmp_path / "vllm")
    (tmp_path / "vllm" / "_version.py").unlink(missing_ok=True)
    manager = tmp_path / "vllm" / "v1" / "core" / "single_type_kv_cache_manager.py"
    text = manager.read_text(encoding="utf-8")
    changed = text.replace("num_computed_tokens - self.sliding_window + 1", "num_computed_tokens - self.sliding_window + 2")
    assert changed != text
    manager.write_text(changed, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_a_fork_with_a_defect_is_most_like_its_own_release(unversioned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = f"vllm:{unversioned}"
    name, agreeing, runs = nearest_profile(port)

    # Releases 0.15 and 0.16 are one; the newer is named.
    assert name == "vllm-0.16" == profile_of(port)
    assert 0 < agreeing < runs
    assert "does not say its version" in remark_of(port)
    code = run(["conform", port, "--kind", "sliding", "--jobs", "1", "--steps", "3000", "--json", "--out", str(unversioned / "found")])
    told = json.loads(capsys.readouterr().out)
    assert code == 1
    assert told["profile"] == "vllm-0.16"
    assert f"{agreeing} of {runs} runs" in told["remark"]


def test_a_release_that_says_its_version_needs_no_likeness(seed: Release) -> None:
    assert remark_of(seed.label.replace(" ", "==")) == ""
