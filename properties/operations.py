"""The alphabet: what an engine can do, as plain values that a trace file can hold.

Every driver (generator, state machine, replay, workload) speaks it; they differ only in where operations come from.
"""

from collections.abc import Iterable, Mapping

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


Operation = Start | Resume | Grow | Close | Execute | Arrive | Preempt | Free | Probe | Share | Reset

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
}
