"""Which campaigns a port is put through: its profile, its kinds, and the level that it is held to."""

from collections.abc import Sequence

from attrs import evolve, frozen

from kvwitness.checking import NO_PROFILE, Part, parts_of
from kvwitness.model.events import TAKE_EVENTS
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import PortError, is_release, resolve
from kvwitness.properties.mixes import mixes_not_offered
from kvwitness.properties.port import Capabilities
from kvwitness.properties.run import ORACLES
from kvwitness.properties.situations import LABELS

LEVELS = ("L0", "L1", "L2", "L3")

REFERENCE = "impl"
"""What findings are attributed on: it follows any profile."""

FIRST_ASKED = "vllm-0.16"
"""The profile under which a port is asked who it is; what it says of itself does not depend on it."""


@frozen
class Aim:
    """What a port is held to.

    Attributes:
        port: Its name on the command line.
        told: What it says of itself.
        profile: The name of the profile it is compared with, or ``none``.
        level: The strongest level that is judged.
        labels: The kinds and mixes that are run.
        not_offered: The kinds and mixes that were asked for and that it does not have, with the reason.
        remark: Why this profile, where the port does not say its version; "" otherwise.
        hearing: The oracles that judge KV events.
    """

    port: str
    told: Capabilities
    profile: str
    level: str
    labels: tuple[str, ...]
    not_offered: dict[str, str]
    remark: str = ""
    hearing: tuple[str, ...] = ()

    @property
    def missing_calls(self) -> tuple[str, ...]:
        """The calls of the protocol that the port does not answer and that its profile would use."""
        calls = ("get_num_common_prefix_blocks",)
        return tuple(name for name in calls if name not in self.told.calls)

    @property
    def never(self) -> frozenset[str]:
        """The situations that cannot come up because the port does not offer the call."""
        return frozenset({"common prefix asked"} if self.missing_calls else ())


def judges_at(level: str) -> tuple[str, ...]:
    """The oracles that judge up to that level."""
    return {"L0": ORACLES[:2], "L1": ORACLES[:3]}.get(level, ORACLES)


def judges_of(aim: Aim) -> tuple[str, ...]:
    """The oracles that judge up to an aim's level, those of KV events included if they were asked for."""
    return (*judges_at(aim.level), *aim.hearing)


def aim_at(
    port: str,
    *,
    labels: Sequence[str] = LABELS,
    profile: str | None = None,
    level: str | None = None,
    hearing: tuple[str, ...] = (),
) -> Aim:
    """What a port is held to: its own profile and its strongest level, unless others are named.

    Raises:
        PortError: There is no such port, it claims a profile that there is not, or it tells no KV events that are to be judged.
        ReleaseError: It is a release that cannot be loaded.
    """
    make_port = resolve(port)
    told = make_port(PROFILES[FIRST_ASKED]).hello()
    chosen = profile or release_profile(port, told) or NO_PROFILE.name
    if chosen not in (*PROFILES, NO_PROFILE.name):
        known = ", ".join((*PROFILES, NO_PROFILE.name))
        raise PortError(f"got the profile {chosen!r} from the port {port!r}; allowed is {known}; name one with --profile")
    if hearing and TAKE_EVENTS.name not in told.calls:
        raise PortError(f"got the port {port!r} without take_events; allowed is one that tells KV events; leave --events out")
    strongest = min("L2" if chosen == NO_PROFILE.name else "L3", told.level)
    missing = dict(line.split(": ", 1) for line in told.missing if ": " in line)
    missing = mixes_not_offered(missing) | missing
    not_offered = {label: missing[label] for label in labels if label in missing}
    offered = tuple(label for label in labels if label not in not_offered)
    remark = "" if profile else release_remark(port)
    return Aim(port, told, chosen, min(level or strongest, strongest), offered, not_offered, remark, hearing)


def release_profile(port: str, told: Capabilities) -> str:
    """The profile that a port has of itself: a release's by its version, any other port's by what it says; "" for none.

    A port that follows whatever it is given says the seed's here.
    """
    if not drives_vllm(port):
        return told.profile
    from kvwitness.vllm.likeness import profile_of

    return profile_of(port.removeprefix("engine:"))


def release_remark(port: str) -> str:
    """How the profile of a release was found that does not say its version; "" for one that does, or for another port."""
    if not drives_vllm(port):
        return ""
    from kvwitness.vllm.likeness import remark_of

    return remark_of(port.removeprefix("engine:"))


def drives_vllm(port: str) -> bool:
    """Whether a port's name means vLLM, by its managers or by its engine's slots."""
    return is_release(port.removeprefix("engine:"))


def parts_for(aim: Aim, *, seed: int, seconds: float, operations: int, jobs: int) -> list[Part]:
    """The parts of the campaigns of an aim; seconds and operations are those of all kinds together and of each kind."""
    parts = parts_of(aim.port, aim.labels, (aim.profile,), seed=seed, seconds=seconds, operations=operations, jobs=jobs)
    reference, refined = REFERENCE if aim.port != REFERENCE else "", "L2" if aim.level == "L2" else "L3"
    return [evolve(part, oracles=judges_of(aim), level=refined, reference=reference) for part in parts]


__all__ = ["LEVELS", "Aim", "aim_at", "judges_at", "judges_of", "parts_for"]
