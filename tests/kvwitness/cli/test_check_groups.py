"""A check of mixed groups: the mixes that a kind is part of, errata that only they show made small."""

import json
from pathlib import Path

import click
import pytest

from kvwitness.cli.main import run
from kvwitness.cli.options import kinds_called
from kvwitness.properties.mixes import MIXES
from kvwitness.properties.situations import LABELS


def checked(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: str) -> tuple[int, str]:
    code = run(["check", *arguments, "--jobs", "1", "--out", str(tmp_path)])
    return code, capsys.readouterr().out


def test_a_mix_is_checked_by_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, told = checked(capsys, tmp_path, "--kind", "full+sliding", "--profile", "sound", "--steps", "200")

    assert code == 0
    assert "  full+sliding" in told
    assert "held: no new finding" in told
    assert "`kvwitness check --groups`" not in told


def test_without_groups_the_report_says_that_mixes_were_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, told = checked(capsys, tmp_path, "--kind", "full", "--profile", "vllm-0.16", "--steps", "50")

    assert "not run: `kvwitness check --groups`" in told
    assert "drop-in-every-pass" not in told


@pytest.mark.slow
def test_errata_of_mixes_are_met_and_made_small_and_others_counted_as_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, told = checked(capsys, tmp_path, "--kind", "full+sliding", "--profile", "vllm-0.16", "--steps", "1500", "--json")
    [kind] = json.loads(told)["kinds"]
    errata = kind["errata"]

    assert code == 0
    assert len(errata["drop-in-every-pass"]["smallest"]["steps"]) <= 5
    assert errata["drop-in-every-pass"]["smallest"]["clause"] == "HYBRID.HIT.LONGEST"
    assert errata["optimistic-release"]["smallest"]["replays"] == 0


def test_groups_stand_for_every_mix_and_with_a_kind_for_those_that_have_it() -> None:
    assert kinds_called(None) == LABELS
    assert kinds_called(None, groups=True) == MIXES
    assert kinds_called("cross", groups=True) == ("full+cross", "full+sliding+cross", "full+mamba-none+cross")
    assert kinds_called("sink+full", groups=True) == ("sink+full",)
    with pytest.raises(click.BadParameter, match=r"got 'ring' in 'full\+ring'"):
        kinds_called("full+ring")
