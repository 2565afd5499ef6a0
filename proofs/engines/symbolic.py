"""Integers that real Python source can compute with and that are not numbers yet.

A symbolic integer is a linear form over named unknowns.
It is no subclass of int: C code that reads an int would silently read a number that is none.
Whatever needs a number, such as a comparison that is branched on or a quotient, asks the explorer of paths.
"""

from typing import Any, NoReturn, Protocol

Terms = tuple[tuple[str, int], ...]
"""The unknowns of a linear form with their factors, by name; none is 0."""


class Concretised(TypeError):
    """Source that wants a number where there is none: it cannot be run symbolically as it is."""


class Explorer(Protocol):
    """Who decides what a symbolic integer cannot know."""

    def decide(self, form: "SymbolicInt", *, is_zero: bool) -> bool:
        """Whether the form is 0, or else whether it is 0 or more, on the path that is being run."""

    def quotient(self, dividend: "SymbolicInt | int", divisor: "SymbolicInt | int") -> "SymbolicInt | int":
        """The quotient rounded down, on the path that is being run."""


def linear(explorer: Explorer, factors: dict[str, int], constant: int) -> "SymbolicInt | int":
    """The linear form, or the plain number if no unknown is left in it."""
    terms = tuple(sorted((name, factor) for name, factor in factors.items() if factor))
    return SymbolicInt(explorer, terms, constant) if terms else constant


class SymbolicBool:
    """A comparison that has not been decided; to branch on it decides it."""

    __slots__ = ("form", "is_negated", "is_zero")

    def __init__(self, form: "SymbolicInt", *, is_zero: bool, is_negated: bool = False) -> None:
        """Whether the form is 0, or else whether it is 0 or more; or the opposite."""
        self.form, self.is_zero, self.is_negated = form, is_zero, is_negated

    def __bool__(self) -> bool:
        """Ask the explorer."""
        return self.form.explorer.decide(self.form, is_zero=self.is_zero) != self.is_negated

    def __eq__(self, other: object) -> bool:
        return bool(self) == bool(other)

    def __repr__(self) -> str:
        sign = ("!=" if self.is_negated else "==") if self.is_zero else ("<" if self.is_negated else ">=")
        return f"{self.form} {sign} 0"

    __hash__ = None  # type: ignore[assignment]


Truth = SymbolicBool | bool


class SymbolicInt:
    """A linear form over unknowns.

    Attributes:
        explorer: Who decides for it.
        terms: Unknowns with their factors.
        constant: What is added.
    """

    __slots__ = ("constant", "explorer", "terms")

    def __init__(self, explorer: Explorer, terms: Terms, constant: int = 0) -> None:
        """The form; its terms are in order, and there is at least one."""
        self.explorer, self.terms, self.constant = explorer, terms, constant

    def __repr__(self) -> str:
        parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in self.terms]
        return f"({' + '.join([*parts, *([str(self.constant)] if self.constant else [])])})"

    def _plus(self, other: Any, sign: int) -> Any:
        if isinstance(other, int):
            return SymbolicInt(self.explorer, self.terms, self.constant + sign * other)
        if not isinstance(other, SymbolicInt):
            return NotImplemented
        factors = dict(self.terms)
        for name, factor in other.terms:
            factors[name] = factors.get(name, 0) + sign * factor
        return linear(self.explorer, factors, self.constant + sign * other.constant)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def __neg__(self) -> "SymbolicInt":
        return SymbolicInt(self.explorer, tuple([(name, -factor) for name, factor in self.terms]), -self.constant)

    def __pos__(self) -> "SymbolicInt":
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, SymbolicInt):
            raise Concretised(f"got {self} * {other}; allowed is a product with a number; bound one of the two")
        if not isinstance(other, int):
            return NotImplemented
        return linear(self.explorer, {name: factor * other for name, factor in self.terms}, self.constant * other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self.explorer.quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self.explorer.quotient(other, self)

    # The rules of the spec divide a solver's terms with a slash: there it rounds down.
    __truediv__, __rtruediv__ = __floordiv__, __rfloordiv__

    def __mod__(self, other: Any) -> Any:
        return self - (self // other) * other

    def __rmod__(self, other: Any) -> Any:
        return other - (other // self) * self

    def _compared(self, other: Any, sign: int, shift: int) -> Any:
        """Whether ``sign * (self - other) + shift`` is 0 or more."""
        difference = self - other
        if difference is NotImplemented:
            return NotImplemented
        form = difference * sign + shift
        return form >= 0 if isinstance(form, int) else SymbolicBool(form, is_zero=False)

    def __ge__(self, other: Any) -> Any:
        return self._compared(other, 1, 0)

    def __gt__(self, other: Any) -> Any:
        return self._compared(other, 1, -1)

    def __le__(self, other: Any) -> Any:
        return self._compared(other, -1, 0)

    def __lt__(self, other: Any) -> Any:
        return self._compared(other, -1, -1)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, int | SymbolicInt):
            return False
        difference = self - other
        return difference == 0 if isinstance(difference, int) else SymbolicBool(difference, is_zero=True)

    def __ne__(self, other: object) -> Any:
        equal = self == other
        return SymbolicBool(equal.form, is_zero=True, is_negated=True) if isinstance(equal, SymbolicBool) else not equal

    def __bool__(self) -> bool:
        """Whether it is not 0: a branch."""
        return bool(self != 0)

    def _refuse(self, *_: object) -> NoReturn:
        raise Concretised(f"got {self} where a plain number is needed; compare it or divide it instead")

    def __hash__(self) -> int:
        return self._refuse()

    __index__ = __int__ = __float__ = __round__ = __pow__ = __rpow__ = _refuse


__all__ = ["Concretised", "Explorer", "SymbolicBool", "SymbolicInt", "Truth", "linear"]
