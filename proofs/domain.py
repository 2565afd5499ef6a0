"""Where a statement is read: over all integers, over a few of them, or with every unknown known.

The same function that states a theorem gives the goal to prove, the small twin in which a solver looks for a counterexample,
and the plain truth of one assignment, which no solver has a part in.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Protocol

from attrs import field, frozen

from kvwitness.model.profile import SOUND, Profile
from kvwitness.proofs import branches
from kvwitness.proofs.logic import both, either

Values = Mapping[str, Any]
"""An assignment: numbers and truths by name, functions as ``{arguments: value}``, predicates as sets of arguments."""

REACH = 3
"""How far beyond a small range the arguments of its functions may lie."""


class Domain(Protocol):
    """What a statement is built over."""

    @property
    def profile(self) -> Profile:
        """The rules in force."""

    def number(self, name: str) -> Any:
        """An unknown integer."""

    def size(self, name: str) -> Any:
        """An unknown integer that is divided by."""

    def truth(self, name: str) -> Any:
        """An unknown truth."""

    def function(self, name: str, arity: int = 1) -> Callable[..., Any]:
        """An unknown function to integers."""

    def predicate(self, name: str, arity: int = 1) -> Callable[..., Any]:
        """An unknown function to truths."""

    def every(self, body: Callable[..., Any], *patterns: Callable[..., Any]) -> Any:
        """The body holds of all integers; what instances are looked for by are the patterns."""


def numbers(domain: Domain, names: str) -> list[Any]:
    """Several unknown integers."""
    return [domain.number(name) for name in names.split()]


def _names(body: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(body).parameters)


@frozen
class Unbounded:
    """All integers: what is proved here has no bound."""

    profile: Profile = SOUND

    def number(self, name: str) -> Any:
        """An unknown integer."""
        import z3

        branches.register()
        return z3.Int(name)

    def size(self, name: str) -> Any:
        """An unknown integer that is divided by."""
        return self.number(name)

    def truth(self, name: str) -> Any:
        """An unknown truth."""
        import z3

        return z3.Bool(name)

    def function(self, name: str, arity: int = 1) -> Callable[..., Any]:
        """An uninterpreted function to integers."""
        import z3

        return z3.Function(name, *[z3.IntSort()] * arity, z3.IntSort())

    def predicate(self, name: str, arity: int = 1) -> Callable[..., Any]:
        """An uninterpreted function to truths."""
        import z3

        return z3.Function(name, *[z3.IntSort()] * arity, z3.BoolSort())

    def every(self, body: Callable[..., Any], *patterns: Callable[..., Any]) -> Any:
        """A quantifier."""
        import z3

        bound = [z3.Int(f"{name}!") for name in _names(body)]
        found = [pattern(*bound) for pattern in patterns]
        return z3.ForAll(bound, body(*bound), patterns=[z3.MultiPattern(*each) if isinstance(each, tuple) else each for each in found])


@frozen
class Small:
    """A few integers, quantifiers written out: what is found here is an example.

    Attributes:
        sizes: What is divided by, as plain numbers.
        low: The least integer.
        high: The greatest.
        profile: The rules in force.
        bounds: What keeps the unknowns in the range, filled while a statement is built.
        unknowns: The unknowns by name, filled in the same way.
    """

    sizes: Mapping[str, int]
    low: int = -1
    high: int = 6
    profile: Profile = SOUND
    bounds: list[Any] = field(factory=list)
    unknowns: dict[str, tuple[Any, int]] = field(factory=dict)

    def number(self, name: str) -> Any:
        """An unknown of the range."""
        import z3

        branches.register()
        unknown = z3.Int(name)
        self.bounds.append(both(self.low <= unknown, unknown <= self.high))
        self.unknowns[name] = (unknown, 0)
        return unknown

    def size(self, name: str) -> int:
        """A plain number."""
        return self.sizes[name]

    def truth(self, name: str) -> Any:
        """An unknown truth."""
        import z3

        self.unknowns[name] = (z3.Bool(name), 0)
        return z3.Bool(name)

    def function(self, name: str, arity: int = 1) -> Callable[..., Any]:
        """A function whose values lie in the range."""
        import z3

        unknown = z3.Function(name, *[z3.IntSort()] * arity, z3.IntSort())
        self.unknowns[name] = (unknown, arity)
        for place in self.places(arity):
            self.bounds.append(both(self.low <= unknown(*place), unknown(*place) <= self.high))
        return unknown

    def predicate(self, name: str, arity: int = 1) -> Callable[..., Any]:
        """A function to truths."""
        import z3

        unknown = z3.Function(name, *[z3.IntSort()] * arity, z3.BoolSort())
        self.unknowns[name] = (unknown, arity)
        return unknown

    def every(self, body: Callable[..., Any], *patterns: Callable[..., Any]) -> Any:
        """The body for each integer of the range."""
        return both(True, *(body(*place) for place in self.places(len(_names(body)))))

    def places(self, arity: int, reach: int = 0) -> Iterator[tuple[int, ...]]:
        """All arguments that a function of the range has."""
        return product(range(self.low - reach, self.high + 1 + reach), repeat=arity)


@frozen
class Concrete:
    """Everything known: a statement built here is plain truths.

    Attributes:
        values: The assignment.
        low: The least integer that quantifiers range over.
        high: The greatest.
        profile: The rules in force.
    """

    values: Values
    low: int = -1
    high: int = 6
    profile: Profile = SOUND

    def number(self, name: str) -> int:
        """The number by that name."""
        value: int = self.values[name]
        return value

    def size(self, name: str) -> int:
        """The number by that name."""
        return self.number(name)

    def truth(self, name: str) -> bool:
        """The truth by that name."""
        value: bool = self.values[name]
        return value

    def function(self, name: str, arity: int = 1) -> Callable[..., int]:
        """A look-up in the table by that name; 0 where it has no entry."""
        table = self.values[name]
        return lambda *place: table.get(place[0] if arity == 1 else place, 0)

    def predicate(self, name: str, arity: int = 1) -> Callable[..., bool]:
        """Membership in the set by that name."""
        members = self.values[name]
        return lambda *place: (place[0] if arity == 1 else place) in members

    def every(self, body: Callable[..., Any], *patterns: Callable[..., Any]) -> bool:
        """The body of each integer of the range."""
        places = product(range(self.low, self.high + 1), repeat=len(_names(body)))
        return all(body(*place) for place in places)


__all__ = ["Concrete", "Domain", "Small", "Unbounded", "Values", "both", "either", "numbers"]
