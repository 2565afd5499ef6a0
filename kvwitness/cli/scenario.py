"""``kvwitness scenario``: stories that are checked, and rewritten by a flag."""

import difflib
from pathlib import Path

import click

from kvwitness.cli.errors import FAILED, HELD
from kvwitness.ports.resolve import FORMS, resolve
from kvwitness.reading import Place
from kvwitness.scenario import retold


@click.command(epilog="A port is one of: " + ", ".join(f"{form} ({what})" for form, what in FORMS.items()) + ".")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE…")
@click.option("--port", "port", default="impl", show_default=True, metavar="PORT", help="What the scenario is carried out on.")
@click.option("--rewrite", is_flag=True, help="Write what is observed now into the files.")
def scenario(files: tuple[Path, ...], port: str, rewrite: bool) -> int:
    """Carry out scenarios: commands, each followed by a line of four dashes and what was observed.

    Prints where what is observed now differs.
    Exits with 0 where nothing does, with 1 where something does and is not rewritten.
    """
    make_port, differing = resolve(port), 0
    for file in files:
        told = _content(file)
        now = retold(told, make_port, str(file))
        if now == told:
            click.echo(f"{file}: as told")
            continue
        differing += 1
        if rewrite:
            file.write_text(now, encoding="utf-8", newline="\n")
            click.echo(f"{file}: rewritten")
        else:
            click.echo(
                "\n".join(difflib.unified_diff(told.splitlines(), now.splitlines(), f"{file}, as told", f"{file}, now", lineterm=""))
            )
    return FAILED if differing and not rewrite else HELD


def _content(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        Place(str(file)).refuse(f"no text to read ({error})", "a scenario in UTF-8", "check the path")


__all__ = ["scenario"]
