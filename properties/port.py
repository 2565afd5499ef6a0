"""What a manager-level port offers: the calls of the protocol, and a look at its state."""

from typing import Protocol

from attrs import frozen

from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.kinds import Config


@frozen
class Capabilities:
    """What a port says of itself.

    Attributes:
        name: What reports call it.
        profile: The profile it claims to follow, or "" for none.
        calls: The calls it answers.
        observes: The parts of an observation it fills.
        level: The strongest conformance level it can be held to.
        missing: What it does not offer, each with the reason.
    """

    name: str
    profile: str
    calls: frozenset[str]
    observes: frozenset[str] = frozenset(Observation._fields)
    level: str = "L3"
    missing: tuple[str, ...] = ()


class NotOffered(Exception):
    """A configuration that a port cannot be built for: the text says why."""


class Port(Protocol):
    """A block pool with its managers, driven call by call."""

    def hello(self) -> Capabilities:
        """What the port is and can do."""

    def reset(self, config: Config) -> Observation:
        """Build a pool with its managers, idle; what was there before is gone.

        Raises:
            NotOffered: The port has no such thing.
        """

    def call(self, call: Call) -> Outcome:
        """Make one call; a rejected or failed one must leave the state as it was."""

    def observe(self) -> Observation:
        """The state as plain data."""

    def close(self) -> None:
        """Let go of whatever the port holds."""
