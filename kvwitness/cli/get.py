"""``kvwitness get``: fetch the sources of releases ahead of their use."""

import click

from kvwitness.cli.errors import BAD_INPUT, HELD, UNDECIDED


@click.command()
@click.argument("releases", nargs=-1, required=True, metavar="vllm==X…")
def get(releases: tuple[str, ...]) -> int:
    """Fetch the Python sources of releases into the cache, $KVWITNESS_CACHE or the platform's place for caches.

    A release that is there already is not fetched again.
    The others are fetched even if one fails.
    Exits with 0 where all are there, with 2 where one does not exist, with 3 where one cannot be fetched.
    """
    from kvwitness.ports.resolve import PortError
    from kvwitness.vllm.loader import ReleaseError
    from kvwitness.vllm.sources import locate

    wrong = [name for name in releases if not name.startswith("vllm==")]
    if wrong:
        raise click.BadParameter(f"got {wrong[0]!r}; allowed is vllm==X; write it like vllm==0.16.0", param_hint="vllm==X…")
    code = HELD
    for name in releases:
        try:
            found = locate(name, lambda line: click.echo(line, err=True))
        except (PortError, ReleaseError) as error:
            click.echo(f"kvwitness: {error}", err=True)
            code = max(code, BAD_INPUT if isinstance(error, PortError) else UNDECIDED)
        else:
            click.echo(f"{found.label}: {found.root}")
    return code


__all__ = ["get"]
