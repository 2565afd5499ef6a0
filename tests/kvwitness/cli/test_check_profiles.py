"""A profile is checked on the kinds that it offers; the others are named with the reason."""

from pathlib import Path

import pytest

from kvwitness.checking import parts_of
from kvwitness.cli.main import run
from kvwitness.properties.situations import LABELS


def test_a_kind_that_a_profile_does_not_offer_is_not_run() -> None:
    parts = parts_of("impl", LABELS, ("vllm-0.33", "sound"), seed=0, seconds=0.0, operations=1, jobs=1)
    labels = {profile: {part.label for part in parts if part.profile == profile} for profile in ("vllm-0.33", "sound")}

    assert labels == {"vllm-0.33": set(LABELS) - {"mamba-all"}, "sound": set(LABELS)}


def test_what_is_not_offered_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = run(["check", "--profile", "vllm-0.33", "--jobs", "1", "--steps", "10", "--out", str(tmp_path)])

    assert code == 0
    assert "not offered: mamba-all (Mamba caches in mode align only)" in capsys.readouterr().out


def test_asking_for_what_is_not_offered_is_bad_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = run(["check", "--profile", "vllm-0.33", "--kind", "mamba-all", "--out", str(tmp_path)])

    assert code == 2
    assert "got mamba-all under vllm-0.33" in capsys.readouterr().err
