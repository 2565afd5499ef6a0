"""What is simpler than a run: fewer and smaller operations, and a smaller configuration.

Every candidate is strictly simpler than what it is made from, so shrinking ends.
Candidates come boldest first.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from attrs import evolve, fields_dict

from kvwitness.model.kinds import Config, ConfigError, Kind
from kvwitness.properties.operations import Close, Execute, Grow, Operation, Probe, Raw, Start
from kvwitness.properties.planning import Plan, PlannerSetting, PlannerSettings, Submit
from kvwitness.properties.replay import Setting

Operations = tuple[Operation, ...]

PROMPTED = Start | Probe | Submit
"""The operations that bring tokens of a prompt."""

MOST_FOR_PAIRS = 16
"""Operations up to which every pair is tried; above that only neighbours."""

MOST_BLOCKS_LESS = 4
"""Blocks that the pool is made smaller by, for one operation left out."""


def smaller(value: int, least: int = 0) -> Iterator[int]:
    """Smaller values, the smallest first, then nearer and nearer: 0, 4, 6, 7 for 8."""
    distance = value - least
    while distance > 0:
        yield value - distance
        distance //= 2


def pairs_dropped(operations: Operations) -> Iterator[Operations]:
    """The operations without two of them, such as a preemption and its resumption."""
    near = len(operations) if len(operations) <= MOST_FOR_PAIRS else 4
    for first, second in combinations(range(len(operations) - 1), 2):
        if second - first < near:
            yield operations[:first] + operations[first + 1 : second] + operations[second + 1 :]


def with_longer_prompt(operations: Operations) -> Iterator[Operations]:
    """The operations with one growth left out, alone or with an execution beside it, and its tokens put into the prompt."""
    for place, grow in enumerate(operations):
        if not isinstance(grow, Grow):
            continue
        longer = tuple(_lengthened(operation, grow) for operation in operations)
        executions = [number for number, operation in enumerate(operations) if isinstance(operation, Execute)]
        earlier = [number for number in executions if number < place][-1:]
        later = [number for number in executions if number > place][:1]
        for gone in ({place, *later}, {place, *earlier}, {place}):
            yield tuple(operation for number, operation in enumerate(longer) if number not in gone)


def _lengthened(operation: Operation, grow: Grow) -> Operation:
    if isinstance(operation, Start) and operation.id == grow.id:
        return evolve(operation, tokens=operation.tokens + (0,) * grow.new)
    return operation


def with_smaller_pool(operations: Operations, config: Config, place: int) -> Iterator[tuple[Config, Operations]]:
    """The operations without the one at the place or with a shorter prompt there, and the pool smaller by what it may have taken.

    So the pressure stays, where a request is refused or preempted for want of blocks.
    """
    operation, block = operations[place], config.tokens_per_block
    for blocks in range(MOST_BLOCKS_LESS, 0, -1):
        try:
            pool = evolve(config, blocks=max(2, config.blocks - blocks))
        except ConfigError:
            continue
        yield pool, operations[:place] + operations[place + 1 :]
        if isinstance(operation, Start | Submit) and len(operation.tokens) > blocks * block:
            shorter = evolve(operation, tokens=operation.tokens[: -blocks * block])
            yield pool, (*operations[:place], shorter, *operations[place + 1 :])


def with_simpler_tokens(operations: Operations) -> Iterator[Operations]:
    """The operations with one token replaced everywhere by a smaller one, and with all prompts cut alike."""
    used = sorted({token for operation in operations for tokens in _token_lists(operation) for token in tokens}, reverse=True)
    for token in used:
        for other in smaller(token):
            yield tuple(_retold(operation, token, other) for operation in operations)
    longest = max((len(operation.tokens) for operation in operations if isinstance(operation, PROMPTED)), default=0)
    for rest in smaller(longest, 1):
        yield tuple(_cut(operation, longest - rest) for operation in operations)


def _token_lists(operation: Operation) -> list[tuple[int, ...]]:
    if isinstance(operation, PROMPTED):
        return [operation.tokens]
    return list(operation.outputs.values()) if isinstance(operation, Execute) else []


def _retold(operation: Operation, token: int, other: int) -> Operation:
    def told(tokens: Sequence[int]) -> tuple[int, ...]:
        return tuple(other if each == token else each for each in tokens)

    if isinstance(operation, PROMPTED):
        return evolve(operation, tokens=told(operation.tokens))
    if isinstance(operation, Execute) and operation.outputs:
        return evolve(operation, outputs={name: told(tokens) for name, tokens in operation.outputs.items()})
    return operation


def _cut(operation: Operation, tokens: int) -> Operation:
    """The operation with that many leading tokens of its prompt left out, but for the last."""
    if isinstance(operation, PROMPTED) and operation.tokens:
        return evolve(operation, tokens=operation.tokens[min(tokens, len(operation.tokens) - 1) :])
    return operation


def with_simpler_operation(operations: Operations, place: int) -> Iterator[Operations]:
    """The operations with the one at the place simplified, and what hangs on it adapted."""
    operation = operations[place]
    for simpler in simpler_operations(operation):
        changed = (*operations[:place], simpler, *operations[place + 1 :])
        yield changed
        if isinstance(operation, Start) and isinstance(simpler, Start) and len(simpler.tokens) < len(operation.tokens):
            yield from _with_shorter_chunk(changed, place, simpler.id, len(operation.tokens) - len(simpler.tokens))


def _with_shorter_chunk(operations: Operations, place: int, name: str, tokens: int) -> Iterator[Operations]:
    """The operations with one later chunk of the request shorter by that many tokens, as its prompt is."""
    for later in range(place + 1, len(operations)):
        grow = operations[later]
        if isinstance(grow, Grow) and grow.id == name and not grow.drafts and grow.new > tokens:
            yield (*operations[:later], evolve(grow, new=grow.new - tokens), *operations[later + 1 :])


def simpler_operations(operation: Any) -> Iterator[Operation]:
    """One operation with one thing about it smaller or gone; a raw call is as it is."""
    if isinstance(operation, Raw):
        return
    for name in fields_dict(type(operation)):
        for value in _simpler_values(operation, name, getattr(operation, name)):
            yield evolve(operation, **{name: value})
    if isinstance(operation, Grow):
        for drafts in smaller(operation.drafts):
            yield evolve(operation, drafts=drafts, new=operation.new - operation.drafts + drafts)
    if isinstance(operation, Execute):
        yield from (Execute(outputs) for outputs in _simpler_outputs(operation.outputs))
    if isinstance(operation, Plan):
        yield from (Plan(drafts) for drafts in _fewer_drafts(operation.drafts))  # type: ignore[misc]


def _simpler_values(operation: Operation, name: str, value: Any) -> Iterator[Any]:
    """Simpler values of one field of an operation."""
    if isinstance(value, bool):
        yield from [False] if value else []
    elif isinstance(value, int):
        least = name in ("encoder", "most") or (name == "new" and isinstance(operation, Grow))
        yield from smaller(value, int(least))
    elif isinstance(value, tuple):
        yield from simpler_tokens(value)


def simpler_tokens(tokens: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shorter tokens, cut behind; then as many with a zero more."""
    yield from (tokens[:length] for length in smaller(len(tokens)))
    for place, token in enumerate(tokens):
        if token:
            yield (*tokens[:place], 0, *tokens[place + 1 :])


def _fewer_drafts(drafts: dict[str, int]) -> Iterator[dict[str, int]]:
    """Drafts for fewer requests, then fewer of them."""
    if drafts:
        yield {}
    for name, count in drafts.items():
        yield {other: kept for other, kept in drafts.items() if other != name}
        yield from ({**drafts, name: fewer} for fewer in smaller(count, 1))


def _simpler_outputs(outputs: dict[str, tuple[int, ...]]) -> Iterator[dict[str, tuple[int, ...]]]:
    if outputs:
        yield {}
    for name, tokens in outputs.items():
        yield {other: kept for other, kept in outputs.items() if other != name}
        yield from ({**outputs, name: simpler} for simpler in simpler_tokens(tokens) if simpler)


def synchronous(operations: Operations) -> Operations:
    """The operations with each step executed as soon as it is planned; the executions left over are skipped when it runs."""
    return tuple(Execute() if isinstance(operation, Close) else operation for operation in operations)


def plainer_settings(setting: Setting) -> Iterator[Setting]:
    """The setting with one thing about its planner as it usually is, if it has one."""
    if not isinstance(setting, PlannerSetting):
        return
    usual, planner = PlannerSettings(), setting.planner
    for name in fields_dict(PlannerSettings):
        if getattr(planner, name) != getattr(usual, name):
            yield evolve(setting, planner=evolve(planner, **{name: getattr(usual, name)}))
    for budget in smaller(planner.budget, 1):
        yield evolve(setting, planner=evolve(planner, budget=budget))


KNOBS = ("groups", "draft_model", "depth", "dcp", "pcp", "alignment", "drafts", "blocks", "block_size", "window", "chunk", "sink_tokens")
"""What about a configuration is made smaller, in this order; how long a request may be matters least and comes last of all."""


def simpler_configs(config: Config, knob: str) -> Iterator[Config]:
    """Configurations that can be had with one thing about them smaller."""
    for changes in _changes(config, knob):
        try:
            yield evolve(config, **changes)
        except ConfigError:
            continue


def _changes(config: Config, knob: str) -> Iterator[dict[str, Any]]:
    if knob == "groups":
        yield from [{"groups": groups} for groups in _fewer_groups(config)]
    elif knob == "draft_model":
        yield from [{"draft_model": False}] if config.draft_model else []
    elif knob in ("window", "chunk", "sink_tokens"):
        yield from _regrouped(config, knob, lambda kind: _smaller_sizes(getattr(kind, knob), 1))
    elif knob == "drafts":
        for value in smaller(max(config.drafts, *[kind.drafts for kind in config.groups])):
            groups = tuple(evolve(kind, drafts=min(value, kind.drafts)) for kind in config.groups)
            yield {"drafts": min(value, config.drafts), "groups": groups}
    else:
        sizes = _smaller_sizes(getattr(config, knob), _LEAST.get(knob, 1))
        yield from ({knob: value} for value in sizes)
        if knob == "block_size":
            yield from ({"block_size": size, **_sizes_with_it(config, size)} for size in sizes)
            yield from _regrouped(config, "block_size", lambda kind: range(0, kind.block_size, config.block_size))


def _smaller_sizes(size: int, least: int) -> list[int]:
    """Smaller sizes; a half is among them, since what has to be a multiple of another size often stays one."""
    return sorted({*smaller(size, least), *([size // 2] if least <= size // 2 < size else [])})


_LEAST = {"blocks": 2, "alignment": 0}


def _fewer_groups(config: Config) -> list[tuple[Kind, ...]]:
    """The groups with one left out, each in turn where they are mixed."""
    groups = config.groups
    if not config.is_hybrid:
        return [groups[:1]] if len(groups) > 1 else []
    return [groups[:number] + groups[number + 1 :] for number in range(len(groups))]


def _regrouped(config: Config, name: str, values_of: Callable[[Kind], Iterable[int]]) -> Iterator[dict[str, Any]]:
    """The groups with one of their sizes changed: all together where they are alike, else one at a time."""
    groups = config.groups
    if not config.is_hybrid:
        yield from ({"groups": tuple(_resized(kind, {name: value}) for kind in groups)} for value in values_of(config.kind))
        return
    for number, kind in enumerate(groups):
        for value in values_of(kind):
            yield {"groups": (*groups[:number], _resized(kind, {name: value}), *groups[number + 1 :])}


def _resized(kind: Kind, sizes: dict[str, Any]) -> Kind:
    return evolve(kind, **sizes)


def _sizes_with_it(config: Config, size: int) -> dict[str, Any]:
    """The sizes that are measured in blocks, as many blocks of another size."""

    def scaled(tokens: int) -> int:
        return tokens * size // config.block_size

    names = ("window", "chunk", "sink_tokens", "block_size")
    groups = tuple(_resized(kind, {name: scaled(getattr(kind, name)) for name in names}) for kind in config.groups)
    whole = [kind.block_size or size for kind in groups if kind.label == "mamba-none"]
    fits = {"max_model_len": min(config.max_model_len, *whole)} if whole else {}
    return {"groups": groups, "alignment": scaled(config.alignment), **fits}
