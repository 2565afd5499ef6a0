import json
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwitness import trace
from kvwitness.model.kinds import KIND_NAMES, Config, Kind
from kvwitness.model.profile import PROFILES
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import NAMES, RAW_CALLS, Execute, Operation, Raw, Reset, Start
from kvwitness.properties.replay import Setting, replay
from kvwitness.properties.violation import Violation
from kvwitness.schemas import schema
from kvwitness.trace import Expectation, Origin, Step, Trace, TraceError

VALIDATOR = jsonschema.Draft202012Validator(schema("trace-1"))

counts = st.integers(0, 9)
names = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=3)
tokens = st.lists(counts, max_size=4).map(tuple)
BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    int: counts,
    str: names,
    bool: st.booleans(),
    tuple[int, ...]: tokens,
    dict[str, tuple[int, ...]]: st.dictionaries(names, tokens, max_size=2),
}


BY_FORM: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-9, 9),
    "name": names,
    "integers": tokens,
    "hits": st.lists(tokens, max_size=2).map(tuple),
}
raws = st.sampled_from(tuple(RAW_CALLS)).flatmap(lambda name: st.builds(Raw, st.just(name), st.tuples(*map(BY_FORM.get, RAW_CALLS[name]))))


def operations_of(kind: Any) -> st.SearchStrategy[Operation]:
    if kind is Raw:
        return raws
    return st.builds(kind, **{field.name: BY_TYPE[field.type] for field in attrs.fields(kind)})


operations = st.one_of([operations_of(kind) for kind in NAMES.values()])
mambas = st.builds(Kind, st.just("mamba"), mode=st.sampled_from(("all", "align")), drafts=st.just(2))
kinds = st.one_of(
    st.just(Kind("full")),
    st.builds(Kind, st.just("sliding"), window=st.integers(1, 9)),
    st.builds(Kind, st.just("chunked"), chunk=st.sampled_from((4, 8))),
    mambas,
    st.just(Kind("sink", sink_tokens=4)),
)
texts = st.text(max_size=8)
clauses = st.sampled_from(("MAMBA.HIT.COMPUTED", "BOOKS.REST"))


@st.composite
def configs(draw: st.DrawFn) -> Config:
    kind = draw(kinds)
    draft_model = draw(st.booleans()) and kind.kind != "chunked"
    drafts = draw(st.integers(0, 2)) if kind.mode == "align" else 0
    groups = (kind,) * draw(st.integers(1, 2))
    caching = draw(st.booleans()) or kind.kind == "mamba"
    if kind.kind != "chunked" and draw(st.booleans()):
        groups = (*groups, Kind("full", block_size=8))
    return Config(draw(st.integers(4, 9)), 4, groups, caching, drafts, draft_model, max_model_len=draw(st.integers(1, 99)))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    origins = st.builds(Origin, st.sampled_from(trace.ORIGINS), clauses, st.none() | st.integers(), texts)
    steps = [Step(operation) for operation in draw(st.lists(operations, max_size=6))]
    expecting: bool = draw(st.booleans())
    if steps and expecting:
        steps[-1] = Step(steps[-1].operation, draw(st.builds(Expectation, clauses, texts, st.just("contents"))))
    return Trace(draw(st.sampled_from(tuple(PROFILES))), draw(configs()), tuple(steps), draw(st.booleans()), draw(st.none() | origins))


@pytest.mark.slow
@given(traces())
def test_a_written_trace_reads_back_as_the_same_one(written: Trace) -> None:
    text = trace.to_text(written)

    assert trace.from_text(text) == written
    assert trace.to_text(trace.from_text(text)) == text


@pytest.mark.slow
@given(traces())
def test_the_schema_accepts_what_the_writer_writes(written: Trace) -> None:
    VALIDATOR.validate(json.loads(trace.to_text(written)))


@pytest.mark.slow
@given(traces())
def test_every_step_stands_on_a_line_of_its_own(written: Trace) -> None:
    lines = [line.strip().removesuffix(",") for line in trace.to_text(written).split("\n")]
    steps = [json.dumps(step, ensure_ascii=False) for step in json.loads(trace.to_text(written))["steps"]]

    assert [line for line in lines if line.startswith('{"op"')] == steps


def test_the_schema_is_itself_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema("trace-1"))


def test_the_schema_and_the_reader_know_the_same_words() -> None:
    definitions = schema("trace-1")["$defs"]
    steps = {variant["properties"]["op"]["const"]: variant for variant in definitions["step"]["oneOf"]}
    groups = {variant["properties"]["kind"]["const"]: variant for variant in definitions["group"]["oneOf"]}

    assert list(steps) == list(NAMES)
    for name, kind in NAMES.items():
        required = [field.name for field in attrs.fields(kind) if field.default is attrs.NOTHING]
        assert list(steps[name]["properties"]) == ["op", *attrs.fields_dict(kind), "expect"]
        assert steps[name]["required"] == ["op", *required]
    assert list(groups) == list(KIND_NAMES)
    sizes = {name: (*fields, trace.OWN_BLOCK) for name, fields in trace.SIZES.items()}
    assert {name: tuple(group["properties"])[1:] for name, group in groups.items()} == sizes
    assert list(definitions["config"]["properties"]) == list(attrs.fields_dict(Config))
    assert tuple(definitions["origin"]["properties"]["from"]["enum"]) == trace.ORIGINS


def test_the_sample_of_the_design_reads_and_breaks_its_clause(sample: str) -> None:
    read = trace.from_text(sample)
    done = replay(ModelPort, Setting(read.config, PROFILES[read.profile], read.strict), read.operations)

    VALIDATOR.validate(json.loads(sample))
    assert read.expected is not None
    assert read.expected[0] == len(done.operations) == 3
    assert done.violation is not None
    assert done.violation.clause == read.expected[1].violates == "MAMBA.HIT.COMPUTED"


def test_a_small_trace_takes_a_dozen_lines(sample: str) -> None:
    assert trace.to_text(trace.from_text(sample)) == (
        "{\n"
        ' "kvwitness": 1,\n'
        ' "profile": "vllm-0.16",\n'
        ' "config": {"blocks": 4, "block_size": 2, "groups": [{"kind": "mamba", "mode": "align", "drafts": 0}]},\n'
        ' "origin": {"from": "property", "clause": "MAMBA.HIT.COMPUTED", "seed": 17},\n'
        ' "steps": [\n'
        '  {"op": "start", "id": "A", "tokens": [0, 0]},\n'
        '  {"op": "start", "id": "B", "tokens": [0, 0, 1]},\n'
        '  {"op": "execute", "expect": {"violates": "MAMBA.HIT.COMPUTED",'
        ' "because": "B reads the state after 2 tokens, which A computes in this same step"}}\n'
        " ]\n"
        "}\n"
    )


def test_a_file_that_was_written_reads_back(sample: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    trace.write(trace.from_text(sample), path)

    assert trace.read(path) == trace.from_text(sample)


def test_the_trace_of_a_failure_expects_it_at_the_last_step() -> None:
    setting = Setting(Config(4, 2, (Kind("full"),)), PROFILES["sound"], strict=False)
    violation = Violation("BOOKS.REST", "two\nlines \x1b[31m", "accounting")
    written = trace.failure_trace(setting, [Start("A", (0,)), Reset()], violation, Origin("property", seed=3))

    assert written.expected == (2, Expectation("BOOKS.REST", "two lines \\x1b[31m", "accounting"))
    assert not written.strict
    assert trace.from_text(trace.to_text(written)) == written


def test_outputs_are_written_in_the_order_of_their_names() -> None:
    config = Config(4, 2, (Kind("full"),))
    one, other = ({"B": (1,), "A": (2,)}, {"A": (2,), "B": (1,)})

    assert trace.to_text(Trace("sound", config, (Step(Execute(one)),))) == trace.to_text(Trace("sound", config, (Step(Execute(other)),)))


def document(**changes: Any) -> dict[str, Any]:
    config = {"blocks": 4, "block_size": 2, "groups": [{"kind": "full"}]}
    return {"kvwitness": 1, "profile": "sound", "config": config, "steps": [{"op": "start", "id": "A", "tokens": [0]}], **changes}


def config(**changes: Any) -> dict[str, Any]:
    return document(config={**document()["config"], **changes})


def step(**changes: Any) -> dict[str, Any]:
    return document(steps=[{"op": "start", "id": "A", "tokens": [0], **changes}])


UNKNOWN_FIELDS = {
    "author": document(author="me"),
    "config.size": config(size=3),
    "config.groups[0].window": config(groups=[{"kind": "full", "window": 3}]),
    "config.groups[0].chunk": config(groups=[{"kind": "mamba", "mode": "align", "chunk": 2}]),
    "origin.day": document(origin={"from": "log", "day": 1}),
    "steps[0].drafts": step(drafts=1),
    "steps[0].expect.step": step(expect={"violates": "BOOKS.REST", "step": 1}),
}

WRONG_FOR_BOTH = {
    "got no field 'steps'": {key: value for key, value in document().items() if key != "steps"},
    "kvwitness: got version 2; allowed is 1": document(kvwitness=2),
    "kvwitness: got true": document(kvwitness=True),
    'config.groups[0].kind: got "ring"; allowed is full, sliding': config(groups=[{"kind": "ring"}]),
    'config.groups[0].mode: got "some"; allowed is none, all, align': config(groups=[{"kind": "mamba", "mode": "some"}]),
    "config.groups[0]: got no field 'window'": config(groups=[{"kind": "sliding"}]),
    "config.groups[0]: got no field 'kind'": config(groups=[{}]),
    "config.groups[0]: got 3; allowed is an object": config(groups=[3]),
    "config.groups: got 3; allowed is an array": config(groups=3),
    "config: got no groups; allowed is one or more groups": config(groups=[]),
    "config: got blocks 1; allowed is 2 or more": config(blocks=1),
    "config.caching: got 1; allowed is true or false": config(caching=1),
    "config: got []; allowed is an object": document(config=[]),
    'origin.from: got "dream"; allowed is proof': document(origin={"from": "dream"}),
    "config.groups[0].block_size: got -4; allowed is an integer of 0 or more": config(groups=[{"kind": "full", "block_size": -4}]),
    'steps[0].op: got "jump"; allowed is start, resume': document(steps=[{"op": "jump"}]),
    "steps[0]: got no field 'op'": document(steps=[{"id": "A"}]),
    "steps[0]: got 7; allowed is an object": document(steps=[7]),
    "steps[0]: got no field 'tokens'": document(steps=[{"op": "start", "id": "A"}]),
    'steps[0].new: got "3"; allowed is an integer': step(new="3"),
    "steps[0].new: got true; allowed is an integer": step(new=True),
    "steps[0].new: got 1.5; allowed is an integer": step(new=1.5),
    "steps[0].new: got -1; allowed is an integer of 0 or more": step(new=-1),
    "steps[0].id: got 5; allowed is a text": step(id=5),
    'steps[0].id: got "A B"; allowed is a name': step(id="A B"),
    'steps[0].id: got "A\\n"; allowed is a name': step(id="A\n"),
    "steps[0].tokens[1]: got null": step(tokens=[0, None]),
    "steps[0].outputs: got []; allowed is an object": document(steps=[{"op": "execute", "outputs": []}]),
    'steps[0].outputs: got ""; allowed is a name': document(steps=[{"op": "execute", "outputs": {"": [0]}}]),
    "steps[1].expect: got a second expectation": document(steps=[{"op": "close", "expect": {"violates": "BOOKS.REST"}}] * 2),
    "got [1]; allowed is an object": [1],
}

WRONG_FOR_THE_READER = {
    'profile: got "vllm-9"; allowed is sound, vllm-0.15': document(profile="vllm-9"),
    'steps[0].expect.violates: got the unknown clause "MAMBA.NO"; allowed is MAMBA.': step(expect={"violates": "MAMBA.NO"}),
    'origin.clause: got the unknown clause "X"; allowed is ': document(origin={"from": "log", "clause": "X"}),
    "config: got chunk 3 with block_size 2; allowed is": config(groups=[{"kind": "chunked", "chunk": 3}]),
}

NO_JSON = {
    "line 2, column 3: got what is no JSON": '{"a": 1,\n  oops}',
    "line 1, column 1: got what is no JSON": "",
    'got the field "a" twice in one object': '{"a": 1, "a": 2}',
    "got JSON beyond all bounds": "[" * 100_000,
    "got JSON beyond all bounds (": "9" * 5_000,
}


def error_of(text: str) -> str:
    with pytest.raises(TraceError) as caught:
        trace.from_text(text, "run.json")
    message = str(caught.value)
    assert message.startswith("run.json: ")
    assert "\n" not in message
    assert message.count("; ") >= 2
    return message.removeprefix("run.json: ")


@pytest.mark.parametrize("place", UNKNOWN_FIELDS)
def test_an_unknown_field_is_refused_by_reader_and_schema(place: str) -> None:
    assert error_of(json.dumps(UNKNOWN_FIELDS[place])).startswith(f"{place}: got an unknown field; allowed is ")
    assert not VALIDATOR.is_valid(UNKNOWN_FIELDS[place])


@pytest.mark.parametrize("message", WRONG_FOR_BOTH)
def test_what_is_wrong_is_refused_by_reader_and_schema(message: str) -> None:
    assert error_of(json.dumps(WRONG_FOR_BOTH[message])).startswith(message)
    assert not VALIDATOR.is_valid(WRONG_FOR_BOTH[message])


@pytest.mark.parametrize("message", WRONG_FOR_THE_READER)
def test_what_only_the_reader_can_know_is_refused_by_it(message: str) -> None:
    assert error_of(json.dumps(WRONG_FOR_THE_READER[message])).startswith(message)


@pytest.mark.parametrize("message", NO_JSON)
def test_what_is_no_json_is_refused_with_its_place(message: str) -> None:
    assert error_of(NO_JSON[message]).startswith(message)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none\.json: got no file to read"):
        trace.read(tmp_path / "none.json")


def test_a_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"a": "\xe9"}')

    with pytest.raises(TraceError, match="got a byte that is not UTF-8 at offset 7"):
        trace.read(tmp_path / "latin.json")


def test_a_long_value_is_shown_in_part() -> None:
    assert len(error_of(json.dumps(document(profile="x" * 9_000)))) < 300
