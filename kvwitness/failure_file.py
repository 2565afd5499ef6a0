"""From a state machine's failure to a trace file that anybody can replay."""

from pathlib import Path

from kvwitness.properties.machine import ClauseBroken
from kvwitness.properties.replay import MakePort
from kvwitness.shrink import shrink
from kvwitness.trace import Origin, Trace, failure_trace, write


def trace_of(failure: ClauseBroken, make_port: MakePort, port: str = "") -> Trace:
    """The failure made small.

    Args:
        failure: What the machine raised.
        make_port: The port that it was seen on.
        port: What that port is called.
    """
    clause = failure.violation.clause
    small = shrink(make_port, failure.setting, failure.operations, clause)
    return failure_trace(small.setting, small.operations, small.violation, Origin("property", clause=clause, port=port))


def write_failure(failure: ClauseBroken, make_port: MakePort, folder: Path, port: str = "") -> Path:
    """Write the failure's trace into a folder, named by clause and kind, and say where it is."""
    kind = failure.setting.config.label
    path = folder / f"{failure.violation.clause.lower()}-{kind}.json"
    write(trace_of(failure, make_port, port), path)
    return path


__all__ = ["trace_of", "write_failure"]
