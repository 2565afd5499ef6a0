"""The command ``kvwitness``: a table of subcommands, each loaded only when it is called."""

import importlib
import io
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from kvwitness.cli.errors import exit_code_of


class Entry(NamedTuple):
    """Where a subcommand stands, and what the list of commands says of it."""

    module: str
    attribute: str
    help: str


COMMANDS: dict[str, Entry] = {
    "check": Entry("kvwitness.cli.check", "check", "Check our own implementation under everything."),
    "prove": Entry("kvwitness.cli.prove", "prove", "Prove the theorems, or refute what a profile breaks."),
    "closure": Entry("kvwitness.cli.closure", "closure", "Visit every state of small configurations, each transition on a port."),
    "conform": Entry("kvwitness.cli.conform", "conform", "Hold a port, such as a release of vLLM, to its profile."),
    "diff": Entry("kvwitness.cli.diff", "diff", "Find how two ports differ, and by which rules."),
    "replay": Entry("kvwitness.cli.replay", "replay", "Replay a trace file on a port."),
    "scenario": Entry("kvwitness.cli.scenario", "scenario", "Check stories of commands and what was observed, or rewrite them."),
    "workload": Entry("kvwitness.cli.workload", "workload", "Serve a production trace on a port and judge every step."),
    "defects": Entry("kvwitness.cli.defects", "defects", "Hunt seeded defects: do the checks catch what they must?"),
    "get": Entry("kvwitness.cli.get", "get", "Fetch the sources of vLLM releases ahead of their use."),
    "releases": Entry("kvwitness.cli.releases", "releases", "Conform every known release of vLLM and print the table as a page."),
}
"""Every subcommand by its name; a new one is a line here."""


class LazyGroup(click.Group):
    """A group that lists its commands without loading them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the one command that is called."""
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = getattr(importlib.import_module(entry.module), entry.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with the table's own words."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _show_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        import kvwitness

        click.echo(f"kvwitness {kvwitness.__version__}")
        ctx.exit()


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 held, 1 a clause failed, 2 usage or bad input, 3 undecided.",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version, help="Show the version and exit.")
def cli() -> None:
    """Hold KV-cache managers to an executable, proved specification."""


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line; its exit code."""

    def invoked() -> object:
        with cli.make_context("kvwitness", list(arguments)) as context:
            return cli.invoke(context)

    return exit_code_of(invoked)


def main() -> None:
    """The entry point."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ∅ or → gets a question mark, and the user still the verdict.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))
