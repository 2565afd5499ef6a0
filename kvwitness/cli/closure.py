"""``kvwitness closure``: every state of small configurations, and every transition between them on a port."""

import json
import time
from pathlib import Path

import click

from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.cli.options import kind_option, kinds_called
from kvwitness.closing import closed_worlds, write_found
from kvwitness.conforming import aim_at
from kvwitness.explain import replay_command
from kvwitness.model.profile import PROFILES
from kvwitness.ports.resolve import FORMS
from kvwitness.proofs.engines.closure import MOST_STATES, Closed
from kvwitness.report import closure_report

EXITS = {"held": HELD, "failed": FAILED, "bound": UNDECIDED, "nothing exercised": UNDECIDED}


@click.command(epilog="A port is one of: " + ", ".join(f"{form} ({what})" for form, what in FORMS.items()) + ".")
@kind_option
@click.option("--port", default="impl", show_default=True, metavar="PORT", help="What every transition is made on.")
@click.option("--profile", type=click.Choice(list(PROFILES)), help="The rules in force; the port's own if left out.")
@click.option("--most", type=click.IntRange(min=1), default=MOST_STATES, show_default=True, help="States of a world at most.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("kvwitness-failures"), show_default=True, help="Folder for findings.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def closure(kind: str | None, port: str, profile: str | None, most: int, out: Path, as_json: bool) -> int:
    """Visit every state that small configurations can reach, up to renaming of blocks and requests, and make every transition on a port.

    After every operation the port's answers and its whole state are compared with the specification's, also where a request
    is refused or a call is rejected.
    Exits with 0 where all fixpoints are reached without a difference, with 1 where there is one, with 3 where states were left out.
    """
    aim = aim_at(port, labels=kinds_called(kind), profile=profile)
    started = time.monotonic()
    closed = []
    for each in closed_worlds(aim, most):
        closed.append(each)
        click.echo(_done(each, time.monotonic() - started), err=True)
    facts = {"port": aim.told.name, "profile": aim.profile, "seconds": time.monotonic() - started}
    if as_json:
        click.echo(json.dumps(closure_report.as_data(closed, aim.not_offered, **facts), ensure_ascii=False))  # type: ignore[arg-type]
    else:
        click.echo(closure_report.as_text(closed, aim.not_offered, **facts))  # type: ignore[arg-type]
    for each in closed:
        file = write_found(each, aim, out)
        if file is not None and not as_json:
            click.echo(replay_command(str(file), port))
    return EXITS[closure_report.verdict(closed)]


def _done(closed: Closed, seconds: float) -> str:
    """What is said on stderr when a world is done."""
    return f"kvwitness: {closed.world.label}, {closed.world.name}: {closed.transitions:,} transitions, {closed.verdict}, {seconds:.1f} s"


__all__ = ["closure"]
