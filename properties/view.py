"""One operation as the oracles see it: what was asked, what the port did, how the state looked before and after."""

from typing import NamedTuple

from kvwitness.model.caller import Caller, Event
from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.request import Step
from kvwitness.properties.operations import Operation


class View(NamedTuple):
    """An operation that was carried out.

    Attributes:
        operation: What was asked.
        event: What it came to; kind ``broken`` where a call of the protocol was rejected or failed.
        calls: Every call with its outcome, in order.
        before: The state before the operation.
        after: The state after it.
        caller: The caller after it.
        closed: Whether the operation ended the step being planned, and so handed it to the worker.
        executed: The step that was executed, if any.
        looks: The state after each call, if it was looked at that often.
        told: What came of asking for the KV events of the operation, or None where nobody asked.
    """

    operation: Operation
    event: Event
    calls: list[tuple[Call, Outcome]]
    before: Observation
    after: Observation
    caller: Caller
    closed: Step | None
    executed: Step | None
    looks: list[Observation]
    told: Outcome | None = None
