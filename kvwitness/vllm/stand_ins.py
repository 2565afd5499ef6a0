"""Permissive stand-ins for everything that a release imports and that its cache managers do not need.

A stand-in can be subclassed, called, indexed and asked for any attribute.
It cannot be computed, compared or branched on: a rule that came to depend on one fails loudly and never answers wrongly.
"""

import types
import typing
from abc import ABCMeta
from typing import Any, NoReturn


class StandInError(TypeError):
    """A release computed with something that only stands in for the real thing."""


def _is_decorated(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Whether a call looks like a decorator's: one function or class and nothing else."""
    return (
        len(arguments) == 1 and not keywords and isinstance(arguments[0], (types.FunctionType, type, classmethod, staticmethod, property))
    )


class StandInMeta(ABCMeta):
    """The class of stand-in classes: any attribute of theirs is another stand-in."""

    def __getattr__(cls, name: str) -> Any:
        """Another stand-in."""
        return _attribute(f"{cls.__module__}.{cls.__qualname__}", name)

    def __getitem__(cls, item: Any) -> Any:
        """Itself, whatever it is subscribed with."""
        return cls

    def __or__(cls, other: Any) -> Any:
        """An annotation of some kind."""
        return typing.Union[cls, other]  # noqa: UP007 - the two are values here

    def __ror__(cls, other: Any) -> Any:
        """An annotation of some kind."""
        return typing.Union[other, cls]  # noqa: UP007


class StandIn(metaclass=StandInMeta):
    """An object that nothing is known of."""

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        """A stand-in; as a decorator, what it decorates."""
        return arguments[0] if _is_decorated(arguments, keywords) else super().__new__(cls)

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Whatever it is given."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Whatever options the real class has."""
        super().__init_subclass__()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Another stand-in; as a decorator, what it decorates."""
        return arguments[0] if _is_decorated(arguments, keywords) else StandIn()

    def __getattr__(self, name: str) -> Any:
        """Another stand-in."""
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn()

    def __bool__(self) -> NoReturn:
        """No branch is taken on it.

        Raises:
            StandInError: Always.
        """
        raise StandInError(f"a branch depends on {type(self).__module__}.{type(self).__qualname__}, which is not loaded")

    def __index__(self) -> NoReturn:
        """No number.

        Raises:
            StandInError: Always.
        """
        raise StandInError(f"a number comes from {type(self).__module__}.{type(self).__qualname__}, which is not loaded")


def _attribute(owner: str, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return StandInMeta(name, (StandIn,), {"__module__": owner, "__slots__": ()} if name[:1].islower() else {"__module__": owner})


class StandInModule(types.ModuleType):
    """A module that has whatever is asked of it."""

    def __init__(self, name: str) -> None:
        """A module that may have submodules."""
        super().__init__(name)
        self.__path__ = []

    def __getattr__(self, name: str) -> Any:
        """A stand-in, the same one each time."""
        found = _attribute(self.__name__, name)
        setattr(self, name, found)
        return found


class Silent:
    """A logger that says nothing."""

    def __getattr__(self, name: str) -> Any:
        """A method that does nothing."""
        return lambda *_arguments, **_keywords: None


class NothingSet(StandInModule):
    """The module of environment variables, none of them set."""

    def __getattr__(self, name: str) -> Any:
        """Nothing is set."""
        if name.startswith("__"):
            raise AttributeError(name)


class Typing(StandInModule):
    """``typing_extensions``, as far as the standard library has it."""

    def __getattr__(self, name: str) -> Any:
        """The standard library's own, or a stand-in."""
        return getattr(typing, name) if hasattr(typing, name) else super().__getattr__(name)


def stand_in_module(name: str) -> types.ModuleType:
    """What stands in for the module of that name."""
    if name == "vllm.envs":
        return NothingSet(name)
    if name == "typing_extensions":
        return Typing(name)
    module = StandInModule(name)
    if name == "vllm.logger":
        module.init_logger = lambda *_: Silent()  # type: ignore[attr-defined]
    return module


__all__ = ["Silent", "StandIn", "StandInError", "StandInModule", "stand_in_module"]
