"""A planner's finding is told to be a known erratum, by a counterfactual where there is one, and a made-up one is new."""

from typing import Any

import pytest
from attrs import evolve

from kvwitness import trace
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import resolve
from kvwitness.properties.errata import ERRATA
from kvwitness.properties.planning import PlannerSetting
from kvwitness.properties.violation import Violation
from kvwitness.report.errata_catalogue import Entry
from kvwitness.report.planner_errata_catalogue import PLANNER_ENTRIES
from kvwitness.report.planner_errata_docs import file_of
from kvwitness.vllm.planner.attributing import attributed_on_planner
from kvwitness.vllm.planner.errata import PLANNER_ERRATA, Seen, planner_erratum_of
from kvwitness.vllm.planner.replaying import replay_planner
from kvwitness.vllm.planner.translating import translation_of
from tests.kvwitness.planner.conftest import planner_of

COUNTERFACTUALS = {
    "same-step-state",
    "resumed-chunk",
    "tail-chunk",
    "optimistic-release",
    "optimistic-release-latent",
    "optimistic-release-state",
    "preempted-plan-keyed",
    "align-shrink",
    "align-shrink-estimate",
}
"""The entries that our caller can repeat; what the others need it may not do, or never does."""


def setting_of(entry: Entry) -> tuple[PlannerSetting, Any]:
    """The setting and the operations of an entry's file."""
    read = trace.read(file_of(entry))
    assert read.planner is not None
    return PlannerSetting(read.config, PROFILES[read.profile], planner=read.planner), read.operations


@pytest.mark.parametrize("entry", PLANNER_ENTRIES, ids=lambda entry: entry.name)
def test_each_file_is_told_to_be_its_erratum(entry: Entry) -> None:
    release = planner_of(entry.found_on)
    setting, operations = setting_of(entry)
    violation = replay_planner(release, setting, operations).violation
    assert violation is not None
    found = attributed_on_planner(release, resolve("impl"), setting, operations, violation)

    assert found is not None
    assert found.id == entry.erratum
    assert (found.by == "counterfactual") == (entry.name in COUNTERFACTUALS)


@pytest.mark.parametrize("entry", PLANNER_ENTRIES, ids=lambda entry: entry.name)
def test_another_clause_or_another_release_is_a_new_finding(entry: Entry) -> None:
    setting, operations = setting_of(entry)
    other = Violation("BOOKS.REFERENCES", "made up", "accounting")

    assert planner_erratum_of(entry.found_on, Seen(setting, operations, (), other)) is None
    for erratum in PLANNER_ERRATA:
        later = f"0.{erratum.last[1] + 1}.0"
        told = Violation(erratum.clauses[0], "made up", "planner")
        found = planner_erratum_of(later, Seen(setting, operations, (), told))
        assert found is None or found.id != erratum.id


def test_a_planner_that_is_set_otherwise_cannot_have_them() -> None:
    entry = next(entry for entry in PLANNER_ENTRIES if entry.name == "reset-drops-output")
    setting, operations = setting_of(entry)
    alone = evolve(setting, config=evolve(setting.config, depth=1))
    violation = Violation("PLAN.OUTPUT.KEPT", "made up", "planner")

    assert planner_erratum_of("0.16.0", Seen(setting, operations, (), violation)) is not None
    assert planner_erratum_of("0.16.0", Seen(alone, operations, (), violation)) is None


def test_ids_are_those_of_the_rules_where_the_fault_is_the_same() -> None:
    shared = {erratum.id for erratum in ERRATA} & {erratum.id for erratum in PLANNER_ERRATA}

    assert shared == {
        "drop-alignment",
        "drop-not-renewed",
        "external-evicts-hit",
        "guard-by-key",
        "optimistic-release",
        "preempted-plan-keyed",
        "second-full-uncut",
        "states-kept-by-drafts",
        "states-stranded",
    }


def test_what_a_planner_does_is_translated_step_by_step() -> None:
    entry = next(entry for entry in PLANNER_ENTRIES if entry.name == "preempted-plan-keyed")
    setting, operations = setting_of(entry)
    theirs = translation_of(planner_of("0.33.0"), setting, operations)

    assert [type(operation).__name__ for operation in theirs] == [
        *("Start", "Close", "Execute"),
        *("Grow", "Start", "Close", "Execute"),
        *("Grow", "Grow", "Preempt", "Grow", "Close", "Execute"),
    ]
