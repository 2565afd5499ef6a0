"""Paths: real Python source run on symbolic integers, once for every way its branches can go.

A scenario is a function that gets its numbers from a world, runs source with them and says what is wrong, or nothing.
It is run again and again; each time it takes the next way at its last open branch that the solver holds for possible.
When no way is left, the claim holds for all numbers, within the bounds that the scenario itself states.
A quotient branches over its values, so that all arithmetic stays linear: sizes are unbounded, numbers of blocks are not.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from attrs import define, frozen

from kvwitness.model import numbers
from kvwitness.proofs.engines.linear_solver import LinearSolver, Model, Undecided, holds
from kvwitness.proofs.engines.symbolic import Concretised, SymbolicBool, SymbolicInt, Truth

Number = Any
"""An int, or a symbolic integer."""


class World(Protocol):
    """Where a scenario gets its numbers from."""

    def integer(self, name: str, least: int = 0) -> Number:
        """An unknown number that is at least so large."""

    def truth(self, name: str) -> bool:
        """An unknown truth."""

    def pick(self, name: str, least: int, most: int) -> int:
        """Some plain number from ``least`` to ``most``."""

    def assume(self, condition: Truth) -> None:
        """Leave out the ways on which this does not hold."""


Scenario = Callable[[World], str]
"""Runs source in a world; what is wrong, in words, or nothing."""


class Abandoned(Exception):
    """A way on which an assumption does not hold."""


@frozen
class Outcome:
    """What running all ways came to.

    Attributes:
        verdict: ``proved``, ``refuted``, ``unknown``, or ``vacuous`` where no way satisfies the assumptions.
        because: What is wrong, or why it is unknown.
        counterexample: The numbers and truths of a way on which something is wrong.
        paths: Ways that were run to their end.
        questions: How often the solver was asked.
        seconds: How long that took.
    """

    verdict: str
    because: str
    counterexample: Mapping[str, int]
    paths: int
    questions: int
    seconds: float


@frozen
class Way:
    """One way at a branch.

    Attributes:
        value: What is taken.
        constraints: What must hold for it.
        model: Numbers for which it is taken.
    """

    value: Any
    constraints: tuple[SymbolicBool, ...]
    model: Model


@define
class Branch:
    """A place where ways part.

    Attributes:
        ways: What can be taken.
        taken: Which of them is being run.
        has_level: Whether the solver has a level for what is demanded behind this place.
    """

    ways: list[Way]
    taken: int = 0
    has_level: bool = False


BEYOND = 40
"""A quotient above this is not told apart further: it is an unknown number that is larger."""

MOST_PATHS = 200_000


class Paths:
    """The world of symbolic numbers; it runs a scenario along all ways."""

    def __init__(self, beyond: int = BEYOND) -> None:
        """Tell quotients up to ``beyond`` apart."""
        self._solver = LinearSolver()
        self._branches: list[Branch] = []
        self._beyond = beyond
        self._begin()

    def _begin(self) -> None:
        """Start from the front again."""
        self._position, self._model = 0, dict[str, int]()
        self._known: dict[Any, Any] = {}
        self._named: dict[str, int] = {}
        self._least: dict[str, int] = {}

    def run(self, scenario: Scenario, most: int = MOST_PATHS) -> Outcome:
        """Run all ways; the first on which something is wrong ends it.

        Meanwhile the spec's if-then-else branches; afterwards it is again what it was.
        """
        before = list(numbers._symbolic_choice)  # noqa: SLF001 - another engine's choice must survive this one's
        numbers.register_choice(_choice)
        try:
            return self._run(scenario, most)
        finally:
            numbers._symbolic_choice[:] = before  # noqa: SLF001

    def _run(self, scenario: Scenario, most: int) -> Outcome:
        started, paths = time.perf_counter(), 0

        def outcome(verdict: str, because: str = "", counterexample: Mapping[str, int] | None = None) -> Outcome:
            return Outcome(verdict, because, counterexample or {}, paths, self._solver.questions, time.perf_counter() - started)

        while paths < most:
            try:
                wrong = scenario(self)
                paths += 1
            except Abandoned:
                wrong = ""
            except (Undecided, Concretised) as reason:
                return outcome("unknown", str(reason))
            except Exception as error:  # noqa: BLE001 - source that raises on a legal way is wrong
                wrong = f"it raises {type(error).__name__}: {error}"
            if wrong:
                return outcome("refuted", wrong, self._numbers())
            if not self._turn():
                return outcome("proved" if paths else "vacuous")
        return outcome("unknown", f"there are more than {most} paths")

    def _numbers(self) -> Mapping[str, int]:
        """The scenario's own unknowns on the way that is run; quotients that stand for larger ones are left out."""
        return {name: value for name, value in {**self._model, **self._named}.items() if not name.startswith("[")}

    def _turn(self) -> bool:
        """Go to the next way at the last branch that has one; False where all were run."""
        while self._branches:
            branch = self._branches[-1]
            self._leave(branch)
            branch.taken += 1
            if branch.taken < len(branch.ways):
                self._enter(branch)
                self._begin()
                return True
            self._branches.pop()
        return False

    def _enter(self, branch: Branch) -> None:
        """Demand what must hold for the way that is taken."""
        constraints = branch.ways[branch.taken].constraints
        if constraints:
            self._demand(*constraints)

    def _demand(self, *conditions: SymbolicBool) -> None:
        """Demand conditions for as long as the last branch keeps its way; many branches never demand anything."""
        if self._branches and not self._branches[-1].has_level:
            self._solver.push()
            self._branches[-1].has_level = True
        self._solver.add(*conditions)

    def _leave(self, branch: Branch) -> None:
        """Forget what was demanded behind a branch."""
        if branch.has_level:
            self._solver.pop()
            branch.has_level = False

    @property
    def _is_new(self) -> bool:
        """Whether this place was not run before: its conditions are not in the solver yet."""
        return self._position == len(self._branches)

    def _take(self, find: Callable[[], list[Way]]) -> Any:
        """What is taken at this branch; its ways are found when it is met first."""
        if self._is_new:
            branch = Branch(find())
            self._branches.append(branch)
            self._enter(branch)
        branch = self._branches[self._position]
        self._position += 1
        way = branch.ways[branch.taken]
        self._model = dict(way.model)
        return way.value

    def integer(self, name: str, least: int = 0) -> Number:
        """An unknown number that is at least so large."""
        unknown = SymbolicInt(self, ((name, 1),))
        self._least[name] = least
        if self._is_new:
            self._model[name] = least
            self._demand(SymbolicBool(unknown - least, is_zero=False))
        return unknown

    def truth(self, name: str) -> bool:
        """An unknown truth: both ways, and the same one whenever it is asked for again."""
        return bool(self.pick(name, 0, 1))

    def pick(self, name: str, least: int, most: int) -> int:
        """Some plain number from ``least`` to ``most``."""
        if name not in self._named:
            self._named[name] = self._take(lambda: [Way(value, (), self._model) for value in range(least, most + 1)])
        return self._named[name]

    def assume(self, condition: Truth) -> None:
        """Leave out the ways on which this does not hold.

        Raises:
            Abandoned: This is one.
        """
        if isinstance(condition, bool):
            if not condition:
                raise Abandoned
            return
        if not self._is_new:
            return
        if not holds(condition, self._model):
            model = self._solver.model(condition)
            if model is None:
                raise Abandoned
            self._model = model
        self._demand(condition)

    def decide(self, form: SymbolicInt, *, is_zero: bool) -> bool:
        """Whether the form is 0, or else whether it is 0 or more: the ways that are possible."""
        key = (form.terms, form.constant, is_zero)
        if key not in self._known:
            told = self._told(form, is_zero=is_zero)
            self._known[key] = self._take(lambda: self._sides(SymbolicBool(form, is_zero=is_zero))) if told is None else told
        return bool(self._known[key])

    def _told(self, form: SymbolicInt, *, is_zero: bool) -> bool | None:
        """What the least values of the unknowns tell of a form whose factors have one sign."""
        bound = form.constant + sum([factor * self._least[name] for name, factor in form.terms])
        if bound > 0 and all([factor > 0 for _, factor in form.terms]):
            return not is_zero
        return False if bound < 0 and all([factor < 0 for _, factor in form.terms]) else None

    def _sides(self, condition: SymbolicBool) -> list[Way]:
        """The side that the numbers at hand are on, and the other one if there are numbers for it."""
        opposite = SymbolicBool(condition.form, is_zero=condition.is_zero, is_negated=True)
        here = holds(condition, self._model)
        ways = [Way(here, (condition if here else opposite,), self._model)]
        other = self._solver.model(opposite if here else condition)
        return ways if other is None else [*ways, Way(not here, (opposite if here else condition,), other)]

    def quotient(self, dividend: Number, divisor: Number) -> Number:
        """The quotient rounded down: a way for each of its values; those beyond the bound go together."""
        if isinstance(dividend, int) and dividend == 0:
            return 0
        if divisor < 0:
            dividend, divisor = -dividend, -divisor
        if divisor == 0:
            raise ZeroDivisionError(f"{dividend} // {divisor}")
        whole, rest = _taken_out(dividend, divisor)
        if isinstance(rest, int) and rest in (0, -1):
            return whole + rest
        key = (_key(dividend), _key(divisor))
        if key not in self._known:
            self._known[key] = self._take(lambda: self._values(dividend, divisor))
        value: int = self._known[key]
        return value if abs(value) <= self._beyond else self._large(dividend, divisor, value)

    def _large(self, dividend: Number, divisor: Number, value: int) -> Number:
        """A quotient beyond the bound: all that is known of it is that it is further from 0."""
        name = f"[{dividend} // {divisor}]"
        return self.integer(name, value) if value > 0 else -self.integer(name, -value)

    def _values(self, dividend: Number, divisor: Number) -> list[Way]:
        """A way for each value that the quotient can have: found between those that are known."""
        ways: list[Way] = []
        least, most = -self._beyond - 1, self._beyond + 1
        gaps: list[tuple[int, int, Model | None]] = [(least, most, self._model)]
        while gaps:
            low, high, model = gaps.pop()
            if model is None:
                model = self._solver.model(*self._within(dividend, divisor, low, high))
            if model is None:
                continue
            value = max(least, min(most, value_of(dividend, model) // value_of(divisor, model)))
            ways.append(Way(value, self._within(dividend, divisor, value, value), model))
            gaps += [(start, end, None) for start, end in ((low, value - 1), (value + 1, high)) if start <= end]
        return sorted(ways, key=lambda way: int(way.value))

    def _within(self, dividend: Number, divisor: Number, low: int, high: int) -> tuple[SymbolicBool, ...]:
        """That the quotient lies between two values; the outermost ones stand for everything beyond."""
        above = dividend - low * divisor >= 0 if low >= -self._beyond else True
        below = dividend - (high + 1) * divisor < 0 if high <= self._beyond else True
        return tuple([bound if isinstance(bound, SymbolicBool) else _never(self) for bound in (above, below) if bound is not True])


def _never(explorer: Paths) -> SymbolicBool:
    """The condition that no numbers satisfy, for a bound that turns out false without any unknown in it."""
    return SymbolicBool(SymbolicInt(explorer, (), -1), is_zero=False)


def _taken_out(dividend: Number, divisor: Number) -> tuple[int, Number]:
    """The dividend as some of the divisor's multiples and a rest, by the factor of the divisor's first unknown."""
    if isinstance(dividend, int) or isinstance(divisor, int):
        return 0, None
    name, unit = divisor.terms[0]
    whole = dict(dividend.terms).get(name, 0) // unit
    return whole, dividend - whole * divisor


def _key(number: Number) -> Any:
    return number if isinstance(number, int) else (number.terms, number.constant)


def value_of(number: Number, model: Model) -> int:
    """What a number comes to."""
    if isinstance(number, int):
        return number
    return int(number.constant + sum([factor * model[name] for name, factor in number.terms]))


def _choice(condition: Any, then: Any, otherwise: Any) -> Any:
    """The if-then-else of the spec: a branch where the condition is a comparison of symbolic integers."""
    if isinstance(condition, SymbolicBool):
        return then if condition else otherwise
    import z3

    return z3.If(condition, then, otherwise)


class Numbers:
    """The world of plain numbers, on which a counterexample is run again."""

    def __init__(self, values: Mapping[str, int]) -> None:
        """Give these numbers."""
        self._values = values

    def integer(self, name: str, least: int = 0) -> int:
        """The number of that name."""
        return self._values.get(name, least)

    def truth(self, name: str) -> bool:
        """The truth of that name; false where it made no difference."""
        return bool(self._values.get(name, 0))

    def pick(self, name: str, least: int, most: int) -> int:
        """The number of that name."""
        return self._values.get(name, least)

    def assume(self, condition: Truth) -> None:
        """The assumptions hold for a counterexample.

        Raises:
            Abandoned: They do not.
        """
        if not condition:
            raise Abandoned


def run_again(scenario: Scenario, values: Mapping[str, int]) -> str:
    """What is wrong when the source runs on plain numbers: how a counterexample is confirmed without any solver."""
    try:
        return scenario(Numbers(values))
    except (Abandoned, Concretised):
        return ""
    except Exception as error:  # noqa: BLE001 - source that raises on a legal way is wrong
        return f"it raises {type(error).__name__}: {error}"


__all__ = ["Abandoned", "Numbers", "Outcome", "Paths", "Scenario", "World", "run_again"]
