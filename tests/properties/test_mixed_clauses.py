"""Mixed groups: every clause about them can fail, and the one that fails is named."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from attrs import evolve

from kvwitness.model.calls import Blocks, Call, Outcome
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND, VLLM_0_16, VLLM_0_22, Profile
from kvwitness.properties.operations import Execute, Free, Operation, Probe, Start
from tests.properties.ports import Change, Changed, answering, first_broken

WIDE = Config(12, 2, (Kind("full"), Kind("full", block_size=4)), max_model_len=16)
DRAFTING = evolve(WIDE, drafts=1, draft_model=True)
CACHED: tuple[Operation, ...] = (Start("A", (0,) * 8), Execute(), Free("A"))
"""Blocks 1 to 4 are published in the first group, 5 and 6 in the second."""
LOOK_UP = (*CACHED, Probe((0,) * 9))


class Fault(NamedTuple):
    """A port's fault, and the run that shows it to one oracle."""

    change: Change | None
    config: Config
    operations: Sequence[Operation]
    oracle: str
    because: str
    profile: Profile = SOUND
    followed: Profile = SOUND


def hits(*found: Blocks) -> Change:
    return answering("find_longest_cache_hit", found, at=2)


def sharing_a_block(port: Changed, call: Call, outcome: Outcome) -> None:
    """The second group's table holds a block of the first."""
    if call.name == "allocate_new_blocks":
        first, second = (tables["A"] for tables in port.state.tables)
        shared = evolve(second, blocks=(first.blocks[0], *second.blocks[1:]))
        port.state = evolve(port.state, tables=(port.state.tables[0], {"A": shared}))


FAULTS = {
    "HYBRID.HIT": Fault(hits((1, 2), (5,)), WIDE, LOOK_UP, "refinement", "came to ((1, 2), (5,)), the model to ((1, 2, 3, 4), (5, 6))"),
    "HYBRID.HIT.LONGEST": Fault(hits((1, 2), (5,)), WIDE, LOOK_UP, "liveness", "the hit is 4 tokens and 8 are published and usable"),
    "HYBRID.HIT.SOUND": Fault(hits((1, 2), (5, 6)), WIDE, LOOK_UP, "accounting", "(4, 8) tokens"),
    "HYBRID.HIT.DROP-ONCE": Fault(
        hits((1, 2, 3, 4), (5, 6)), DRAFTING, LOOK_UP, "liveness", "the hit is 8 tokens, and the full group has no block behind it"
    ),
    "HYBRID.ADOPT.KEPT": Fault(
        sharing_a_block, WIDE, (Start("A", (0, 0)),), "accounting", "block 1 of A is in the tables of groups 0 and 1"
    ),
    "HYBRID.ESTIMATE": Fault(
        answering("get_num_blocks_to_allocate", 5), WIDE, (Start("A", (0,) * 8),), "refinement", "came to 5, the model to 6"
    ),
    "HYBRID.PUBLISH": Fault(
        None,
        WIDE,
        (Start("A", (0,) * 6),),
        "refinement",
        "after cache_blocks the published are ({'A': 3}, {'A': 1}), the model's ({'A': 2}, {'A': 1})",
        VLLM_0_22,
        evolve(VLLM_0_22, hybrid_publish="all"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_port_at_fault_breaks_the_clause_that_says_so(name: str) -> None:
    fault = FAULTS[name]
    port = Changed(fault.change).follow(fault.followed)
    violation = first_broken(port, fault.config, fault.operations, fault.oracle, profile=fault.profile)

    assert violation is not None
    assert (violation.clause, violation.oracle) == (name, fault.oracle)
    assert fault.because in violation.because


@pytest.mark.parametrize("name", FAULTS)
def test_without_the_fault_nothing_breaks(name: str) -> None:
    fault = FAULTS[name]

    assert first_broken(Changed().follow(fault.profile), fault.config, fault.operations, fault.oracle, profile=fault.profile) is None


def test_every_clause_of_mixed_groups_can_fail() -> None:
    assert set(FAULTS) == {name for name in REGISTRY if name.startswith("HYBRID.")}


def test_the_rule_of_the_group_that_differs_is_named() -> None:
    config = Config(12, 2, (Kind("full"), Kind("mamba", mode="align")), max_model_len=16)
    started = (Start("A", (0, 0, 0, 0)),)
    second = first_broken(Changed(answering("allocate_new_blocks", ((1, 2), (9,)))), config, started, "refinement")
    first = first_broken(Changed(answering("allocate_new_blocks", ((1, 9), (3,)))), config, started, "refinement")

    assert second is not None
    assert second.clause == "MAMBA.GROW"
    assert first is not None
    assert first.clause == "TABLE.GROW"


EVICTING: tuple[Operation, ...] = (
    Start("A", (0,) * 8),
    Execute(),
    Free("A"),
    Start("B", (1,) * 4),
    Execute(),
    Free("B"),
    Start("C", (0,) * 11, external=10),
)
"""Where groups adopt one by one, the first takes the second's hits for external tokens."""


def test_groups_that_adopt_one_by_one_take_each_others_hits() -> None:
    config = Config(13, 2, (Kind("full"), Kind("sliding", window=20)), max_model_len=16)
    one_by_one = first_broken(Changed().follow(VLLM_0_16), config, EVICTING, "accounting", profile=VLLM_0_16)
    together = first_broken(Changed(), config, EVICTING, "accounting")

    assert one_by_one is not None
    assert one_by_one.clause == "HYBRID.ADOPT.KEPT"
    assert together is None
