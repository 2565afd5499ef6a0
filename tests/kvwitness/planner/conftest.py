"""The planners of real releases, where their sources can be had."""

from collections.abc import Callable

import pytest
from attrs import evolve

from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import PortError
from kvwitness.properties.planning import PlannerSettings
from kvwitness.vllm.generations import profile_name_for
from kvwitness.vllm.loader import Release, ReleaseError
from kvwitness.vllm.planner.driver import PlannerRun
from kvwitness.vllm.planner.loading import open_planner

MakeRun = Callable[..., PlannerRun]


def planner_of(version: str) -> Release:
    """The planner of a release, or a skip with the reason."""
    try:
        return open_planner(f"vllm=={version}")
    except (PortError, ReleaseError) as reason:
        pytest.skip(f"the sources of vllm {version} cannot be had: {reason}")


@pytest.fixture
def make_run() -> MakeRun:
    """What begins a run of one full group on a release's planner, with some sizes and settings changed."""

    def make(version: str = "0.16.0", kind: Kind | None = None, planner: PlannerSettings | None = None, **sizes: int) -> PlannerRun:
        release = planner_of(version)
        usual = Config(blocks=8, block_size=2, max_model_len=8, groups=(kind or Kind("full"),))
        config = evolve(usual, **sizes)  # type: ignore[arg-type]
        return PlannerRun(release, config, PROFILES[profile_name_for(version)], planner or PlannerSettings())

    return make
