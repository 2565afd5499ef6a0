"""Reading production traces in the Mooncake format: JSON lines, one request a line, plain or compressed by gzip."""

import gzip
import json
import math
import zlib
from pathlib import Path

from attrs import evolve, field, frozen

from kvwitness.reading import Place, count, integer, items_of, shown
from kvwitness.workload.chain import NO_ID, TOKENS_PER_ID, Prompt

FIELDS = ("timestamp", "input_length", "output_length", "hash_ids")
"""What a line must have; what else it has is not looked at."""

MOST_TOKENS = 1_000_000_000
"""Tokens that a length may be at most; more is a mistake in whatever wrote the trace."""


@frozen
class Arrival:
    """One request of a trace.

    Attributes:
        line: Its line in the file.
        timestamp: When it arrived, in milliseconds.
        prompt: Its prompt.
        output_tokens: Tokens that it samples before it finishes.
    """

    line: int
    timestamp: float
    prompt: Prompt
    output_tokens: int

    @property
    def total_tokens(self) -> int:
        """Prompt and outputs."""
        return self.prompt.length + self.output_tokens


@frozen
class Workload:
    """The requests to serve.

    Attributes:
        file: Where they come from.
        arrivals: In order of arrival; those of one moment in the order of their lines.
        previous: For each id the one before it.
    """

    file: str
    arrivals: tuple[Arrival, ...]
    previous: dict[int, int] = field(repr=False)


def read_workload(path: Path, most_requests: int = 0) -> Workload:
    """The first ``most_requests`` requests to arrive, 0 for all.

    Raises:
        TraceError: A line is no request of the format; the message names file, line and field.
    """
    place = Place(str(path))
    previous: dict[int, int] = {}
    found = [
        _arrival(line, number, evolve(place, path=f"line {number}"), previous)
        for number, line in enumerate(_text(path, place).split("\n"), 1)
        if line.strip()
    ]
    if not found:
        place.refuse("no request", "one request or more, one JSON object a line", "check what wrote the trace")
    found.sort(key=lambda arrival: arrival.timestamp)
    chosen = found[: most_requests or None]
    numbered = [evolve(arrival, prompt=evolve(arrival.prompt, number=number)) for number, arrival in enumerate(chosen)]
    return Workload(str(path), tuple(numbered), previous)


def _text(path: Path, place: Place) -> str:
    """The file's lines as text, unpacked if its name ends in ``.gz``."""
    content = b""
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        place.refuse(f"what gzip cannot unpack ({error})", "a whole gzip file under a name in .gz", "drop .gz from a plain file's name")
    except OSError as error:
        place.refuse(f"no file to read ({error.strerror or error})", "a trace in the Mooncake format", "check the path")
    except UnicodeDecodeError as error:
        remedy = "name a gzip file .gz" if content[:2] == b"\x1f\x8b" else "save it as UTF-8"
        place.refuse(f"a byte that is not UTF-8 at offset {error.start}", "JSON lines in UTF-8", remedy)


def _arrival(line: str, number: int, place: Place, previous: dict[int, int]) -> Arrival:
    """One line, checked field by field."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        place.refuse(f"what is no JSON ({error})", "one JSON object a line", "correct the line")
    if not isinstance(value, dict):
        place.refuse(shown(value), "a JSON object", "write {…}")
    for name in FIELDS:
        if name not in value:
            place.refuse(f"no field {name!r}", f"an object with {', '.join(FIELDS)}", "add it")
    length = _tokens(value["input_length"], place.at("input_length"), 1)
    outputs = _tokens(value["output_length"], place.at("output_length"), 0)
    ids = _ids(value["hash_ids"], place.at("hash_ids"), length)
    _follow(ids, place.at("hash_ids"), previous)
    return Arrival(number, _moment(value["timestamp"], place.at("timestamp")), Prompt(0, ids, length), outputs)


def _tokens(value: object, place: Place, least: int) -> int:
    if not least <= integer(value, place) <= MOST_TOKENS:
        place.refuse(shown(value), f"{least} to {MOST_TOKENS:,} tokens", "write the length in tokens")
    return integer(value, place)


def _moment(value: object, place: Place) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, int | float) or not is_number or not 0 <= value < math.inf:
        place.refuse(shown(value), "a number of milliseconds, 0 or more", "write when the request arrived")
    return value


def _ids(value: object, place: Place, length: int) -> tuple[int, ...]:
    """The prompt's ids: as many as it has blocks of 512 tokens, the last one begun."""
    needed = -(-length // TOKENS_PER_ID)
    if not isinstance(value, list) or not all([type(item) is int and item >= 0 for item in value]):
        value = [count(item, there) for item, there in items_of(value, place)]
    if len(value) != needed:
        remedy = f"give one id per {TOKENS_PER_ID} tokens"
        place.refuse(f"{len(value)} ids", f"{needed} ids for {length} tokens", remedy)
    return tuple(value)


def _follow(ids: tuple[int, ...], place: Place, previous: dict[int, int]) -> None:
    """Note which id each one follows; an id stands for its whole prefix, so it follows one id wherever it occurs."""
    before = NO_ID
    for number, block_id in enumerate(ids):
        known = previous.setdefault(block_id, before)
        if known != before:
            got = f"the id {block_id} {_behind(before)}, and {_behind(known)} before"
            place.at(number).refuse(got, "one prefix for an id", "give different prefixes different ids")
        before = block_id


def _behind(block_id: int) -> str:
    return f"behind {block_id}" if block_id != NO_ID else "at the beginning"
