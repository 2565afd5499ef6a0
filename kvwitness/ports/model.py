"""The executable specification as a port: it holds a state and applies the spec's transitions."""

from collections.abc import Callable
from typing import Any

from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.events import TAKE_EVENTS, KVEvent, events_of
from kvwitness.model.kinds import Config
from kvwitness.model.managers import TRANSITIONS, State, apply, initial_state, observe
from kvwitness.model.pool import Pool, Rejection, release, take, touch
from kvwitness.model.profile import Profile
from kvwitness.properties.port import Capabilities
from kvwitness.properties.situations import not_offered

POOL_CALLS: dict[str, Callable[..., tuple[Pool, Any]]] = {
    "get_new_blocks": lambda pool, count, _profile: take(pool, count),
    "touch": lambda pool, blocks, profile: (touch(pool, blocks, profile), None),
    "free_blocks": lambda pool, blocks, profile: (release(pool, blocks, profile), None),
}
"""The pool's own functions, for raw calls."""


class ModelPort:
    """The model behind the port's calls; plain, and slow on purpose."""

    def __init__(self, profile: Profile) -> None:
        """Follow ``profile``."""
        self._profile = profile

    def hello(self) -> Capabilities:
        """The model offers everything that its profile has."""
        missing = tuple(f"{label}: {reason}" for label, reason in not_offered(self._profile).items())
        return Capabilities("model", self._profile.name, frozenset({*TRANSITIONS, *POOL_CALLS, TAKE_EVENTS.name}), missing=missing)

    def reset(self, config: Config) -> Observation:
        """Begin with an idle pool."""
        self._state = initial_state(config, self._profile)
        self._told: list[KVEvent] | None = None
        return observe(self._state)

    def call(self, call: Call) -> Outcome:
        """Apply one transition, or one of the pool's own functions."""
        if call == TAKE_EVENTS:
            told, self._told = self._told or [], []
            return Outcome("ok", tuple(told))
        if call.name in POOL_CALLS:
            return self._call_pool(call)
        before = self._state
        self._state, outcome = apply(before, call)
        if self._told is not None:
            self._told.extend(events_of(before, call, outcome, self._state))
        return outcome

    def _call_pool(self, call: Call) -> Outcome:
        state = self._state
        try:
            pool, value = POOL_CALLS[call.name](state.pool, *call.arguments, self._profile)
        except Rejection as rejection:
            return Outcome("rejected", None, rejection.reason)
        self._state = State(state.config, state.groups, pool, state.tables, state.published_this_step)
        return Outcome("ok", value)

    def observe(self) -> Observation:
        """The whole state."""
        return observe(self._state)

    def close(self) -> None:
        """Nothing to let go of."""
