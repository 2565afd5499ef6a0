"""A trace in the Mooncake format is read whole, and a bad line is told with its file, line and field."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kvwitness.reading import TraceError
from kvwitness.workload.chain import NO_ID
from kvwitness.workload.trace_file import read_workload

GOOD: dict[str, Any] = {"timestamp": 3, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}


def written(folder: Path, *lines: object, name: str = "trace.jsonl") -> Path:
    path = folder / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(TraceError) as caught:
        read_workload(path)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("change", "place", "remedy"),
    [
        ({"timestamp": "3"}, "timestamp", "milliseconds"),
        ({"timestamp": -1}, "timestamp", "milliseconds"),
        ({"timestamp": True}, "timestamp", "milliseconds"),
        ({"input_length": -600}, "input_length", "1 to 1,000,000,000 tokens"),
        ({"input_length": 0}, "input_length", "1 to 1,000,000,000 tokens"),
        ({"input_length": 600.5}, "input_length", "an integer"),
        ({"output_length": -5}, "output_length", "0 to 1,000,000,000 tokens"),
        ({"output_length": None}, "output_length", "an integer"),
        ({"hash_ids": [1]}, "hash_ids", "2 ids for 600 tokens"),
        ({"hash_ids": [1, 2, 3]}, "hash_ids", "2 ids for 600 tokens"),
        ({"hash_ids": [1, -2]}, "hash_ids[1]", "an integer of 0 or more"),
        ({"hash_ids": [1, "2"]}, "hash_ids[1]", "an integer"),
        ({"hash_ids": 7}, "hash_ids", "an array"),
        ({"hash_ids": [2, 1]}, "hash_ids[0]", "one prefix for an id"),
        ({"hash_ids": [1, 1]}, "hash_ids[1]", "one prefix for an id"),
    ],
)
def test_a_bad_field_is_told_with_its_line_and_name(tmp_path: Path, change: dict[str, Any], place: str, remedy: str) -> None:
    message = refusal(written(tmp_path, GOOD, "", GOOD | change))

    assert message.startswith(f": line 3.{place}: got ")
    assert remedy in message


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_a_missing_field_is_told(tmp_path: Path, missing: str) -> None:
    line = {name: value for name, value in GOOD.items() if name != missing}

    assert refusal(written(tmp_path, line)).startswith(f": line 1: got no field '{missing}'; allowed is an object with ")


@pytest.mark.parametrize("line", ["{", "[]", "nonsense", '{"timestamp": 1} {}'])
def test_a_line_that_is_no_object_is_told(tmp_path: Path, line: str) -> None:
    assert refusal(written(tmp_path, GOOD, line)).startswith(": line 2: got ")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(GOOD).encode())
    (cut := tmp_path / "cut.jsonl.gz").write_bytes(whole[:-9])
    (packed := tmp_path / "packed.jsonl").write_bytes(whole)

    assert "one request or more" in refusal(written(tmp_path, name="empty.jsonl"))
    assert "drop .gz from a plain file's name" in refusal(written(tmp_path, GOOD, name="plain.jsonl.gz"))
    assert "a whole gzip file" in refusal(cut)
    assert "name a gzip file .gz" in refusal(packed)
    assert "check the path" in refusal(tmp_path / "missing.jsonl")


def test_requests_come_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    later = GOOD | {"timestamp": 9, "hash_ids": [1, 3], "more": "is not looked at"}
    workload = read_workload(written(tmp_path, later, GOOD, GOOD | {"timestamp": 3.5}))

    assert [(arrival.line, arrival.prompt.number, arrival.prompt.ids) for arrival in workload.arrivals] == [
        (2, 0, (1, 2)),
        (3, 1, (1, 2)),
        (1, 2, (1, 3)),
    ]
    assert workload.previous == {1: NO_ID, 2: 1, 3: 1}
    assert len(read_workload(Path(workload.file), 2).arrivals) == 2
