"""The operations that the protocol allows next, by what the caller knows, and which of them an integer stands for.

Each ``…able`` function names the requests that an operation is legal for; the function beside it chooses one such operation.
"""

from collections.abc import Sequence

from kvwitness.model import legal
from kvwitness.model.caller import Caller
from kvwitness.model.kinds import Config
from kvwitness.model.request import Request, in_flight_of
from kvwitness.properties.digits import Digits
from kvwitness.properties.mixes import edge_of
from kvwitness.properties.operations import Arrive, Execute, Free, Grow, Operation, Preempt, Resume, Start

CROWD = 5
"""As many requests at most exist at a time."""


def is_full(config: Config, request: Request) -> bool:
    """Whether the request has no room left for a step and its outputs."""
    return request.num_tokens + request.placeholders + config.drafts + 1 >= config.max_model_len


def may_plan(caller: Caller) -> bool:
    """Whether a step is being planned or may be begun."""
    return caller.open is not None or legal.depth_allows(caller.config, caller.steps)


def may_admit(caller: Caller) -> bool:
    """Whether the step being planned, or the next, may admit a request."""
    stops = caller.strict and caller.open is not None and caller.preempted
    return may_plan(caller) and not stops


def growable(caller: Caller) -> list[Request]:
    """The requests that may be planned further."""
    if not may_plan(caller):
        return []
    admits, open_step = may_admit(caller), caller.open or ()
    runs = not caller.strict or legal.running_first(open_step)
    return [
        request
        for request in caller.requests.values()
        if ((request.status == "running" and runs) or (request.status == "loaded" and admits))
        and request.num_tokens + request.placeholders > request.computed
        and not is_full(caller.config, request)
        and legal.planned_once(open_step, request.id)
    ]


def growth(caller: Caller, request: Request, digits: Digits) -> Grow:
    """All that is known of a request, a part of it, or a decode with drafts."""
    config, size = caller.config, edge_of(caller.config)
    known = request.num_tokens + request.placeholders - request.computed
    drafts = _drafts(caller, request, digits)
    if drafts:
        return Grow(request.id, known + drafts, drafts)
    part = min(known, digits.one_of((known, 1, size, size + 1, known, digits.between(1, known))))
    new = legal.aligned_chunk(config, caller.profile, request, part) or legal.aligned_chunk(config, caller.profile, request, known)
    return Grow(request.id, new)


def _drafts(caller: Caller, request: Request, digits: Digits) -> int:
    """How many drafts the request is planned with: none before it decodes, one or more where its state lies behind accepted ones."""
    config = caller.config
    if not config.drafts:
        return 0
    if config.has("mamba") and (request.accepted or any(planned.drafts for planned in in_flight_of(request.id, caller.steps))):
        return digits.between(1, config.drafts)
    decodes = request.num_tokens + request.placeholders > request.prefill
    return digits.below(config.drafts + 1) if decodes else 0


def resumable(caller: Caller) -> list[Request]:
    """The preempted requests that may be readmitted."""
    if not may_admit(caller):
        return []
    return [
        request
        for request in caller.requests.values()
        if request.status == "preempted" and not is_full(caller.config, request) and legal.nothing_in_flight(request, caller.steps)
    ]


def resumption(caller: Caller, request: Request, digits: Digits) -> Resume:
    """A readmission, sometimes of the first tokens only, sometimes with external tokens."""
    external, delayed = _external(caller.config, request.num_tokens, digits)
    return Resume(request.id, _first_chunk(request.num_tokens, digits), external, delayed)


def startable(caller: Caller) -> bool:
    """Whether a new request may be admitted."""
    return len(caller.requests) < CROWD and may_admit(caller)


def admission(caller: Caller, name: str, tokens: tuple[int, ...], digits: Digits) -> Start:
    """A new request with this prompt, sometimes of the first tokens only, sometimes with external tokens."""
    config = caller.config
    external, delayed = _external(config, len(tokens), digits)
    encoder = digits.between(1, 3 * config.block_size) if config.has("cross") else 0
    return Start(name, tokens, _first_chunk(len(tokens), digits), external, delayed, encoder)


def _first_chunk(num_tokens: int, digits: Digits) -> int:
    return digits.between(1, num_tokens) if digits.chance(3) else 0


def _external(config: Config, num_tokens: int, digits: Digits) -> tuple[int, bool]:
    """Tokens that a connector supplies, and whether it loads them asynchronously."""
    if not legal.external_is_supported(config, 1) or not digits.chance(4):
        return 0, False
    return digits.between(1, max(1, num_tokens - 1)), digits.chance(2)


def prompt(config: Config, known: Sequence[tuple[int, ...]], digits: Digits) -> tuple[int, ...]:
    """A new prompt, one seen before, or the beginning of one with something else behind it; lengths lie around block edges."""
    size = edge_of(config)
    blocks = (config.blocks - 2) // (len(config.groups) if config.is_hybrid else 1)
    longest = max(1, min(config.max_model_len - config.drafts - 4, size * max(1, blocks)))
    way = digits.below(4) if known else 0
    if way == 1:
        return digits.one_of(known)
    begin: tuple[int, ...] = ()
    if way > 1:
        begin = digits.one_of(known)
        begin = begin[: digits.between(1, len(begin))]
    edges = (size, size + 1, 2 * size, 2 * size + 1, 3 * size, max(1, size - 1), digits.between(1, longest))
    length, pattern = digits.one_of(edges), digits.below(16)
    return (begin + tuple(pattern >> place % 4 & 1 for place in range(length)))[:longest]


def arrivable(caller: Caller) -> list[Request]:
    """The loading requests whose external tokens may arrive."""
    steps = (*caller.steps, caller.open or ())
    return [request for request in caller.requests.values() if request.status == "loading" and legal.nothing_in_flight(request, steps)]


def preemptable(caller: Caller) -> list[Request]:
    """The requests that may be preempted."""
    if caller.strict and not caller.refused:
        return []
    return [request for request in _leaving(caller) if request.status == "running"]


def freeable(caller: Caller) -> list[Request]:
    """The requests to free: any where there is a crowd, else only those that have nothing left to do."""
    crowded = len(caller.requests) > CROWD - 2
    return [request for request in _leaving(caller) if crowded or request.outputs > 1 or is_full(caller.config, request)]


def interruptable(caller: Caller) -> list[Operation]:
    """What may happen to requests at any time: loads arrive, requests are preempted, requests end."""
    return [
        *(Arrive(request.id) for request in arrivable(caller)),
        *(Preempt(request.id) for request in preemptable(caller)),
        *(Free(request.id) for request in freeable(caller)),
    ]


def _leaving(caller: Caller) -> list[Request]:
    open_step = caller.open or ()
    return [request for request in caller.requests.values() if legal.may_leave_plan(open_step, request.id)]


def executable(caller: Caller) -> bool:
    """Whether a step is planned that has yet to be executed."""
    return bool(caller.steps or caller.open)


def execution(caller: Caller, digits: Digits) -> Execute:
    """The oldest step, with accepted drafts and one more token for each request that samples."""
    outputs = {}
    for planned in (caller.steps or (caller.open or (),))[0]:
        if planned.samples and planned.request in caller.requests:
            accepted = digits.below(planned.drafts + 1)
            outputs[planned.request] = tuple(digits.below(2) for _ in range(accepted + 1))
    return Execute(outputs)
