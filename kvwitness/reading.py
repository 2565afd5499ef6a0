"""Reading JSON with the place of every value known, so that an error says where, what was got, what is allowed and what to do."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from attrs import evolve, frozen

MOST_SHOWN = 60
"""Characters of a refused value that an error shows."""


class TraceError(ValueError):
    """A trace file that cannot be used: one line that names the file, the place, what was got, what is allowed, what to do."""


def one_line(text: str) -> str:
    """The text on one line, with everything that a terminal would act on escaped."""
    joined = " ".join(text.split())
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in joined)


@frozen
class Place:
    """Where in a file a value stands.

    Attributes:
        file: The file's name.
        path: The way to the value from the top, such as ``steps[3].new``.
    """

    file: str
    path: str = ""

    def at(self, key: str | int) -> "Place":
        """The place of a member of this value."""
        if isinstance(key, int):
            return evolve(self, path=f"{self.path}[{key}]")
        return evolve(self, path=f"{self.path}.{key}" if self.path else key)

    def refuse(self, got: str, allowed: str, remedy: str) -> NoReturn:
        """Raise the error of a value that cannot stand here."""
        place = f"{self.file}: {self.path}" if self.path else self.file
        raise TraceError(one_line(f"{place}: got {got}; allowed is {allowed}; {remedy}"))


def shown(value: object) -> str:
    """A value as an error shows it: as JSON, in a few characters."""
    text = json.dumps(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def load(path: Path) -> object:
    """The JSON value that a file holds; an object that names a field twice is refused."""
    place = Place(str(path))
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        place.refuse(f"no file to read ({error.strerror or error})", "a trace file", "check the path")
    except UnicodeDecodeError as error:
        place.refuse(f"a byte that is not UTF-8 at offset {error.start}", "JSON in UTF-8", "save the file as UTF-8")
    return parse(content, place)


def parse(content: str, place: Place) -> object:
    """The JSON value that a text holds."""
    try:
        return json.loads(content, object_pairs_hook=lambda pairs: _object(pairs, place))
    except json.JSONDecodeError as error:
        evolve(place, path=f"line {error.lineno}, column {error.colno}").refuse(
            f"what is no JSON ({error.msg})", "one JSON object", "correct it there"
        )
    except TraceError:
        raise
    except (RecursionError, ValueError) as error:
        place.refuse(f"JSON beyond all bounds ({error})", "nesting and numbers that a trace needs", "check what wrote the file")


def _object(pairs: list[tuple[str, Any]], place: Place) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        place.refuse(f"the field {shown(twice)} twice in one object", "each field once", "remove one of the two")
    return members


def members_of(value: object, place: Place, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, Any]:
    """An object that has the required fields, and none but these and the optional ones."""
    if not isinstance(value, dict):
        place.refuse(shown(value), "an object", "write {…}")
    known = (*required, *optional)
    for name in value:
        if name not in known:
            place.at(name).refuse("an unknown field", ", ".join(known) or "no field", "remove it or correct its name")
    for name in required:
        if name not in value:
            place.refuse(f"no field {name!r}", f"an object with {', '.join(required)}", "add it")
    return value


def items_of(value: object, place: Place) -> list[tuple[Any, Place]]:
    """The items of an array, each with its place."""
    if not isinstance(value, list):
        place.refuse(shown(value), "an array", "write […]")
    return [(item, place.at(number)) for number, item in enumerate(value)]


def integer(value: object, place: Place) -> int:
    """Any integer."""
    if not isinstance(value, int) or isinstance(value, bool):
        place.refuse(shown(value), "an integer", "write a number without fraction and quotes")
    return value


def count(value: object, place: Place) -> int:
    """An integer of 0 or more."""
    if integer(value, place) < 0:
        place.refuse(shown(value), "an integer of 0 or more", "write a count")
    return integer(value, place)


def counts(value: object, place: Place) -> tuple[int, ...]:
    """An array of integers of 0 or more."""
    return tuple(count(item, there) for item, there in items_of(value, place))


def plain_values(value: object, place: Place) -> tuple[Any, ...]:
    """An array of integers, texts and such arrays."""
    return tuple(_plain_value(item, there) for item, there in items_of(value, place))


def _plain_value(value: object, place: Place) -> Any:
    if isinstance(value, list):
        return plain_values(value, place)
    return text(value, place) if isinstance(value, str) else integer(value, place)


def flag(value: object, place: Place) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        place.refuse(shown(value), "true or false", "write one of them without quotes")
    return value


def text(value: object, place: Place) -> str:
    """Any text."""
    if not isinstance(value, str):
        place.refuse(shown(value), "a text", "write it in quotes")
    return value


def name(value: object, place: Place) -> str:
    """A request's name: printable ASCII without spaces."""
    if not re.fullmatch("[!-~]+", text(value, place)):
        place.refuse(shown(value), "a name of printable ASCII letters without spaces", "rename the request")
    return text(value, place)


def counts_by_name(value: object, place: Place) -> dict[str, tuple[int, ...]]:
    """An object that maps requests to arrays of integers."""
    if not isinstance(value, dict):
        place.refuse(shown(value), "an object", "write {…}")
    return {name(key, place): counts(member, place.at(key)) for key, member in value.items()}


def count_by_name(value: object, place: Place) -> dict[str, int]:
    """An object that maps requests to integers of 0 or more."""
    if not isinstance(value, dict):
        place.refuse(shown(value), "an object", "write {…}")
    return {name(key, place): count(member, place.at(key)) for key, member in value.items()}


def choice(allowed: Sequence[str], remedy: str = "choose one of them") -> Callable[[object, Place], str]:
    """A reader of one of the allowed texts."""

    def one_of(value: object, place: Place) -> str:
        if value not in allowed:
            place.refuse(shown(value), ", ".join(allowed), remedy)
        return text(value, place)

    return one_of
