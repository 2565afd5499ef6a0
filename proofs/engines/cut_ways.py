"""The ways through source whose loops are cut: what is decided, what is known by it, and what is claimed on the way."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from attrs import define, field, frozen

from kvwitness.proofs.engines.cut_claims import is_linear, outcome_of
from kvwitness.proofs.engines.cut_lists import Strip, both, repeated
from kvwitness.proofs.engines.cut_numbers import CannotCut, Number

MOST_WAYS = 4000


class WayEnds(Exception):
    """A loop came round, or a way turned out impossible: nothing more happens on it."""


@frozen
class Open:
    """A claim that was not proved.

    Attributes:
        goal: Its name.
        outcome: ``open`` or ``unknown``.
    """

    goal: str
    outcome: str


@define
class Proofs:
    """What was claimed on all ways.

    Attributes:
        lemmas: Facts of arithmetic that every claim may use.
        asked: Claims by the way that leads to them, each proved once.
        open: Those that were not proved.
        ways: Ways that were run.
        reached: Of each place where something is claimed, whether a way gets there that is not known to be impossible.
    """

    lemmas: list[Any] = field(factory=list)
    asked: dict[Any, str] = field(factory=dict)
    open: list[Open] = field(factory=list)
    ways: int = 0
    reached: dict[str, bool] = field(factory=dict)


class Null:
    """The null block of a cut run."""

    is_null = True


class Ways:
    """One run of a function: its decisions, what is known by them, and what is claimed on the way."""

    def __init__(self, proofs: Proofs, given: tuple[bool, ...]) -> None:
        """Take the given decisions first, and then the first possible one at each branch."""
        self.proofs, self._given = proofs, given
        self.taken: list[bool] = []
        self.branches: list[int] = []
        self.facts: list[Any] = []
        self.null = Null()
        self.sizes: list[Any] = []
        self.block: Any = None
        self.aligned: Callable[[Any], Any] = lambda _: True
        self.names_quotients = False
        self._rests: dict[str, Any] = {}
        self._names: dict[str, Any] = {}
        self._fresh, self._seen, self._linear = 0, 0, True

    def number(self, name: str) -> Number:
        """An unknown number."""
        import z3

        self._fresh += 1
        return Number(self, z3.Int(f"{name}!{self._fresh}"))

    def strip(self, name: str) -> Strip:
        """An unknown list."""
        import z3

        length, at = self.number(f"length of {name}").term, z3.Function(f"{name}!{self._fresh}", z3.IntSort(), z3.IntSort())
        self.facts.append(length >= 0)
        return Strip(self, length, at)

    def decide(self, term: Any) -> bool:
        """Whether a condition holds: both ways are run where both are possible."""
        import z3

        # What is remembered is not simplified: that would multiply out what products are told apart by.
        term = z3.BoolSort().cast(term)
        plain = z3.simplify(term)
        if z3.is_true(plain) or z3.is_false(plain):
            return bool(z3.is_true(plain))
        place = len(self.taken)
        if place < len(self._given):
            choice = self._given[place]
        else:
            choice = not self._follows(z3.Not(term))
            if choice and not self._follows(term):
                self.branches.append(place)
        self.taken.append(choice)
        self.facts.append(term if choice else z3.Not(term))
        return choice

    def _follows(self, term: Any) -> bool:
        key = ("branch", *self.taken, term.sexpr())
        if key not in self.proofs.asked:
            self.proofs.asked[key] = self._outcome(term)
        return self.proofs.asked[key] == "proved"

    def claim(self, goals: Mapping[str, Any]) -> None:
        """What must hold here."""
        for name, term in goals.items():
            key = (name, *self.taken, len(self.facts))
            if key in self.proofs.asked:
                continue
            self.proofs.asked[key] = outcome = self._outcome(term)
            if outcome != "proved":
                self.proofs.open.append(Open(name, outcome))

    def _outcome(self, term: Any) -> str:
        self._linear = self._linear and all(is_linear(fact) for fact in self.facts[self._seen :])
        self._seen = len(self.facts)
        return outcome_of([*self.facts, *self.proofs.lemmas], term, linear=self._linear)

    def note_reached(self, place: str) -> None:
        """Note that a way got to a place: what is claimed only where nobody gets is claimed of nothing."""
        if not self.proofs.reached.get(place):
            self.proofs.reached[place] = not self.is_impossible

    @property
    def is_impossible(self) -> bool:
        """Whether what is known contradicts itself."""
        return self._outcome(False) == "proved"

    def repeated(self, values: Any, times: Any) -> Strip:
        """A list of one block, so many times."""
        return repeated(self, values, times)

    def size_of(self, divisor: Any) -> tuple[Any, int]:
        """The positive number that is divided by, and its sign."""
        import z3

        for size in self.sizes:
            for sign in (1, -1):
                if z3.simplify(divisor - sign * size, som=True).eq(z3.IntVal(0)):
                    return size, sign
        raise CannotCut(f"{divisor} is divided by, of which it is not known that it is positive")

    def named(self, term: Any) -> Any:
        """An unknown that is the term: below a quantifier there may be sums only."""
        import z3

        if not self.names_quotients or z3.is_const(term):
            return term
        key = term.sexpr()
        if key not in self._names:
            self._names[key] = name = self.number("named").term
            self.facts.append(name == term)
        return self._names[key]

    def rest(self, number: Any) -> Any:
        """What is left of a number above the aligned one below it; between them nothing is aligned."""
        import z3

        number = z3.simplify(number)
        key = number.sexpr()
        if key not in self._rests:
            self._rests[key] = rest = self.number("rest").term
            self.facts.append(
                both(rest >= 0, rest < z3.Int("step"), self.aligned(number - rest), self.nothing_between(number - rest, number))
            )
        return self._rests[key]

    def nothing_between(self, low: Any, high: Any) -> Any:
        """No length above the one, up to the other, is aligned."""
        import z3

        length = z3.Int("length!")
        inside = both(low < length, length <= high)
        return z3.ForAll([length], z3.Implies(inside, z3.Not(self.aligned(length))), patterns=[self.aligned(length)])

    def aligned_factor(self, tokens: Any) -> Any:
        """How many blocks so many tokens are."""
        import z3

        blocks = z3.simplify(z3.substitute(tokens, (self.block, z3.IntVal(1))))
        if not z3.simplify(tokens - blocks * self.block, som=True).eq(z3.IntVal(0)):
            raise CannotCut(f"alignment is asked of {tokens}, which is no number of blocks")
        return blocks


def all_ways(run: Callable[[Ways], None], lemmas: Collection[Any] = ()) -> Proofs:
    """Run a function on all its ways and prove what is claimed on them.

    Source that raises claims that it does not get there.

    Raises:
        CannotCut: It has a shape that this does not run.
    """
    import z3

    proofs = Proofs(list(lemmas))
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        ways = Ways(proofs, pending.pop())
        try:
            run(ways)
        except WayEnds:
            pass
        except (CannotCut, AttributeError, TypeError, NameError, z3.Z3Exception) as reason:
            # On a way that is impossible source may do anything.
            if not ways.is_impossible:
                raise CannotCut(str(reason)) from reason
        except Exception as error:  # noqa: BLE001 - source that raises on a legal way is wrong
            ways.claim({f"it does not raise {type(error).__name__}: {error}": False})
        proofs.ways += 1
        if proofs.ways > MOST_WAYS:
            raise CannotCut(f"there are more than {MOST_WAYS} ways")
        pending += [(*ways.taken[:place], not ways.taken[place]) for place in ways.branches]
    return proofs


__all__ = ["Open", "Proofs", "WayEnds", "Ways", "all_ways"]
