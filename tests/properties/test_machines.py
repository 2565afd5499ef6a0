"""The state machines: our implementation holds under them, and a port at fault does not."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from kvwitness.model.calls import Call, Key, Outcome
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.ports.impl import ImplPort
from kvwitness.properties.machine import ClauseBroken, told
from kvwitness.properties.machine import machine_for as machine_of
from kvwitness.properties.operations import Execute, Grow, Probe, Reset, Start
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.situations import LABELS
from kvwitness.properties.violation import Violation

# A teardown that empties a large pool may be slow on a busy machine, and a small draw is the point of the rules.
# Our own shrinker is faster by far, so a machine is only asked to fail: kvwitness.failure_file makes it small.
HELD = settings(
    max_examples=30,
    stateful_step_count=40,
    phases=(Phase.generate,),
    report_multiple_bugs=False,
    database=None,
    suppress_health_check=list(HealthCheck),
)
FAILING = settings(HELD, max_examples=200, print_blob=False)


class ForgetsTouch(ImplPort):
    """Adopts hits without taking them from the free queue."""

    def _call_allocate_new_computed_blocks(
        self, request: str, hits: tuple[tuple[int, ...], ...], num_local: int, num_external: int
    ) -> tuple[tuple[int, ...], ...]:
        taken = super()._call_allocate_new_computed_blocks(request, hits, num_local, num_external)
        blocks = [self.pool.blocks[block] for hit in hits for block in hit if block]
        self.pool.free_blocks([block for block in blocks if block.ref_cnt == 1])
        return taken


class PublishesTooMuch(ImplPort):
    """Publishes a block more than is computed, where there is one."""

    def _call_cache_blocks(self, request: str, keys: tuple[Key, ...], num_tokens: int) -> None:
        more = num_tokens + self._config.tokens_per_block
        held = len(self.managers[0].req_to_blocks.get(request, ()))
        fits = more // self._config.tokens_per_block <= min(held, len(keys))
        super()._call_cache_blocks(request, keys, more if fits else num_tokens)


class FailsOnReset(ImplPort):
    """Fails where others reset."""

    def call(self, call: Call) -> Outcome:
        return Outcome("failed", None, "no such button") if call.name == "reset_prefix_cache" else super().call(call)


def fails(label: str, make_port: MakePort, profile: Profile = SOUND) -> ClauseBroken:
    with pytest.raises(ClauseBroken) as broken:
        run_state_machine_as_test(machine_of(label, make_port, profile), settings=FAILING)
    return broken.value


@pytest.mark.slow
@pytest.mark.parametrize("label", [*LABELS, "full+sliding", "full+mamba-align", "full+sliding+cross"])
def test_our_implementation_holds(label: str) -> None:
    run_state_machine_as_test(machine_of(label, ImplPort, SOUND), settings=HELD)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "make_port"),
    [("full", ForgetsTouch), ("sliding", ForgetsTouch), ("full", PublishesTooMuch), ("cross", FailsOnReset)],
    ids=["full forgets touch", "sliding forgets touch", "full publishes too much", "cross fails on reset"],
)
def test_a_port_at_fault_fails_with_a_clause_that_a_replay_finds_again(label: str, make_port: MakePort) -> None:
    failure = fails(label, make_port)
    again = replay(make_port, failure.setting, failure.operations)

    assert again.violation == failure.violation
    assert again.operations == failure.operations
    assert replay(ImplPort, failure.setting, failure.operations).violation is None


@pytest.mark.slow
def test_the_seeds_rules_fail_where_they_are_known_to() -> None:
    failure = fails("mamba-all", ImplPort, VLLM_0_16)

    assert failure.setting.profile is VLLM_0_16
    assert failure.violation.sentence in str(failure)


def test_a_failure_tells_the_clause_the_reason_and_the_operations() -> None:
    setting = Setting(Config(4, 2, (Kind("full"),)), SOUND)
    operations = (Start("A", (0, 0)), Execute())
    failure = ClauseBroken(setting, operations, Violation("BOOKS.NULL", "the free queue is [0]", "accounting"))
    first, second, third, *steps = str(failure).splitlines()

    assert first == "BOOKS.NULL: The null block is never queued and never keyed."
    assert second == "because the free queue is [0]"
    assert third.endswith("profile sound, strict True")
    assert steps == ["  1. start id='A' tokens=(0, 0)", "  2. execute"]


def test_operations_are_told_without_what_is_at_its_default() -> None:
    assert told(Grow("A", 3, 1)) == "grow id='A' new=3 drafts=1"
    assert told(Grow("A")) == "grow id='A'"
    assert told(Execute({"A": (0,)})) == "execute outputs={'A': (0,)}"
    assert told(Probe((1,))) == "probe tokens=(1,)"
    assert [told(Reset()), told(Reset(force=True))] == ["reset", "reset force=True"]


def test_a_machine_is_named_by_its_kind() -> None:
    assert machine_of("mamba-align", ImplPort, SOUND).__name__ == "MambaAlignMachine"
