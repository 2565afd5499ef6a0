import importlib
from collections import Counter

import pytest

from kvwitness.model.clauses import REGISTRY
from kvwitness.properties.defects.catalogue import BY_NAME, DEFECTS, defect_named
from kvwitness.properties.defects.defect import Defect, Parts
from kvwitness.properties.mixes import MIXES
from kvwitness.properties.situations import LABELS

# Clauses are registered where they are decided: loading the oracles loads them all.
importlib.import_module("kvwitness.properties.run")

DEMANDED = (
    "draft-block-kept",
    "sliding-run-short",
    "skip-one-more",
    "skip-one-less",
    "null-prefix-missing",
    "state-freed-before-copy",
    "unverified-published",
    "touch-forgotten",
    "released-forward",
    "stale-key-after-eviction",
    "evictable-hits-not-counted",
    "alignment-loop-missing",
    "same-step-guard-missing",
    "rule-same-step-state-hit",
)


def test_names_are_unique_and_in_kebab_case() -> None:
    counted = Counter(defect.name for defect in DEFECTS)

    assert [name for name, times in counted.items() if times > 1] == []
    assert [name for name in counted if name != name.lower() or "_" in name or " " in name] == []


def test_the_defects_that_must_be_there_are_there() -> None:
    assert set(DEMANDED) <= set(BY_NAME)


def test_no_two_defects_say_the_same() -> None:
    assert len({defect.wrong for defect in DEFECTS}) == len(DEFECTS)


def test_every_kind_has_defects() -> None:
    assert {kind for defect in DEFECTS for kind in defect.kinds} - set(MIXES) == set(LABELS)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_is_described_in_one_sentence_with_clauses_of_the_registry(defect: Defect) -> None:
    assert defect.wrong.endswith(".")
    assert ". " not in defect.wrong
    assert defect.clauses
    assert set(defect.clauses) <= set(REGISTRY)
    assert set(defect.kinds) <= {*LABELS, *MIXES}


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_replaces_a_part_or_a_rule(defect: Defect) -> None:
    assert (defect.parts != Parts()) != defect.is_rule


def test_an_unknown_name_is_answered_with_the_closest_ones() -> None:
    with pytest.raises(ValueError, match=r"got the defect 'touch-forgoten'; allowed is one of .*touch-forgotten"):
        defect_named("touch-forgoten")
