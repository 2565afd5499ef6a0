"""The alphabet: what an engine can do, as plain values that a trace file can hold.

Every driver (generator, state machine, replay, workload) speaks it; they differ only in where operations come from.
`Raw` alone goes past the protocol: no generator makes it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import field, frozen


def _tokens(tokens: Iterable[int]) -> tuple[int, ...]:
    return tuple(tokens)


def _outputs(outputs: Mapping[str, Iterable[int]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tokens) for name, tokens in outputs.items()}


@frozen
class Start:
    """Admit a new request into the step being planned.

    Attributes:
        id: Its name, never used again.
        tokens: Its prompt.
        new: Tokens to compute in this step at most; 0 for all.
        external: How many leading tokens a connector can supply.
        delayed: Whether the external tokens are loaded asynchronously.
        encoder: Encoder tokens (cross attention).
    """

    id: str
    tokens: tuple[int, ...] = field(converter=_tokens)
    new: int = 0
    external: int = 0
    delayed: bool = False
    encoder: int = 0


@frozen
class Resume:
    """Readmit a preempted request; fields as in `Start`."""

    id: str
    new: int = 0
    external: int = 0
    delayed: bool = False


@frozen
class Grow:
    """Plan ``new`` more tokens of a running request, the last ``drafts`` of them drafts."""

    id: str
    new: int = 1
    drafts: int = 0


@frozen
class Close:
    """End the step being planned without executing it, so that the next one is planned ahead."""


@frozen
class Execute:
    """Compute the oldest planned step and judge it.

    Attributes:
        outputs: For requests that sample, their verified tokens: the accepted drafts and one more. Default: one token 0.
    """

    outputs: dict[str, tuple[int, ...]] = field(factory=dict, converter=_outputs)


@frozen
class Arrive:
    """The asynchronous load of a request is complete."""

    id: str


@frozen
class Preempt:
    """Preempt a running request."""

    id: str


@frozen
class Free:
    """Free a request: finished, or aborted."""

    id: str


@frozen
class Probe:
    """Look up a prefix and abandon it."""

    tokens: tuple[int, ...] = field(converter=_tokens)


@frozen
class Share:
    """Ask how many leading blocks all requests share with this one."""

    id: str


@frozen
class Reset:
    """Reset the prefix cache; forced: preempt every running request first."""

    force: bool = False


Arguments = tuple[Any, ...]
"""What a raw call is made with: integers, names of requests, and nested tuples of block ids or keys."""

RAW_CALLS: dict[str, tuple[str, ...]] = {
    "find_longest_cache_hit": ("integers", "integer"),
    "remove_skipped_blocks": ("name", "integer"),
    "get_num_blocks_to_allocate": ("name", "integer", "hits", "integer", "integer", "integer"),
    "allocate_new_computed_blocks": ("name", "hits", "integer", "integer"),
    "allocate_new_blocks": ("name", "integer", "integer", "integer"),
    "cache_blocks": ("name", "integers", "integer"),
    "free": ("name",),
    "reset_prefix_cache": (),
    "get_new_blocks": ("integer",),
    "touch": ("integers",),
    "free_blocks": ("integers",),
}
"""The calls that may be made directly, with the form of each argument: those of the protocol that change anything, and the pool's own."""


def _arguments(arguments: Iterable[Any]) -> Arguments:
    return tuple(_arguments(each) if isinstance(each, list | tuple) else each for each in arguments)


def _fits(value: Any, form: str) -> bool:
    if form == "name":
        return isinstance(value, str)
    if form == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if form == "id":
        return _fits(value, "integer") and value >= 0
    inner = "id" if form == "integers" else "integers"
    return isinstance(value, tuple) and all(_fits(each, inner) for each in value)


@frozen
class Raw:
    """One call made directly on the port, past the protocol: a misuse that the port has to reject or to survive.

    Attributes:
        name: Which call: one of `RAW_CALLS`.
        arguments: What it is made with.
    """

    name: str
    arguments: Arguments = field(default=(), converter=_arguments)

    def __attrs_post_init__(self) -> None:
        forms = RAW_CALLS.get(self.name)
        if forms is None:
            raise ValueError(f"got the call {self.name!r}; allowed is {', '.join(RAW_CALLS)}; choose one of them")
        if len(self.arguments) != len(forms) or not all(map(_fits, self.arguments, forms)):
            allowed = ", ".join(forms) or "nothing"
            raise ValueError(f"got {self.name} with {list(self.arguments)}; allowed is [{allowed}]; give these arguments in order")


Operation = Start | Resume | Grow | Close | Execute | Arrive | Preempt | Free | Probe | Share | Reset | Raw

NAMES: dict[str, type[Operation]] = {
    "start": Start,
    "resume": Resume,
    "grow": Grow,
    "close": Close,
    "execute": Execute,
    "arrive": Arrive,
    "preempt": Preempt,
    "free": Free,
    "probe": Probe,
    "share": Share,
    "reset": Reset,
    "call": Raw,
}
