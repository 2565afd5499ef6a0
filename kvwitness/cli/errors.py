"""What a command ends with when it does not end by itself: one line for the user, and an exit code that says whose fault it was.

Exit codes: 0 held, 1 a clause failed, 2 usage or bad input, 3 undecided.
"""

import os
import sys
import traceback
from collections.abc import Callable

import click

HELD, FAILED, BAD_INPUT, UNDECIDED = range(4)

# What a shell says of a process that the signal ended: 128 and the signal's number.
INTERRUPTED = 130
BROKEN_PIPE = 141


def bad_input() -> tuple[type[Exception], ...]:
    """The exceptions whose text is for the user; loaded only once there is one."""
    from kvwitness.model.caller import Illegal
    from kvwitness.model.kinds import ConfigError
    from kvwitness.ports.resolve import PortError
    from kvwitness.reading import TraceError

    return TraceError, PortError, ConfigError, Illegal


def undecided() -> tuple[type[Exception], ...]:
    """The exceptions whose text says why there can be no verdict."""
    from kvwitness.vllm.loader import ReleaseError

    return (ReleaseError,)


def exit_code_of(command: Callable[[], object]) -> int:
    """Run a command; whatever it raises becomes an exit code and a text on stderr."""
    try:
        ended = command()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("kvwitness: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _silence(sys.stdout)
        return BROKEN_PIPE
    except OSError as error:
        click.echo(f"kvwitness: {' '.join(str(error).split())}; there is no verdict", err=True)
        return UNDECIDED
    except Exception as error:  # noqa: BLE001 - the last place before Python's own exit code, which means a failed clause
        return _told(error)
    return ended if isinstance(ended, int) else HELD


def _told(error: Exception) -> int:
    """Bad input, or why there can be no verdict, in one line; anything else is a fault of kvwitness, and no verdict."""
    if isinstance(error, bad_input()):
        click.echo(f"kvwitness: {' '.join(str(error).split())}", err=True)
        return BAD_INPUT
    if isinstance(error, undecided()):
        click.echo(f"kvwitness: {' '.join(str(error).split())}", err=True)
        return UNDECIDED
    traceback.print_exception(error)
    click.echo("kvwitness: a fault of its own, see above; there is no verdict", err=True)
    return UNDECIDED


def _silence(stream: object) -> None:
    """Let nothing more be written to a pipe that nobody reads, not even at the end of the process."""
    fileno = getattr(stream, "fileno", None)
    if fileno is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), fileno())
