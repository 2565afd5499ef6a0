"""Which small worlds a port is put through, and the trace file of what is found there."""

from collections.abc import Callable, Iterator
from pathlib import Path

from kvwitness import trace
from kvwitness.checking import NO_PROFILE
from kvwitness.conforming import Aim
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import PortError, resolve
from kvwitness.proofs.engines.closure import Closed, close
from kvwitness.proofs.engines.worlds import WORLDS
from kvwitness.properties.replay import Setting

Say = Callable[[Closed], None]


def closed_worlds(aim: Aim, most: int) -> Iterator[Closed]:
    """The closure of every world whose kind is asked for and offered.

    Raises:
        PortError: The port follows no profile, so that its states cannot be compared one by one.
    """
    if aim.profile == NO_PROFILE.name:
        raise PortError(f"got the port {aim.port!r} without a profile; allowed is one of {', '.join(PROFILES)}; name it with --profile")
    make_port, profile = resolve(aim.port), PROFILES[aim.profile]
    for world in WORLDS:
        if world.label in aim.labels:
            yield close(world, profile, make_port, most=most)


def write_found(closed: Closed, aim: Aim, folder: Path) -> Path | None:
    """Write what was found into a folder, as a trace that replays; None where nothing was."""
    if closed.found is None:
        return None
    violation = closed.found.violation
    setting = Setting(closed.world.config, PROFILES[aim.profile], closed.world.strict)
    origin = trace.Origin("proof", violation.clause, None, aim.port)
    folder.mkdir(parents=True, exist_ok=True)
    world = "-".join(closed.world.name.replace(",", "").replace("=", "").split())
    path = folder / f"closure-{aim.profile}-{closed.world.label}-{world}-{violation.clause}.json"
    trace.write(trace.failure_trace(setting, closed.found.operations, violation, origin), path)
    return path


__all__ = ["closed_worlds", "write_found"]
