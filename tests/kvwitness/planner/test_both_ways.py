"""What a planner does, repeated by our caller on the same release: the states agree, and a difference is told."""

import pytest

from kvwitness.model.profile import PROFILES
from kvwitness.properties.operations import Execute, Reset
from kvwitness.properties.planning import Plan, PlannerOperation, PlannerSettings, Submit
from kvwitness.vllm.opening import open_release
from kvwitness.vllm.planner.both_ways import BothWays, both_ways, follow_run
from kvwitness.vllm.planner.driver import PlannerRun
from tests.kvwitness.planner.conftest import MakeRun, planner_of

LIFE: tuple[PlannerOperation, ...] = (
    Submit("A", (1, 2, 3, 4, 5), most=3),
    Plan(),
    Execute(),
    Submit("B", (1, 2, 3, 4, 7), most=2),
    Plan(),
    Execute(),
    Plan(),
    Execute(),
)


def followed(run: PlannerRun, operations: tuple[PlannerOperation, ...]) -> BothWays:
    """How far our caller goes with a planner of 0.16.0."""
    return follow_run(open_release("vllm==0.16.0"), PROFILES["vllm-0.16"], run, operations)


def test_a_plain_life_leaves_the_same_states(make_run: MakeRun) -> None:
    told = followed(make_run(), LIFE)

    assert (told.steps, told.agreed, dict(told.parted)) == (3, 3, {})


def test_a_planner_that_keeps_what_it_should_free_is_told_apart(make_run: MakeRun) -> None:
    run = make_run()
    run.scheduler.kv_cache_manager.coordinator.cache_blocks = lambda *_arguments: None
    told = followed(run, LIFE)

    assert told.agreed == 0
    assert dict(told.parted) == {"after plan the states differ in keys, published": 1}


def test_what_only_the_planner_does_is_told(make_run: MakeRun) -> None:
    ahead: tuple[PlannerOperation, ...] = (Submit("A", (1, 2, 3), most=3), Plan(), Reset(force=True), Plan())
    told = followed(make_run(depth=2, planner=PlannerSettings()), ahead)

    assert dict(told.parted) == {"our caller may not resume: CALLER.RESUME.JUDGED": 1}


@pytest.mark.parametrize("label", ["full", "sliding", "mamba-align"])
def test_every_step_of_the_seeds_planner_leaves_the_state_that_our_caller_leaves(label: str) -> None:
    planner_of("0.16.0")
    told = both_ways("vllm==0.16.0", label, 3, lambda so_far: so_far.steps < 60)

    assert told.steps >= 60
    assert told.agreed == told.steps
