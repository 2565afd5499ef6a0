import random

import pytest

from kvwitness import shrink as shrinking
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import VLLM_0_16
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import Execute, Free, Grow, Operation, Preempt, Probe, Reset, Resume, Share, Start
from kvwitness.properties.replay import Setting, replay
from kvwitness.shrink import Shrunk, renamed, shrink

CLAUSE = "MAMBA.HIT.COMPUTED"
SETTING = Setting(Config(32, 4, (Kind("mamba", mode="align", drafts=2),) * 2, drafts=2), VLLM_0_16)


def busy_run() -> list[Operation]:
    """Thirty operations, of which the last three matter: two requests with one prefix admitted in one step."""
    first: list[Operation] = [Start("x1", (5, 6, 7)), Start("x2", (8,) * 9, new=4), Execute({"x1": (3,)}), Probe((5, 6)), Share("x1")]
    decode: list[Operation] = [Grow("x1", 3, 2), Grow("x2", 4), Execute({"x1": (1, 2)}), Grow("x1", 2, 1), Grow("x2"), Execute()]
    third: list[Operation] = [Free("x2"), Probe((8,) * 9), Start("x3", (9, 9)), Execute(), Grow("x3"), Grow("x1", 2, 1), Execute()]
    ended: list[Operation] = [Free("x3"), Share("x1"), Free("x1"), Reset(), Probe((1,)), Start("x4", (2, 3, 4)), Execute()]
    tail: list[Operation] = [Probe((4, 4)), Share("x4"), Start("x5", (7, 3, 7, 3, 1)), Start("x6", (7, 3, 7, 3, 2, 2)), Execute()]
    return [*first, *decode, *third, *ended, *tail]


@pytest.fixture(scope="module")
def shrunk() -> Shrunk:
    operations = busy_run()
    assert len(operations) == 30
    return shrink(ModelPort, SETTING, operations, CLAUSE)


def test_thirty_steps_around_a_same_step_hit_become_three(shrunk: Shrunk) -> None:
    assert shrunk.operations == (Start("A", (0,)), Start("B", (0, 0)), Execute())
    assert shrunk.setting.config == Config(3, 1, (Kind("mamba", mode="align"),), max_model_len=2)


def test_it_takes_few_replays(shrunk: Shrunk) -> None:
    assert shrunk.replays <= 150


def test_what_was_shrunk_replays_to_the_same_clause(shrunk: Shrunk) -> None:
    done = replay(ModelPort, shrunk.setting, shrunk.operations)

    assert done.violation == shrunk.violation
    assert shrunk.violation.clause == CLAUSE
    assert done.operations == shrunk.operations


def test_the_same_run_shrinks_to_the_same_one(shrunk: Shrunk) -> None:
    again = shrink(ModelPort, SETTING, busy_run(), CLAUSE)

    assert (again.setting, again.operations, again.replays) == (shrunk.setting, shrunk.operations, shrunk.replays)


def test_what_is_small_stays_as_it_is(shrunk: Shrunk) -> None:
    again = shrink(ModelPort, shrunk.setting, shrunk.operations, CLAUSE)

    assert (again.setting, again.operations) == (shrunk.setting, shrunk.operations)


@pytest.mark.parametrize("seed", range(3))
def test_illegal_operations_strewn_in_are_left_out(seed: int) -> None:
    rng, operations = random.Random(seed), busy_run()
    nonsense: list[Operation] = [Grow("nobody"), Free("x9"), Resume("x1"), Preempt("x5"), Start("x1", ())]
    for operation in nonsense:
        operations.insert(rng.randrange(len(operations)), operation)

    assert len(shrink(ModelPort, SETTING, operations, CLAUSE).operations) <= 4


def test_a_run_that_does_not_break_the_clause_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got a run that does not break BOOKS\.REST; allowed is"):
        shrink(ModelPort, SETTING, busy_run(), "BOOKS.REST")


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_a_limit_of_replays_is_kept_and_leaves_a_failing_run(limit: int) -> None:
    shrunk = shrink(ModelPort, SETTING, busy_run(), CLAUSE, most_replays=limit)

    # The run itself and its renamed form are carried out in any case.
    assert shrunk.replays <= max(1, limit) + 1
    assert replay(ModelPort, shrunk.setting, shrunk.operations).violation == shrunk.violation


def test_progress_tells_fewer_and_fewer_steps() -> None:
    told: list[int] = []
    shrink(ModelPort, SETTING, busy_run(), CLAUSE, progress=lambda steps, _replays: told.append(steps))

    assert told == sorted(told, reverse=True)
    assert told[-1] == 3


def test_requests_are_called_by_letters_in_the_order_in_which_they_appear() -> None:
    run: tuple[Operation, ...] = (Start("r7", (0,)), Start("r2", (0,)), Execute({"r2": (1,), "r7": (2,), "gone": ()}), Free("r7"), Reset())

    assert renamed(run) == (Start("A", (0,)), Start("B", (0,)), Execute({"B": (1,), "A": (2,)}), Free("A"), Reset())


def test_names_go_on_behind_the_alphabet() -> None:
    run = tuple(Free(f"r{number}") for number in range(54))

    assert [getattr(operation, "id", "") for operation in renamed(run)][24:28] == ["Y", "Z", "A1", "B1"]
    assert shrinking.renamed(run)[52] == Free("A2")
