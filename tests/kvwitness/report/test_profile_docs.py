"""The page of profiles is up to date, and its traces tell the values of each axis apart."""

from pathlib import Path

import pytest
from attrs import evolve

from kvwitness.impl.supported import LEFT_TO_THE_CALLER
from kvwitness.model.profile import AXES, PROFILES
from kvwitness.properties.replay import Setting
from kvwitness.report.axis_traces import NOT_TOLD, Pair, found_traces, pairs, tells_apart
from kvwitness.report.profile_docs import meanings, page

PAIRS = pairs()
TRACES = found_traces()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.file.removesuffix(".json"))
def test_a_trace_breaks_its_clause_with_one_value_and_none_with_the_other(pair: Pair) -> None:
    trace = TRACES[pair.file]
    assert trace.expected is not None
    setting = Setting(trace.config, PROFILES[trace.profile], trace.strict, oracles=pair.oracles)

    assert trace.profile == pair.followed.name
    assert tells_apart(pair, setting, trace.operations, trace.expected[1].violates)


def test_there_is_no_trace_of_a_pair_that_no_profile_has() -> None:
    assert set(TRACES) == {pair.file for pair in PAIRS}


def test_every_axis_is_told_apart_or_has_a_reason_why_not() -> None:
    assert {pair.axis for pair in PAIRS} | set(NOT_TOLD) == set(AXES)


def test_a_pair_of_the_caller_s_axis_differs_in_the_profile_that_is_followed() -> None:
    callers = {pair.axis for pair in PAIRS if pair.is_the_callers}

    assert callers == set(LEFT_TO_THE_CALLER) - {"adoption"}
    assert all(pair.followed is pair.earlier for pair in PAIRS if pair.is_the_callers)


def test_a_run_that_both_values_allow_does_not_tell_them_apart() -> None:
    pair = next(pair for pair in PAIRS if pair.axis == "free_order")
    trace = TRACES[pair.file]
    setting = Setting(trace.config, evolve(pair.later), oracles=pair.oracles)

    assert not tells_apart(pair, setting, trace.operations[:-1], "POOL.RELEASE")


def test_every_axis_is_explained() -> None:
    assert set(meanings()) == {"name", *AXES}


def test_the_page_is_the_generated_one(pytestconfig: pytest.Config) -> None:
    written = Path(pytestconfig.rootpath / "docs" / "profiles.md").read_text(encoding="utf-8")

    assert written == page(), "run: python -m kvwitness.report.profile_docs > docs/profiles.md"
