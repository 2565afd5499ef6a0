"""A fork with one changed line in the Mamba manager fails, with the clause named."""

import json
import re
import shutil
from pathlib import Path

import pytest

from kvwitness.cli.main import run
from kvwitness.vllm.sources import Sources

pytestmark = pytest.mark.slow

MANAGERS = "vllm/v1/core/single_type_kv_cache_manager.py"

CHANGES = {
    "one token too many is skipped": (r"return num_computed_tokens - 1\n", "return num_computed_tokens\n"),
    "the running state is freed early": (
        r"< cdiv\(num_computed_tokens, self\.block_size\) - 1\n",
        "< cdiv(num_computed_tokens, self.block_size)\n",
    ),
    "the estimate forgets the drafts": (r"num_new_blocks = 1 \+ self\.num_speculative_blocks\n", "num_new_blocks = 1\n"),
}
"""A line of 0.16.0's Mamba manager, and what it becomes."""

CLAUSES = {
    "one token too many is skipped": {"MAMBA.RELEASE-SKIPPED", "CONTENTS.READ.FREED", "CONTENTS.READ.PRESENT", "NEED.FIRST"},
    "the running state is freed early": {"MAMBA.RELEASE-SKIPPED", "CONTENTS.READ.FREED", "CONTENTS.READ.PRESENT"},
    "the estimate forgets the drafts": {"MAMBA.ESTIMATE", "BOOKS.ESTIMATE", "BOOKS.ACCEPTED"},
}
"""The clauses that may be named."""


@pytest.fixture
def fork(tmp_path: Path, seed_sources: Sources) -> Path:
    """A copy of the seed's core."""
    root = tmp_path / "fork"
    for path in [*(seed_sources.root / "vllm" / "v1").rglob("*.py"), *(seed_sources.root / "vllm" / "utils").rglob("*.py")]:
        copied = root / path.relative_to(seed_sources.root)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)
    return root


def change(fork: Path, name: str) -> None:
    """Change the one line in the Mamba manager."""
    pattern, replacement = CHANGES[name]
    file = fork / MANAGERS
    before, mamba, after = file.read_text(encoding="utf-8").partition("class MambaManager(")
    body, following, rest = after.partition("\nclass ")
    body, changed = re.subn(pattern, replacement, body)
    file.write_text(before + mamba + body + following + rest, encoding="utf-8")

    assert changed == 1


@pytest.mark.parametrize("name", CHANGES)
def test_one_changed_line_in_the_mamba_manager_is_found(
    name: str, fork: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(fork, name)
    words = ["conform", f"vllm:{fork}", "--profile", "vllm-0.16", "--kind", "mamba-align", "--jobs", "1"]
    code = run([*words, "--for", "20s", "--out", str(tmp_path / "found"), "--json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 1
    assert told["verdict"] == "failed"
    assert {finding["clause"] for finding in told["kinds"][0]["findings"]} <= CLAUSES[name]


def test_the_unchanged_copy_holds(fork: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["conform", f"vllm:{fork}", "--profile", "vllm-0.16", "--kind", "mamba-align", "--jobs", "1"]
    code = run([*words, "--steps", "3000", "--out", str(tmp_path / "found")])

    assert code == 0
    assert "held: no new finding" in capsys.readouterr().out
