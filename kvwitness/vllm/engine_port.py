"""A release's managers as a port, with its own `KVCacheManager` doing the same in a planner's words."""

from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.properties.port import Capabilities
from kvwitness.vllm.adapter import ReleaseNotOffered, VllmPort
from kvwitness.vllm.build import NotOffered
from kvwitness.vllm.engine import EngineTwin, build_twin


class EnginePort(VllmPort):
    """The release's managers behind the port's calls, and between the steps of requests the state of its engine-level manager.

    A difference between the two shows as a state that is not the model's, or as a failed call.
    """

    _twin: EngineTwin | None = None

    def hello(self) -> Capabilities:
        """As the release, by the name of the engine's manager."""
        told = super().hello()
        return Capabilities(f"{told.name}, allocate_slots", told.profile, told.calls, missing=told.missing)

    def reset(self, config: Config) -> Observation:
        """Build both, idle.

        Raises:
            ReleaseNotOffered: The release's manager cannot be built for it.
        """
        # The twin of another configuration must not be shown for this one.
        self._twin = None
        super().reset(config)
        if not config.is_hybrid and (len(config.groups) > 1 or config.hit_alignment != config.tokens_per_block):
            reason = "its coordinator of one kind has one group, and aligns hits to a block"
            raise ReleaseNotOffered(f"{self.release.label} does not offer {config.label}: {reason}")
        try:
            self._twin = build_twin(self.release, config, self._hashes)
        except NotOffered as reason:
            raise ReleaseNotOffered(f"{self.release.label} does not offer {config.label} to its manager: {reason}") from reason
        return self.observe()

    def call(self, call: Call) -> Outcome:
        """Make one call on the coordinator or the managers, and let the twin follow."""
        outcome, twin = super().call(call), self._twin
        assert twin is not None
        try:
            twin.follow(call, outcome)
        except Exception as error:  # noqa: BLE001  a port's failure of any kind is an outcome, not ours
            return Outcome("failed", None, f"allocate_slots or its like: {type(error).__name__}: {error}")
        difference = twin.difference()
        return Outcome("failed", None, difference) if difference else outcome

    def observe(self) -> Observation:
        """The engine's state; while a request's step is under way, that of the coordinator."""
        return self._twin.observe() if self._twin is not None and self._twin.is_between_steps else super().observe()


__all__ = ["EnginePort"]
