"""From a port's name, as a command line gives it, to the port."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.properties.port import Capabilities, NotOffered, Port
from kvwitness.properties.replay import MakePort
from kvwitness.reading import one_line

FORMS = {
    "model": "the executable specification",
    "impl": "our own implementation",
    "py:module:Class": "a class that is built with a profile and has the methods of kvwitness.properties.port.Port",
    "mutant:NAME": "our own implementation with a seeded defect",
    "vllm": "the managers of the installed vLLM",
    "vllm==X": "those of a release, whose sources are fetched once",
    "vllm:PATH": "those of a checkout or fork",
    "engine:vllm==X": "as vllm==X, with the release's allocate_slots beside the calls, which must come to the same state",
}
"""Every form that a port's name can have, with what it stands for."""

OWN = {"model": ("kvwitness.ports.model", "ModelPort"), "impl": ("kvwitness.ports.impl", "ImplPort")}
"""Where our own ports stand."""

METHODS = ("hello", "reset", "call", "observe", "close")

Answer = TypeVar("Answer")


class PortError(Exception):
    """A port that cannot be used: one line that says what was got, what is allowed and what to do."""


def _refuse(got: str, allowed: str, remedy: str) -> NoReturn:
    raise PortError(one_line(f"got {got}; allowed is {allowed}; {remedy}"))


def is_release(name: str) -> bool:
    """Whether a port's name means vLLM: installed, a release, or a checkout."""
    return name == "vllm" or name.startswith(("vllm==", "vllm:"))


def resolve(name: str) -> MakePort:
    """What builds the port of that name.

    Raises:
        PortError: There is none, or it is no port.
        ReleaseError: It is a release of vLLM that cannot be fetched or loaded.
    """
    form, _, rest = name.partition(":")
    if name in OWN:
        make: MakePort = _own(*OWN[name], name)
        return make
    if form == "mutant" and rest:
        return _mutant(rest)
    if is_release(name):
        return _own("kvwitness.vllm.opening", "make_vllm", name)(name)  # type: ignore[no-any-return]
    if form == "engine" and rest.startswith("vllm"):
        return _own("kvwitness.vllm.opening", "make_engine", name)(name)  # type: ignore[no-any-return]
    module, _, class_name = rest.partition(":")
    if form == "py" and module and class_name:
        return _guarded(_class(module, class_name, name), name)
    _refuse(f"the port {name!r}", ", ".join(FORMS), "choose one of these forms")


def _own(module: str, attribute: str, name: str) -> Any:
    """Something of kvwitness itself, loaded only now; a part that is not installed is no fault of the user's."""
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        _refuse(f"the port {name!r}, but no {module}", "a port that this installation has", "install kvwitness whole, or use model")


def _mutant(name: str) -> MakePort:
    make_mutant = _own("kvwitness.ports.mutant", "make_mutant", f"mutant:{name}")
    try:
        return make_mutant(name)  # type: ignore[no-any-return]
    except ValueError as error:
        # The catalogue says itself what it has.
        raise PortError(one_line(str(error))) from error


def _class(module: str, class_name: str, name: str) -> Callable[[Profile], Any]:
    """The class that ``py:module:Class`` names; modules of the current folder are found too."""
    folder = os.getcwd()  # noqa: PTH109 - sys.path holds texts
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        found = getattr(importlib.import_module(module), class_name, None)
    except Exception as error:  # noqa: BLE001 - whatever the module does while it loads is told, not raised
        _refuse(f"the port {name!r} ({_told(error)})", "a module that can be imported", "correct it, or add its folder to PYTHONPATH")
    if found is None:
        _refuse(f"the port {name!r}, but {module} has no {class_name}", "a class of that module", "correct the name after the last colon")
    missing = [method for method in METHODS if not callable(getattr(found, method, None))]
    if not callable(found) or missing:
        _refuse(f"the port {name!r} without {', '.join(missing)}", f"a class with the methods {', '.join(METHODS)}", "add what is missing")
    return found  # type: ignore[no-any-return]


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _guarded(make: Callable[[Profile], Any], name: str) -> MakePort:
    return lambda profile: Guarded(make, profile, name)


class Guarded:
    """A user's port whose exceptions are told: of a call as a failed outcome, elsewhere as a `PortError`."""

    def __init__(self, make: Callable[[Profile], Any], profile: Profile, name: str) -> None:
        """Build the port."""
        self._name = name
        self._port: Port = self._made(lambda: make(profile), "to be built with a profile")

    def _made(self, action: Callable[[], Answer], what: str) -> Answer:
        try:
            return action()
        except NotOffered:
            raise
        except Exception as error:  # noqa: BLE001 - a port may raise anything
            _refuse(f"{_told(error)} from the port {self._name!r}", f"a port that is able {what}", "correct it there")

    def hello(self) -> Capabilities:
        """What the port is and can do."""
        return self._made(self._port.hello, "to say hello")

    def reset(self, config: Config) -> Observation:
        """Build a pool with its managers."""
        return self._made(lambda: self._port.reset(config), "to reset")

    def call(self, call: Call) -> Outcome:
        """Make one call; an exception is the port's failure."""
        try:
            return self._port.call(call)
        except Exception as error:  # noqa: BLE001 - a port may raise anything
            return Outcome("failed", None, one_line(_told(error)))

    def observe(self) -> Observation:
        """The state as plain data."""
        return self._made(self._port.observe, "to be observed")

    def close(self) -> None:
        """Let go of whatever the port holds."""
        self._made(self._port.close, "to close")


__all__ = ["FORMS", "Guarded", "PortError", "is_release", "resolve"]
