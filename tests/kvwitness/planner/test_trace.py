"""A planner's run in the trace format: written, read, refused where it is wrong, and replayed only on a planner."""

import json

import attrs
import jsonschema
import pytest

from kvwitness import trace
from kvwitness.cli.main import run
from kvwitness.model.kinds import Config, Kind
from kvwitness.properties.operations import Arrive, Execute, Reset
from kvwitness.properties.planning import PLANNER_NAMES, Abort, Plan, PlannerSettings, Submit
from kvwitness.schemas import schema
from kvwitness.trace import Step, Trace, TraceError

VALIDATOR = jsonschema.Draft202012Validator(schema("trace-1"))

OPERATIONS = (
    Submit("A", (1, 2), most=3, priority=1, external=1, delayed=True),
    Plan({"A": 1}),
    Execute({"A": (1,)}),
    Arrive("A"),
    Abort("A"),
    Reset(force=True),
)

PLANNER = PlannerSettings(policy="priority", budget=5, seats=2, longest_chunk=3, reserve_full=True, connector=True)

WRITTEN = Trace("vllm-0.16", Config(4, 2, (Kind("full"),)), tuple(map(Step, OPERATIONS)), planner=PLANNER)  # type: ignore[arg-type]


def test_a_written_trace_reads_back_as_the_same_one_and_fits_the_schema() -> None:
    text = trace.to_text(WRITTEN)

    assert trace.from_text(text) == WRITTEN
    VALIDATOR.validate(json.loads(text))


def test_the_schema_and_the_reader_know_the_same_words() -> None:
    definitions = schema("trace-1")["$defs"]
    steps = {variant["properties"]["op"]["const"]: variant for variant in definitions["planner_step"]["oneOf"]}

    assert list(steps) == list(PLANNER_NAMES)
    for name, kind in PLANNER_NAMES.items():
        assert list(steps[name]["properties"]) == ["op", *attrs.fields_dict(kind), "expect"]
    assert list(definitions["planner"]["properties"]) == list(attrs.fields_dict(PlannerSettings))


WRONG = {
    "our caller's operation on a planner": ('{"op": "plan"}', '{"op": "close"}', "close"),
    "a policy that there is not": ('"policy": "priority"', '"policy": "lottery"', "fcfs, priority"),
    "no budget": ('"budget": 5', '"budget": 0', "got budget 0"),
    "drafts that are no count": ('"drafts": {"A": 1}', '"drafts": {"A": -1}', "an integer of 0 or more"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_by_reader_and_schema(name: str) -> None:
    right, wrong, told = WRONG[name]
    text = trace.to_text(attrs.evolve(WRITTEN, steps=(*WRITTEN.steps, Step(Plan())))).replace(right, wrong)  # type: ignore[arg-type]

    with pytest.raises(TraceError, match=told):
        trace.from_text(text)
    assert not VALIDATOR.is_valid(json.loads(text))


def test_without_a_planner_its_operations_are_unknown() -> None:
    text = trace.to_text(attrs.evolve(WRITTEN, planner=None))

    with pytest.raises(TraceError, match='got "submit"'):
        trace.from_text(text)
    assert not VALIDATOR.is_valid(json.loads(text))


def test_only_a_release_has_a_planner(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "planner.json"  # type: ignore[operator]
    trace.write(WRITTEN, file)
    code = run(["replay", str(file), "--port", "impl"])

    assert code == 2
    assert "got the port 'impl' for a planner's trace; allowed is vllm, vllm==X or vllm:PATH" in capsys.readouterr().err
