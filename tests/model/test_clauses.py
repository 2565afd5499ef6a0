"""The registry: one id, one sentence, one function."""

import importlib
import pkgutil

import pytest

import kvwitness.model
from kvwitness.model.clauses import LEVELS, REGISTRY, clause, sentence_of

for module in pkgutil.iter_modules(kvwitness.model.__path__):
    importlib.import_module(f"kvwitness.model.{module.name}")


@pytest.mark.parametrize("name", REGISTRY)
def test_every_clause_is_one_sentence_with_a_level_and_a_source(name: str) -> None:
    entry = REGISTRY[name]

    assert entry.id == name == name.upper()
    assert sentence_of(name).endswith(".")
    assert ". " not in entry.sentence
    assert entry.level in LEVELS
    assert all(entry.source)
    assert entry.decides.clause_id == name  # type: ignore[attr-defined]


def test_an_id_is_given_once() -> None:
    with pytest.raises(ValueError, match=r"got a second clause NEED\.FIRST"):

        @clause("NEED.FIRST", level="L2")
        def another() -> bool:
            """Something else."""
            return True


@pytest.mark.parametrize(("sentence", "level"), [("No full stop", "L2"), ("", "L2"), ("A sentence.", "L9")])
def test_a_clause_without_a_sentence_or_a_level_is_refused(sentence: str, level: str) -> None:
    def decides() -> bool:
        return True

    decides.__doc__ = sentence
    with pytest.raises(ValueError, match=r"clause MADE\.UP needs"):
        clause("MADE.UP", level=level)(decides)
    assert "MADE.UP" not in REGISTRY
