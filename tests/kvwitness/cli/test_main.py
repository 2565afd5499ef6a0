import subprocess
import sys

import pytest

from kvwitness.cli.main import COMMANDS, cli, run

HEAVY = {"hypothesis", "z3", "jsonschema", "jinja2", "cattrs", "rich"}

HELP = """
import sys
from kvwitness.cli.main import run
code = run(["--help"])
print(code, *sys.modules)
"""


@pytest.mark.slow
def test_help_loads_nothing_heavy_and_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], check=True, capture_output=True, text=True)
    code, *modules = done.stdout.splitlines()[-1].split()

    assert code == "0"
    assert HEAVY.isdisjoint(modules)
    assert not [name for name in modules if name.startswith(("kvwitness.model", "kvwitness.properties"))]
    assert [name for name in modules if name.startswith("kvwitness.cli.")] == ["kvwitness.cli.errors", "kvwitness.cli.main"]


def test_help_lists_every_command_with_the_table_s_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0

    out = capsys.readouterr().out
    for name, entry in COMMANDS.items():
        assert name in out
        assert entry.help.split()[0] in out
    assert "Exit codes: 0 held, 1 a clause failed, 2 usage or bad input, 3 undecided." in out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_loads_and_helps(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0

    assert f"Usage: kvwitness {name}" in capsys.readouterr().out


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0

    assert capsys.readouterr().out.startswith("kvwitness ")


@pytest.mark.parametrize("arguments", [["--nonsense"], ["nonsense"], ["replay"], ["replay", "--nonsense"], []])
def test_wrong_usage_ends_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Usage: kvwitness" in captured.err


def test_the_group_is_named_as_the_program() -> None:
    assert cli.list_commands(cli.make_context("kvwitness", ["replay"])) == list(COMMANDS)
