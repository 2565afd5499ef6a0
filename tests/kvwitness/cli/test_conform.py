import json
from pathlib import Path

import pytest

from kvwitness.campaign import Tally
from kvwitness.cli.main import run
from kvwitness.conforming import aim_at
from kvwitness.model.calls import Observation
from kvwitness.model.kinds import Config
from kvwitness.model.profile import PROFILES
from kvwitness.ports.impl import ImplPort
from kvwitness.ports.resolve import PortError
from kvwitness.properties.port import Capabilities, NotOffered
from kvwitness.report import conform_report

DEFECT = "mutant:null-queued"


def conform(*words: str, out: Path) -> int:
    return run(["conform", *words, "--jobs", "1", "--steps", "60", "--out", str(out)])


def test_the_table_has_a_verdict_for_each_level(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = conform("impl", "--kind", "full", out=tmp_path)
    printed = capsys.readouterr()

    assert code == 0
    assert "profile vllm-0.16, level L3" in printed.out
    assert printed.out.split("\n")[2].split() == ["kind", "runs", "steps", "L0", "L1", "L2", "L3"]
    assert printed.out.endswith("held: no new finding\n")
    assert "1/1 vllm-0.16 full" in printed.err


def test_what_is_not_asked_for_is_not_judged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    conform("impl", "--kind", "full", "--level", "L1", "--json", out=tmp_path)
    levels = json.loads(capsys.readouterr().out)["kinds"][0]["levels"]

    assert levels == {"L0": "held", "L1": "held", "L2": "not judged", "L3": "not judged"}


def test_without_a_profile_ids_and_order_are_the_ports_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = conform("impl", "--kind", "full", "--profile", "none", "--json", out=tmp_path)
    told = json.loads(capsys.readouterr().out)

    assert code == 0
    assert told["level"] == "L2"
    assert told["kinds"][0]["levels"]["L3"] == "not judged"


def test_a_defect_fails_with_its_clause_a_file_and_a_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    junit = tmp_path / "conform.xml"
    code = conform(DEFECT, "--kind", "sliding", "--junit", str(junit), out=tmp_path)
    printed = capsys.readouterr().out
    file = next(tmp_path.glob("*.json"))

    assert code == 1
    assert "FAILED 1" in printed or "FAILED 2" in printed or "FAILED 3" in printed
    assert f"kvwitness replay {file} --port {DEFECT}" in printed
    assert 'failures="0"' not in junit.read_text(encoding="utf-8")


def test_a_port_that_is_not_there_is_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = conform("vllm:/no/such/checkout", out=tmp_path)

    assert code == 2
    assert capsys.readouterr().err.count("\n") == 1


class WithoutQuestions(ImplPort):
    """Offers neither chunked attention nor the common prefix, and claims a profile of its own."""

    profile_name = "vllm-0.16"

    def hello(self) -> Capabilities:
        calls = super().hello().calls - {"get_num_common_prefix_blocks"}
        missing = ("chunked: there is none", "get_num_common_prefix_blocks: there is none")
        return Capabilities("without", self.profile_name, calls, missing=missing)


class WithOwnProfile(WithoutQuestions):
    profile_name = "own"


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> None:
    makers = {"without": WithoutQuestions, "own": WithOwnProfile, "impl": ImplPort}
    for module in ("kvwitness.conforming", "kvwitness.checking"):
        monkeypatch.setattr(f"{module}.resolve", makers.__getitem__)


@pytest.mark.usefixtures("ports")
def test_what_a_port_does_not_offer_is_told_and_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = conform("without", "--json", out=tmp_path)
    told = json.loads(capsys.readouterr().out)

    assert code == 0
    assert [kind["kind"] for kind in told["kinds"]] == [
        "full",
        "sliding",
        "mamba-none",
        "mamba-all",
        "mamba-align",
        "cross",
        "sink",
    ]
    assert all("common prefix asked" not in kind["not_exercised"] for kind in told["kinds"])
    assert told["not_offered"] == ["chunked: there is none", "get_num_common_prefix_blocks: there is none"]


@pytest.mark.usefixtures("ports")
def test_a_profile_that_there_is_not_must_be_named() -> None:
    with pytest.raises(PortError, match="got the profile 'own'"):
        aim_at("own")


def test_nothing_run_is_no_verdict() -> None:
    aim = aim_at("impl", labels=("full",))
    nothing = [Tally("full", next(iter(PROFILES)))]

    assert conform_report.level_verdict(nothing[0], "L0", aim) == "not exercised"
    assert conform_report.verdict(nothing) == "nothing exercised"


def test_groups_are_mixes_with_a_line_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = conform("impl", "--groups", "--kind", "cross", out=tmp_path)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[3:6]]

    assert code == 0
    assert [row[0] for row in rows] == ["full+cross", "full+sliding+cross", "full+mamba-none+cross"]
    assert all(row[3:] == ["held"] * 4 for row in rows)


def test_a_mix_may_be_named_and_an_unknown_part_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert conform("impl", "--kind", "full+chunked", out=tmp_path) == 0
    assert "full+chunked" in capsys.readouterr().out
    assert conform("impl", "--kind", "full+round", out=tmp_path) == 2
    assert "got 'round' in 'full+round'" in capsys.readouterr().err


def test_what_a_port_cannot_be_built_for_is_told_and_not_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = conform(f"py:{__name__}:Choosy", "--kind", "full+sliding", "--profile", "sound", out=tmp_path)
    out = capsys.readouterr().out

    assert code == 0
    assert "full+sliding: 1 configurations; not at once" in out


class Choosy(ImplPort):
    """Our implementation, which does not have the first thing that it is asked for."""

    asked = 0

    def reset(self, config: Config) -> Observation:
        self.asked += 1
        if self.asked == 1:
            raise NotOffered("not at once")
        return super().reset(config)
