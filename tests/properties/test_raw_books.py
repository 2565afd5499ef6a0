"""Calls past the protocol: what a pool rejects leaves no trace, and what it accepts is judged by the books."""

from collections.abc import Callable

import pytest

from kvwitness.model.calls import Call, Outcome
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.ports.impl import ImplPort
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import RAW_CALLS, Execute, Operation, Raw, Start
from kvwitness.properties.replay import MakePort, Setting, replay

CONFIG = Config(blocks=6, block_size=4, groups=(Kind("full"),))

TAKE, TOUCH, FREE = Raw("get_new_blocks", (1,)), Raw("touch", ((1,),)), Raw("free_blocks", ((1,),))

MISUSE: dict[str, tuple[Operation, ...]] = {
    "free twice": (TAKE, FREE, FREE),
    "free what is free": (FREE,),
    "free twice in one list": (TAKE, TOUCH, Raw("free_blocks", ((1, 1, 1),))),
    "take less than nothing": (Raw("get_new_blocks", (-2,)),),
    "take more than there is": (Raw("get_new_blocks", (6,)),),
    "publish for nobody": (Raw("cache_blocks", ("A", (1,), 4)),),
}


def broken(make_port: MakePort, operations: tuple[Operation, ...], profile: Profile = SOUND) -> str:
    violation = replay(make_port, Setting(CONFIG, profile), operations).violation
    return violation.clause if violation is not None else ""


@pytest.mark.parametrize("make_port", [ImplPort, ModelPort])
@pytest.mark.parametrize("profile", [SOUND, VLLM_0_16], ids=["sound", "vllm-0.16"])
@pytest.mark.parametrize("name", MISUSE)
def test_misuse_is_rejected_without_a_trace(name: str, profile: Profile, make_port: MakePort) -> None:
    assert broken(make_port, MISUSE[name], profile) == ""


@pytest.mark.parametrize("make_port", [ImplPort, ModelPort])
def test_what_is_taken_past_the_protocol_counts_as_held_until_it_is_released(make_port: MakePort) -> None:
    assert broken(make_port, (Start("A", (0, 0)), FREE)) == "BOOKS.REFERENCES"
    assert broken(make_port, (Start("A", (0, 0)), TOUCH, FREE, Execute())) == ""
    assert broken(make_port, (Start("A", (0, 0)), Raw("get_new_blocks", (2,)), Raw("free_blocks", ((2, 3),)), Execute())) == ""


@pytest.mark.parametrize("make_port", [ImplPort, ModelPort])
def test_releasing_null_moves_its_count_under_the_seed_only(make_port: MakePort) -> None:
    operations = (Raw("free_blocks", ((0,),)),)

    assert broken(make_port, operations, VLLM_0_16) == "BOOKS.NULL.COUNT"
    assert broken(make_port, operations, SOUND) == ""


class Miscounting(ImplPort):
    """Tells one free block too many after a rejected call."""

    rejected = False

    def call(self, call: Call) -> Outcome:
        outcome = super().call(call)
        self.rejected |= outcome.status == "rejected"
        return Outcome("ok", outcome.value + 1) if self.rejected and call.name == "get_num_free_blocks" else outcome


class Forgetting(ImplPort):
    """Takes a block although it rejects."""

    def call(self, call: Call) -> Outcome:
        outcome = super().call(call)
        if outcome.status == "rejected":
            self.pool.get_new_blocks(1)
        return outcome


@pytest.mark.parametrize(("make_port", "clause"), [(Miscounting, "BOOKS.COUNT"), (Forgetting, "BOOKS.UNCHANGED")])
def test_a_rejection_that_leaves_a_trace_is_found(make_port: MakePort, clause: str) -> None:
    assert broken(make_port, (FREE,)) == clause


WRONG: dict[str, Callable[[], Raw]] = {
    "no such call": lambda: Raw("drop_everything"),
    "too few": lambda: Raw("get_new_blocks"),
    "a text for a number": lambda: Raw("get_new_blocks", ("1",)),
    "a number for blocks": lambda: Raw("free_blocks", (1,)),
    "a negative block": lambda: Raw("touch", ((-1,),)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_raw_call_has_the_arguments_of_its_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"got .*; allowed is "):
        WRONG[name]()


def test_the_protocol_never_makes_the_pools_own_calls() -> None:
    assert {"get_new_blocks", "touch", "free_blocks"} <= RAW_CALLS.keys()


ALIGN = Config(blocks=8, block_size=4, groups=(Kind("mamba", mode="align", drafts=2),), drafts=2)


def admitted(external: int, new: int, *between: Raw) -> tuple[Raw, ...]:
    """The calls that admit A with so many external tokens, and others before the last of them."""
    main = external + new
    return (
        Raw("get_num_blocks_to_allocate", ("A", main, ((),), external, main, 0)),
        Raw("allocate_new_computed_blocks", ("A", ((),), 0, external)),
        *between,
        Raw("allocate_new_blocks", ("A", main, main, 0)),
    )


@pytest.mark.parametrize("make_port", [ImplPort, ModelPort])
@pytest.mark.parametrize("external", range(1, 10))
@pytest.mark.parametrize("new", [0, 1, 4])
def test_an_external_state_is_counted_under_sound_only(make_port: MakePort, external: int, new: int) -> None:
    operations = admitted(external, new)
    seed = replay(make_port, Setting(ALIGN, VLLM_0_16), operations).violation

    assert replay(make_port, Setting(ALIGN, SOUND), operations).violation is None
    # Where the running state stays in the block of the external one, the seed is right by luck.
    starts_a_block = -(-(external + new) // 4) > -(-external // 4)
    assert (seed.clause if seed is not None else "") == ("BOOKS.ESTIMATE" if starts_a_block else "")


@pytest.mark.parametrize("between", [TAKE, Raw("free", ("B",))])
def test_an_estimate_is_judged_only_where_nothing_came_between(between: Raw) -> None:
    assert replay(ImplPort, Setting(ALIGN, VLLM_0_16), admitted(4, 1)).violation is not None
    assert replay(ImplPort, Setting(ALIGN, VLLM_0_16), admitted(4, 1, between)).violation is None
