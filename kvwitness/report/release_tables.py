"""What the pages of releases have in common: rows, the errata that were met, and what is new."""

from collections.abc import Sequence
from typing import Protocol

from kvwitness.campaign import Tally


class OfRelease(Protocol):
    """What was found on one release."""

    @property
    def version(self) -> str:
        """Its version."""

    @property
    def tallies(self) -> tuple[Tally, ...]:
        """What each kind or mix came to."""


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def errata_table(releases: Sequence[OfRelease], names: Sequence[str]) -> list[str]:
    """How often each of these errata was met on each release."""
    if not names:
        return ["No known erratum was met."]
    header = ["erratum met", *(release.version for release in releases)]
    rows = [[f"`{name}`", *(str(_times(release, name) or "·") for release in releases)] for name in names]
    return [row(header), row(["---"] * len(header)), *map(row, rows)]


def _times(release: OfRelease, name: str) -> int:
    return sum(tally.errata[name][0] for tally in release.tallies if name in tally.errata)


def findings(releases: Sequence[OfRelease]) -> list[str]:
    """Every new finding, a line each."""
    lines = [
        f"- {release.version}, {tally.label}: {finding.shrunk.violation.clause}, {len(finding.shrunk.operations)} steps"
        for release in releases
        for tally in release.tallies
        for finding in tally.findings
    ]
    return ["New findings:", "", *lines] if lines else ["No difference is left unexplained."]


__all__ = ["OfRelease", "errata_table", "findings", "row"]
