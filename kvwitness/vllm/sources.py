"""Where a release's Python sources are: installed, in the cache, or in a checkout.

A port's name says which: ``vllm``, ``vllm==X``, ``vllm:PATH``.
"""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from kvwitness.ports.resolve import PortError
from kvwitness.vllm.fetch import Say, fetch

FORMS = "vllm (installed), vllm==X (fetched once), vllm:PATH (a checkout or fork)"


@frozen
class Sources:
    """The sources of one release.

    Attributes:
        label: What reports call it.
        version: Its version, or "" where it does not say.
        root: The folder that holds the package ``vllm``.
    """

    label: str
    version: str
    root: Path


def cache_folder() -> Path:
    """Where fetched sources are kept: ``$KVWITNESS_CACHE``, or the platform's place for caches."""
    given = os.environ.get("KVWITNESS_CACHE")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kvwitness"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kvwitness"


def _silent(_line: str) -> None:
    """Nobody listens."""


def locate(name: str, say: Say = _silent) -> Sources:
    """The sources that a port's name means; ``vllm==X`` is fetched if the cache does not have it.

    Raises:
        PortError: There is no such path or release.
        ReleaseError: The release cannot be fetched.
    """
    if name == "vllm":
        return _installed()
    if name.startswith("vllm=="):
        return _fetched(name.removeprefix("vllm=="), say)
    if name.startswith("vllm:") and name != "vllm:":
        return _checkout(Path(name.removeprefix("vllm:")))
    raise PortError(f"got the port {name!r}; allowed is {FORMS}; choose one of these forms")


def _installed() -> Sources:
    """The installed package, found without importing it."""
    spec = importlib.util.find_spec("vllm")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not folders:
        raise PortError("got the port 'vllm', but vLLM is not installed here; allowed is an installed package; give vllm==X or vllm:PATH")
    try:
        version = importlib.metadata.version("vllm")
    except importlib.metadata.PackageNotFoundError:
        version = _own_version(Path(folders[0]))
    return Sources(f"vllm {version} (installed)".replace("  ", " "), version, Path(folders[0]).parent)


def is_cached(version: str) -> bool:
    """Whether the cache has that release."""
    return (cache_folder() / "vllm" / version / "vllm").is_dir()


def _fetched(version: str, say: Say) -> Sources:
    if not re.fullmatch(r"\d+(\.\d+)+((a|b|rc|\.post|\.dev)\d+)?", version):
        raise PortError(f"got the version {version!r}; allowed is a number such as 0.16.0; correct what stands behind vllm==")
    folder = cache_folder() / "vllm" / version
    if not is_cached(version):
        fetch(version, folder, say)
    return Sources(f"vllm {version}", version, folder)


def complete(version: str, files: Sequence[str], say: Say = _silent) -> None:
    """Fetch a release again whose folder in the cache lacks one of the files: it was filled when less was kept.

    Raises:
        PortError: There is no such release.
        ReleaseError: It cannot be fetched; what was there stays.
    """
    folder = cache_folder() / "vllm" / version
    if all((folder / file).is_file() for file in files):
        return
    beside = folder.with_name(f".{version}-whole")
    shutil.rmtree(beside, ignore_errors=True)
    fetch(version, beside, say)
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)


def _checkout(path: Path) -> Sources:
    """A folder that holds the package, or the package itself."""
    root = path / "vllm" if (path / "vllm" / "v1").is_dir() else path
    if not (root / "v1").is_dir() or root.resolve().name != "vllm":
        raise PortError(f"got the path {str(path)!r} without vllm/v1; allowed is a checkout of vLLM or its folder vllm; correct the path")
    root = root.resolve()
    return Sources(f"vllm:{path}", _own_version(root) or _tagged_version(root.parent), root.parent)


def _own_version(package: Path) -> str:
    """The version that a package's sources say, or ""; a checkout that was never built has none."""
    try:
        text = (package / "_version.py").read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(r"""^(?:__version__|version)\b[^'"\n]*['"]([^'"]+)['"]""", text, re.MULTILINE)
    return match[1] if match else ""


def _tagged_version(checkout: Path) -> str:
    """The version of the last tag before a checkout's commit, or ""; a shallow clone has no tags."""
    command = ["git", "-C", str(checkout), "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]
    if not (checkout / ".git").exists():
        return ""
    try:
        said = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.strip().removeprefix("v")


__all__ = ["FORMS", "Sources", "cache_folder", "complete", "is_cached", "locate"]
