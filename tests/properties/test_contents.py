"""The contents oracle alone: every clause about reads, writes and keys can fail, and the one that fails is named."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from attrs import evolve

from kvwitness.model.calls import Call, Outcome
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.managers import apply
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.properties.operations import Execute, Free, Grow, Operation, Start
from tests.properties.ports import Change, Changed, answering, first_broken, with_table

FULL = Config(8, 2, (Kind("full"),), max_model_len=16)
KEYLESS = Config(8, 2, (Kind("full"),), caching=False, max_model_len=16)
TIGHT = Config(4, 2, (Kind("full"),), caching=False, max_model_len=16)
STATES = Config(4, 2, (Kind("mamba", mode="align"),), max_model_len=16)


def giving(request: str, blocks: tuple[int, ...], *, after: str, at: int = 1) -> Change:
    """After the ``at``-th call of a name, the request's table is this one."""

    def change(port: Changed, call: Call, outcome: Outcome) -> None:
        if call.name == after and port.made.count(after) == at:
            port.state = with_table(port.state, request, blocks)

    return change


def allocating_one_block(port: Changed, call: Call, outcome: Outcome) -> Outcome | None:
    if call.name != "allocate_new_blocks":
        return None
    port.state = with_table(port.state, "A", (1,))
    return Outcome("ok", ((1,),))


def publishing_one_token_early(port: Changed, call: Call, outcome: Outcome) -> None:
    if call.name == "cache_blocks":
        port.state, _ = apply(port.state, Call(call.name, (*call.arguments[:2], call.arguments[2] + 1)))


class Fault(NamedTuple):
    """A port's fault, and the run that shows it."""

    change: Change | None
    config: Config
    operations: Sequence[Operation]
    because: str
    profile: Profile = SOUND


HIT: tuple[Operation, ...] = (
    Start("A", (0, 0)),
    Start("B", (1, 1)),
    Execute(),
    Free("A"),
    Free("B"),
    Start("C", (0, 0, 0)),
    Execute(),
)
"""A computes block 1, B block 2, and C hits block 1."""

FAULTS = {
    "CONTENTS.READ.PRESENT": Fault(answering("find_longest_cache_hit", ((0,),), at=3), FULL, HIT, "C reads place 0 of its table [0, "),
    "CONTENTS.READ.OWN": Fault(answering("find_longest_cache_hit", ((2,),), at=3), FULL, HIT, "C reads place 0 in block 2"),
    "CONTENTS.READ.LATENT": Fault(
        giving("A", (0,), after="remove_skipped_blocks", at=2),
        KEYLESS,
        (Start("A", (0, 0)), Execute(), Grow("A"), Execute()),
        "A reads place 0 in block 1, which it no longer holds",
    ),
    "CONTENTS.READ.FREED": Fault(
        giving("A", (0,), after="remove_skipped_blocks", at=2),
        TIGHT,
        (Start("A", (0, 0)), Execute(), Grow("A"), Start("B", (1, 1, 1, 1)), Execute()),
        "A reads place 0 in block 1, which holds prefix",
    ),
    "MAMBA.HIT.COMPUTED": Fault(
        None,
        STATES,
        (Start("A", (0, 0)), Start("B", (0, 0, 1)), Execute()),
        "B starts from the state of prefix 2 at place 0 in block 1, which holds garbage: this same step computes it",
        VLLM_0_16,
    ),
    "CONTENTS.WRITE.PRESENT": Fault(
        allocating_one_block, KEYLESS, (Start("A", (0, 0, 0)), Execute()), "A writes place 1: worker's block None, manager's None"
    ),
    "CONTENTS.WRITE.ALONE": Fault(
        giving("B", (1,), after="allocate_new_blocks", at=2),
        KEYLESS,
        (Start("A", (0,)), Start("B", (1,)), Execute()),
        "A writes block 1, which others hold too",
    ),
    "CONTENTS.CACHED": Fault(
        publishing_one_token_early,
        FULL,
        (Start("A", (0, 0, 0), new=1), Execute()),
        "block 1 carries the key of prefix 2 and holds prefix 1 up to slot 1",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_port_at_fault_breaks_the_clause_that_says_so(name: str) -> None:
    fault = FAULTS[name]
    port = Changed(fault.change).follow(fault.profile)
    violation = first_broken(port, fault.config, fault.operations, "contents", profile=fault.profile)

    assert violation is not None
    assert (violation.clause, violation.oracle) == (name, "contents")
    assert fault.because in violation.because


@pytest.mark.parametrize("name", FAULTS)
def test_without_the_fault_nothing_breaks(name: str) -> None:
    fault = FAULTS[name]

    assert first_broken(Changed(), fault.config, fault.operations, "contents") is None


def test_every_clause_of_the_contents_can_fail() -> None:
    assert set(FAULTS) == {name for name in REGISTRY if name.startswith("CONTENTS.") or name == "MAMBA.HIT.COMPUTED"}


WIDE = Config(10, 2, (Kind("full"), Kind("full", block_size=4)), max_model_len=16)
STATES_BESIDE = Config(10, 2, (Kind("full"), Kind("mamba", mode="align", block_size=4)), max_model_len=16)
AGAIN: tuple[Operation, ...] = (Start("A", (0,) * 4), Execute(), Free("A"), Start("B", (0,) * 5), Execute())
"""A computes blocks 1 and 2 in the first group and 3 in the second, and B hits them."""


def test_a_block_of_another_group_does_not_hold_what_is_read() -> None:
    port = Changed(answering("find_longest_cache_hit", ((1, 2), (2,)), at=2))
    violation = first_broken(port, WIDE, AGAIN, "contents")

    assert violation is not None
    assert violation.clause == "CONTENTS.READ.OWN"
    assert "B reads place 0 in block 2, which holds prefix 4 of group 0 up to slot 2" in violation.because
    assert first_broken(Changed(), WIDE, AGAIN, "contents") is None


def test_a_groups_own_block_says_how_far_it_is_computed() -> None:
    operations = (Start("A", (0,) * 6, new=2), Execute())
    violation = first_broken(Changed(publishing_three_tokens_early), WIDE, operations, "contents")

    assert violation is not None
    assert violation.clause == "CONTENTS.CACHED"
    assert "block 2 carries the key of prefix 4 and holds prefix 2 up to slot 2" in violation.because


def publishing_three_tokens_early(port: Changed, call: Call, outcome: Outcome) -> None:
    """The second group's only block counts as full."""
    if call.name == "cache_blocks":
        pool = port.state.pool
        port.state = evolve(port.state, pool=evolve(pool, keys=(None, (0, 2), (1, 4), *pool.keys[3:]), index={(0, 2): (1,), (1, 4): (2,)}))


def test_a_state_beside_attention_is_computed_in_an_earlier_step() -> None:
    operations = (Start("A", (0,) * 4), Start("B", (0,) * 5), Execute())
    violation = first_broken(Changed().follow(VLLM_0_16), STATES_BESIDE, operations, "contents", profile=VLLM_0_16)

    assert violation is not None
    assert violation.clause == "MAMBA.HIT.COMPUTED"
    assert "B starts from the state of prefix 4 at place 0 in block 3" in violation.because
    assert first_broken(Changed(), STATES_BESIDE, operations, "contents") is None


def test_encoder_entries_go_to_cross_attention_only() -> None:
    config = Config(10, 2, (Kind("full"), Kind("cross", block_size=4)), caching=False, max_model_len=16)
    operations = (Start("A", (0,) * 3, encoder=5), Execute(), Grow("A"), Execute())
    port = Changed()

    assert first_broken(port, config, operations, "contents") is None
    assert [tables["A"] for tables in port.observe().tables or ()] == [(1, 2), (3, 4)]
