"""For every axis of the profiles, the smallest runs that tell its values apart, as trace files.

Run as ``python -m kvwitness.report.axis_traces`` to look for those that ``docs/traces`` does not have yet.

An axis of the managers is told apart by a port that has the earlier value under a profile that has the later one.
An axis of the caller decides which calls are made, so its earlier value is told by a clause that the worker sees broken.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from attrs import evolve, frozen

from kvwitness.campaign import one_run, setting_of
from kvwitness.impl.supported import LEFT_TO_THE_CALLER
from kvwitness.model.profile import AXES, RELEASES, SOUND, Profile, with_axis_of
from kvwitness.ports.impl import ImplPort
from kvwitness.properties.operations import Operation
from kvwitness.properties.port import Port
from kvwitness.properties.replay import MakePort, Setting, replay
from kvwitness.properties.situations import LABELS, reason_against
from kvwitness.shrink import Shrunk, shrink
from kvwitness.trace import Origin, Trace, failure_trace, read, write

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "traces"

CALLERS_AXES = tuple(axis for axis in LEFT_TO_THE_CALLER if axis != "adoption")
"""The axes that are decided by which calls are made, and not by how they are answered."""

NOT_TOLD = {
    "external_state": "no protocol of ours gives Mamba external tokens; raw calls show it, `docs/errata/external-state-uncounted.json`",
    "mamba_caching": "a configuration that one value has and the other refuses",
    "partial_hits": "one value only, until groups may have keys finer than their blocks",
    "publish_past_hashed": "no legal call publishes what is not hashed",
}
"""The axes without a trace, and why."""

MIXES_OF = {
    "hybrid_hit": ("full+full", "full+sliding", "full+mamba-align", "sliding+mamba-align"),
    "hybrid_trim": ("full+full+sliding",),
    "hybrid_publish": ("full+full", "full+sliding"),
}
"""The axes of mixed groups, with the mixes that they are looked for in."""

MOST_RUNS = (100, 400, 4000)
"""Runs of each kind after which it is given up; a kind that did not show is tried longer only if none did."""


@frozen
class Pair:
    """Two values of an axis of which one follows the other.

    Attributes:
        axis: The axis.
        earlier: The last profile with the earlier value.
        later: The first profile with the later value.
    """

    axis: str
    earlier: Profile
    later: Profile

    @property
    def values(self) -> tuple[object, object]:
        """The earlier value and the later one."""
        return getattr(self.earlier, self.axis), getattr(self.later, self.axis)

    @property
    def is_the_callers(self) -> bool:
        """Whether the values differ in which calls are made."""
        return self.axis in CALLERS_AXES

    @property
    def file(self) -> str:
        """The name of the trace's file."""
        before, after = (str(value).lower().replace("_", "-") for value in self.values)
        return f"axis-{self.axis.replace('_', '-')}-{before}-{after}.json"

    def ports(self) -> tuple[MakePort, MakePort]:
        """What has the earlier value and breaks a clause, and what has the later one and breaks none."""
        if self.is_the_callers:
            return ImplPort, ImplPort
        before = with_axis_of(self.later, self.axis, self.earlier)
        return lambda _profile: ImplPort(before), ImplPort

    def settings(self, setting: Setting) -> tuple[Setting, Setting]:
        """The setting in which the earlier value breaks a clause, and the one in which the later breaks none."""
        if not self.is_the_callers:
            return setting, setting
        return setting, evolve(setting, profile=with_axis_of(setting.profile, self.axis, self.later))

    @property
    def followed(self) -> Profile:
        """The profile of the trace."""
        return self.earlier if self.is_the_callers else self.later

    @property
    def oracles(self) -> tuple[str, ...]:
        """Who tells the values apart; KV events take somebody who listens."""
        if self.is_the_callers:
            return ("accounting", "contents")
        return ("events", "refinement") if self.axis.startswith("event_") else ("refinement",)


def pairs() -> tuple[Pair, ...]:
    """Every step from one value of an axis to another, along the releases and from the newest to `sound`."""
    line = (*RELEASES, SOUND)
    return tuple(
        Pair(axis, before, after)
        for axis in AXES
        if axis not in NOT_TOLD
        for before, after in pairwise(line)
        if getattr(before, axis) != getattr(after, axis)
    )


def tells_apart(pair: Pair, setting: Setting, operations: tuple[Operation, ...], clause: str) -> bool:
    """Whether a run breaks the clause with the earlier value and no clause with the later one."""
    ports, settings = pair.ports(), pair.settings(setting)
    broken = [replay(port, each, operations, skip_illegal=True).violation for port, each in zip(ports, settings, strict=True)]
    return broken[1] is None and broken[0] is not None and broken[0].clause == clause


def search(pair: Pair) -> Trace | None:
    """The smallest run that was found; the same every time."""
    labels = [label for label in _kinds_of(pair.axis) if not reason_against(pair.followed, label)]
    found: list[Shrunk] = []
    for most in MOST_RUNS:
        found = found or [small for label in labels for small in _of_kind(pair, label, most)]
    if not found:
        return None
    small = min(found, key=lambda shrunk: (len(shrunk.operations), shrunk.setting.config.blocks))
    origin = Origin("property", clause=small.violation.clause, port=f"impl with {pair.axis} {pair.values[0]}")
    return failure_trace(small.setting, small.operations, small.violation, origin)


def _of_kind(pair: Pair, label: str, most_runs: int) -> Iterator[Shrunk]:
    """The first run of a kind that tells the values apart, made small."""
    make_port, _ = pair.ports()
    port: Port = make_port(pair.followed)
    for number in range(most_runs):
        setting, rng = setting_of(label, pair.followed, 0, number, pair.oracles)
        run, violation = one_run(port, setting, rng, Counter())
        if violation is None:
            continue
        exact = replay(make_port, setting, run.operations).violation
        if exact is None or not tells_apart(pair, setting, tuple(run.operations), exact.clause):
            continue
        clause = exact.clause
        yield shrink(
            make_port,
            setting,
            run.operations,
            clause,
            also=lambda smaller, operations: tells_apart(pair, smaller, tuple(operations), clause),  # noqa: B023 - called before it changes
        )
        return


def _kinds_of(axis: str) -> tuple[str, ...]:
    """The kinds or mixes that an axis can show in: those that its name begins with, else all kinds."""
    kind = axis.split("_", maxsplit=1)[0]
    if axis in MIXES_OF:
        return MIXES_OF[axis]
    if axis in ("resumed_split", "tail_chunks", "estimate_floor"):
        return ("mamba-align",)
    return tuple(label for label in LABELS if label.startswith(kind)) or LABELS


def found_traces() -> dict[str, Trace]:
    """The traces that are there, by their file's name."""
    return {path.name: read(path) for path in sorted(FOLDER.glob("axis-*.json"))}


def main() -> None:
    """Look for the traces that are missing."""
    FOLDER.mkdir(exist_ok=True)
    for pair in pairs():
        if (FOLDER / pair.file).exists():
            continue
        trace = search(pair)
        if trace is not None:
            write(trace, FOLDER / pair.file)
        sys.stdout.write(f"{pair.file}: {len(trace.steps) if trace else 'not found'}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
