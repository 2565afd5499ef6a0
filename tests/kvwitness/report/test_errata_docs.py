"""The errata are files that anybody can replay: broken on a release, whole under sound."""

from pathlib import Path

import pytest

from kvwitness import trace
from kvwitness.cli.main import run
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import resolve
from kvwitness.properties.errata import ERRATA
from kvwitness.properties.replay import Setting, replay
from kvwitness.properties.run import HEARING, ORACLES
from kvwitness.report.errata_catalogue import ENTRIES, MISUSE, WAITING, Entry
from kvwitness.report.errata_docs import FOLDER, file_of, span
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.sources import is_cached

STOPPED_BY_OURS = {"released-twice-in-one-list", "released-twice", "negative-take", "published-when-gone"}
"""Misuse that our implementation rejects under every profile."""

PAGE = FOLDER.parent / "errata.md"

each_entry = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def replayed(entry: Entry, port: str, profile: str) -> str:
    """The clause that an entry's file breaks on a port under a profile, or ""."""
    read = trace.read(file_of(entry))
    oracles = (*ORACLES, *(name for name in HEARING if read.expected and read.expected[1].oracle == name))
    setting = Setting(read.config, PROFILES[profile], read.strict, oracles=oracles)
    violation = replay(resolve(port), setting, read.operations, skip_illegal=True).violation
    return violation.clause if violation is not None else ""


def test_every_file_has_an_entry_and_every_entry_a_file() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(file_of(entry).name for entry in ENTRIES)


def test_every_erratum_of_the_rules_has_a_file() -> None:
    assert {erratum.id for erratum in ERRATA} == {entry.erratum for entry in ENTRIES} - {MISUSE}


@each_entry
def test_a_file_names_its_clause_and_the_release_it_was_found_on(entry: Entry) -> None:
    read = trace.read(file_of(entry))

    assert read.expected is not None
    assert read.origin is not None
    assert read.expected[0] == len(read.steps)
    assert read.expected[1].violates == entry.clause
    assert entry.clause in REGISTRY
    assert read.origin.port == f"vllm=={entry.found_on}"
    assert read.profile == profile_name_for(entry.found_on)


@each_entry
def test_it_is_gone_under_sound(entry: Entry) -> None:
    assert replayed(entry, "impl", "sound") == ""


@each_entry
def test_our_implementation_shows_it_under_the_profile_of_the_release(entry: Entry) -> None:
    expected = "" if entry.name in STOPPED_BY_OURS else entry.clause

    assert replayed(entry, "impl", profile_name_for(entry.found_on)) == expected


@pytest.mark.slow
@each_entry
def test_the_release_shows_it(entry: Entry, capsys: pytest.CaptureFixture[str]) -> None:
    if not is_cached(entry.found_on):
        pytest.skip(f"the sources of vllm {entry.found_on} are not in the cache: kvwitness get vllm=={entry.found_on}")
    code = run(["replay", str(file_of(entry)), "--port", f"vllm=={entry.found_on}"])
    told = capsys.readouterr().out

    assert code == 1
    assert f"reproduced: the file expects {entry.clause}" in told


@each_entry
def test_the_page_has_it(entry: Entry) -> None:
    page, steps = PAGE.read_text(encoding="utf-8"), len(trace.read(file_of(entry)).steps)

    assert f"| {entry.clause} | {steps} | " in next(line for line in page.splitlines() if line.startswith(f"| [{entry.name}]"))
    assert entry.user_sees in page


def test_what_waits_is_named_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert all(f"**{name}**" in page for name, _, _ in WAITING)


def test_a_span_names_ranges_of_what_was_tried() -> None:
    releases = ("0.1", "0.2", "0.3", "0.4", "0.5")

    assert span(("0.1", "0.2", "0.3", "0.5"), releases) == "0.1 to 0.3, 0.5"
    assert span((), releases) == "none"


def test_a_file_is_replayed_under_sound_with_what_its_rules_forbid_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["replay", str(Path(FOLDER) / "resumed-chunk-unaligned.json"), "--profile", "sound"])

    assert code == 0
    assert "no clause broke" in capsys.readouterr().out
