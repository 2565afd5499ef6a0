"""Small worlds: configurations with an alphabet of operations, small enough that all their states can be visited."""

from collections.abc import Iterator, Mapping
from itertools import product

from attrs import frozen

from kvwitness.model.caller import Caller
from kvwitness.model.kinds import Config, Kind, MambaMode
from kvwitness.model.managers import State
from kvwitness.model.request import Request
from kvwitness.properties.operations import (
    Arrive,
    Close,
    Execute,
    Free,
    Grow,
    Operation,
    Preempt,
    Probe,
    Raw,
    Reset,
    Resume,
    Share,
    Start,
)

Tokens = tuple[int, ...]


@frozen
class World:
    """A configuration and what may happen in it.

    Attributes:
        name: What reports call it.
        config: Sizes.
        prompts: The prompts that requests come with; they are looked up too.
        chunks: Tokens that an admission may compute at most; 0 for all.
        external: Leading tokens that a connector may supply, beside none.
        crowd: Requests at a time.
        strict: Whether the caller does only what a real planner does.
    """

    name: str
    config: Config
    prompts: tuple[Tokens, ...]
    chunks: tuple[int, ...] = (0,)
    external: tuple[int, ...] = ()
    crowd: int = 2
    strict: bool = True

    @property
    def label(self) -> str:
        """The label of its kind."""
        return self.config.kind.label


def operations(world: World, caller: Caller) -> Iterator[Operation]:
    """Everything that may be asked in a state; what the caller holds for illegal is left out by whoever asks."""
    if len(caller.requests) < world.crowd:
        yield from _starts(world, f"r{len(caller.used) + 1}")
    for name, request in caller.requests.items():
        yield from _of_request(world, name, request)
    if caller.open is not None or caller.steps:
        yield from (Execute(outputs) for outputs in _outputs(caller))
    if caller.open is not None and caller.config.depth > 1:
        yield Close()
    yield from (Probe(prompt) for prompt in world.prompts)
    yield from (Reset(), Reset(force=True))


def _starts(world: World, name: str) -> Iterator[Start]:
    """Admissions of a new request."""
    encoder = 2 * world.config.block_size + 1 if world.label == "cross" else 0
    for prompt, new, (external, delayed) in product(world.prompts, world.chunks, _loads(world)):
        yield Start(name, prompt, new, external, delayed, encoder)


def _loads(world: World) -> list[tuple[int, bool]]:
    return [(0, False), *product(world.external, (False, True))]


def _of_request(world: World, name: str, request: Request) -> Iterator[Operation]:
    """What may happen to one request: it makes room, goes on, waits, is asked about, ends."""
    yield Free(name)
    if request.status == "running":
        yield from (Share(name), Preempt(name))
    if request.status == "loading":
        yield Arrive(name)
    if not _has_room(world.config, request):
        return
    if request.status == "preempted":
        for new, (external, delayed) in product(world.chunks, _loads(world)):
            yield Resume(name, new, external, delayed)
    elif request.status != "loading":
        known = request.num_tokens + request.placeholders - request.computed
        yield from (Grow(name, new) for new in range(1, known + 1))
        yield from (Grow(name, known + drafts, drafts) for drafts in range(1, world.config.drafts + 1) if known > 0)


def _has_room(config: Config, request: Request) -> bool:
    """Whether a step and its outputs still fit the longest length."""
    return request.num_tokens + request.placeholders + config.drafts + 1 <= config.max_model_len


def _outputs(caller: Caller) -> Iterator[Mapping[str, Tokens]]:
    """The outcomes of the oldest step: any number of accepted drafts for every request that samples; all tokens are 0."""
    step = (caller.steps or (caller.open or (),))[0]
    sampling = [planned for planned in step if planned.samples and planned.request in caller.requests]
    for lengths in product(*(range(1, planned.drafts + 2) for planned in sampling)):
        yield {planned.request: (0,) * length for planned, length in zip(sampling, lengths, strict=True)}


def misuses(state: State) -> Iterator[Raw]:
    """Calls past the protocol that every port has to reject, with nothing changed: a stranger asks for more blocks than are
    free, and a running request comes with hits.
    """
    config, free = state.config, len(state.pool.free)
    tokens, align = (free + 1) * config.tokens_per_block, config.kind.label == "mamba-align"
    if not align:
        yield Raw("allocate_new_blocks", ("stranger", tokens, tokens, tokens))
    elif free < 1 + config.kind.drafts:
        yield Raw("allocate_new_blocks", ("stranger", 1, 1, 0))
    for name, held in state.tables[0].items():
        block = next((block for block in held.blocks if block), 0)
        if config.kind.caches and held.published is not None and block:
            yield Raw("allocate_new_computed_blocks", (name, ((block,),) * len(config.groups), 0, 0))


def _world(name: str, kind: Kind, prompts: tuple[Tokens, ...], **sizes: int | bool) -> World:
    """A world of four blocks beside the null block, with two requests; ``chunk`` tokens may be admitted first."""
    chunk, external = int(sizes.pop("first_chunk", 0)), int(sizes.pop("external", 0))
    facts: dict[str, int | bool] = {"blocks": 5, "block_size": 1, "max_model_len": 3, "caching": kind.caches, **sizes}
    config = Config(groups=(kind,), **facts)  # type: ignore[arg-type]
    return World(name, config, prompts, (0, chunk) if chunk else (0,), (external,) if external else ())


def _mamba(mode: MambaMode, drafts: int = 0) -> Kind:
    return Kind("mamba", mode=mode, drafts=drafts)


PAIR: tuple[Tokens, ...] = ((0, 0), (0, 1))
"""Two prompts with a common first token."""

STAIR: tuple[Tokens, ...] = ((0, 0), (0, 0, 0))
"""Two prompts of which one is the other's beginning, around the edge of a block of two."""

FULL = Kind("full")
WINDOW, CHUNK = Kind("sliding", window=2), Kind("chunked", chunk=2)

WORLDS: tuple[World, ...] = (
    _world("external tokens", FULL, PAIR, external=1),
    _world("a decode", FULL, PAIR, max_model_len=4),
    _world("blocks of two", FULL, STAIR, block_size=2, max_model_len=4),
    _world("a draft model", FULL, STAIR, drafts=1, draft_model=True, max_model_len=5),
    _world("planned ahead", FULL, PAIR, depth=2),
    _world("window 2", WINDOW, PAIR, max_model_len=4),
    _world("window 3, blocks of two", Kind("sliding", window=3), STAIR, block_size=2, max_model_len=5),
    _world("chunk 2", CHUNK, PAIR[:1], max_model_len=4),
    _world("chunk 3, external tokens", Kind("chunked", chunk=3), PAIR[:1], max_model_len=4, external=1),
    _world("two drafts", _mamba("none", 2), ((0,), (0, 0)), block_size=5, max_model_len=5, first_chunk=1, drafts=2),
    _world("a decode", _mamba("all"), PAIR[:1], max_model_len=4, first_chunk=1),
    _world("k = 0", _mamba("align"), PAIR),
    _world("k = 0, blocks of two", _mamba("align"), STAIR[1:], block_size=2, max_model_len=6),
    _world("k = 1, blocks of two", _mamba("align", 1), STAIR, block_size=2, max_model_len=6, drafts=1),
    _world("planned ahead", Kind("cross"), ((0,), (0, 0)), max_model_len=4, depth=2),
    _world("one sink block", Kind("sink", sink_tokens=1), PAIR, blocks=6, max_model_len=4),
)
"""At least one for every kind, in the order of reports."""

__all__ = ["WORLDS", "Tokens", "World", "misuses", "operations"]
