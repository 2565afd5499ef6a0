"""Our own implementation with a seeded defect, as a port."""

from typing import Any

from kvwitness.impl import specs
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.model.profile import Profile
from kvwitness.ports.impl import ImplPort
from kvwitness.properties.defects.catalogue import defect_named
from kvwitness.properties.defects.defect import Defect
from kvwitness.properties.port import Capabilities
from kvwitness.properties.replay import MakePort


class MutantPort(ImplPort):
    """The managers of `kvwitness.impl`, with the parts of a defect in place of the right ones."""

    def __init__(self, profile: Profile, defect: Defect) -> None:
        """Follow ``profile``, but for the defect."""
        super().__init__(profile)
        self.pool_class = defect.parts.pool
        self.coordinator_class = defect.parts.coordinator
        self._wrong_managers = defect.parts.managers
        self._name = defect.name

    def hello(self) -> Capabilities:
        """As the right implementation, under the defect's name."""
        return Capabilities(f"mutant:{self._name}", self.profile.name, super().hello().calls)

    def _manager(self, spec: specs.KVCacheSpec, **arguments: Any) -> SingleTypeKVCacheManager:
        wrong = self._wrong_managers.get(type(spec))
        return wrong(spec, **arguments) if wrong is not None else super()._manager(spec, **arguments)


def mutant(defect: Defect) -> MakePort:
    """What builds the port with that defect."""
    return lambda profile: MutantPort(profile, defect)


def make_mutant(name: str) -> MakePort:
    """What builds the port with the defect of that name.

    A defect of a rule follows its own profile, whatever profile it is asked to follow.

    Raises:
        ValueError: There is no such defect; the message names the closest ones.
    """
    defect = defect_named(name)
    return (lambda profile: MutantPort(defect.profile, defect)) if defect.is_rule else mutant(defect)


__all__ = ["MutantPort", "make_mutant", "mutant"]
