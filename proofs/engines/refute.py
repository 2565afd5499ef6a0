"""The engine that finds counterexamples: few integers, quantifiers written out, steps unrolled; and then plain evaluation.

What the solver finds is taken for nothing until the statement, evaluated with these numbers by Python alone, has all its
hypotheses true and its goal false.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from attrs import frozen

from kvwitness.model.profile import SOUND, Profile
from kvwitness.proofs.domain import REACH, Concrete, Small, Values
from kvwitness.proofs.logic import either, negated
from kvwitness.proofs.theorem import Rules, Statement, Theorem

MOST_WORK = 6_000_000
"""The solver's own count of work after which a search is given up."""

MOST_SIZE = 4
"""The greatest divisor that is tried."""


@frozen
class Example:
    """An assignment, with what it was evaluated to.

    Attributes:
        values: The assignment.
        hypotheses: Each with its truth.
        goals: Each with its truth.
    """

    values: Values
    hypotheses: Mapping[str, bool]
    goals: Mapping[str, bool]

    @property
    def broken(self) -> list[str]:
        """The goals that do not hold."""
        return [name for name, holds in self.goals.items() if not holds]


def evaluate(
    states: Callable[..., Statement], values: Values, *, rules: Rules | None = None, profile: Profile = SOUND, high: int = 6
) -> Example:
    """The statement with these numbers, by Python alone."""
    statement = states(Concrete(values, high=high, profile=profile), **(rules or {}))
    if not all(statement.lemmas):
        raise ValueError(f"got a lemma that does not hold of {dict(values)}; allowed are instances of the lemma base; mend the base")
    hypotheses = {name: bool(holds) for name, holds in statement.hypotheses.items()}
    return Example(values, hypotheses, {name: bool(holds) for name, holds in statement.goals.items()})


def counterexample(
    theorem: Theorem,
    *,
    rules: Rules | None = None,
    without: str = "",
    twin: Callable[..., Statement] | None = None,
    profile: Profile = SOUND,
    high: int | None = None,
) -> Example | None:
    """Small numbers with which the hypotheses hold, but for the one to do without, and a goal does not; None if none are found."""
    states, reach = twin or theorem.states, high or theorem.reach
    for sizes in _sizes(theorem):
        small = Small(sizes, high=reach, profile=profile)
        values = _search(states(small, **(rules or {})), small, without)
        if values is None:
            continue
        example = evaluate(states, values, rules=rules, profile=profile, high=reach)
        assumed = all(holds for name, holds in example.hypotheses.items() if name != without)
        if assumed and example.broken:
            return example
    return None


def _sizes(theorem: Theorem) -> Iterator[dict[str, int]]:
    """Divisors to try, the smaller first; a negative one comes last, so that it shows what doing without "1 or more" does."""
    choices = product((*range(1, MOST_SIZE + 1), -1, -2), repeat=len(theorem.sizes))
    ordered = sorted(choices, key=lambda choice: (min(choice, default=1) < 0, sum(choice)))
    yield from (dict(zip(theorem.sizes, choice, strict=True)) for choice in ordered)


def _search(statement: Statement, small: Small, without: str) -> Values | None:
    import z3

    # A context of its own: what is found does not depend on what was looked for before.
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", MOST_WORK)
    assumed = [formula for name, formula in statement.hypotheses.items() if name != without]
    broken = either(False, *(negated(goal) for goal in statement.goals.values()))
    for formula in (*small.bounds, *assumed, broken):
        solver.add(z3.BoolSort().cast(formula).translate(context))
    return _values(solver.model(), small, context) if str(solver.check()) == "sat" else None


def _values(model: Any, small: Small, context: Any) -> Values:
    """The assignment as plain values."""
    import z3

    def plain(term: Any) -> Any:
        value = model.eval(term.translate(context), model_completion=True)
        return value.as_long() if z3.is_int_value(value) else z3.is_true(value)

    values: dict[str, Any] = dict(small.sizes)
    for name, (unknown, arity) in small.unknowns.items():
        if arity == 0:
            values[name] = plain(unknown)
            continue
        table = {place[0] if arity == 1 else place: plain(unknown(*place)) for place in small.places(arity, REACH)}
        if z3.is_bool(unknown(*next(small.places(arity)))):
            values[name] = frozenset(place for place, holds in table.items() if holds)
        else:
            values[name] = {place: value for place, value in table.items() if value}
    return values


__all__ = ["Example", "counterexample", "evaluate"]
