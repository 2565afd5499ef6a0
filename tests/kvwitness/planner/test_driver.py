"""A real planner, driven and judged; and each of its clauses fails on a planner that is at fault."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kvwitness.model.caller import Illegal
from kvwitness.model.clauses import REGISTRY
from kvwitness.properties.operations import Arrive, Execute, Reset
from kvwitness.properties.planning import Abort, Plan, PlannerOperation, PlannerSettings, Submit
from kvwitness.properties.violation import Violation
from kvwitness.vllm.planner.driver import PlannerRun
from tests.kvwitness.planner.conftest import MakeRun

VERSIONS = ("0.16.0", "0.24.0", "0.28.0", "0.33.0")

LIFE: tuple[PlannerOperation, ...] = (
    Submit("A", (1, 2, 3, 4, 5), most=2),
    Plan(),
    Execute({"A": (6,)}),
    Submit("B", (1, 2, 3, 4, 7), most=2),
    Plan(),
    Execute({"A": (6,), "B": (8,)}),
    Plan(),
    Execute({"B": (9,)}),
    Reset(),
)
"""Two requests with a common prefix, from beginning to end."""


def first_broken(run: PlannerRun, operations: Iterable[PlannerOperation]) -> Violation | None:
    """The first clause that the operations break."""
    return next((violation for violation in map(run.apply, operations) if violation), None)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_sound_life_breaks_nothing_and_leaves_nothing(version: str, make_run: MakeRun) -> None:
    run = make_run(version)

    assert first_broken(run, LIFE) is None
    assert run.scheduler.requests == {}
    assert len(run.seen.free) == 7


def test_what_the_planner_does_is_seen_as_operations_of_our_alphabet(make_run: MakeRun) -> None:
    run = make_run()
    views = [view for operation in LIFE[:5] for view in run.perform(operation)]

    assert [(type(view.operation).__name__, view.event.kind) for view in views] == [
        ("Start", "planned"),
        ("Close", "closed"),
        ("Execute", "executed"),
        ("Grow", "planned"),
        ("Start", "planned"),
        ("Close", "closed"),
    ]
    assert views[4].event.hits == ((1, 2),)
    assert [planned.new for planned in views[5].closed or ()] == [1, 1]


def test_external_tokens_that_come_later_are_planned_once_they_have_arrived(make_run: MakeRun) -> None:
    run = make_run(planner=PlannerSettings(connector=True))
    load = (Submit("A", (1, 2, 3, 4, 5), external=4, delayed=True), Plan(), Execute())

    assert first_broken(run, load) is None
    assert run.arrivable() == ["A"]
    assert first_broken(run, (Plan(), Execute())) is None
    assert run.scheduler.running == []
    assert first_broken(run, (Arrive("A"), Plan(), Execute(), Plan())) is None
    assert [request.request_id for request in run.scheduler.running] == ["A"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_is_aborted_while_it_loads_gives_its_blocks_back_when_the_load_is_complete(version: str, make_run: MakeRun) -> None:
    run = make_run(version, planner=PlannerSettings(connector=True))
    load = (Submit("A", (1, 2, 3, 4, 5), external=4, delayed=True), Plan(), Execute(), Abort("A"), Plan(), Execute())

    assert first_broken(run, load) is None
    assert len(run.seen.free) < 7
    assert run.arrivable() == ["A"]
    assert first_broken(run, (Arrive("A"), Plan(), Execute(), Plan())) is None
    assert len(run.seen.free) == 7
    assert run.scheduler.requests == {}


ILLEGAL: dict[str, tuple[tuple[PlannerOperation, ...], str]] = {
    "a name twice": ((Submit("A", (1,)), Submit("A", (2,))), "CALLER.REQUEST.NEW"),
    "a prompt that leaves no room": ((Submit("A", (1,) * 8),), "CALLER.LENGTH"),
    "external tokens without a connector": ((Submit("A", (1,), external=1),), "CALLER.EXTERNAL"),
    "a second plan where none may be ahead": ((Plan(), Plan()), "CALLER.DEPTH"),
    "drafts where there are none": ((Submit("A", (1,)), Plan(), Execute(), Plan({"A": 1})), "CALLER.DRAFTS"),
    "an execution without a plan": ((Execute(),), "CALLER.EXECUTE"),
    "outputs of somebody who samples nothing": ((Plan(), Execute({"A": (1,)})), "CALLER.OUTPUTS"),
    "an arrival of nothing": ((Submit("A", (1,)), Arrive("A")), "CALLER.REQUEST.KNOWN"),
    "an end of nobody": ((Abort("A"),), "CALLER.REQUEST.KNOWN"),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_what_cannot_occur_is_refused_and_changes_nothing(name: str, make_run: MakeRun) -> None:
    operations, clause = ILLEGAL[name]
    run = make_run()

    assert first_broken(run, operations[:-1]) is None
    with pytest.raises(Illegal, match=clause.replace(".", r"\.")):
        run.apply(operations[-1])
    assert len(run.operations) == len(operations) - 1


def replaced(owner: Any, name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put something else in the place of a method."""
    setattr(owner, name, change(getattr(owner, name)))


def _raises(run: PlannerRun) -> None:
    def change(_schedule: Callable[..., Any]) -> Callable[..., Any]:
        def schedule() -> Any:
            raise RuntimeError("out of ideas")

        return schedule

    replaced(run.scheduler, "schedule", change)


def _tells_another_table(run: PlannerRun) -> None:
    def change(schedule: Callable[..., Any]) -> Callable[..., Any]:
        def lying() -> Any:
            output = schedule()
            for each in output.scheduled_new_reqs:
                each.block_ids = tuple([7, *ids[1:]] for ids in each.block_ids)
            return output

        return lying

    replaced(run.scheduler, "schedule", change)


def _loses_outputs(run: PlannerRun) -> None:
    def change(_update: Callable[..., Any]) -> Callable[..., Any]:
        return lambda _request, _tokens, **_further: ([], False)

    replaced(run.scheduler, "_update_request_with_output", change)


def _plans_nothing(run: PlannerRun) -> None:
    run.scheduler.max_num_running_reqs = 0


def _publishes_too_much(run: PlannerRun) -> None:
    coordinator = run.scheduler.kv_cache_manager.coordinator

    def change(cache_blocks: Callable[..., Any]) -> Callable[..., Any]:
        return lambda request, tokens, *further: cache_blocks(request, max(tokens, len(request.block_hashes) * 2), *further)

    replaced(coordinator, "cache_blocks", change)


def _frees_nothing(run: PlannerRun) -> None:
    replaced(run.scheduler.kv_cache_manager, "free", lambda _free: lambda _request: None)


FAULTS: dict[str, tuple[Callable[[PlannerRun], None], PlannerSettings, str]] = {
    "PLAN.SURVIVES": (_raises, PlannerSettings(), "raises RuntimeError: out of ideas"),
    "PLAN.TOLD": (_tells_another_table, PlannerSettings(), "and the worker [[7, 2, 3]]"),
    "PLAN.OUTPUT.KEPT": (_loses_outputs, PlannerSettings(), "A sampled [6], and nothing is appended"),
    "PLAN.PROGRESS": (_plans_nothing, PlannerSettings(), "A waits with 5 tokens"),
    "CONTENTS.CACHED": (_publishes_too_much, PlannerSettings(budget=3), "carries the key of prefix 4 and holds prefix 3"),
    "BOOKS.REST": (_frees_nothing, PlannerSettings(), "left over"),
}


@pytest.mark.parametrize("clause", FAULTS)
def test_a_planner_at_fault_breaks_the_clause_that_says_so(clause: str, make_run: MakeRun) -> None:
    spoil, planner, because = FAULTS[clause]
    run = make_run(planner=planner)
    spoil(run)
    violation = first_broken(run, LIFE if clause != "CONTENTS.CACHED" else (LIFE[0], Plan(), Execute()))

    assert violation is not None
    assert violation.clause == clause
    assert because in violation.because


def test_a_stale_output_that_is_appended_after_readmission_is_found(make_run: MakeRun) -> None:
    run = make_run(depth=2)

    def appends(request: Any, tokens: list[int], **_further: Any) -> tuple[list[int], bool]:
        request.append_output_token_ids(list(tokens))
        request.num_output_placeholders = 0
        return tokens, False

    run.scheduler._update_request_with_output = appends
    violation = first_broken(run, (Submit("A", (1, 2, 3)), Plan(), Reset(force=True), Plan(), Execute()))

    assert violation is not None
    assert violation.clause == "PLAN.OUTPUT.STALE"


def test_every_clause_of_planning_can_fail() -> None:
    assert {*FAULTS, "PLAN.OUTPUT.STALE"} >= {name for name in REGISTRY if name.startswith("PLAN.")}
