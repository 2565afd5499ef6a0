"""Listening to a planner: every call that it makes on its cache manager, with the state before and after.

The coordinator's methods are replaced on the object, so that nothing of the release is changed and every path is heard.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kvwitness.model.calls import Blocks, Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.vllm.loader import ReleaseError
from kvwitness.vllm.looking import Hashes, look
from kvwitness.vllm.planner.building import BuiltPlanner
from kvwitness.vllm.rejections import reason_of

Made = tuple[Call, Outcome]

KEPT = "(kept"
"""How the holders of blocks begin that are kept back until steps in flight have run."""


class Asked(NamedTuple):
    """What a planner knew of a request when it asked for slots.

    Attributes:
        status: The request's status, as the release names it.
        computed: Tokens computed before, without what this admission finds.
        num_tokens: Verified tokens.
        placeholders: Outputs that steps in flight will bring, drafts included.
        new: Tokens to compute.
        external: External tokens.
        delayed: Whether they are loaded asynchronously.
        reserved: Free blocks that it must leave.
    """

    status: str
    computed: int
    num_tokens: int
    placeholders: int
    new: int
    external: int
    delayed: bool
    reserved: int


class Heard(NamedTuple):
    """One thing that a planner did with its cache manager.

    Attributes:
        kind: ``asked`` for slots, ``looked`` up and left it, ``published``, ``released``, ``gone``, ``reset``, ``drained`` or ``broken``.
        request: Whose.
        calls: The calls that it made, in order.
        before: The state before.
        after: The state after.
        done: Whether it was granted or succeeded.
        asked: What was asked for, if it was slots.
    """

    kind: str
    request: str
    calls: list[Made]
    before: Observation
    after: Observation
    done: bool = True
    asked: Asked | None = None


def _ids(blocks: Sequence[Any]) -> Blocks:
    return tuple([block.block_id for block in blocks])


class Listener:
    """Hears what one planner does.

    Attributes:
        heard: What was heard since it was last taken.
        seen: The state as it was last looked at.
    """

    def __init__(self, label: str, config: Config, built: BuiltPlanner, hashes: Hashes, keys_of: Callable[[Any], Sequence[int]]) -> None:
        """Listen to that planner; ``keys_of`` gives the keys of a request's full blocks."""
        self.heard: list[Heard] = []
        self._label, self._config, self._built, self._hashes, self._keys_of = label, config, built, hashes, keys_of
        self._calls: list[Made] = []
        self._looking_up: Any = None
        self._asks = False
        self._popped: Sequence[Any] = ()
        # A planner keeps the lists as they are, so that a list tells which groups its blocks came from.
        self._by_group: dict[int, tuple[Blocks, ...]] = {}
        self.seen = self.look()
        self._listen()

    def look(self) -> Observation:
        """The whole state; blocks that are kept back until steps in flight have run have a holder of their own."""
        seen = look(self._built.pool, self._built.managers, self._hashes)
        kept = [blocks for _, blocks in getattr(self._built.scheduler, "deferred_frees", ())]
        kept += [self._popped] if self._popped else []
        if not kept or seen.tables is None:
            return seen
        tables = [dict(group) for group in seen.tables]
        for number, blocks in enumerate(kept):
            for group, ids in enumerate(self._by_group.get(id(blocks), (_ids(blocks),))):
                tables[group][f"{KEPT} {number})"] = ids
        return seen._replace(tables=tuple(tables))

    def take(self) -> list[Heard]:
        """What was heard since this was last asked, and from here on something new."""
        self._leave_look_up()
        heard, self.heard = self.heard, []
        return heard

    def _listen(self) -> None:
        manager = self._built.scheduler.kv_cache_manager
        coordinator, pool = manager.coordinator, manager.block_pool
        for name in _COORDINATOR:
            self._replace(coordinator, name, getattr(self, f"_hear_{name}"))
        if hasattr(coordinator, "pop_blocks_for_free"):
            self._replace(coordinator, "pop_blocks_for_free", self._hear_pop)
        if hasattr(self._built.scheduler, "_drain_deferred_frees"):
            self._replace(self._built.scheduler, "_drain_deferred_frees", self._hear_drain)
        self._replace(manager, "get_computed_blocks", self._hear_look_up)
        self._replace(manager, "allocate_slots", self._hear_slots)
        self._replace(pool, "get_num_free_blocks", self._hear_free_count)
        self._replace(pool, "reset_prefix_cache", self._hear_reset)

    def _replace(self, owner: Any, name: str, hear: Callable[..., Any]) -> None:
        original = getattr(owner, name, None)
        if original is None:
            raise ReleaseError(f"{self._label} has no {name} in {type(owner).__name__}: it is missing or moved")
        names = list(inspect.signature(original).parameters)

        def listened(*arguments: Any, **keywords: Any) -> Any:
            return hear(original, {**dict(zip(names, arguments, strict=False)), **keywords})

        setattr(owner, name, listened)

    def _note(self, kind: str, request: str, calls: list[Made], *, done: bool = True, asked: Asked | None = None) -> None:
        before, looked = self.seen, self.look()
        self.seen = before if looked == before else looked
        self.heard.append(Heard(kind, request, calls, before, self.seen, done, asked))

    def _make(self, call: Call, original: Callable[..., Any], given: dict[str, Any], shown: Callable[[Any], Any]) -> Any:
        """Make one call and note it with its outcome; a call outside a request for slots is something of its own."""
        try:
            value = original(**given)
        except Exception as error:
            reason = reason_of(call, self._config, error, self._built.managers)
            outcome = Outcome("rejected", None, reason) if reason else Outcome("failed", None, f"{type(error).__name__}: {error}")
            self._calls.append((call, outcome))
            if not self._asks:
                self._end("broken", str(call.arguments[0]) if call.arguments else "")
            raise
        self._calls.append((call, Outcome("ok", shown(value))))
        return value

    def _end(self, kind: str, request: str, *, done: bool = True, asked: Asked | None = None) -> None:
        calls, self._calls = self._calls, []
        self._note(kind, request, calls, done=done, asked=asked)

    def _leave_look_up(self) -> None:
        """A look-up that nothing followed is something of its own."""
        if self._looking_up is not None:
            request, self._looking_up = self._looking_up.request_id, None
            if self._calls:
                self._end("looked", request)

    def _hear_look_up(self, original: Callable[..., Any], given: dict[str, Any]) -> Any:
        self._leave_look_up()
        self._looking_up = given["request"]
        return original(**given)

    def _hear_slots(self, original: Callable[..., Any], given: dict[str, Any]) -> Any:
        request = given["request"]
        if self._looking_up is not request:
            self._leave_look_up()
        asked = _asked(given)
        self._looking_up, self._asks = None, True
        try:
            granted = original(**given)
        except Exception:
            self._end("broken", request.request_id, done=False, asked=asked)
            raise
        finally:
            self._asks = False
        self._end("asked", request.request_id, done=granted is not None, asked=asked)
        return granted

    def _hear_free_count(self, original: Callable[..., Any], _given: dict[str, Any]) -> int:
        count: int = original()
        # Taking blocks asks as well: what an estimate is compared with is the count right after it.
        if self._asks and self._calls and self._calls[-1][0].name == "get_num_blocks_to_allocate":
            self._calls.append((Call("get_num_free_blocks", ()), Outcome("ok", count)))
        return count

    def _hear_find_longest_cache_hit(self, original: Callable[..., Any], given: dict[str, Any]) -> Any:
        keys = tuple(self._keys_of(self._looking_up)) if self._looking_up is not None else ()
        call = Call("find_longest_cache_hit", (keys, given["max_cache_hit_length"]))
        return self._make(call, original, given, lambda found: _all_ids(found[0]))

    def _hear_remove_skipped_blocks(self, original: Callable[..., Any], given: dict[str, Any]) -> None:
        request, tokens = list(given.values())[:2]
        self._make(Call("remove_skipped_blocks", (request, tokens)), original, given, _nothing)
        if not self._asks:
            self._end("released", request)

    def _hear_get_num_blocks_to_allocate(self, original: Callable[..., Any], given: dict[str, Any]) -> Any:
        if not self._asks or given.get("apply_admission_cap"):
            return original(**given)
        hits = _all_ids(given["new_computed_blocks"])
        facts = (given["total_computed_tokens"], given["num_tokens_main_model"], given["num_encoder_tokens"])
        call = Call("get_num_blocks_to_allocate", (given["request_id"], given["num_tokens"], hits if any(hits) else (), *facts))
        return self._make(call, original, given, _as_is)

    def _hear_allocate_new_computed_blocks(self, original: Callable[..., Any], given: dict[str, Any]) -> None:
        facts = (given["num_local_computed_tokens"], given["num_external_computed_tokens"])
        call = Call("allocate_new_computed_blocks", (given["request_id"], _all_ids(given["new_computed_blocks"]), *facts))
        self._make(call, original, given, _nothing)

    def _hear_allocate_new_blocks(self, original: Callable[..., Any], given: dict[str, Any]) -> Any:
        facts = (given["num_tokens"], given["num_tokens_main_model"], given.get("num_encoder_tokens", 0))
        return self._make(Call("allocate_new_blocks", (given["request_id"], *facts)), original, given, _all_ids)

    def _hear_cache_blocks(self, original: Callable[..., Any], given: dict[str, Any]) -> None:
        request, tokens = list(given.values())[:2]
        call = Call("cache_blocks", (request.request_id, tuple(self._keys_of(request)), tokens))
        self._make(call, original, given, _nothing)
        if not self._asks:
            self._end("published", request.request_id)

    def _hear_free(self, original: Callable[..., Any], given: dict[str, Any]) -> None:
        self._leave_look_up()
        self._make(Call("free", (given["request_id"],)), original, given, _nothing)
        self._end("gone", given["request_id"])

    def _hear_pop(self, original: Callable[..., Any], given: dict[str, Any]) -> Any:
        self._leave_look_up()
        held = tuple([tables.get(given["request_id"], ()) for tables in self.seen.tables or ()])
        self._popped = blocks = self._make(Call("free", (given["request_id"],)), original, given, _nothing)
        self._by_group[id(blocks)] = held
        self._end("gone", given["request_id"])
        self._popped = ()
        return blocks

    def _hear_drain(self, original: Callable[..., Any], _given: dict[str, Any]) -> None:
        original()
        left = {id(blocks) for _, blocks in self._built.scheduler.deferred_frees}
        self._by_group = {number: held for number, held in self._by_group.items() if number in left}
        if self.look() != self.seen:
            self._note("drained", "", [])

    def _hear_reset(self, original: Callable[..., Any], given: dict[str, Any]) -> bool:
        done: bool = self._make(Call("reset_prefix_cache", ()), original, given, _as_is)
        self._end("reset", "", done=done)
        return done


def _as_is(value: Any) -> Any:
    return value


def _nothing(_value: Any) -> None:
    """The call answers nothing that matters."""


def _all_ids(groups: Sequence[Sequence[Any]]) -> tuple[Blocks, ...]:
    return tuple([_ids(blocks) for blocks in groups])


def _asked(given: dict[str, Any]) -> Asked:
    request = given["request"]
    return Asked(
        request.status.name,
        request.num_computed_tokens,
        request.num_tokens,
        request.num_output_placeholders,
        given["num_new_tokens"],
        given.get("num_external_computed_tokens", 0),
        given.get("delay_cache_blocks", False),
        given.get("reserved_blocks", 0),
    )


_COORDINATOR = (
    "find_longest_cache_hit",
    "remove_skipped_blocks",
    "get_num_blocks_to_allocate",
    "allocate_new_computed_blocks",
    "allocate_new_blocks",
    "cache_blocks",
    "free",
)
"""The methods between planner and managers; they kept their names from 0.14.1 to 0.33.0."""

__all__ = ["KEPT", "Asked", "Heard", "Listener"]
