"""The solver as far as paths need it: constraints on linear forms, pushed and popped, and numbers that satisfy them."""

from typing import Any

from kvwitness.proofs.engines.symbolic import SymbolicBool, SymbolicInt

Model = dict[str, int]
"""A number for every unknown."""

RLIMIT = 20_000_000
"""How much work one question may be, in the solver's own measure."""


class Undecided(Exception):
    """The solver gives a question up."""


def holds(condition: SymbolicBool, model: Model) -> bool:
    """Whether a condition holds for these numbers."""
    value = condition.form.constant + sum([factor * model[name] for name, factor in condition.form.terms])
    return (value == 0 if condition.is_zero else value >= 0) != condition.is_negated


class LinearSolver:
    """A stack of conditions, in a context of its own.

    Attributes:
        questions: How often the solver was asked.
    """

    def __init__(self) -> None:
        """No conditions."""
        import z3

        self._z3 = z3
        self._context = z3.Context()
        self._solver = z3.Solver(ctx=self._context)
        self._solver.set("rlimit", RLIMIT)
        self._unknowns: dict[str, Any] = {}
        self.questions = 0

    def push(self) -> None:
        """Begin a level of conditions."""
        self._solver.push()

    def pop(self) -> None:
        """Forget the last level."""
        self._solver.pop()

    def add(self, *conditions: SymbolicBool) -> None:
        """Demand conditions on this level."""
        self._solver.add(*[self._term(condition) for condition in conditions])

    def model(self, *conditions: SymbolicBool) -> Model | None:
        """Numbers that satisfy everything demanded and these conditions too, or None if there are none.

        Raises:
            Undecided: The solver gives up.
        """
        self.questions += 1
        self._solver.push()
        try:
            self.add(*conditions)
            answer = self._solver.check()
            if answer == self._z3.unknown:
                raise Undecided(f"the solver gives up: {self._solver.reason_unknown()}")
            return self._numbers() if answer == self._z3.sat else None
        finally:
            self._solver.pop()

    def _numbers(self) -> Model:
        model = self._solver.model()
        return {name: model.eval(unknown, model_completion=True).as_long() for name, unknown in self._unknowns.items()}

    def _unknown(self, name: str) -> Any:
        found = self._unknowns.get(name)
        if found is None:
            found = self._unknowns[name] = self._z3.Int(name, ctx=self._context)
        return found

    def _form(self, form: SymbolicInt) -> Any:
        parts = [self._unknown(name) if factor == 1 else factor * self._unknown(name) for name, factor in form.terms]
        return self._z3.Sum(*parts, self._z3.IntVal(form.constant, ctx=self._context))

    def _term(self, condition: SymbolicBool) -> Any:
        form = self._form(condition.form)
        if condition.is_zero:
            return form != 0 if condition.is_negated else form == 0
        return form < 0 if condition.is_negated else form >= 0


__all__ = ["LinearSolver", "Model", "Undecided", "holds"]
