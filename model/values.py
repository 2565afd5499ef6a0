"""Changing a field of a frozen value."""

from typing import Any, TypeVar

Value = TypeVar("Value")


def evolve(value: Value, **changes: Any) -> Value:
    """The value with some fields changed: `attrs.evolve` without its checks, which would cost more than the rest of a step.

    It needs values without slots, so the hot ones are declared that way.
    """
    changed = object.__new__(type(value))
    changed.__dict__.update(value.__dict__, **changes)
    return changed
