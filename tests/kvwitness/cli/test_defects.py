import json
from pathlib import Path

import pytest

from kvwitness.cli.main import run
from kvwitness.hunt import Hunted, Kill
from kvwitness.report import defects_report

QUICK = "null-queued"


def test_a_killed_defect_is_a_line_of_the_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    junit = tmp_path / "defects.xml"
    code = run(["defects", QUICK, "--kind", "full", "--jobs", "1", "--junit", str(junit)])
    printed = capsys.readouterr()

    assert code == 0
    assert "null-queued  killed   accounting  BOOKS.NULL" in printed.out
    assert printed.out.endswith("held: all 1 killed, each by a clause that must catch it\n")
    assert "1/1 null-queued killed" in printed.err
    assert 'tests="1" failures="0"' in junit.read_text(encoding="utf-8")


def test_the_result_is_one_json_object_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["defects", QUICK, "--kind", "full", "--jobs", "1", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 0
    assert told["verdict"] == "held"
    assert told["defects"][0]["killed_by"]["clause"] == "BOOKS.NULL"


def test_an_unknown_name_is_one_line_with_the_closest_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["defects", "touch-forgot"])
    printed = capsys.readouterr()

    assert code == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "touch-forgotten" in printed.err


def test_a_kind_on_which_a_defect_does_not_show_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["defects", "encoder-blocks-shared", "--kind", "full"]) == 2
    assert "allowed is cross" in capsys.readouterr().err


def test_the_catalogue_is_printed_as_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["defects", "--markdown"]) == 0
    assert "| `touch-forgotten` | A hit is adopted without a reference" in capsys.readouterr().out


def test_the_page_in_docs_is_the_catalogue_s(pytestconfig: pytest.Config) -> None:
    page = pytestconfig.rootpath / "docs" / "defects.md"

    assert page.read_text(encoding="utf-8") == defects_report.as_markdown() + "\n"


def test_a_survivor_and_an_unexpected_clause_fail() -> None:
    survivor = Hunted("touch-forgotten", None, {}, 600, None, False, 1.0)
    kill = Kill("accounting", "BOOKS.NULL", "full", 1, 2)
    unexpected = Hunted("estimate-short", kill, {"accounting": kill}, 1, 1, False, 1.0)
    text = defects_report.as_text([survivor, unexpected], seed=0, seconds=2.0, jobs=1)

    assert "SURVIVED" in text
    assert text.endswith("FAILED: 1 survived (touch-forgotten); 1 killed by an unexpected clause (estimate-short)")
    assert defects_report.as_data([survivor], seed=0, seconds=1.0, jobs=1)["verdict"] == "failed"
    assert 'tests="2" failures="2"' in defects_report.as_junit([survivor, unexpected])
