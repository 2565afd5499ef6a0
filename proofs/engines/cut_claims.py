"""One claim of a cut: what is known and the claim's opposite contradict each other, in a context of the solver's own."""

from collections.abc import Sequence
from typing import Any

from kvwitness.proofs.engines.prove import MOST_WORK
from kvwitness.proofs.linear import NotLinear, linearised


def is_linear(formula: Any) -> bool:
    """Whether a formula can be freed of its products."""
    try:
        linearised([_term(formula)])
    except NotLinear:
        return False
    return True


def outcome_of(known: Sequence[Any], goal: Any, *, linear: bool) -> str:
    """``proved``, ``open`` or ``unknown``; the products go where all that is known lets them."""
    import z3

    formulas = [*map(_term, known), z3.Not(_term(goal))]
    facts: list[Any] = []
    if linear and is_linear(formulas[-1]):
        formulas, facts = linearised(formulas)
    context = z3.Context()
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", MOST_WORK)
    solver.set("mbqi", False)
    solver.add(*[formula.translate(context) for formula in (*formulas, *facts)])
    return {"unsat": "proved", "sat": "open"}.get(str(solver.check()), "unknown")


def _term(formula: Any) -> Any:
    import z3

    return z3.BoolSort().cast(formula)


__all__ = ["is_linear", "outcome_of"]
