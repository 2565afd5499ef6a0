"""Products and quotients out of the way: what is left is linear, and a solver decides it the same way every time.

A quotient ``x / d`` becomes an unknown ``q`` with ``d*q <= x < d*q + d``, and a product ``d*q`` becomes ``P(q)``.
Of ``P`` only this is said, for every two numbers that it is applied to: equal ones have equal products, neighbours differ by
``d``, and those further apart by at least ``2*d``.
All of it holds of products with a positive ``d``, so what is proved without products is proved.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any


class NotLinear(Exception):
    """A formula that cannot be freed of its products: of three unknowns, or of what a quantifier binds."""


def linearised(formulas: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The formulas without products and quotients of unknowns, and what is said of the unknowns that replace them.

    Raises:
        NotLinear: There is a product that this does not reach.
    """
    rewriter = _Rewriter(_divisors(formulas))
    rewritten = [rewriter.rewrite(formula) for formula in formulas]
    return rewritten, rewriter.facts()


def subterms(formulas: Sequence[Any]) -> Iterator[Any]:
    """Everything that formulas are made of, quantified parts included, each once and in the order of appearance."""
    import z3

    seen: set[int] = set()
    pending = list(reversed(formulas))
    while pending:
        term = pending.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if z3.is_quantifier(term):
            pending.append(term.body())
            continue
        yield term
        pending += reversed(term.children())


def _divisors(formulas: Sequence[Any]) -> list[Any]:
    """What is divided by, each once, in the order of appearance."""
    import z3

    found: dict[int, Any] = {}
    for term in subterms(formulas):
        if z3.is_app(term) and term.decl().kind() in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD) and not z3.is_int_value(term.arg(1)):
            found.setdefault(term.arg(1).get_id(), term.arg(1))
    return list(found.values())


class _Rewriter:
    """Replaces products and quotients, and remembers what by."""

    def __init__(self, divisors: list[Any]) -> None:
        self._divisors = divisors
        self._products: dict[int, tuple[Any, Any, dict[int, Any]]] = {}
        self._quotients: dict[tuple[int, int], Any] = {}
        self._bounds: list[Any] = []
        self._done: dict[int, Any] = {}
        self._kept: list[Any] = []

    def rewrite(self, term: Any) -> Any:
        """The term without products."""
        known = self._done.get(term.get_id())
        if known is None:
            known = self._rewrite(term)
            self._done[term.get_id()] = known
            self._kept.append(term)
        return known

    def _rewrite(self, term: Any) -> Any:
        import z3

        if z3.is_quantifier(term):
            _demand_linear(term.body())
            return term
        if not term.children():
            return term
        parts = [self.rewrite(part) for part in term.children()]
        kind = term.decl().kind()
        if kind in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD) and not z3.is_int_value(parts[1]):
            quotient = self._quotient(*parts)
            return quotient if kind == z3.Z3_OP_IDIV else parts[0] - self._product(parts[1], quotient)
        if kind == z3.Z3_OP_MUL:
            return self._multiplied(parts)
        return _rebuilt(term, parts)

    def _multiplied(self, parts: list[Any]) -> Any:
        import z3

        simple = [z3.simplify(part) for part in parts]
        plain = [part for part in simple if z3.is_int_value(part)]
        unknown = [part for part in simple if not z3.is_int_value(part)]
        factor = 1
        for number in plain:
            factor *= number.as_long()
        if not unknown:
            return z3.IntVal(factor)
        if len(unknown) == 1:
            return _times(factor, unknown[0])
        if len(unknown) > 2:  # noqa: PLR2004 - a product of three
            raise NotLinear(f"got a product of {len(unknown)} unknowns; allowed are two; name the product of the others")
        left, right = unknown
        divisors = {divisor.get_id() for divisor in self._divisors}
        if left.get_id() in divisors and right.get_id() not in divisors:
            left, right = right, left
        return _times(factor, self._product(right, left))

    def _product(self, divisor: Any, factor: Any) -> Any:
        import z3

        number = divisor.get_id()
        if number not in self._products:
            function = z3.Function(f"times!{len(self._products)}", z3.IntSort(), z3.IntSort())
            self._products[number] = (divisor, function, {})
            self._product(divisor, z3.IntVal(0))
            self._product(divisor, z3.IntVal(1))
        _, function, factors = self._products[number]
        factor = z3.simplify(factor)
        factors.setdefault(factor.get_id(), factor)
        return function(factor)

    def _quotient(self, dividend: Any, divisor: Any) -> Any:
        import z3

        dividend = z3.simplify(dividend)
        place = (dividend.get_id(), divisor.get_id())
        if place not in self._quotients:
            quotient = z3.Int(f"quotient!{len(self._quotients)}")
            self._quotients[place] = quotient
            self._kept.append(dividend)
            whole = self._product(divisor, quotient)
            self._bounds.append(z3.Implies(divisor >= 1, z3.And(whole <= dividend, dividend < whole + divisor)))
        return self._quotients[place]

    def facts(self) -> list[Any]:
        """What holds of the unknowns that stand for quotients and products."""
        import z3

        facts = list(self._bounds)
        for divisor, function, factors in self._products.values():
            order = [function(z3.IntVal(0)) == 0, function(z3.IntVal(1)) == divisor]
            for left, right in combinations(factors.values(), 2):
                order.append(z3.Implies(left == right, function(left) == function(right)))
                for less, more in ((left, right), (right, left)):
                    order.append(z3.Implies(less + 1 == more, function(more) == function(less) + divisor))
                    order.append(z3.Implies(less + 2 <= more, function(more) >= function(less) + 2 * divisor))
            facts += [z3.Implies(divisor >= 1, z3.And(*order))]
        return facts


def _times(factor: int, term: Any) -> Any:
    """A multiple of a term; the term itself where that is all."""
    return term if factor == 1 else factor * term


def _rebuilt(term: Any, parts: list[Any]) -> Any:
    """The same term of other parts."""
    import z3

    changed = [(old, new) for old, new in zip(term.children(), parts, strict=True) if not old.eq(new)]
    if not changed:
        return term
    many = {z3.Z3_OP_AND: z3.And, z3.Z3_OP_OR: z3.Or, z3.Z3_OP_ADD: z3.Sum, z3.Z3_OP_DISTINCT: z3.Distinct}
    make = many.get(term.decl().kind(), term.decl())
    return make(*parts)


def _demand_linear(term: Any) -> None:
    """Raise `NotLinear` for a product or a quotient of unknowns below a quantifier."""
    import z3

    if z3.is_quantifier(term):
        _demand_linear(term.body())
        return
    if z3.is_app(term):
        factors = [part for part in term.children() if not z3.is_int_value(part)]
        kind = term.decl().kind()
        divides = kind in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD) and not z3.is_int_value(term.arg(1))
        if divides or (kind == z3.Z3_OP_MUL and len(factors) > 1):
            raise NotLinear(f"got {term} below a quantifier; allowed are sums; name it outside")
    for part in term.children():
        _demand_linear(part)
