"""A ZIP file on a server, read by ranges: a few members of a large wheel without the rest of it."""

import io
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator

WINDOW_BYTES = 1 << 18
"""What one request brings at least: members that are read together stand together."""

TIMEOUT_SECONDS = 60


class NoRanges(Exception):
    """The server cannot be asked for a part of the file."""


class RangedFile(io.RawIOBase):
    """A remote file that can be read at any place, one window of it kept."""

    def __init__(self, url: str) -> None:
        """Ask for the file's end, where a ZIP file keeps its directory.

        Raises:
            NoRanges: The server sends the whole file or none.
        """
        self._url, self._place = url, 0
        self._window, span = self._asked(f"-{WINDOW_BYTES}")
        self._size = int(span.rpartition("/")[2])
        self._start = self._size - len(self._window)

    def _asked(self, span: str) -> tuple[bytes, str]:
        if not self._url.startswith(("https://", "http://")):
            raise NoRanges(self._url)
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={span}"})  # noqa: S310 - the scheme is checked above
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
                told = answer.headers.get("Content-Range", "")
                if answer.status != 206 or not told:  # noqa: PLR2004 - 206 is "partial content"
                    raise NoRanges(self._url)
                return answer.read(), told
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise NoRanges(f"{self._url}: {error}") from error

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """Anywhere."""
        return True

    def tell(self) -> int:
        """The place of the next read."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        self._place = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence] + offset
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Read on from the place."""
        stop = self._size if size < 0 else min(self._size, self._place + size)
        if stop <= self._place:
            return b""
        if not self._start <= self._place <= stop <= self._start + len(self._window):
            end = min(self._size, max(stop, self._place + WINDOW_BYTES))
            self._window, _ = self._asked(f"{self._place}-{end - 1}")
            self._start = self._place
        taken = self._window[self._place - self._start : stop - self._start]
        self._place += len(taken)
        return taken


def read_members(file: io.RawIOBase | io.BufferedIOBase, prefixes: Iterable[str], suffix: str) -> Iterator[tuple[str, bytes]]:
    """The members whose names begin and end so, in the order in which they stand in the file."""
    wanted = tuple(prefixes)
    with zipfile.ZipFile(file) as archive:
        members = [member for member in archive.infolist() if member.filename.startswith(wanted) and member.filename.endswith(suffix)]
        for member in sorted(members, key=lambda each: each.header_offset):
            yield member.filename, archive.read(member)


__all__ = ["NoRanges", "RangedFile", "read_members"]
