"""The planners' errata are files that anybody can replay on the release that they were found on."""

import pytest

from kvwitness import trace
from kvwitness.cli.main import run
from kvwitness.model.clauses import REGISTRY
from kvwitness.report.errata_catalogue import Entry
from kvwitness.report.planner_errata_catalogue import PLANNER_ENTRIES, WHY
from kvwitness.report.planner_errata_docs import FOLDER, broken_on, file_of
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.sources import is_cached

PAGE = FOLDER.parent / "planner.md"

each_entry = pytest.mark.parametrize("entry", PLANNER_ENTRIES, ids=lambda entry: entry.name)


def test_every_file_has_an_entry_and_every_entry_a_file() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(file_of(entry).name for entry in PLANNER_ENTRIES)


@each_entry
def test_a_file_names_its_clause_its_planner_and_the_release_it_was_found_on(entry: Entry) -> None:
    read = trace.read(file_of(entry))

    assert read.planner is not None
    assert read.expected is not None
    assert read.origin is not None
    assert read.expected[0] == len(read.steps)
    assert read.expected[1].violates == entry.clause
    assert entry.clause in REGISTRY
    assert read.config.label == entry.label
    assert read.origin.port == f"vllm=={entry.found_on}"
    assert read.profile == profile_name_for(entry.found_on)
    assert trace.to_text(read) == file_of(entry).read_text(encoding="utf-8")


@each_entry
def test_the_planner_of_the_release_shows_it(entry: Entry, capsys: pytest.CaptureFixture[str]) -> None:
    if not is_cached(entry.found_on):
        pytest.skip(f"the sources of vllm {entry.found_on} are not in the cache: kvwitness get vllm=={entry.found_on}")
    code = run(["replay", str(file_of(entry)), "--port", f"vllm=={entry.found_on}"])
    told = capsys.readouterr().out

    assert code == 1
    assert f"reproduced: the file expects {entry.clause}" in told


MENDED = {
    "same-step-state": "0.17.1",
    "resumed-chunk": "0.17.1",
    "tail-chunk": "0.27.0",
    "optimistic-release": "0.26.0",
    "reset-drops-output": "0.22.1",
    "reset-kills": "0.22.1",
    "reset-drops-drafted": "0.27.0",
    "loaded-behind-refused": "0.18.1",
}
"""For those that were mended, the first release whose planner does not show them any more."""


@pytest.mark.parametrize("name", MENDED)
def test_the_release_that_mended_it_does_not_show_it(name: str) -> None:
    version = MENDED[name]
    if not is_cached(version):
        pytest.skip(f"the sources of vllm {version} are not in the cache: kvwitness get vllm=={version}")
    entry = next(entry for entry in PLANNER_ENTRIES if entry.name == name)

    assert broken_on(trace.read(file_of(entry)), version) == ""


@each_entry
def test_the_page_has_it(entry: Entry) -> None:
    page, steps = PAGE.read_text(encoding="utf-8"), len(trace.read(file_of(entry)).steps)

    assert f"| {entry.clause} | {steps} | " in next(line for line in page.splitlines() if line.startswith(f"| [{entry.name}]"))
    assert f"{entry.user_sees} {WHY[entry.name]}" in page
