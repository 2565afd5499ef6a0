import json

import pytest

from kvwitness.cli.main import run
from kvwitness.differing import Search, search
from kvwitness.model.profile import SOUND, VLLM_0_16, with_axis_of
from kvwitness.pair import Side
from kvwitness.ports.impl import ImplPort
from kvwitness.ports.model import ModelPort
from kvwitness.properties.replay import Setting
from kvwitness.vllm.sources import is_cached


def test_a_port_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["diff", "impl", "model", "--kind", "cross", "--for", "0.2s"])

    assert code == 0
    assert capsys.readouterr().out.endswith("no difference\n")


def test_a_defect_is_a_difference_that_no_axis_explains(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["diff", "impl", "mutant:null-queued", "--kind", "sliding", "--for", "0.2s", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 1
    assert told["found"]
    assert all(found["axes"] == [] for found in told["found"])


@pytest.mark.slow
@pytest.mark.parametrize(("axis", "label"), [("free_order", "full"), ("mamba_same_step_guard", "mamba-all")])
def test_an_axis_is_found_by_its_difference(axis: str, label: str) -> None:
    other = with_axis_of(VLLM_0_16, axis, SOUND)
    found = search(Side(ImplPort, VLLM_0_16), Side(ImplPort, other), ModelPort, (label,), seed=0, seconds=2.0, not_offered=())

    assert {each.axes for each in found.found} == {(axis,)}
    assert all(len(each.shrunk.operations) <= 5 for each in found.found)


def test_an_axis_that_shows_nothing_explains_nothing() -> None:
    looking = Search(Side(ImplPort, VLLM_0_16), Side(ImplPort, SOUND), ModelPort, 0, ())
    config = search(looking.left, looking.right, ModelPort, ("cross",), seed=0, seconds=0.3, not_offered=()).found[0].shrunk.setting.config

    assert looking.explain(Setting(config, VLLM_0_16), (), "free free") == ()


AXES = {
    ("0.16.0", "0.17.1"): {"mamba_same_step_guard", "mamba_release_lag"},
    ("0.22.1", "0.24.0"): {"free_order", "sliding_publish", "mamba_align_shrink"},
}
"""Two steps of the drift table, and the axes that must be found."""


@pytest.mark.slow
@pytest.mark.parametrize("releases", AXES)
def test_the_drift_between_releases_is_found(releases: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    lacking = [version for version in releases if not is_cached(version)]
    if lacking:
        pytest.skip(f"the sources of vllm {lacking[0]} are not in the cache: kvwitness get vllm=={lacking[0]}")
    code = run(["diff", f"vllm=={releases[0]}", f"vllm=={releases[1]}", "--runs", "400", "--json"])
    told = json.loads(capsys.readouterr().out)

    assert code == 1
    assert AXES[releases] <= {axis for found in told["found"] for axis in found["axes"]}
    assert [found for found in told["found"] if not found["axes"]] == []
