"""``kvwitness replay``: carry out a trace file on a port and judge it."""

import json
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from kvwitness import explain, trace
from kvwitness.cli.errors import FAILED, HELD
from kvwitness.model.caller import Illegal
from kvwitness.model.profile import PROFILES, Profile
from kvwitness.ports.resolve import FORMS, resolve
from kvwitness.properties import replay as runs
from kvwitness.properties.run import ALL_ORACLES, HEARING, ORACLES
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation
from kvwitness.reading import TraceError, one_line
from kvwitness.trace import Trace

STEPS_BETWEEN_SIGNS = 5000
"""Steps after which a long replay shows that it goes on."""


@frozen
class Replay:
    """A trace that was carried out on a port.

    Attributes:
        wanted: The trace.
        steps: What each step that was carried out did, in words.
        violation: The clause that the last of them broke, or None.
        left_out: Steps that the rules asked for do not allow; known where no clause broke.
    """

    wanted: Trace
    steps: tuple[str, ...]
    violation: Violation | None
    left_out: int = 0

    @property
    def verdict(self) -> str:
        """``held``, ``failed``, and against an expectation ``reproduced``, ``not reproduced`` or ``differs``."""
        expected = self.wanted.expected
        if self.violation is None:
            return "not reproduced" if expected else "held"
        if expected is None:
            return "failed"
        return "reproduced" if self.violation.clause == expected[1].violates else "differs"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        count = len(self.steps)
        number, expectation = self.wanted.expected or (0, None)
        expected = f"the file expects {expectation.violates} at step {number}" if expectation else ""
        if self.violation is None:
            held = f"held: {count} {'step' if count == 1 else 'steps'}, no clause broke"
            held += f", {self.left_out} left out that these rules do not allow" if self.left_out else ""
            return f"{held}; the expected violation did not occur: {expected}" if expected else held
        if self.verdict == "differs":
            return f"differs: {expected}, and step {count} breaks {self.violation.clause}"
        return f"reproduced: {expected}" if expected else "failed"


def replayed(make_port: runs.MakePort, setting: runs.Setting, wanted: Trace, file: str) -> Replay:
    """Carry out a trace; under other rules than its own, what those do not allow is left out.

    Raises:
        TraceError: A step that the protocol does not allow under the trace's own rules.
    """
    steps: list[str] = []

    def watch(view: View) -> None:
        steps.append(explain.told(view))
        if len(steps) % STEPS_BETWEEN_SIGNS == 0:
            click.echo(f"kvwitness: {len(steps)} of {len(wanted.steps)} steps", err=True)

    try:
        skips = setting.profile.name != wanted.profile
        done = runs.replay(make_port, setting, wanted.operations, skip_illegal=skips, watch=watch)
    except Illegal as illegal:
        free = ', or write "strict": false' if illegal.clause.startswith("CALLER.STRICT.") and setting.strict else ""
        raise TraceError(one_line(f"{file}: steps[{len(steps)}]: {illegal} Correct the step or remove it{free}.")) from illegal
    return Replay(wanted, tuple(steps), done.violation, len(wanted.steps) - len(steps) if done.violation is None else 0)


def judged_by(level: str) -> tuple[str, tuple[str, ...]]:
    """The level of the refinement, and the oracles, that a port of that conformance level is held to."""
    judges = {"L0": ORACLES[:2], "L1": ORACLES[:3]}
    return level if level == "L2" else "L3", judges.get(level, ORACLES)


def _chosen_oracles(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    names = tuple(value.split(",")) if value is not None else ()
    for name in names:
        if name not in ALL_ORACLES:
            raise click.BadParameter(f"got {name!r}; allowed is {', '.join(ALL_ORACLES)}; separate several by commas")
    return names


@click.command(epilog="A port is one of: " + ", ".join(f"{form} ({what})" for form, what in FORMS.items()) + ".")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--port", "port", default="impl", show_default=True, metavar="PORT", help="What the trace is carried out on.")
@click.option("--profile", type=click.Choice(list(PROFILES)), help="The rules in force, instead of the file's.")
@click.option("--oracles", callback=_chosen_oracles, metavar="NAMES", help=f"Who judges: {','.join(ORACLES)} if left out.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def replay(file: Path, port: str, profile: str | None, oracles: tuple[str, ...], as_json: bool) -> int:
    """Replay the trace FILE on a port.

    Prints what every step did and the verdict.
    Under another profile than the file's, steps that its rules do not allow are left out.
    Exits with 1 where a clause breaks, whether or not the file expects it, and with 0 where none does.
    """
    wanted = trace.read(file)
    rules = PROFILES[profile or wanted.profile]
    if wanted.planner is not None:
        from kvwitness.cli.replay_planner import replayed_on_planner

        done = replayed_on_planner(port, rules, wanted, str(file), oracles)
    else:
        done = _on_port(port, rules, wanted, str(file), oracles)
    command = explain.replay_command(str(file), port, profile=profile or "", oracles=oracles)
    click.echo(json.dumps(_as_json(done, command), ensure_ascii=False) if as_json else _as_text(done, command))
    return HELD if done.violation is None else FAILED


def _on_port(port: str, rules: Profile, wanted: Trace, file: str, oracles: tuple[str, ...]) -> Replay:
    """Carry out a trace of our caller's operations."""
    make_port = resolve(port)
    level, judges = judged_by(make_port(rules).hello().level)
    # What only somebody who listens to KV events can see again needs somebody who listens.
    if wanted.expected and wanted.expected[1].violates.startswith("EVENTS."):
        judges += tuple(name for name in HEARING if name == wanted.expected[1].oracle) or HEARING[:1]
    return replayed(make_port, runs.Setting(wanted.config, rules, wanted.strict, level, oracles or judges), wanted, file)


def _as_text(done: Replay, command: str) -> str:
    if done.violation is None:
        return "\n".join([*explain.numbered(done.steps), done.sentence])
    verdict = done.sentence if done.wanted.expected else ""
    return explain.explain(done.steps, done.violation, command=command, verdict=verdict)


def _as_json(done: Replay, command: str) -> dict[str, Any]:
    expected = done.wanted.expected
    return {
        "verdict": done.verdict,
        "steps": done.steps,
        "violation": done.violation and {"step": len(done.steps), **done.violation._asdict(), "sentence": done.violation.sentence},
        "expected": expected and {"step": expected[0], "clause": expected[1].violates},
        "command": command,
    }
