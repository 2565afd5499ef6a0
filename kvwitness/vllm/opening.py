"""From a port's name to a release that is loaded and ready to be driven."""

import functools

from kvwitness.model.profile import Profile
from kvwitness.properties.replay import MakePort
from kvwitness.vllm.adapter import VllmPort
from kvwitness.vllm.engine_port import EnginePort
from kvwitness.vllm.loader import Release
from kvwitness.vllm.sources import locate


@functools.cache
def open_release(name: str) -> Release:
    """The release of that name, loaded once in a process.

    Raises:
        PortError: There is no such path or release.
        ReleaseError: It cannot be fetched or loaded.
    """
    sources = locate(name)
    return Release(sources.label, sources.version, sources.root)


def make_vllm(name: str) -> MakePort:
    """What builds the port ``vllm``, ``vllm==X`` or ``vllm:PATH``.

    Raises:
        PortError: There is no such path or release.
        ReleaseError: It cannot be fetched, loaded or driven.
    """
    release = open_release(name)

    def make(profile: Profile) -> VllmPort:
        return VllmPort(profile, release)

    return make


def make_engine(name: str) -> MakePort:
    """What builds the port ``engine:vllm==X``: as ``vllm==X``, with the release's own manager beside its coordinator.

    Raises:
        PortError: There is no such path or release.
        ReleaseError: It cannot be fetched, loaded or driven.
    """
    release = open_release(name.removeprefix("engine:"))

    def make(profile: Profile) -> EnginePort:
        return EnginePort(profile, release)

    return make


__all__ = ["make_engine", "make_vllm", "open_release"]
