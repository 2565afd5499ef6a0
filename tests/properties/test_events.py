"""The events oracle: what a consumer of KV events is told wrongly breaks a clause, and what a right port tells breaks none."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve

from kvwitness.model.calls import Call, Outcome
from kvwitness.model.events import Cleared, KVEvent, Removed, Stored
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.ports.impl import ImplPort
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import Close, Execute, Free, Operation, Reset, Start
from kvwitness.properties.run import ORACLES, Run
from kvwitness.properties.violation import Violation
from tests.properties.ports import Changed

SMALL = Config(blocks=6, block_size=2, groups=(Kind("full"),), max_model_len=12)
FIRST, SECOND, OTHER = (1, 2, 3, 4, 5), (1, 2, 3, 4, 6), (7, 8, 9, 9, 9, 9, 9, 9, 9, 9)


def served(name: str, tokens: Sequence[int]) -> list[Operation]:
    return [Start(name, tuple(tokens)), Close(), Execute(), Free(name)]


TWO_AT_ONCE: list[Operation] = [Start("A", FIRST), Start("B", SECOND), Close(), Execute(), Free("A"), Free("B")]
EVICTING = [*served("A", FIRST), *served("B", OTHER)]


class Telling(Changed):
    """The model, whose events are changed before they are told."""

    def __init__(self, change: Callable[[tuple[KVEvent, ...]], Sequence[KVEvent]]) -> None:
        super().__init__()
        self._retell = change

    def call(self, call: Call) -> Outcome:
        outcome = super().call(call)
        return Outcome("ok", tuple(self._retell(outcome.value))) if call.name == "take_events" else outcome


def found(port: Any, operations: Sequence[Operation], *oracles: str, profile: Profile = SOUND, config: Config = SMALL) -> str:
    """The clause that the run breaks, or ""."""
    run = Run(port, config, profile, oracles=oracles or ("events",))
    broken: Violation | None = None
    for operation in operations:
        broken = broken or run.apply(operation)
    return broken.clause if broken else ""


def without(kind: type) -> Callable[[tuple[KVEvent, ...]], list[KVEvent]]:
    return lambda events: [event for event in events if not isinstance(event, kind)]


def every(change: Callable[[Stored], Stored]) -> Callable[[tuple[KVEvent, ...]], list[KVEvent]]:
    return lambda events: [change(event) if isinstance(event, Stored) else event for event in events]


@pytest.mark.parametrize("port", [ModelPort(SOUND), ImplPort(SOUND)])
@pytest.mark.parametrize("operations", [TWO_AT_ONCE, EVICTING, [*served("A", FIRST), Reset()]])
def test_what_a_right_port_tells_is_an_index(port: Any, operations: Sequence[Operation]) -> None:
    assert found(port, operations, *ORACLES, "events", "plain-events") == ""


@pytest.mark.parametrize(
    ("clause", "change", "operations"),
    [
        ("EVENTS.INDEX", without(Stored), served("A", FIRST)),
        ("EVENTS.INDEX", without(Removed), EVICTING),
        ("EVENTS.CLEARED.RESET", without(Cleared), [*served("A", FIRST), Reset()]),
        ("EVENTS.CLEARED.RESET", lambda events: [*events, Cleared()], served("A", FIRST)),
        ("EVENTS.ONCE", lambda events: [*events, *events], served("A", FIRST)),
        ("EVENTS.REMOVED.KNOWN", lambda events: [*events, *(event for event in events if isinstance(event, Removed))], EVICTING),
        ("EVENTS.PARENT", every(lambda run: run._replace(parent=1)), served("A", FIRST)),
        ("EVENTS.PARENT", every(lambda run: run._replace(start=2, end=run.end + 2)), served("A", FIRST)),
        ("EVENTS.ORDER", every(lambda run: run._replace(keys=(run.keys[0],) * 2)), served("A", FIRST)),
        ("EVENTS.ORDER", every(lambda run: run._replace(keys=(10**9,))), served("A", FIRST)),
        ("EVENTS.RANGE", every(lambda run: run._replace(end=run.end + 2)), served("A", FIRST)),
        (
            "EVENTS.KNOWN",
            lambda events: [run._replace(keys=run.keys[1:], parent=run.keys[0], start=2) for run in events],
            served("A", FIRST),
        ),
    ],
)
def test_what_is_told_wrongly_breaks_its_clause(clause: str, change: Any, operations: Sequence[Operation]) -> None:
    assert found(Telling(change), operations) == clause


@pytest.mark.parametrize(
    ("clause", "change", "operations"),
    [
        ("EVENTS.STORED", without(Stored), served("A", FIRST)),
        ("EVENTS.REMOVED", lambda events: list(reversed(events)), EVICTING),
        ("EVENTS.CLEARED", without(Cleared), [*served("A", FIRST), Reset()]),
        ("EVENTS.REMOVED", lambda events: [*events, Removed(0, 1)], [Start("A", (1,))]),
    ],
)
def test_refinement_compares_the_events_exactly(clause: str, change: Any, operations: Sequence[Operation]) -> None:
    # The oracle of events is named so that they are drained; the model alone judges.
    run = Run(Telling(change), SMALL, SOUND, oracles=("events", "refinement"))
    run._oracles = [oracle for oracle in run._oracles if oracle.name == "refinement"]
    broken = next(violation for operation in operations if (violation := run.apply(operation)))

    assert broken.clause == clause


def test_events_are_not_asked_for_unless_somebody_listens() -> None:
    port = Telling(lambda events: [*events, Cleared()])

    assert found(port, served("A", FIRST), *ORACLES) == ""
    assert "take_events" not in port.made


def test_a_port_that_offers_no_events_is_not_asked() -> None:
    class Silent(Changed):
        def hello(self) -> Any:
            told = super().hello()
            return evolve(told, calls=told.calls - {"take_events"})

    port = Silent()

    assert found(port, EVICTING) == ""
    assert "take_events" not in port.made


def test_a_port_that_fails_to_tell_is_told() -> None:
    class Failing(Changed):
        def call(self, call: Call) -> Outcome:
            return Outcome("failed", None, "no queue") if call.name == "take_events" else super().call(call)

    assert found(Failing(), served("A", FIRST)) == "EVENTS.INDEX"
    assert found(Failing(), served("A", FIRST), "events", "refinement") == "EVENTS.INDEX"


def test_a_consumer_that_counts_follows_the_seed_and_one_that_does_not_is_misled() -> None:
    twins: list[Operation] = [Start("A", (1, 2, 3, 4)), Start("B", (1, 2, 3, 4)), Close(), Execute(), Free("A"), Free("B")]
    operations = [*twins, Start("C", OTHER[:5])]

    assert found(ImplPort(VLLM_0_16), operations, profile=VLLM_0_16) == ""
    assert found(ImplPort(VLLM_0_16), operations, "plain-events", profile=VLLM_0_16) == "EVENTS.PLAIN"
    assert found(ImplPort(SOUND), operations, "plain-events") == ""


def test_a_consumer_of_several_groups_needs_their_names() -> None:
    two = evolve(SMALL, groups=(Kind("full"),) * 2, blocks=12)

    assert found(ImplPort(VLLM_0_16), EVICTING, config=two, profile=VLLM_0_16) == ""
    assert found(ImplPort(VLLM_0_16), EVICTING, "plain-events", config=two, profile=VLLM_0_16) == "EVENTS.GROUP.NAMED"


def test_a_run_over_null_blocks_speaks_of_more_tokens_than_its_keys() -> None:
    align = evolve(SMALL, groups=(Kind("mamba", mode="align"),))

    assert found(ImplPort(VLLM_0_16), served("A", FIRST), config=align, profile=VLLM_0_16) == ""
    assert found(ImplPort(VLLM_0_16), served("A", FIRST), "plain-events", config=align, profile=VLLM_0_16) == "EVENTS.RANGE"
