"""Every precondition of the protocol allows something and refuses something; a refused operation calls nothing."""

from typing import NamedTuple

import pytest

from kvwitness.model.caller import Illegal
from kvwitness.model.calls import Call, Outcome
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.legal import aligned_chunk
from kvwitness.model.profile import SOUND, VLLM_0_16
from kvwitness.model.request import Request
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import Arrive, Close, Execute, Free, Grow, Operation, Preempt, Resume, Share, Start
from kvwitness.properties.run import Run

FULL = Config(8, 2, (Kind("full"),), max_model_len=16)
SHORT = Config(8, 2, (Kind("full"),), max_model_len=4)
TIGHT = Config(3, 2, (Kind("full"),), max_model_len=16)
AHEAD = Config(8, 2, (Kind("full"),), max_model_len=16, depth=2)
DRAFTING = Config(8, 2, (Kind("full"),), max_model_len=16, drafts=1)
CROSS = Config(8, 2, (Kind("cross"),), caching=False, max_model_len=16)
ALIGN = Config(8, 2, (Kind("mamba", mode="align", drafts=1),), drafts=1, max_model_len=16)

FOUR = (0, 0, 0, 0)
PRESSED = (Start("A", (0, 0)), Start("B", (1, 1)), Execute())
"""Two requests that run, and no room in a pool of two blocks."""


class Example(NamedTuple):
    """What a precondition allows and what it refuses in the same situation."""

    config: Config
    before: tuple[Operation, ...]
    allowed: tuple[Operation, ...]
    refused: Operation
    strict: bool = True


EXAMPLES = {
    "CALLER.REQUEST.KNOWN": Example(FULL, (Start("A", (0,)), Execute()), (Free("A"),), Free("B")),
    "CALLER.REQUEST.NEW": Example(FULL, (Start("A", (0,)),), (Start("B", (0,)),), Start("A", (0,))),
    "CALLER.REQUEST.STATUS": Example(FULL, (Start("A", FOUR, new=2), Execute()), (Grow("A", 2),), Resume("A")),
    "CALLER.LENGTH": Example(SHORT, (), (Start("A", FOUR),), Start("A", (*FOUR, 0))),
    "CALLER.CHUNK": Example(FULL, (Start("A", FOUR, new=1), Execute()), (Grow("A", 3),), Grow("A", 4)),
    "CALLER.DRAFTS": Example(DRAFTING, (Start("A", (0,)), Execute()), (Grow("A", 2, 1),), Grow("A", 3, 2)),
    "CALLER.STATE-ROW": Example(
        ALIGN, (Start("A", (0, 0)), Execute(), Grow("A", 2, 1), Execute({"A": (0, 0)})), (Grow("A", 2, 1),), Grow("A", 1)
    ),
    "CALLER.EXTERNAL": Example(ALIGN, (), (Start("A", FOUR),), Start("A", FOUR, external=2)),
    "CALLER.ENCODER": Example(CROSS, (), (Start("A", FOUR, encoder=3),), Start("A", FOUR)),
    "CALLER.RESUME.JUDGED": Example(AHEAD, (Start("A", (0,)), Close(), Preempt("A")), (Execute(), Resume("A")), Resume("A"), strict=False),
    "CALLER.DEPTH": Example(FULL, (Start("A", (0,)), Close()), (Execute(), Start("B", (0,))), Start("B", (0,))),
    "CALLER.EXECUTE": Example(FULL, (), (Start("A", (0,)), Execute()), Execute()),
    "CALLER.OUTPUTS": Example(FULL, (Start("A", (0,)),), (Execute({"A": (1,)}),), Execute({"A": (1, 1)})),
    "CALLER.STEP.ONCE": Example(FULL, (Start("A", FOUR, new=1), Execute(), Grow("A", 1)), (Execute(), Grow("A", 1)), Grow("A", 1)),
    "CALLER.PREEMPT.BEFORE-ADMISSION": Example(FULL, (Start("A", (0,)),), (Execute(), Free("A")), Free("A")),
    "CALLER.STRICT.RUNNING-FIRST": Example(FULL, (Start("A", (0,)), Execute(), Start("B", (0,))), (Execute(), Grow("A")), Grow("A")),
    "CALLER.STRICT.ADMISSION": Example(
        TIGHT, (*PRESSED, Grow("A"), Preempt("B")), (Grow("A"), Execute(), Start("C", (0,))), Start("C", (0,))
    ),
    "CALLER.STRICT.PREEMPTION": Example(TIGHT, PRESSED, (Grow("A"), Preempt("B")), Preempt("B")),
    "CALLER.ALIGN.SPLIT": Example(ALIGN, (Start("A", (*FOUR, 0, 0), new=2), Execute()), (Grow("A", 2),), Grow("A", 1)),
}


class Counting(ModelPort):
    """Counts its calls."""

    num_calls = 0

    def call(self, call: Call) -> Outcome:
        self.num_calls += 1
        return super().call(call)


def run_to(example: Example) -> tuple[Run, Counting]:
    port = Counting(SOUND)
    run = Run(port, example.config, SOUND, strict=example.strict)
    for operation in example.before:
        assert run.apply(operation) is None
    return run, port


def test_every_precondition_has_an_example() -> None:
    assert set(EXAMPLES) == {name for name, entry in REGISTRY.items() if entry.level == "caller"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_a_precondition_allows_is_carried_out(name: str) -> None:
    run, _ = run_to(EXAMPLES[name])

    for operation in EXAMPLES[name].allowed:
        assert run.apply(operation) is None


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_a_precondition_refuses_calls_nothing_and_changes_nothing(name: str) -> None:
    run, port = run_to(EXAMPLES[name])
    num_calls, caller, operations = port.num_calls, run.caller, list(run.operations)

    with pytest.raises(Illegal, match=name) as refused:
        run.perform(EXAMPLES[name].refused)

    assert refused.value.clause == name
    assert port.num_calls == num_calls
    assert (run.caller, run.operations) == (caller, operations)


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name.startswith("CALLER.STRICT.")])
def test_a_caller_in_free_mode_keeps_to_no_planners_order(name: str) -> None:
    run, _ = run_to(EXAMPLES[name]._replace(strict=False))

    assert run.apply(EXAMPLES[name].refused) is None


BESIDE_STATES = Config(12, 2, (Kind("full"), Kind("mamba", mode="align", drafts=1)), drafts=1, max_model_len=16)
BESIDE_CROSS = Config(12, 2, (Kind("full"), Kind("cross")), caching=False, max_model_len=16)

MORE_REFUSED: dict[str, tuple[Config, tuple[Operation, ...], Operation, str]] = {
    "an arrival for nobody": (FULL, (), Arrive("A"), "CALLER.REQUEST.KNOWN"),
    "an arrival for a running request": (FULL, (Start("A", (0,)),), Arrive("A"), "CALLER.REQUEST.STATUS"),
    "an arrival before the plan went to the worker": (
        FULL,
        (Start("A", FOUR, external=2, delayed=True),),
        Arrive("A"),
        "CALLER.RESUME.JUDGED",
    ),
    "sharing with nobody": (FULL, (), Share("A"), "CALLER.REQUEST.KNOWN"),
    "closing what is not open": (FULL, (), Close(), "CALLER.EXECUTE"),
    "resuming nobody": (FULL, (), Resume("A"), "CALLER.REQUEST.KNOWN"),
    "growing nobody": (FULL, (), Grow("A"), "CALLER.REQUEST.KNOWN"),
    "preempting nobody": (FULL, (), Preempt("A"), "CALLER.REQUEST.KNOWN"),
    "a prompt of no tokens": (FULL, (), Start("A", ()), "CALLER.LENGTH"),
    "encoder tokens without cross attention": (FULL, (), Start("A", (0,), encoder=1), "CALLER.ENCODER"),
    "external tokens without caching": (
        Config(8, 2, (Kind("full"),), caching=False, max_model_len=16),
        (),
        Start("A", FOUR, external=1),
        "CALLER.EXTERNAL",
    ),
    "drafts before all is known": (DRAFTING, (Start("A", FOUR, new=1), Execute()), Grow("A", 2, 1), "CALLER.CHUNK"),
    "external tokens where one group is Mamba": (BESIDE_STATES, (), Start("A", FOUR, external=2), "CALLER.EXTERNAL"),
    "no encoder tokens where one group is cross": (BESIDE_CROSS, (), Start("A", FOUR), "CALLER.ENCODER"),
    "no drafts for one Mamba group that accepted some": (
        BESIDE_STATES,
        (Start("A", (0, 0)), Execute(), Grow("A", 2, 1), Execute({"A": (0, 0)})),
        Grow("A", 1),
        "CALLER.STATE-ROW",
    ),
    "no tokens at all": (FULL, (Start("A", (0,)), Execute()), Grow("A", 0), "CALLER.CHUNK"),
}


@pytest.mark.parametrize("name", MORE_REFUSED)
def test_other_operations_that_break_a_precondition_are_refused(name: str) -> None:
    config, before, refused, clause = MORE_REFUSED[name]
    run, _ = run_to(Example(config, before, (), refused))

    with pytest.raises(Illegal, match=clause):
        run.perform(refused)


def chunk_of(new: int, computed: int, prefill: int, *, draft_model: bool = False, outputs: int = 0, profile: str = "sound") -> int:
    config = Config(8, 4, (Kind("mamba", mode="align", drafts=1),), drafts=1, draft_model=draft_model)
    request = Request("A", (0,) * prefill, (), "running", computed, 0, prefill, 0, outputs, 0)
    return aligned_chunk(config, VLLM_0_16 if profile == "seed" else SOUND, request, new)


@pytest.mark.parametrize(
    ("new", "computed", "prefill", "let_through"),
    [
        (3, 0, 10, 0),  # no block is complete: put off
        (6, 0, 10, 4),
        (9, 0, 10, 8),  # the state after the last whole block is kept, so the chunk ends there
        (10, 0, 10, 8),
        (2, 8, 10, 2),
        (1, 10, 10, 1),  # a decode is not split
        (8, 0, 8, 8),
    ],
)
def test_a_prefill_chunk_ends_where_a_state_is_worth_keeping(new: int, computed: int, prefill: int, let_through: int) -> None:
    assert chunk_of(new, computed, prefill) == let_through


def test_under_a_draft_model_the_last_state_worth_keeping_is_a_block_earlier() -> None:
    assert chunk_of(11, 0, 11, draft_model=True) == 4
    assert chunk_of(7, 4, 11, draft_model=True) == 7


def test_behind_it_a_chunk_that_starts_inside_a_block_ends_with_it() -> None:
    assert chunk_of(5, 6, 11, draft_model=True) == 2
    assert chunk_of(5, 6, 11, draft_model=True, profile="seed") == 5


def test_the_seed_does_not_split_a_resumed_request() -> None:
    assert chunk_of(3, 0, 10, outputs=1, profile="seed") == 3
    assert chunk_of(3, 0, 10, outputs=1) == 0


def chunk_beside(new: int, computed: int, prefill: int, *blocks: int, draft_model: bool = False) -> int:
    groups = (Kind("full"), *(Kind("mamba", mode="align", drafts=1, block_size=block) for block in blocks))
    config = Config(9, 2, groups, drafts=1, draft_model=draft_model)
    request = Request("A", (0,) * prefill, (), "running", computed, 0, prefill, 0, 0, 0)
    return aligned_chunk(config, SOUND, request, new)


def test_a_chunk_goes_by_the_mamba_groups_block_and_not_by_another_groups() -> None:
    assert chunk_beside(3, 0, 10, 4) == 0
    assert chunk_beside(6, 0, 10, 4) == 4
    assert chunk_beside(3, 0, 10) == 3


def test_with_two_mamba_groups_a_chunk_ends_where_both_have_whole_blocks() -> None:
    assert chunk_beside(10, 0, 20, 4, 6) == 0
    assert chunk_beside(14, 0, 20, 4, 6) == 12
    assert chunk_beside(20, 0, 20, 4, 6) == 12


def test_behind_it_a_chunk_stays_in_each_groups_block_that_it_starts_inside_of() -> None:
    assert chunk_beside(7, 13, 20, 4, 6) == 3
    assert chunk_beside(4, 16, 20, 4, 6) == 2
    assert chunk_beside(8, 12, 20, 4, 6) == 8
