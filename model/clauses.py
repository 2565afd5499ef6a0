"""The registry of clauses: every rule of the spec is one function, one sentence, one id.

A clause is registered beside the function that decides it.
Failure texts, proofs, documentation and reports take id and sentence from here.
"""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

Decision = TypeVar("Decision", bound=Callable[..., Any])

LEVELS = {
    "L0": "safety: accounting and contents",
    "L1": "liveness",
    "L2": "exact lengths and counts",
    "L3": "identical to a profile, ids and order included",
    "caller": "a precondition on the caller, not on the manager",
}


@frozen
class Clause:
    """One rule of the spec.

    Attributes:
        id: Its name, stable across versions: ``KIND.SUBJECT.RULE``.
        sentence: What it says, in one sentence.
        source: The methods of the seed it comes from, or "safety".
        level: The conformance level it belongs to.
        decides: The function that decides it.
    """

    id: str
    sentence: str
    source: tuple[str, ...]
    level: str
    decides: Callable[..., Any]


REGISTRY: dict[str, Clause] = {}


def clause(name: str, *, level: str, source: str = "safety") -> Callable[[Decision], Decision]:
    """Register the decorated function as the one that decides clause ``name``; its docstring is the sentence."""

    def register(decides: Decision) -> Decision:
        sentence = " ".join((inspect.getdoc(decides) or "").split())
        if name in REGISTRY:
            raise ValueError(f"got a second clause {name}; ids are unique; choose another")
        if not sentence.endswith(".") or level not in LEVELS:
            raise ValueError(f"clause {name} needs a docstring of one sentence and a level of {', '.join(LEVELS)}")
        REGISTRY[name] = Clause(name, sentence, tuple(source.split(", ")), level, decides)
        decides.clause_id = name  # type: ignore[attr-defined]
        return decides

    return register


def sentence_of(name: str) -> str:
    """The sentence of a clause."""
    return REGISTRY[name].sentence
