"""Closure: small worlds are visited whole, and what is wrong is found by a shortest run."""

import pytest

from kvwitness.model.calls import Outcome
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.ports.impl import ImplPort
from kvwitness.ports.mutant import make_mutant
from kvwitness.proofs.engines.canonical import canonical_form
from kvwitness.proofs.engines.closure import Spec, close
from kvwitness.proofs.engines.worlds import WORLDS, World
from kvwitness.properties.operations import Execute, Free, Operation, Reset, Start
from kvwitness.properties.replay import Setting, replay
from kvwitness.properties.run import Run
from kvwitness.properties.situations import LABELS


def world(label: str, name: str) -> World:
    (found,) = [each for each in WORLDS if (each.label, each.name) == (label, name)]
    return found


def test_every_kind_has_a_world_of_four_blocks_and_two_requests() -> None:
    assert {each.label for each in WORLDS} == set(LABELS)
    assert all(each.config.blocks - 1 >= 4 and each.crowd >= 2 for each in WORLDS)
    assert {each.config.kind.drafts for each in WORLDS if each.label == "mamba-align"} == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("profile", [VLLM_0_16, SOUND], ids=lambda profile: profile.name)
def test_our_implementation_makes_every_transition_of_a_small_world(profile: Profile) -> None:
    closed = close(world("cross", "planned ahead"), profile, ImplPort)

    assert closed.found is None
    assert closed.fixpoint
    assert closed.verdict == "held"
    assert closed.states > 500
    assert closed.refused > 100
    assert closed.rejected > 100


@pytest.mark.slow
def test_states_that_are_left_out_are_told() -> None:
    closed = close(world("sink", "one sink block"), VLLM_0_16, most=100)

    assert closed.states == 100
    assert not closed.fixpoint
    assert closed.verdict == "bound"


def test_a_seeded_defect_is_found_by_a_shortest_run() -> None:
    small = world("full", "a decode")
    closed = close(small, VLLM_0_16, make_mutant("touch-forgotten"))

    assert closed.found is not None
    assert closed.verdict == "failed"
    assert closed.found.violation.clause == "BOOKS.REFERENCES"
    assert [type(operation).__name__ for operation in closed.found.operations] == ["Start", "Start"]
    done = replay(make_mutant("touch-forgotten"), Setting(small.config, VLLM_0_16, small.strict), closed.found.operations)
    assert done.violation is not None
    assert done.violation.clause == "BOOKS.REFERENCES"


def form_after(*operations: Operation) -> object:
    small = world("full", "a decode")
    spec = Spec(VLLM_0_16)
    run = Run(spec, small.config, VLLM_0_16, oracles=())
    for operation in operations:
        run.perform(operation)
    return canonical_form(spec.state, run.caller)


def test_states_that_differ_in_names_only_have_one_form() -> None:
    gone = (Start("gone", (0, 0)), Execute(), Free("gone"), Reset())

    assert form_after(Start("a", (0, 0))) == form_after(Start("z", (0, 0))) == form_after(*gone, Start("a", (0, 0)))


@pytest.mark.parametrize("other", [(Start("a", (0,)),), (Start("a", (0, 0)), Execute()), (Start("a", (0, 0)), Start("b", (0, 0)))])
def test_states_that_differ_otherwise_do_not(other: tuple[Operation, ...]) -> None:
    assert form_after(Start("a", (0, 0))) != form_after(*other)


class Forgetful(ImplPort):
    """A port that goes wrong only when it is asked twice in one state."""

    shared = 0

    def call(self, call: object) -> Outcome:
        if call[0] == "get_num_common_prefix_blocks":  # type: ignore[index]
            self.shared += 1
            return Outcome("ok", (self.shared,)) if self.shared > 1 else super().call(call)  # type: ignore[arg-type]
        return super().call(call)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_difference_that_needs_what_was_asked_before_is_told_with_it() -> None:
    closed = close(world("full", "a decode"), VLLM_0_16, Forgetful)

    assert closed.found is not None
    assert closed.found.violation.clause == "FULL.COMMON-PREFIX"
