"""Calls by the names of arguments: what lets one adapter drive releases whose signatures differ."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from kvwitness.vllm.loader import ReleaseError

SYNONYMS = {
    "drop_eagle_block": "use_eagle",
    "max_in_flight_tokens": "max_num_batched_tokens",
    "num_computed_tokens": "total_computed_tokens",
    "processed_computed_tokens": "total_computed_tokens",
}
"""Later names of arguments, with the seed's name of the same thing."""

POSITIONAL, KEYWORDS = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


@functools.cache
def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function, or of a class through all constructors that pass keywords on."""
    functions = (
        [vars(each)["__init__"] for each in function.__mro__ if "__init__" in vars(each)] if isinstance(function, type) else [function]
    )
    found: dict[str, inspect.Parameter] = {}
    for each in functions:
        parameters = inspect.signature(each).parameters
        for name, parameter in parameters.items():
            if parameter.kind not in (POSITIONAL, KEYWORDS) and name not in ("self", "cls"):
                found.setdefault(name, parameter)
        if not any(parameter.kind is KEYWORDS for parameter in parameters.values()):
            break
    return found


@functools.cache
def matched_names(label: str, function: Callable[..., Any], offered: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Each parameter that is offered an argument, with the name under which it is offered.

    Raises:
        ReleaseError: A parameter requires an argument that is not offered.
    """
    names = []
    for name, parameter in parameters_of(function).items():
        seeds_name = name if name in offered else SYNONYMS.get(name, name)
        if seeds_name in offered:
            names.append((name, seeds_name))
        elif parameter.default is inspect.Parameter.empty:
            called = getattr(function, "__qualname__", repr(function))
            raise ReleaseError(f"{label} requires {name} in {called}, which the adapter does not know: the interface has moved on")
    return tuple(names)


class ByName:
    """A function of a release, called with those of the offered arguments that it takes."""

    __slots__ = ("_function", "_names")

    def __init__(self, label: str, function: Callable[..., Any], offered: Iterable[str]) -> None:
        """Match its parameters with the offered arguments.

        Raises:
            ReleaseError: It requires an argument that is not offered.
        """
        self._function = function
        # A method is matched once for all objects: what is remembered must not keep a manager alive.
        self._names = matched_names(label, getattr(function, "__func__", function), frozenset(offered))

    def __call__(self, **offered: Any) -> Any:
        """Call it."""
        return self._function(**{name: offered[seeds_name] for name, seeds_name in self._names})


__all__ = ["SYNONYMS", "ByName", "matched_names", "parameters_of"]
