"""An old folder in the cache, filled when less was kept, is noticed and completed."""

from pathlib import Path

import pytest

from kvwitness.vllm import sources
from kvwitness.vllm.loader import ReleaseError
from kvwitness.vllm.sources import complete

FILES = ("vllm/v1/core/block_pool.py", "vllm/v1/core/sched/scheduler.py")


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KVWITNESS_CACHE", str(tmp_path))
    folder = tmp_path / "vllm" / "0.16.0"
    (folder / FILES[0]).parent.mkdir(parents=True)
    (folder / FILES[0]).write_text("old\n", encoding="utf-8")
    return folder


def fetched(_version: str, folder: Path, _say: object) -> None:
    """In place of the index: every file is there."""
    for file in FILES:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("new\n", encoding="utf-8")


def test_a_folder_that_lacks_a_file_is_filled_again(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "fetch", fetched)
    complete("0.16.0", FILES)

    assert [(old / file).read_text(encoding="utf-8") for file in FILES] == ["new\n", "new\n"]
    assert [path.name for path in old.parent.iterdir()] == ["0.16.0"]


def test_a_folder_that_is_whole_is_left_alone(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "fetch", fetched)
    complete("0.16.0", FILES[:1])

    assert (old / FILES[0]).read_text(encoding="utf-8") == "old\n"


def test_what_was_there_stays_where_nothing_can_be_fetched(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_arguments: object) -> None:
        raise ReleaseError("vllm 0.16.0 cannot be fetched")

    monkeypatch.setattr(sources, "fetch", offline)

    with pytest.raises(ReleaseError):
        complete("0.16.0", FILES)
    assert (old / FILES[0]).read_text(encoding="utf-8") == "old\n"
