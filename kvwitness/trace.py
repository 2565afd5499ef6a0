"""The trace file: a run that anybody can replay, with the clause that it is expected to break.

Counterexamples, failures, divergences, vectors and logs are all written as one.
A file is a JSON object, one step a line, and reads like this::

    {
     "kvwitness": 1,
     "profile": "vllm-0.16",
     "config": {"blocks": 4, "block_size": 2, "groups": [{"kind": "mamba", "mode": "align", "drafts": 0}]},
     "steps": [
      {"op": "start", "id": "A", "tokens": [0, 0]},
      {"op": "execute", "expect": {"violates": "MAMBA.HIT.COMPUTED", "because": "…"}}
     ]
    }

The schema ``schemas/trace-1.json`` says the same for other languages.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import NOTHING, field, fields, frozen

from kvwitness import reading
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import KIND_NAMES, MAMBA_MODES, Config, ConfigError, Kind
from kvwitness.model.profile import PROFILES
from kvwitness.properties.operations import NAMES, Arguments, Operation
from kvwitness.properties.planning import PLANNER_NAMES, POLICIES, PlannerSetting, PlannerSettings, Policy
from kvwitness.properties.replay import Setting
from kvwitness.properties.violation import Violation
from kvwitness.reading import Place, TraceError

VERSION = 1

ORIGINS = ("proof", "property", "port", "vector", "log")
"""What a trace may come from."""

SIZES: dict[str, tuple[str, ...]] = {
    "full": (),
    "sliding": ("window",),
    "chunked": ("chunk",),
    "mamba": ("mode", "drafts"),
    "cross": (),
    "sink": ("sink_tokens",),
}
"""The fields of a group that matter to its kind."""

OWN_BLOCK = "block_size"
"""The field of a group whose blocks are larger than the configuration's; any kind may have it."""


@frozen
class Expectation:
    """What a step is expected to break.

    Attributes:
        violates: The clause.
        because: The reason in words.
        oracle: Which oracle saw it.
    """

    violates: str
    because: str = field(default="", converter=reading.one_line)
    oracle: str = ""


@frozen
class Origin:
    """Where a trace comes from.

    Attributes:
        source: One of `ORIGINS`; the file's field is ``from``.
        clause: The clause that was looked into.
        seed: What the generator was seeded with.
        port: The port that it was seen on.
    """

    source: str
    clause: str = ""
    seed: int | None = None
    port: str = field(default="", converter=reading.one_line)


@frozen
class Step:
    """An operation, and what it is expected to break."""

    operation: Operation
    expect: Expectation | None = None


@frozen
class Trace:
    """A run as a file holds it.

    Attributes:
        profile: Name of the rules in force.
        config: Sizes.
        steps: What is done.
        strict: Whether the caller does only what a real planner does.
        origin: Where it comes from, if that is known.
        planner: How the planner is set, if the steps are what happens to a real one.
    """

    profile: str
    config: Config
    steps: tuple[Step, ...]
    strict: bool = True
    origin: Origin | None = None
    planner: PlannerSettings | None = None

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations of the steps."""
        return tuple(step.operation for step in self.steps)

    @property
    def expected(self) -> tuple[int, Expectation] | None:
        """The step that is expected to break a clause, counted from 1, with the expectation."""
        return next(((number, step.expect) for number, step in enumerate(self.steps, start=1) if step.expect), None)


def failure_trace(setting: Setting, operations: Sequence[Operation], violation: Violation, origin: Origin) -> Trace:
    """The trace of a run whose last operation breaks a clause."""
    *before, last = operations
    expect = Expectation(violation.clause, violation.because, violation.oracle)
    steps = (*map(Step, before), Step(last, expect))
    planner = setting.planner if isinstance(setting, PlannerSetting) else None
    return Trace(setting.profile.name, setting.config, steps, setting.strict, origin, planner)


def to_text(trace: Trace) -> str:
    """The file's text; equal traces have equal texts."""
    members: dict[str, Any] = {"kvwitness": VERSION, "profile": trace.profile, "config": _written_config(trace.config)}
    if trace.planner is not None:
        members["planner"] = _written(trace.planner)
    if not trace.strict:
        members["strict"] = False
    if trace.origin is not None:
        members["origin"] = {"from" if key == "source" else key: value for key, value in _written(trace.origin).items()}
    lines = [f" {_json(key)}: {_json(value)}," for key, value in members.items()]
    steps = ",\n".join(f"  {_json(_written_step(step))}" for step in trace.steps)
    return "\n".join(["{", *lines, f' "steps": [\n{steps}\n ]' if steps else ' "steps": []', "}", ""])


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _written(value: Any) -> dict[str, Any]:
    """The fields of a value in their order, those at their default left out."""
    members = {}
    for attribute in fields(type(value)):
        member = getattr(value, attribute.name)
        default = attribute.default if isinstance(attribute.default, int | str | None) else NOTHING
        if member not in (default, {}):
            members[attribute.name] = dict(sorted(member.items())) if isinstance(member, dict) else member
    return members


def _written_config(config: Config) -> dict[str, Any]:
    groups = [{key: getattr(kind, key) for key in ("kind", *SIZES[kind.kind])} for kind in config.groups]
    for members, kind in zip(groups, config.groups, strict=True):
        if kind.block_size:
            members[OWN_BLOCK] = kind.block_size
    return {**_written(config), "groups": groups}


def _written_step(step: Step) -> dict[str, Any]:
    named = {kind: word for word, kind in (NAMES | PLANNER_NAMES).items()}
    members = {"op": named[type(step.operation)], **_written(step.operation)}
    return members if step.expect is None else {**members, "expect": _written(step.expect)}


def write(trace: Trace, path: Path) -> None:
    """Write a trace file."""
    path.write_text(to_text(trace), encoding="utf-8", newline="\n")


def read(path: Path) -> Trace:
    """Read a trace file.

    Raises:
        TraceError: The file is no trace that can be replayed.
    """
    return _trace(reading.load(path), Place(str(path)))


def from_text(content: str, file: str = "trace") -> Trace:
    """The trace that a text holds; errors name ``file``."""
    place = Place(file)
    return _trace(reading.parse(content, place), place)


Reader = Callable[[Any, Place], Any]

OPERATION_FIELDS: dict[Any, Reader] = {
    int: reading.count,
    str: reading.name,
    bool: reading.flag,
    tuple[int, ...]: reading.counts,
    dict[str, tuple[int, ...]]: reading.counts_by_name,
    dict[str, int]: reading.count_by_name,
    Arguments: reading.plain_values,
}


def _fields_of(kind: Any, readers: dict[Any, Reader]) -> tuple[list[str], dict[str, Reader]]:
    """The fields of a class without a default, and the reader of each field by its type."""
    required = [attribute.name for attribute in fields(kind) if attribute.default is NOTHING]
    return required, {attribute.name: readers[attribute.type] for attribute in fields(kind)}


def _read_members(value: object, place: Place, required: Sequence[str], readers: dict[str, Reader]) -> dict[str, Any]:
    """An object's fields, each read by its reader."""
    members = reading.members_of(value, place, required, [name for name in readers if name not in required])
    return {name: readers[name](member, place.at(name)) for name, member in members.items()}


def _trace(value: object, place: Place) -> Trace:
    if isinstance(value, dict) and value.get("kvwitness", VERSION) != VERSION:
        got = reading.shown(value["kvwitness"])
        place.at("kvwitness").refuse(f"version {got}", f"{VERSION}", "use a kvwitness that reads that version")
    words = PLANNER_NAMES if isinstance(value, dict) and "planner" in value else NAMES
    readers: dict[str, Reader] = {
        "kvwitness": reading.integer,
        "profile": reading.choice(tuple(PROFILES)),
        "config": _config,
        "planner": _planner,
        "steps": partial(_steps, words),
        "strict": reading.flag,
        "origin": _origin,
    }
    members = _read_members(value, place, ("kvwitness", "profile", "config", "steps"), readers)
    del members["kvwitness"]
    return Trace(**members)


def _config(value: object, place: Place) -> Config:
    required, readers = _fields_of(Config, {int: reading.count, bool: reading.flag, tuple[Kind, ...]: _groups})
    members = _read_members(value, place, required, readers)
    try:
        return Config(**members)
    except ConfigError as error:
        raise TraceError(reading.one_line(f"{place.file}: {place.path}: {error}")) from error


def _planner(value: object, place: Place) -> PlannerSettings:
    required, readers = _fields_of(PlannerSettings, {int: reading.count, bool: reading.flag, Policy: reading.choice(POLICIES)})
    members = _read_members(value, place, required, readers)
    try:
        return PlannerSettings(**members)
    except ConfigError as error:
        raise TraceError(reading.one_line(f"{place.file}: {place.path}: {error}")) from error


def _groups(value: object, place: Place) -> tuple[Kind, ...]:
    return tuple(_group(item, there) for item, there in reading.items_of(value, place))


def _group(value: object, place: Place) -> Kind:
    members = value if isinstance(value, dict) else {}
    kind = reading.choice(KIND_NAMES)(members["kind"], place.at("kind")) if "kind" in members else "full"
    readers: dict[str, Reader] = {"kind": reading.text} | dict.fromkeys((*SIZES[kind], OWN_BLOCK), reading.count)
    if "mode" in readers:
        readers["mode"] = reading.choice(MAMBA_MODES)
    return Kind(**_read_members(value, place, [name for name in readers if name not in ("drafts", OWN_BLOCK)], readers))


def _origin(value: object, place: Place) -> Origin:
    readers: dict[str, Reader] = {"from": reading.choice(ORIGINS), "clause": _clause, "seed": reading.integer, "port": reading.text}
    members = _read_members(value, place, ("from",), readers)
    return Origin(source=members.pop("from"), **members)


def _clause(value: object, place: Place) -> str:
    """A clause of the registry."""
    if reading.text(value, place) not in REGISTRY:
        subject = reading.text(value, place).partition(".")[0]
        near = [name for name in REGISTRY if name.startswith(f"{subject}.")] or sorted({name.partition(".")[0] for name in REGISTRY})
        place.refuse(f"the unknown clause {reading.shown(value)}", ", ".join(near), "correct the id")
    return reading.text(value, place)


def _steps(words: Mapping[str, Any], value: object, place: Place) -> tuple[Step, ...]:
    steps = tuple(_step(words, item, there) for item, there in reading.items_of(value, place))
    expecting = [number for number, step in enumerate(steps) if step.expect]
    if len(expecting) > 1:
        place.at(expecting[1]).at("expect").refuse("a second expectation", "one in a file", "keep the one on the step that breaks")
    return steps


def _step(words: Mapping[str, Any], value: object, place: Place) -> Step:
    members = dict(value) if isinstance(value, dict) else {}
    if "op" not in members:
        reading.members_of(value, place, ("op",), tuple(members))
    kind = words[reading.choice(tuple(words))(members.pop("op"), place.at("op"))]
    expect = _expectation(members.pop("expect"), place.at("expect")) if "expect" in members else None
    required, readers = _fields_of(kind, OPERATION_FIELDS)
    read = _read_members(members, place, required, readers)
    try:
        return Step(kind(**read), expect)
    except ValueError as error:
        raise TraceError(reading.one_line(f"{place.file}: {place.path}: {error}")) from error


def _expectation(value: object, place: Place) -> Expectation:
    readers: dict[str, Reader] = {"violates": _clause, "because": reading.text, "oracle": reading.name}
    return Expectation(**_read_members(value, place, ("violates",), readers))


__all__ = [
    "ORIGINS",
    "SIZES",
    "VERSION",
    "Expectation",
    "Origin",
    "Step",
    "Trace",
    "TraceError",
    "failure_trace",
    "from_text",
    "read",
    "to_text",
    "write",
]
