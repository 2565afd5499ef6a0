"""A release's own `KVCacheManager` beside its coordinator: a request's scheduling step in one call must come to the same state.

Our caller makes the calls of a step one by one; a release's planner makes them inside ``allocate_slots``.
The twin is told of the same requests in the planner's words.
"""

from typing import Any

from attrs import define, field

from kvwitness.model.calls import Blocks, Call, Key, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.vllm.build import NotOffered
from kvwitness.vllm.by_name import ByName
from kvwitness.vllm.coordinator import CoordinatorCalls, cache_config_of, coordinated, sizes_of
from kvwitness.vllm.loader import ENGINE, Release
from kvwitness.vllm.looking import Hashes, look
from kvwitness.vllm.requests import HashedRequest

SLOTS = (
    "request",
    "num_new_tokens",
    "num_new_computed_tokens",
    "new_computed_blocks",
    "num_lookahead_tokens",
    "num_external_computed_tokens",
    "delay_cache_blocks",
    "num_encoder_tokens",
)
"""What ``allocate_slots`` is told, by the seed's names."""


@define
class Step:
    """One scheduling step of one request, as far as its calls have come.

    Attributes:
        request: Its name.
        released: The length by which skipped blocks are released, in tokens.
        slots: Tokens that need a slot.
        total: Tokens that are computed, hits and external ones included.
        main: Tokens of the main model.
        encoder: Encoder tokens.
        hits: The hits, if it looked any up.
        external: External tokens.
        needed: The estimate, in blocks.
        fits: Whether it was not refused.
        keys: The keys it publishes with.
        published: The length that it publishes, in tokens; None where publishing is put off.
    """

    request: str
    released: int
    slots: int = 0
    total: int = 0
    main: int = 0
    encoder: int = 0
    hits: tuple[Blocks, ...] = ()
    external: int = 0
    needed: int = 0
    fits: bool = False
    keys: tuple[Key, ...] = ()
    published: int | None = None


@define
class EngineTwin:
    """A release's manager that follows the calls made on its coordinator.

    Attributes:
        manager: The release's object.
    """

    manager: Any
    _calls: CoordinatorCalls
    _slots: ByName
    _config: Config
    _hashes: Hashes
    _step: Step | None = None
    _found: Any = None
    _told: str = field(default="")

    @property
    def is_between_steps(self) -> bool:
        """Whether its state can be compared: no request's step is under way."""
        return self._step is None

    def observe(self) -> Observation:
        """Its state as plain data."""
        return look(self.manager.block_pool, self.manager.coordinator.single_type_managers, self._hashes)

    def difference(self) -> str:
        """What it did that our caller's calls did not say, once; "" for nothing."""
        told, self._told = self._told, ""
        return told

    def finish(self) -> None:
        """Carry out the step under way, if all its calls were made."""
        step, self._step = self._step, None
        if step is not None and step.slots:
            self._allocate(step)

    def follow(self, call: Call, outcome: Outcome) -> None:
        """Take in one call that was made on the coordinator."""
        if outcome.status != "ok":
            self._step = None
            return
        if call.name == "remove_skipped_blocks":
            self.finish()
            self._step = Step(*call.arguments)
        elif self._step is None or not self._belongs(self._step, call, outcome):
            self.finish()
            self._make(call)

    def _belongs(self, step: Step, call: Call, outcome: Outcome) -> bool:
        """Take in a call of the step under way, and carry the step out where this is its last one; whether it was one."""
        if call.name == "get_num_blocks_to_allocate":
            _, step.slots, step.hits, step.total, step.main, step.encoder = call.arguments
            step.needed = outcome.value
        elif call.name == "allocate_new_computed_blocks":
            step.external = call.arguments[3]
        elif call.name == "cache_blocks" and call.arguments[0] == step.request:
            _, step.keys, step.published = call.arguments
            self.finish()
        elif call.name == "get_num_free_blocks":
            step.fits = step.needed <= outcome.value
            if not step.fits:
                self.finish()
        else:
            return call.name == "allocate_new_blocks"
        return True

    def _allocate(self, step: Step) -> None:
        """The step in one call, as a planner makes it."""
        local = len(step.hits[0]) * self._config.block_of(0) if step.hits else 0
        external = step.external if step.fits or not step.hits else step.total - local
        request = self._calls.request(step.request, step.keys)
        request.num_tokens = step.main if step.published is None else step.published
        request.num_computed_tokens = step.total - local - external
        request.num_in_flight_tokens = step.total - step.released
        slots = self._slots(
            request=request,
            num_new_tokens=step.main - step.total,
            num_new_computed_tokens=local,
            new_computed_blocks=self._found if step.hits else None,
            num_lookahead_tokens=step.slots - step.main,
            num_external_computed_tokens=external,
            delay_cache_blocks=step.published is None,
            num_encoder_tokens=step.encoder,
        )
        if (slots is not None) != step.fits:
            self._told = f"allocate_slots {'served' if slots is not None else 'refused'} {step.request}, and the calls one by one did not"

    def _make(self, call: Call) -> None:
        """A call that is no part of a request's step."""
        manager, name, arguments = self.manager, call.name, call.arguments
        if name == "find_longest_cache_hit":
            request = self._calls.request("", arguments[0])
            request.num_tokens = arguments[1] + 1
            self._found = manager.get_computed_blocks(request)[0]
        elif name == "cache_blocks":
            manager.cache_blocks(self._calls.request(arguments[0], arguments[1]), arguments[2])
        elif name == "free":
            manager.free(HashedRequest(arguments[0], [], 0))
        elif name == "new_step_starts" and hasattr(manager, "new_step_starts"):
            manager.new_step_starts()
        elif name == "reset_prefix_cache":
            manager.reset_prefix_cache()


def build_twin(release: Release, config: Config, hashes: Hashes) -> EngineTwin:
    """The release's own manager for these groups, idle.

    Raises:
        NotOffered: The release cannot build it.
        ReleaseError: The release has none, or it takes something that is not known here.
    """
    offered = {"kv_cache_config": cache_config_of(release, config), "log_stats": False, **sizes_of(config)}
    make = ByName(release.label, release.load(ENGINE, "KVCacheManager"), offered)
    try:
        manager = make(**offered)
    except (AssertionError, TypeError, ValueError, NotImplementedError) as error:
        raise NotOffered(f"{type(error).__name__}: {' '.join(str(error).split())}") from error
    calls = CoordinatorCalls(coordinated(release, manager.coordinator), config, hashes)
    return EngineTwin(manager, calls, ByName(release.label, manager.allocate_slots, SLOTS), config, hashes)


__all__ = ["EngineTwin", "build_twin"]
