"""The engine that proves without bounds: each goal in a fresh context, with a limit on the solver's work."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from kvwitness.model.profile import SOUND, Profile
from kvwitness.proofs.domain import Unbounded
from kvwitness.proofs.linear import NotLinear, linearised, subterms
from kvwitness.proofs.theorem import Rules, Statement, Theorem

MOST_WORK = 20_000_000
"""The solver's own count of work after which a goal is left undecided: the same on every machine."""


@frozen
class Decision:
    """How one goal came out.

    Attributes:
        goal: Its name.
        outcome: ``proved``, ``open`` (the solver found what may be a counterexample) or ``unknown``.
        used: The hypotheses that the proof needs.
        seconds: How long it took.
    """

    goal: str
    outcome: str
    used: frozenset[str] = frozenset()
    seconds: float = 0.0


def stated(theorem: Theorem, profile: Profile = SOUND, rules: Rules | None = None) -> Statement:
    """The theorem over all integers."""
    return theorem.states(Unbounded(profile), **(rules or {}))


def prove(theorem: Theorem, profile: Profile = SOUND, *, seed: int = 0, rules: Rules | None = None) -> list[Decision]:
    """Decide every goal of a theorem."""
    statement = stated(theorem, profile, rules)
    return [decide(statement, name, seed=seed) for name in statement.goals]


def decide(statement: Statement, goal: str, *, seed: int = 0) -> Decision:
    """Decide one goal: the hypotheses and its negation cannot hold together."""
    started = time.perf_counter()
    solver = solver_for(statement, goal, seed=seed)
    answer = str(solver.check())
    used = frozenset(str(name).strip("|") for name in solver.unsat_core()) if answer == "unsat" else frozenset()
    outcome = {"unsat": "proved", "sat": "open"}.get(answer, "unknown")
    return Decision(goal, outcome, used, time.perf_counter() - started)


def solver_for(statement: Statement, goal: str | None, *, seed: int = 0) -> Any:
    """A solver in a context of its own that holds the hypotheses, by name, and the negation of the goal; None for no goal."""
    import z3

    context = z3.Context()
    solver = z3.Solver(ctx=context)
    options: Mapping[str, Any] = {"rlimit": MOST_WORK, "random_seed": seed, "mbqi": False, "unsat_core": True, "core.minimize": True}
    for option, value in options.items():
        solver.set(option, value)
    names = list(statement.hypotheses)
    named, others = formulas_of(statement, goal)
    for name, formula in zip(names, named, strict=True):
        solver.assert_and_track(formula.translate(context), z3.Bool(name, context))
    for formula in others:
        solver.add(formula.translate(context))
    return solver


def formulas_of(statement: Statement, goal: str | None) -> tuple[list[Any], list[Any]]:
    """The hypotheses in order, and what stands beside them: lemmas, the negated goal, facts about products."""
    import z3

    term = z3.BoolSort().cast
    hypotheses = [term(formula) for formula in statement.hypotheses.values()]
    others = [] if goal is None else [z3.Not(term(statement.goals[goal]))]
    spoken_of = _unknowns([*hypotheses, *others])
    others += [term(formula) for formula in statement.lemmas if _unknowns([term(formula)]) <= spoken_of]
    try:
        rewritten, facts = linearised([*hypotheses, *others])
    except NotLinear:
        rewritten, facts = [*hypotheses, *others], []
    return rewritten[: len(hypotheses)], [*rewritten[len(hypotheses) :], *facts]


def _unknowns(formulas: Sequence[Any]) -> set[str]:
    """The names that stand in formulas: a lemma about others would only be in the way."""
    import z3

    terms = subterms(formulas)
    return {term.decl().name() for term in terms if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED}


def smt_text(statement: Statement, goal: str) -> str:
    """The goal as SMT-LIB, for any other solver: unsatisfiable exactly if it is proved."""
    import z3

    solver = z3.Solver()
    hypotheses, others = formulas_of(statement, goal)
    solver.add(*hypotheses, *others)
    text: str = solver.to_smt2()
    return text


def holds_again(text: str, *, seed: int = 0, work: int = MOST_WORK) -> bool:
    """Whether a goal that was written out and read back is proved again, within so much work."""
    import z3

    context = z3.Context()
    solver = z3.Solver(ctx=context)
    # Without auto_config: an older solver would choose another strategy for a goal that it reads, and then not keep mbqi off.
    for option, value in {"auto_config": False, "rlimit": work, "random_seed": seed, "mbqi": False}.items():
        solver.set(option, value)
    solver.add(z3.parse_smt2_string(text, ctx=context))
    return str(solver.check()) == "unsat"


def proves_false(statement: Statement) -> bool:
    """Whether the hypotheses contradict each other, so that anything follows: the canary."""
    return str(solver_for(statement, None).check()) == "unsat"


def unused(statement: Statement, decisions: Sequence[Decision]) -> list[str]:
    """The hypotheses that no goal needs."""
    used = frozenset().union(*(decision.used for decision in decisions))
    return [name for name in statement.hypotheses if name not in used]


__all__ = [
    "MOST_WORK",
    "Decision",
    "decide",
    "formulas_of",
    "holds_again",
    "prove",
    "proves_false",
    "smt_text",
    "solver_for",
    "stated",
    "unused",
]
