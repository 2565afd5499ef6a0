from collections import Counter
from typing import Any

import pytest

from kvwitness.campaign import one_run, setting_of
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import resolve
from kvwitness.properties.port import NotOffered
from kvwitness.properties.run import Run
from kvwitness.vllm import engine
from kvwitness.vllm.engine_port import EnginePort
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.sources import is_cached

pytestmark = pytest.mark.slow

MIXES = ("full+sliding", "full+sliding+mamba-align", "sliding+chunked", "full+cross", "full", "sliding", "mamba-align")


def runs(version: str, labels: tuple[str, ...], numbers: range) -> tuple["Counter[str]", list[Any]]:
    """Runs of the release with its own manager beside the calls: what came up, and what broke."""
    if not is_cached(version):
        pytest.skip(f"the sources of vllm {version} are not in the cache")
    profile, seen, broken = PROFILES[profile_name_for(version)], Counter[str](), []
    port = resolve(f"engine:vllm=={version}")(profile)
    for label in labels:
        for number in numbers:
            setting, rng = setting_of(label, profile, 7, number, ("refinement",))
            try:
                run, violation = one_run(port, setting, rng, seen)
            except NotOffered:
                continue
            seen["runs"] += 1
            broken += [violation] if violation else []
            assert isinstance(run, Run)
    return seen, broken


@pytest.mark.parametrize("version", ["0.16.0", "0.24.0", "0.28.0", "0.33.0"])
def test_allocate_slots_comes_to_the_same_state_as_our_callers_calls(version: str) -> None:
    seen, broken = runs(version, MIXES, range(6))

    assert broken == []
    assert seen["runs"] >= 2 * len(MIXES)
    assert all(
        seen[situation] for situation in ("external, at once", "external, delayed", "preemption", "draft rejected", "hit", "refusal")
    )


def test_a_planner_that_asks_for_one_token_more_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = engine.EngineTwin._allocate

    def wrong(twin: engine.EngineTwin, step: engine.Step) -> None:
        step.main += 1
        step.slots += 1
        right(twin, step)

    monkeypatch.setattr(engine.EngineTwin, "_allocate", wrong)
    _, broken = runs("0.16.0", ("full+sliding",), range(3))

    assert len(broken) == 3


def test_the_engines_port_says_what_it_is() -> None:
    if not is_cached("0.16.0"):
        pytest.skip("the sources of vllm 0.16.0 are not in the cache")
    port = resolve("engine:vllm==0.16.0")(PROFILES["vllm-0.16"])

    assert isinstance(port, EnginePort)
    assert port.hello().name == "vllm 0.16.0, allocate_slots"


def test_a_reset_shows_nothing_of_what_was_there_before() -> None:
    if not is_cached("0.16.0"):
        pytest.skip("the sources of vllm 0.16.0 are not in the cache")
    port, profile = resolve("engine:vllm==0.16.0")(PROFILES["vllm-0.16"]), PROFILES["vllm-0.16"]
    setting, rng = setting_of("full+sliding", profile, 7, 0, ("refinement",))
    one_run(port, setting, rng, Counter())
    idle = resolve("engine:vllm==0.16.0")(profile).reset(setting.config)

    assert port.reset(setting.config) == idle
