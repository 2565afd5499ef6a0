"""The text of a run: each step with only what it changed, and of a failure the clause and the reason in words."""

import shlex
from collections.abc import Sequence
from typing import Any

from attrs import fields

from kvwitness.model.calls import Blocks, Observation
from kvwitness.properties.operations import NAMES, Operation, Raw
from kvwitness.properties.planning import PLANNER_NAMES, PlannerOperation
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation
from kvwitness.reading import one_line

WORDS: dict[type[Any], str] = {kind: word for word, kind in (NAMES | PLANNER_NAMES).items()}


def numbered(steps: Sequence[str]) -> list[str]:
    """The steps' texts, each on a line with its number."""
    width = len(str(len(steps)))
    return [f"  {number:>{width}} {step}" for number, step in enumerate(steps, start=1)]


def told(view: View) -> str:
    """What a step did, what came of it and what it changed, in a line."""
    parts = [asked(view.operation), *_came_of_it(view), *changes(view.before, view.after)]
    return " · ".join(parts)


def asked(operation: Operation | PlannerOperation) -> str:
    """An operation in words, what is at its default left out."""
    if isinstance(operation, Raw):
        return f"call {operation.name}({', '.join(map(_argument, operation.arguments))})"
    words = [WORDS[type(operation)]]
    for attribute in fields(type(operation)):
        value = getattr(operation, attribute.name)
        if attribute.name == "id":
            words.append(value)
        elif isinstance(value, tuple):
            words.append(_strip(value))
        elif isinstance(value, dict):
            words += [f"{name} {_yields(told)}" for name, told in value.items()]
        elif value != attribute.default:
            words.append(attribute.name if value is True else f"{attribute.name} {value}")
    return " ".join(words)


def _yields(told: tuple[int, ...] | int) -> str:
    return f"with {told} drafts" if isinstance(told, int) else f"yields {_strip(told)}"


def _argument(value: object) -> str:
    return f"[{', '.join(map(_argument, value))}]" if isinstance(value, tuple) else str(value)


def _came_of_it(view: View) -> list[str]:
    """What an operation came to, as far as the state does not show it."""
    event = view.event
    if event.kind == "broken":
        call, outcome = view.calls[-1]
        return [f"{call.name} ended {outcome.status}: {outcome.reason}"]
    if event.kind == "raw":
        outcome = view.calls[0][1]
        return [f"{outcome.status} {outcome.reason}" if outcome.status != "ok" else f"gives {_argument(outcome.value)}"]
    words = [f"hits {_blocks(event.hits)}"] if any(event.hits) else []
    if event.kind == "refused":
        words.append("refused")
    if event.kind == "reset" and not event.done:
        words.append("not reset")
    if event.planned is not None:
        words.append(_computes("", event.planned.computed, event.planned.new, "plans"))
    words += [_computes(planned.request, planned.computed, planned.new, "computes") for planned in view.executed or ()]
    return words


def _computes(request: str, computed: int, new: int, verb: str) -> str:
    what = f"token {computed}" if new == 1 else f"tokens {computed} to {computed + new - 1}" if new else "nothing"
    return f"{request} {verb} {what}".strip()


def changes(before: Observation, after: Observation) -> list[str]:
    """What differs between two states: tables as strips, the number of free blocks."""
    old, new = _tables(before), _tables(after)
    words = []
    for request in dict.fromkeys((*old, *new)):
        if request not in new:
            words.append(f"{request} {old[request]} → gone")
        elif request not in old:
            words.append(f"{request} {new[request]}")
        elif old[request] != new[request]:
            words.append(f"{request} {old[request]} → {new[request]}")
    if before.free is not None and after.free is not None and len(before.free) != len(after.free):
        words.append(f"free {len(before.free)} → {len(after.free)}")
    return words


def _tables(seen: Observation) -> dict[str, str]:
    """Each request's blocks as strips, a strip a group."""
    tables = seen.tables or ()
    requests = dict.fromkeys(request for group in tables for request in group)
    return {request: _blocks([group.get(request, ()) for group in tables]) for request in requests}


def _blocks(groups: Sequence[Blocks]) -> str:
    return " ".join(_strip(["∅" if block == 0 else block for block in blocks]) for blocks in groups)


def _strip(entries: Sequence[object]) -> str:
    return f"[{' '.join(map(str, entries))}]"


def explain(steps: Sequence[str], violation: Violation, *, command: str, verdict: str = "") -> str:
    """The text of a failure.

    Args:
        steps: What `told` says of each step that was carried out; the last one broke the clause.
        violation: The clause and the reason.
        command: One command to paste.
        verdict: What the failure means for what was expected of it.
    """
    first = f"{violation.clause} at step {len(steps)}: {violation.sentence}"
    because = f"because {one_line(violation.because)}"
    return "\n".join([first, *numbered(steps), because, *([verdict] if verdict else []), command])


def replay_command(file: str, port: str, *, profile: str = "", oracles: Sequence[str] = ()) -> str:
    """The command that shows a failure again."""
    words = ["kvwitness", "replay", file, "--port", port]
    words += ["--profile", profile] if profile else []
    words += ["--oracles", ",".join(oracles)] if oracles else []
    return shlex.join(words)
