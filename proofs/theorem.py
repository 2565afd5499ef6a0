"""The registry of theorems: each is one function that states it, one sentence, one id.

The function is read three ways: over all integers to be proved, over a few to look for counterexamples, and with every
unknown known to be evaluated.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

import kvwitness.model
from kvwitness.model.clauses import REGISTRY
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.proofs.domain import Values
from kvwitness.properties.operations import Operation

NO_BOUND = "none"
"""The bound of a theorem that holds for all sizes, lengths and steps."""

Rules = Mapping[str, Any]
"""What takes the place of arguments of the function that states a theorem."""


@frozen
class Statement:
    """What a theorem says over one domain.

    Attributes:
        hypotheses: What is assumed, by name in words.
        goals: What follows, by name in words.
        lemmas: Instances of the lemma base that the solver is given.
    """

    hypotheses: Mapping[str, Any]
    goals: Mapping[str, Any]
    lemmas: Sequence[Any] = ()


@frozen
class Scenario:
    """A counterexample as a run.

    Attributes:
        config: Sizes.
        operations: What is done.
        clause: The clause that the last operation breaks.
    """

    config: Config
    operations: tuple[Operation, ...]
    clause: str


def _everywhere(_profile: Profile) -> bool:
    return False


@frozen
class Wrong:
    """A wrong variant: the theorem with a rule changed, which must be refuted.

    Attributes:
        words: What is wrong with it.
        rules: What takes the place of which rule.
        found_in: Whether a profile has this variant, and so breaks the theorem.
        scenario: Makes a run of a counterexample, where one corresponds to it.
        twin: What the counterexample is looked for in, if not in the theorem itself.
        high: The greatest integer of the range that is searched.
    """

    words: str
    rules: Rules
    found_in: Callable[[Profile], bool] = _everywhere
    scenario: Callable[[Values], Scenario] | None = None
    twin: Callable[..., Statement] | None = None
    high: int | None = None


@frozen
class Theorem:
    """One theorem.

    Attributes:
        id: Its name.
        claim: What it says, in one sentence.
        clauses: The clauses that it bears out.
        states: States it over a domain.
        witness: An assignment that satisfies the hypotheses.
        wrong: Variants that must be refuted.
        sizes: What is divided by, by name.
        kinds: The kinds that it is about; empty for all.
        bound: Up to what it holds, with the reason.
        reach: The greatest integer of small ranges.
        engine: What decides it.
        subject: The file it stands in.
    """

    id: str
    claim: str
    clauses: tuple[str, ...]
    states: Callable[..., Statement]
    witness: Values
    wrong: tuple[Wrong, ...] = ()
    sizes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    bound: str = NO_BOUND
    reach: int = 6
    engine: str = "prove"
    subject: str = field(default="")


# A clause is registered by the module that it stands in.
for _module in pkgutil.iter_modules(kvwitness.model.__path__):
    importlib.import_module(f"{kvwitness.model.__name__}.{_module.name}")

THEOREMS: dict[str, Theorem] = {}


def theorem(
    name: str, *, clauses: str, witness: Values, wrong: Sequence[Wrong] = (), **facts: Any
) -> Callable[[Callable[..., Statement]], Callable[..., Statement]]:
    """Register the decorated function as what states theorem ``name``; its docstring is the claim.

    Raises:
        ValueError: The name is taken, a clause is unknown, or the claim is no sentence.
    """

    def register(states: Callable[..., Statement]) -> Callable[..., Statement]:
        subject = states.__module__.rpartition(".")[2]
        made = made_theorem(name, states, clauses=clauses, witness=witness, wrong=wrong, subject=subject, **facts)
        if name in THEOREMS:
            raise ValueError(f"got a second theorem {name}; ids are unique; choose another")
        THEOREMS[name] = made
        return states

    return register


def made_theorem(name: str, states: Callable[..., Statement], *, clauses: str, **facts: Any) -> Theorem:
    """A theorem that stands in no registry.

    Raises:
        ValueError: A clause is unknown, or the claim is no sentence.
    """
    claim = " ".join((inspect.getdoc(states) or "").split())
    named = tuple(clauses.split(", "))
    unknown = [clause for clause in named if clause not in REGISTRY]
    if unknown or not claim.endswith("."):
        raise ValueError(f"theorem {name} got the claim {claim!r} and unknown clauses {unknown}; give a docstring of one sentence")
    facts["wrong"] = tuple(facts.get("wrong", ()))
    return Theorem(name, claim, named, states, **facts)


__all__ = ["NO_BOUND", "THEOREMS", "Scenario", "Statement", "Theorem", "Wrong", "made_theorem", "theorem"]
