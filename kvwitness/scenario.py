"""Scenarios: a story as commands, each followed by what was observed, in one text that is checked and rewritten by a flag.

A file is made of paragraphs; a line of four dashes parts what is asked from what is seen::

    config sound blocks=4 block_size=2 groups=full
    ----
    free 1 2 3

    start A [0 0 1] new 2
    ----
    plans tokens 0 to 1 · A [1] · free 3 → 2

Commands are the operations as a replay prints them. ``config`` begins a new run; lines that begin with ``#`` tell the story.
"""

import json
import re
from collections.abc import Iterator, Sequence

from attrs import define, fields, frozen

from kvwitness import explain, trace
from kvwitness.model.caller import Illegal
from kvwitness.model.profile import PROFILES
from kvwitness.properties.operations import NAMES, Operation
from kvwitness.properties.replay import MakePort
from kvwitness.properties.run import Run
from kvwitness.reading import TraceError, one_line

RULE = "----"
NUMBERS = re.compile(r"\[[\d ]*\]|\S+")


@frozen
class Passage:
    """One paragraph of a scenario.

    Attributes:
        line: The number of its first line.
        remarks: The lines of story before the command.
        command: What is asked; "" for a paragraph of story alone.
        seen: What was observed, line by line.
    """

    line: int
    remarks: tuple[str, ...]
    command: str
    seen: tuple[str, ...]

    def text(self) -> str:
        """The paragraph as the file holds it."""
        asked = (self.command, RULE, *self.seen) if self.command else ()
        return "\n".join((*self.remarks, *asked)) + "\n"


def passages(content: str, file: str) -> Iterator[Passage]:
    """The paragraphs of a file.

    Raises:
        TraceError: A paragraph that is neither story nor a command with its observation.
    """
    number = 1
    for paragraph in re.split(r"\n(?=\n)", content.rstrip("\n")):
        lines = paragraph.split("\n")
        start = number + next((place for place, line in enumerate(lines) if line), 0)
        number += len(lines)
        told = [line for line in lines if line]
        remarks = tuple(line for line in told if line.startswith("#"))
        rest = told[len(remarks) :]
        if rest and (rest[1:2] != [RULE] or rest[0].startswith("#")):
            raise TraceError(f"{file}:{start}: got {rest[0]!r} without {RULE!r} below it; allowed is a command and {RULE}; write that line")
        yield Passage(start, remarks, rest[0] if rest else "", tuple(rest[2:]))


@define
class Teller:
    """Carries out the commands of a scenario one after the other.

    Attributes:
        make_port: What they are carried out on.
        file: The scenario's name, for errors.
        run: The run so far; None before the first ``config``.
        has_ended: Whether a clause broke, so that nothing more is judged.
    """

    make_port: MakePort
    file: str
    run: Run | None = None
    has_ended: bool = False

    def told(self, passage: Passage) -> tuple[str, ...]:
        """What is observed when a passage's command is carried out.

        Raises:
            TraceError: The command cannot be read, or does not fit here.
        """
        word, _, rest = passage.command.partition(" ")
        if word == "config":
            return self._begin(rest, passage.line)
        if self.run is None:
            raise TraceError(f"{self.file}:{passage.line}: got {word!r} before any config; allowed is config; begin a run with it")
        operation = operation_called(passage.command, f"{self.file}:{passage.line}")
        return ("not run: a clause broke before",) if self.has_ended else self._carry_out(self.run, operation)

    def _begin(self, words: str, line: int) -> tuple[str, ...]:
        wanted = trace_of_config(words, f"{self.file}:{line}")
        rules = PROFILES[wanted.profile]
        self.run, self.has_ended = Run(self.make_port(rules), wanted.config, rules, strict=wanted.strict), False
        return (f"free {' '.join(map(str, self.run.seen.free or ()))}",)

    def _carry_out(self, run: Run, operation: Operation) -> tuple[str, ...]:
        try:
            view = run.perform(operation)
        except Illegal as illegal:
            return (f"not allowed: {one_line(str(illegal))}",)
        violation = run.judge(view)
        came = explain.told(view).removeprefix(explain.asked(operation)).removeprefix(" · ") or "nothing changes"
        if violation is None:
            return (came,)
        self.has_ended = True
        return (came, f"breaks {violation.clause}: {violation.sentence}", f"because {one_line(violation.because)}")


def trace_of_config(words: str, place: str) -> trace.Trace:
    """The profile and configuration of ``config PROFILE name=value …``; groups are named as ``kind:size=value`` with ``+`` between."""
    profile, *sizes = words.split() or [""]
    given = dict(size.partition("=")[::2] for size in sizes)
    strict = given.pop("caller", "strict") == "strict"
    groups = [_group(group) for group in given.pop("groups", "full").split("+")]
    config = {**{name: _value(value) for name, value in given.items()}, "groups": groups}
    whole = {"kvwitness": trace.VERSION, "profile": profile, "config": config, "strict": strict, "steps": []}
    return trace.from_text(json.dumps(whole), place)


def _group(words: str) -> dict[str, object]:
    kind, *sizes = words.split(":")
    return {"kind": kind, **{name: _value(value) for name, value in (size.partition("=")[::2] for size in sizes)}}


def _value(word: str) -> object:
    return int(word) if word.isdigit() else {"true": True, "false": False}.get(word, word)


def operation_called(command: str, place: str) -> Operation:
    """The operation that a replay would print like this.

    Raises:
        TraceError: There is no such operation, or it has no such fields.
    """
    word, *rest = NUMBERS.findall(command)
    if word not in NAMES:
        raise TraceError(f"{place}: got {word!r}; allowed is config, {', '.join(NAMES)}; correct the word")
    members = {"op": word, **_members(NAMES[word], rest)}
    whole = {"kvwitness": trace.VERSION, "profile": "sound", "config": SMALLEST, "steps": [members]}
    return trace.from_text(json.dumps(whole), place).operations[0]


SMALLEST = {"blocks": 2, "block_size": 1, "groups": [{"kind": "full"}]}
"""Any configuration at all: an operation is read alone."""


def _members(kind: type[Operation], words: Sequence[str]) -> dict[str, object]:
    """The fields that words give: a name first where the operation has one, then tokens, flags, and names with a number."""
    types = {attribute.name: attribute.type for attribute in fields(kind)}
    members: dict[str, object] = {}
    left = list(words)
    if "id" in types and left:
        members["id"] = left.pop(0)
    while left:
        word = left.pop(0)
        if word.startswith("["):
            members["tokens"] = _numbers(word)
        elif left and left[0] == "yields":
            members["outputs"] = {**members.get("outputs", {}), word: _numbers(left[1])}  # type: ignore[dict-item]
            del left[:2]
        else:
            members[word] = True if types.get(word) is bool else _value(left.pop(0)) if left else None
    return members


def _numbers(word: str) -> list[int]:
    return [int(number) for number in word.strip("[]").split()]


def retold(content: str, make_port: MakePort, file: str) -> str:
    """The same scenario with what is observed now.

    Raises:
        TraceError: It cannot be read or carried out.
    """
    teller = Teller(make_port, file)
    told = [
        Passage(passage.line, passage.remarks, passage.command, teller.told(passage) if passage.command else ())
        for passage in passages(content, file)
    ]
    return "\n".join(passage.text() for passage in told)


__all__ = ["Passage", "Teller", "operation_called", "passages", "retold"]
