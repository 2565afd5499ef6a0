"""The options that commands have in common, each group handed on as one value."""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import frozen

from kvwitness.checking import available_jobs
from kvwitness.properties.events import NAME as EVENTS
from kvwitness.properties.events import PLAIN
from kvwitness.properties.mixes import MIXES
from kvwitness.properties.situations import LABELS

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Command = TypeVar("Command", bound=Callable[..., Any])


class Duration(click.ParamType[float]):
    """A time with its unit: ``60s``, ``10m``, ``1h``."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The time in seconds."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", str(value))
        if match is None or float(match[1]) <= 0:
            self.fail(f"got {value!r}; allowed is a positive number with s, m or h; write 60s, 10m or 1h", param, ctx)
        return float(match[1]) * UNITS[match[2]]


def kinds_called(kind: str | None, *, groups: bool = False) -> tuple[str, ...]:
    """The labels that a kind's name stands for: ``mamba`` for all its modes, ``full+sliding`` for that mix; all mixes for ``groups``.

    Raises:
        click.BadParameter: There is no such kind or mix.
    """
    if kind is not None and "+" in kind:
        return (_mix_called(kind),)
    if groups:
        named = None if kind is None else kinds_called(kind)
        return tuple(mix for mix in MIXES if named is None or set(named) & set(mix.split("+")))
    if kind is None:
        return LABELS
    labels = tuple(label for label in LABELS if kind in (label, label.split("-")[0]))
    if not labels:
        raise click.BadParameter(f"got {kind!r}; allowed is {', '.join(LABELS)}, or mamba for its modes", param_hint="--kind")
    return labels


def _mix_called(kind: str) -> str:
    unknown = [label for label in kind.split("+") if label not in LABELS]
    if unknown:
        told = f"got {unknown[0]!r} in {kind!r}; allowed is {', '.join(LABELS)}, joined by +"
        raise click.BadParameter(told, param_hint="--kind")
    return kind


@frozen
class Effort:
    """How long a campaign goes on.

    Attributes:
        seed: The same seed makes the same runs.
        seconds: How long all of it takes; 0 where steps are counted.
        steps: Steps for each kind; 0 where the time is limited.
        jobs: Processes.
    """

    seed: int
    seconds: float
    steps: int
    jobs: int


@frozen
class Output:
    """Where the results go.

    Attributes:
        out: Folder for new findings.
        as_json: Whether one JSON object is printed.
        junit: A JUnit file to write, or None.
    """

    out: Path
    as_json: bool
    junit: Path | None


def kind_option(command: Command) -> Command:
    """The option ``--kind``."""
    told = f"One of {', '.join(LABELS)}, or mamba for its three modes; all if left out."
    return click.option("--kind", metavar="KIND", help=told)(command)


def event_options(command: Command) -> Command:
    """The options ``--events`` and ``--plain-events``, handed on as the names of those who listen."""

    @functools.wraps(command)
    def bundled(**given: Any) -> Any:
        asked = {EVENTS: given.pop("events"), PLAIN: given.pop("plain_events")}
        return command(hearing=tuple(name for name, wanted in asked.items() if wanted), **given)

    counting = "Judge the KV events too: the index built of them is what look-ups find."
    plain = "Judge KV events as a consumer takes them that counts no copies, reads tokens key by key and goes by groups."
    with_plain = click.option("--plain-events", is_flag=True, help=plain)(bundled)
    return click.option("--events", is_flag=True, help=counting)(with_plain)  # type: ignore[return-value]


def campaign_options(default_seconds: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of a command that runs campaigns, handed on as `effort` and `output`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def bundled(**given: Any) -> Any:
            steps = given.pop("steps") or 0
            seconds = given.pop("seconds") or default_seconds
            effort = Effort(given.pop("seed"), 0.0 if steps else seconds, steps, given.pop("jobs") or available_jobs())
            output = Output(given.pop("out"), given.pop("as_json"), given.pop("junit"))
            return command(effort=effort, output=output, **given)

        return functools.reduce(lambda inner, option: option(inner), reversed(_options(default_seconds)), bundled)

    return decorate


def _options(default_seconds: float) -> list[Callable[[Any], Any]]:
    file, failures = click.Path(path_type=Path), Path("kvwitness-failures")
    return [
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed makes the same runs."),
        click.option("--for", "seconds", type=Duration(), help=f"How long; {default_seconds:.0f}s if left out."),
        click.option("--steps", type=click.IntRange(min=1), help="Steps for each kind, instead of a time."),
        click.option("--jobs", type=click.IntRange(min=1), help="Processes; one a core if left out."),
        click.option("--out", type=file, default=failures, show_default=True, help="Folder for new findings."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option("--junit", type=file, help="Write a JUnit file too."),
    ]


__all__ = ["Duration", "Effort", "Output", "campaign_options", "event_options", "kind_option", "kinds_called"]
