import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kvwitness.cli.main import run
from kvwitness.ports.resolve import PortError
from kvwitness.vllm import remote_zip
from kvwitness.vllm.loader import ReleaseError
from kvwitness.vllm.remote_zip import NoRanges, RangedFile, read_members
from kvwitness.vllm.sources import is_cached, locate

VERSION_FILE = "__version__ = version = '0.16.0'\n__version_tuple__ = version_tuple = (0, 16, 0)\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "fork" / "vllm" / "v1").mkdir(parents=True)
    (tmp_path / "fork" / "vllm" / "_version.py").write_text(VERSION_FILE, encoding="utf-8")
    return tmp_path / "fork"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "vllm-0.16.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vllm/v1/core/block_pool.py", "class BlockPool: pass\n")
        archive.writestr("vllm/_C.so", bytes(range(256)) * 40, zipfile.ZIP_STORED)
        archive.writestr("vllm/v1/table.json", "{}")
        archive.writestr("vllm/_version.py", VERSION_FILE)
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KVWITNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Pip:
    """In place of pip: says where the wheel is, and downloads it."""

    def __init__(self, wheel: Path | None, stderr: str = "") -> None:
        self.wheel, self.stderr = wheel, stderr
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **further: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if self.wheel is None:
            return subprocess.CompletedProcess(command, 1, "", self.stderr)
        for argument in command:
            name, _, value = argument.partition("=")
            if name == "--report":
                report = {"install": [{"download_info": {"url": self.wheel.as_uri()}}]}
                Path(value).write_text(json.dumps(report), encoding="utf-8")
            if name == "--dest":
                Path(value).mkdir()
                (Path(value) / self.wheel.name).write_bytes(self.wheel.read_bytes())
        return subprocess.CompletedProcess(command, 0, "", "")


@pytest.mark.parametrize("inside", ["", "vllm"])
def test_a_checkout_is_its_root_or_its_package(checkout: Path, inside: str) -> None:
    found = locate(f"vllm:{checkout / inside}")

    assert found.root == checkout
    assert found.version == "0.16.0"


def test_a_checkout_that_was_never_built_has_no_version(checkout: Path) -> None:
    (checkout / "vllm" / "_version.py").unlink()

    assert locate(f"vllm:{checkout}").version == ""


def test_a_clone_that_was_never_built_has_the_version_of_its_last_tag(checkout: Path) -> None:
    (checkout / "vllm" / "_version.py").unlink()
    git = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "one"], ["tag", "v0.24.0"]):
        subprocess.run([*git, *words], check=True)

    assert locate(f"vllm:{checkout}").version == "0.24.0"


@pytest.mark.parametrize("name", ["vllm:", "vllm:no-such-folder", "vllm==latest", "vllm==../../x", "vllm"])
def test_what_is_not_there_is_bad_usage(name: str) -> None:
    with pytest.raises(PortError, match=r"got .*; allowed is .*; \w+"):
        locate(name)


def test_a_release_is_fetched_once_and_only_its_sources_are_kept(wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip(wheel)
    monkeypatch.setattr(subprocess, "run", pip)
    said: list[str] = []

    first, second = locate("vllm==0.16.0", said.append), locate("vllm==0.16.0", said.append)

    kept = {path.relative_to(first.root).as_posix() for path in first.root.rglob("*") if path.is_file()}
    assert first == second
    assert kept == {"vllm/v1/core/block_pool.py", "vllm/_version.py"}
    assert [path.name for path in (cache / "vllm").iterdir()] == ["0.16.0"]
    assert [command[3] for command in pip.commands] == ["install", "download"]
    assert len(said) == 3


def test_a_release_that_does_not_exist_is_bad_usage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    told = "ERROR: Could not find a version that satisfies the requirement vllm==9.9.9 (from versions: 0.15.1, 0.16.0)\nERROR: No match"
    monkeypatch.setattr(subprocess, "run", Pip(None, told))

    assert run(["get", "vllm==9.9.9"]) == 2
    assert "0.15.1, 0.16.0" in capsys.readouterr().err


def test_without_an_index_there_is_no_verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(subprocess, "run", Pip(None, "ERROR: Could not find a version … (from versions: none)\nERROR: No match"))

    assert run(["get", "vllm==0.16.0"]) == 3
    assert "vllm 0.16.0 is not in the cache and cannot be fetched" in capsys.readouterr().err
    assert not is_cached("0.16.0")
    with pytest.raises(ReleaseError):
        locate("vllm==0.16.0")


def test_only_releases_of_vllm_are_fetched() -> None:
    assert run(["get", "torch==2.0"]) == 2


def test_members_are_read_by_ranges_and_the_rest_is_not(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = wheel.read_bytes()
    asked: list[str] = []

    def answer(_self: RangedFile, span: str) -> tuple[bytes, str]:
        asked.append(span)
        first, _, last = span.partition("-")
        part = content[int(first) : int(last) + 1] if first else content[-int(last) :]
        return part, f"bytes {first}-{last}/{len(content)}"

    monkeypatch.setattr(RangedFile, "_asked", answer)
    monkeypatch.setattr(remote_zip, "WINDOW_BYTES", 512)

    members = dict(read_members(RangedFile("https://example.org/a.whl"), ["vllm/v1/"], ".py"))

    assert members == {"vllm/v1/core/block_pool.py": b"class BlockPool: pass\n"}
    assert len(asked) == 2


def test_a_file_of_this_machine_has_no_ranges(wheel: Path) -> None:
    with pytest.raises(NoRanges):
        RangedFile(wheel.as_uri())
