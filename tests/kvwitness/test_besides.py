"""What a check does besides runs: a few theorems for every clause, a few states of each small world, a few seeded defects."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from attrs import evolve

from kvwitness import besides
from kvwitness.besides import FEW_DEFECTS, Outcome, Share, added, run_share, run_shares, shares_of
from kvwitness.cli import check
from kvwitness.cli.main import run
from kvwitness.proofs.catalogue import NO_THEOREM, all_theorems, covering_theorems
from kvwitness.properties.defects.catalogue import DEFECTS, defect_named
from kvwitness.properties.situations import LABELS
from kvwitness.report import besides_report
from kvwitness.report.clause_docs import all_clauses

Capture = pytest.CaptureFixture[str]
PROVED = Outcome("proofs", 2, 9, full=False)


def test_a_few_theorems_bear_out_every_clause_that_has_one() -> None:
    few = covering_theorems()
    clauses = {clause.id for clause in all_clauses()}

    assert {clause for theorem in few for clause in theorem.clauses} == clauses - set(NO_THEOREM)
    assert len(few) < len(all_theorems()) / 2


def test_a_few_defects_show_on_every_kind() -> None:
    assert {kind for name in FEW_DEFECTS for kind in defect_named(name).kinds} >= set(LABELS)


def test_shares_are_for_the_kinds_that_are_asked_for() -> None:
    few, full = shares_of(("cross",), full=False), shares_of(LABELS, full=True)

    assert {share.part for share in few} == set(besides.PARTS)
    assert not any("sliding-skips-exactly" in share.names for share in few)
    assert sum(len(share.names) for share in full if share.part == "proofs") == len(all_theorems())
    assert sum(len(share.names) for share in full if share.part == "defects") == len(
        [each for each in DEFECTS if set(each.kinds) & set(LABELS)]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("part", "names"), [("proofs", ("mamba-skip-grows",)), ("closure", ("0",)), ("defects", ("estimate-short",))])
def test_a_share_of_each_part_holds(part: str, names: tuple[str, ...]) -> None:
    (outcome,) = run_shares([Share(part, names, full=False)], 1, lambda _outcome: None)

    assert (outcome.part, outcome.asked, outcome.failed, outcome.open) == (part, 1, (), ())
    assert besides_report.verdict_of(outcome) == besides_report.WORDS[part]
    assert (outcome.transitions > 100) == (part == "closure")


def test_a_defect_that_nothing_catches_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(besides, "QUICK_HUNT", evolve(besides.QUICK_HUNT, runs=0))

    assert run_share(Share("defects", ("estimate-short",), full=False)).failed == ("estimate-short: survives",)


def test_shares_of_a_part_add_up() -> None:
    more = Outcome("proofs", 3, 9, full=False, failed=("b: no",), open=("a: unknown",), seconds=1.0)

    assert added(PROVED, more) == Outcome("proofs", 5, 9, full=False, failed=("b: no",), open=("a: unknown",), seconds=1.0)


def test_nothing_done_is_not_reported_as_held() -> None:
    assert besides_report.verdict_of(Outcome("closure", 1, 16, full=False)) == "not exercised"


@pytest.mark.parametrize(
    ("outcome", "code", "last"),
    [
        (PROVED, 0, "held: no new finding"),
        (evolve(PROVED, failed=("a: no",)), 1, "FAILED: 0 new findings, 1 theorems, worlds or defects"),
        (evolve(PROVED, open=("a: unknown",)), 3, "undecided: 1 theorems or worlds"),
    ],
    ids=["held", "failed", "undecided"],
)
def test_a_check_says_what_came_of_it_all(
    outcome: Outcome, code: int, last: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.setattr(check, "run_shares", lambda shares, jobs, done: [outcome])
    arguments = ["check", "--kind", "cross", "--for", "0.2s", "--jobs", "1", "--out", str(tmp_path)]

    assert run([*arguments, "--junit", str(tmp_path / "junit.xml")]) == code
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == last
    assert f"  proofs    2 of 9 theorems           {besides_report.verdict_of(outcome)}; their wrong variants not asked for" in told
    assert "`kvwitness check --full`" in next(line for line in told if line.startswith("not run"))
    suite = ET.parse(tmp_path / "junit.xml").getroot()  # noqa: S314 - our own file
    assert (suite.get("failures"), suite.findall("testcase")[-1].get("name")) == (str(int(code > 0)), "proofs")

    assert run([*arguments, "--json"]) == code
    assert json.loads(capsys.readouterr().out)["besides"][0]["verdict"] == besides_report.verdict_of(outcome)


def test_runs_that_are_counted_in_steps_come_alone(tmp_path: Path, capsys: Capture) -> None:
    assert run(["check", "--kind", "cross", "--steps", "20", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "besides" not in capsys.readouterr().out
