"""``kvwitness releases``: hold every known release of vLLM to its profile, and print the table as a page."""

import time

import click

from kvwitness.checking import run_parts
from kvwitness.cli.errors import FAILED, HELD
from kvwitness.cli.findings import progress
from kvwitness.conforming import aim_at, parts_for
from kvwitness.report.release_docs import RELEASES, SEED_RELEASE, SEED_STEPS, STEPS, Held, as_markdown, steps_for


@click.command()
@click.argument("versions", nargs=-1, metavar="[VERSION]...")
@click.option(
    "--steps", type=click.IntRange(min=0), default=0, help=f"Steps on each release; {SEED_STEPS:,} on {SEED_RELEASE}, {STEPS:,} on others."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The same seed makes the same runs.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes.")
def releases(versions: tuple[str, ...], steps: int, seed: int, jobs: int) -> int:
    """Hold every known release of vLLM, or those named, to its own profile, and print the table as a page.

    Exits with 0 where no difference is left unexplained, with 1 where one is.
    """
    held = []
    for version in versions or RELEASES:
        aim = aim_at(f"vllm=={version}")
        parts = parts_for(aim, seed=seed, seconds=0.0, operations=steps_for(version, aim, steps), jobs=jobs)
        click.echo(f"kvwitness: {aim.told.name}", err=True)
        held.append(Held(version, aim, tuple(run_parts(parts, jobs, progress(len(parts), time.monotonic())))))
    click.echo(as_markdown(held, seed=seed))
    return FAILED if any(tally.findings for release in held for tally in release.tallies) else HELD


__all__ = ["releases"]
