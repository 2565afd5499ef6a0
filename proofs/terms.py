"""The solver's integers: how the rules of the spec are built as terms, and what a term comes to for given numbers.

The solver is loaded only when it is asked for.
"""

from typing import Any

from kvwitness.model.numbers import register_choice


def register() -> None:
    """Let the rules of the spec take terms: their choices become the solver's if-then-else."""
    import z3

    register_choice(z3.If)


def integer(name: str) -> Any:
    """An unknown integer."""
    import z3

    return z3.Int(name)


def integers(*names: str) -> tuple[Any, ...]:
    """Unknown integers."""
    return tuple(integer(name) for name in names)


def value_of(term: Any, **values: int) -> int | bool:
    """What a term, or a plain value, comes to when each named unknown is the given number.

    Raises:
        ValueError: An unknown is left over.
    """
    import z3

    if isinstance(term, int):
        return term
    known = [(z3.Int(name), z3.IntVal(value)) for name, value in values.items()]
    outcome = z3.simplify(z3.substitute(term, *known))
    if z3.is_int_value(outcome):
        return int(outcome.as_long())
    if z3.is_true(outcome) or z3.is_false(outcome):
        return bool(z3.is_true(outcome))
    raise ValueError(f"got a term that comes to {outcome}; allowed is a number or a truth; give a value for every unknown in it")
