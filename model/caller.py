"""The legal call protocol: it turns what an engine does into calls on managers, in the order they assume.

Each protocol is a generator: it yields calls, is sent their values, and returns the caller afterwards with what was done.
So it does no I/O, and whoever drives it decides what stands behind the calls; a call that is rejected ends it.
"""

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from attrs import field, frozen

from kvwitness.model import legal
from kvwitness.model.calls import Blocks, Call, Key, Outcome
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.model.request import Planned, Request, Step, extended, keys_of, settled_tokens
from kvwitness.model.values import evolve


class Illegal(Exception):
    """An operation that breaks a precondition of the protocol."""

    def __init__(self, clause: str, detail: str) -> None:
        super().__init__(f"{clause}: {REGISTRY[clause].sentence} Got {detail}.")
        self.clause = clause


class Broken(Exception):
    """A call of the protocol was rejected or failed, so the operation could not be completed."""

    def __init__(self, call: Call, outcome: Outcome) -> None:
        super().__init__(f"{call.name} ended {outcome.status}: {outcome.reason}")
        self.call = call
        self.outcome = outcome


@frozen(slots=False)
class Caller:
    """Everything the planner knows.

    Attributes:
        config: Sizes.
        profile: The rules in force.
        strict: Whether it does only what a real planner does; otherwise any legal order goes.
        requests: The requests that exist, by id, in order of admission.
        used: Every id that was ever used.
        steps: Steps planned and closed, not yet executed, oldest first.
        open: What the step being planned holds so far; None between steps.
        preempted: Whether the open step preempted a request.
        refused: Whether the last request that was to grow was refused.
    """

    config: Config
    profile: Profile
    strict: bool = True
    requests: dict[str, Request] = field(factory=dict)
    used: frozenset[str] = frozenset()
    steps: tuple[Step, ...] = ()
    open: Step | None = None
    preempted: bool = False
    refused: bool = False


class Event(NamedTuple):
    """What an operation came to: ``planned``, ``refused``, ``loading``, ``arrived``, ``gone``, ``closed``, ``reset`` or ``probed``."""

    kind: str
    request: str = ""
    planned: Planned | None = None
    hits: tuple[Blocks, ...] = ()
    done: bool = True


Protocol = Generator[Call, Any, tuple[Caller, Event]]


def require(holds: bool, clause: str, *got: object) -> None:
    """Raise `Illegal` where a precondition does not hold; what was got is put into words only then."""
    if not holds:
        raise Illegal(clause, " ".join(map(str, got)))


def open_step(caller: Caller) -> Generator[Call, Any, Caller]:
    """Begin a step with the first thing that is planned in it."""
    if caller.open is not None:
        return caller
    require(legal.depth_allows(caller.config, caller.steps), "CALLER.DEPTH", len(caller.steps), "steps in flight")
    if caller.profile.mamba_same_step_guard or caller.profile.preempted_in_plan == "withdrawn":
        yield Call("new_step_starts", ())
    return evolve(caller, open=(), preempted=False, refused=False)


def close_step(caller: Caller) -> Caller:
    """End planning: every planned request counts as computed, and steps that sample owe their outputs."""
    if caller.open is None:
        return caller
    requests = dict(caller.requests)
    for planned in caller.open:
        request = requests[planned.request]
        owed = 1 + planned.drafts if planned.samples and caller.config.depth > 1 else 0
        requests[planned.request] = evolve(request, computed=planned.computed + planned.new, placeholders=request.placeholders + owed)
    steps = (*caller.steps, caller.open) if caller.open else caller.steps
    return evolve(caller, requests=requests, steps=steps, open=None, refused=False)


def admit(caller: Caller, name: str, chain: Sequence[Key], *, new: int, external: int, delayed: bool, encoder: int) -> Protocol:
    """Plan a new request: look up, account for external tokens, allocate, publish."""
    require(legal.is_new(caller.used, name), "CALLER.REQUEST.NEW", name)
    require(legal.fits_length(caller.config, len(chain)), "CALLER.LENGTH", len(chain), "tokens")
    require(legal.external_is_supported(caller.config, external), "CALLER.EXTERNAL", external, "external tokens")
    require(legal.encoder_fits_kind(caller.config, encoder), "CALLER.ENCODER", encoder, "encoder tokens")
    keys = keys_of(chain, caller.config.tokens_per_block)
    request = Request(name, chain, keys, "preempted", 0, 0, len(chain), 0, 0, encoder)
    return (yield from _admit(caller, request, new=new, external=external, delayed=delayed))


def resume(caller: Caller, name: str, *, new: int, external: int = 0, delayed: bool = False) -> Protocol:
    """Plan a preempted request again: as a new one whose prompt is all it knows."""
    require(legal.is_known(caller.requests, name), "CALLER.REQUEST.KNOWN", name)
    request = caller.requests[name]
    require(legal.has_status(request, "preempted"), "CALLER.REQUEST.STATUS", name, "which is", request.status)
    require(legal.nothing_in_flight(request, caller.steps), "CALLER.RESUME.JUDGED", name)
    require(legal.fits_length(caller.config, request.num_tokens), "CALLER.LENGTH", request.num_tokens, "tokens")
    require(legal.external_is_supported(caller.config, external), "CALLER.EXTERNAL", external, "external tokens")
    request = evolve(request, computed=0, placeholders=0, accepted=0, prefill=request.num_tokens)
    return (yield from _admit(caller, request, new=new, external=external, delayed=delayed))


def _admit(caller: Caller, request: Request, *, new: int, external: int, delayed: bool) -> Protocol:
    stops = caller.open is not None and caller.preempted
    require(not caller.strict or legal.may_admit(stops), "CALLER.STRICT.ADMISSION", request.id)
    caller = yield from open_step(caller)
    hits, local = yield from _look_up(caller, request)
    loaded = max(0, min(external, request.num_tokens - 1) - local)
    delayed = delayed and loaded > 0
    request = evolve(request, computed=local + loaded, status="loading" if delayed else "running")
    rest = request.num_tokens - request.computed
    chunk = 0 if delayed else legal.aligned_chunk(caller.config, caller.profile, request, min(new, rest) if new else rest)
    if not delayed and chunk <= 0:
        return caller, Event("refused", request.id, hits=hits)
    appended = yield from _allocate(caller, request, chunk, hits=hits, local=local, loaded=loaded, delayed=delayed)
    if appended is None:
        return caller, Event("refused", request.id, hits=hits)
    external_range = (local, local + loaded)
    planned = Planned(request.id, request.computed, chunk, 0, chunk == rest, True, external_range, appended, request.encoder)
    return _with_admitted(caller, request, planned), Event("loading" if delayed else "planned", request.id, planned, hits)


def _with_admitted(caller: Caller, request: Request, planned: Planned) -> Caller:
    return evolve(
        caller,
        requests={**caller.requests, request.id: request},
        used=caller.used | {request.id},
        open=(*(caller.open or ()), planned),
    )


def _look_up(caller: Caller, request: Request) -> Generator[Call, Any, tuple[tuple[Blocks, ...], int]]:
    """The hits of a request with nothing computed, and how many tokens they stand for: at most all but the last."""
    if not caller.config.caching:
        return (), 0
    hits: tuple[Blocks, ...] = yield Call("find_longest_cache_hit", (request.keys, request.num_tokens - 1))
    return hits, len(hits[0]) * caller.config.block_of(0)


def _allocate(
    caller: Caller, request: Request, new: int, *, hits: tuple[Blocks, ...], local: int, loaded: int, delayed: bool
) -> Generator[Call, Any, tuple[Blocks, ...] | None]:
    """One scheduling step of one request, nothing in between; None where the pool cannot serve it."""
    config, name = caller.config, request.id
    running = request.computed > 0 and not hits and not loaded
    main = request.computed + new
    lookahead = config.drafts if running and config.draft_model else 0
    slots = min(main + lookahead, config.max_model_len)
    encoder = 0 if running else request.encoder
    release = request.computed
    if running and caller.profile.release_basis == "settled":
        release = settled_tokens(request, caller.steps)
    yield Call("remove_skipped_blocks", (name, release))
    need = yield Call("get_num_blocks_to_allocate", (name, slots, hits, request.computed, main, encoder))
    free = yield Call("get_num_free_blocks", ())
    if need > free:
        return None
    if any(hits) or loaded:
        yield Call("allocate_new_computed_blocks", (name, hits, local, loaded))
    appended = yield Call("allocate_new_blocks", (name, slots, main, encoder))
    if config.caching and not delayed:
        yield Call("cache_blocks", (name, request.keys, min(main, request.num_tokens)))
    return appended  # type: ignore[no-any-return]


def grow(caller: Caller, name: str, *, new: int, drafts: int) -> Protocol:
    """Plan the next chunk or the next decode of a request that runs, or the first of one whose load has arrived."""
    require(legal.is_known(caller.requests, name), "CALLER.REQUEST.KNOWN", name)
    request = caller.requests[name]
    require(legal.has_status(request, "running", "loaded"), "CALLER.REQUEST.STATUS", name, "which is", request.status)
    require(legal.chunk_is_known(request, new, drafts), "CALLER.CHUNK", new, "tokens with", drafts, "drafts for", name)
    require(legal.drafts_fit(caller.config, drafts), "CALLER.DRAFTS", drafts, "drafts")
    require(legal.planned_once(caller.open or (), name), "CALLER.STEP.ONCE", name)
    require(legal.state_row_keeps_drafts(caller.config, request, drafts, caller.steps), "CALLER.STATE-ROW", name)
    require(legal.fits_length(caller.config, request.computed + new), "CALLER.LENGTH", request.computed + new, "tokens")
    require(legal.split_keeps_blocks(caller.config, caller.profile, request, new), "CALLER.ALIGN.SPLIT", new, "tokens")
    if caller.strict and request.status == "loaded":
        require(legal.may_admit(caller.open is not None and caller.preempted), "CALLER.STRICT.ADMISSION", name)
    elif caller.strict:
        require(legal.running_first(caller.open or ()), "CALLER.STRICT.RUNNING-FIRST", name)
    caller = yield from open_step(caller)
    appended = yield from _allocate(caller, request, new, hits=(), local=0, loaded=0, delayed=False)
    if appended is None:
        return evolve(caller, refused=True), Event("refused", name)
    samples = request.computed + new == request.num_tokens + request.placeholders + drafts
    loaded = request.status == "loaded"
    planned = Planned(name, request.computed, new, drafts, samples, loaded, (0, 0), appended, 0)
    requests = {**caller.requests, name: evolve(request, status="running")} if loaded else caller.requests
    return evolve(caller, requests=requests, open=(*(caller.open or ()), planned), refused=False), Event("planned", name, planned)


def execute(caller: Caller, outputs: dict[str, Sequence[Key]]) -> Generator[Call, Any, tuple[Caller, Step]]:
    """The oldest planned step was computed: judge its drafts, append its outputs, publish what is settled now.

    ``outputs`` has, for each request that sampled, the chain keys of its verified tokens: the accepted drafts and one more.
    """
    caller = close_step(caller)
    require(legal.has_planned(caller.steps), "CALLER.EXECUTE", "no planned step")
    step, steps = caller.steps[0], caller.steps[1:]
    requests = dict(caller.requests)
    for planned in step:
        request = requests.get(planned.request)
        if request is None or not planned.samples:
            continue
        chain = outputs.get(request.id, ())
        require(legal.outputs_fit(planned.drafts, len(chain)), "CALLER.OUTPUTS", len(chain), "outputs of", request.id)
        request = _judged(request, planned, chain, caller.config.tokens_per_block)
        requests[request.id] = request
        if caller.config.depth > 1 and request.status == "running" and caller.config.caching:
            yield Call("cache_blocks", (request.id, request.keys, request.computed - request.placeholders))
    return evolve(caller, requests=requests, steps=steps), step


def _judged(request: Request, planned: Planned, outputs: Sequence[Key], block: int) -> Request:
    """The request after its drafts were judged: rejected ones no longer count as computed."""
    rejected = planned.drafts - (len(outputs) - 1)
    running = request.status == "running"
    chain = extended(request.chain, outputs)
    keys = request.keys if len(chain) // block == len(request.keys) else keys_of(chain, block)
    return evolve(
        request,
        chain=chain,
        keys=keys,
        computed=request.computed - rejected if running else 0,
        placeholders=request.placeholders - 1 - planned.drafts if request.placeholders else 0,
        accepted=len(outputs) - 1,
        outputs=request.outputs + len(outputs),
    )


def arrive(caller: Caller, name: str) -> Protocol:
    """The external tokens of a loading request are there: publish them; it waits to be planned."""
    require(legal.is_known(caller.requests, name), "CALLER.REQUEST.KNOWN", name)
    request = caller.requests[name]
    require(legal.has_status(request, "loading"), "CALLER.REQUEST.STATUS", name, "which is", request.status)
    require(legal.nothing_in_flight(request, (*caller.steps, caller.open or ())), "CALLER.RESUME.JUDGED", name)
    yield Call("cache_blocks", (name, request.keys, request.computed))
    return evolve(caller, requests={**caller.requests, name: evolve(request, status="loaded")}), Event("arrived", name)


def preempt(caller: Caller, name: str, *, forced: bool = False) -> Protocol:
    """Take everything from a running request; it keeps its tokens and starts over later."""
    require(legal.is_known(caller.requests, name), "CALLER.REQUEST.KNOWN", name)
    request = caller.requests[name]
    require(legal.has_status(request, "running"), "CALLER.REQUEST.STATUS", name, "which is", request.status)
    require(legal.may_leave_plan(caller.open or (), name), "CALLER.PREEMPT.BEFORE-ADMISSION", name)
    require(forced or not caller.strict or legal.may_preempt(caller.refused), "CALLER.STRICT.PREEMPTION", name)
    caller = yield from _leave(caller, name)
    stopped = evolve(request, status="preempted", computed=0, accepted=0)
    return evolve(caller, requests={**caller.requests, name: stopped}, preempted=True), Event("gone", name)


def finish(caller: Caller, name: str) -> Protocol:
    """Free a request: finished, or aborted at any point."""
    require(legal.is_known(caller.requests, name), "CALLER.REQUEST.KNOWN", name)
    require(legal.may_leave_plan(caller.open or (), name), "CALLER.PREEMPT.BEFORE-ADMISSION", name)
    caller = yield from _leave(caller, name)
    remaining = {other: request for other, request in caller.requests.items() if other != name}
    return evolve(caller, requests=remaining), Event("gone", name)


def _leave(caller: Caller, name: str) -> Generator[Call, Any, Caller]:
    """Free the blocks of a request; if the open step planned it, it leaves the plan and its keys are withdrawn."""
    planned = caller.open is not None and not legal.planned_once(caller.open, name)
    if planned and caller.profile.preempted_in_plan == "withdrawn":
        yield Call("withdraw_blocks", (name,))
    yield Call("free", (name,))
    if not planned or caller.open is None:
        return caller
    return evolve(caller, open=tuple(other for other in caller.open if other.request != name))


def reset(caller: Caller, *, forced: bool) -> Protocol:
    """Reset the prefix cache; a forced reset preempts every running request first."""
    caller = close_step(caller)
    if forced:
        for name in [name for name, request in caller.requests.items() if request.status == "running"]:
            caller, _ = yield from preempt(caller, name, forced=True)
    done: bool = yield Call("reset_prefix_cache", ())
    return caller, Event("reset", done=done)


def probe(caller: Caller, chain: Sequence[Key]) -> Protocol:
    """Look up a prefix and abandon it; ask what would be skipped."""
    hits: tuple[Blocks, ...] = ()
    if caller.config.caching:
        keys = keys_of(chain, caller.config.tokens_per_block)
        hits = yield Call("find_longest_cache_hit", (keys, max(len(chain) - 1, 0)))
    yield Call("get_num_skipped_tokens", (len(chain),))
    return caller, Event("probed", hits=hits)


def share(caller: Caller, name: str) -> Protocol:
    """Ask how many leading blocks all requests share, as a planner asks about one that runs."""
    require(legal.is_known(caller.requests, name), "CALLER.REQUEST.KNOWN", name)
    request = caller.requests[name]
    require(legal.has_status(request, "running"), "CALLER.REQUEST.STATUS", name, "which is", request.status)
    yield Call("get_num_common_prefix_blocks", (name,))
    return caller, Event("probed", name)
