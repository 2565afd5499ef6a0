"""The executable specification as a port: it holds a state and applies the spec's transitions."""

from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.model.managers import TRANSITIONS, apply, initial_state, observe
from kvwitness.model.profile import Profile
from kvwitness.properties.port import Capabilities


class ModelPort:
    """The model behind the port's calls; plain, and slow on purpose."""

    def __init__(self, profile: Profile) -> None:
        """Follow ``profile``."""
        self._profile = profile

    def hello(self) -> Capabilities:
        """The model offers everything."""
        return Capabilities("model", self._profile.name, frozenset(TRANSITIONS))

    def reset(self, config: Config) -> Observation:
        """Begin with an idle pool."""
        self._state = initial_state(config, self._profile)
        return observe(self._state)

    def call(self, call: Call) -> Outcome:
        """Apply one transition."""
        self._state, outcome = apply(self._state, call)
        return outcome

    def observe(self) -> Observation:
        """The whole state."""
        return observe(self._state)

    def close(self) -> None:
        """Nothing to let go of."""
