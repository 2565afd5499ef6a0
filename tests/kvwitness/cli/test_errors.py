import subprocess
import sys

import click
import pytest

from kvwitness.cli.errors import exit_code_of
from kvwitness.model.caller import Illegal
from kvwitness.model.kinds import Config, ConfigError, Kind
from kvwitness.ports.resolve import PortError
from kvwitness.reading import TraceError


def raising(error: BaseException) -> int:
    def command() -> None:
        raise error

    return exit_code_of(command)


@pytest.mark.parametrize(
    "error", [TraceError("got a"), PortError("got a"), ConfigError("got a"), Illegal("CALLER.REQUEST.KNOWN", "a"), TraceError("got\na")]
)
def test_bad_input_is_one_line_and_two(error: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(error) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("kvwitness: ")
    assert captured.err.count("\n") == 1


def test_a_configuration_that_is_impossible_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(lambda: Config(1, 1, (Kind("full"),))) == 2
    assert "got blocks 1; allowed is 2 or more" in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_leaves_no_traceback(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(error) == 130
    assert capsys.readouterr().err == "kvwitness: interrupted\n"


def test_a_fault_of_our_own_is_no_failed_clause(capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(ZeroDivisionError("ours")) == 3

    err = capsys.readouterr().err
    assert "ZeroDivisionError: ours" in err
    assert err.endswith("there is no verdict\n")


def test_a_full_disk_is_no_failed_clause(capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(OSError(28, "No space left on device")) == 3
    assert capsys.readouterr().err == "kvwitness: [Errno 28] No space left on device; there is no verdict\n"


@pytest.mark.parametrize(("ended", "code"), [(None, 0), (0, 0), (1, 1), (3, 3)])
def test_a_command_s_own_code_is_kept(ended: int | None, code: int) -> None:
    assert exit_code_of(lambda: ended) == code


@pytest.mark.slow
def test_a_reader_that_is_gone_leaves_no_traceback() -> None:
    program = "import sys; sys.stdin.read(); from kvwitness.cli.main import main; sys.argv = ['kvwitness', '--help']; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.close()
        err = process.stderr.read()

    assert err == b""
    assert process.returncode == 141
