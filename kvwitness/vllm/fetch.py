"""Fetching the Python sources of a release: by ranges out of the wheel where the index allows it, else from the whole wheel.

pip finds the wheel, with whatever index, proxy and certificates it is configured for.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kvwitness.ports.resolve import PortError
from kvwitness.reading import one_line
from kvwitness.vllm.loader import ReleaseError
from kvwitness.vllm.remote_zip import NoRanges, RangedFile, read_members

KEPT = (
    "vllm/v1/",
    "vllm/utils/",
    "vllm/multimodal/",
    "vllm/distributed/kv_events.py",
    "vllm/sampling_params.py",
    "vllm/version.py",
    "vllm/_version.py",
)
"""What is kept of a release: the engine's core and what it leans on, a few megabytes of a wheel of hundreds."""

OF_ANY_MACHINE = (
    *(f"--platform=manylinux_2_{minor}_x86_64" for minor in range(17, 40)),
    "--platform=manylinux1_x86_64",
    "--python-version=3.12",
    "--implementation=cp",
    *("--abi=cp312", "--abi=abi3", "--abi=none"),
)
"""What pip is told where a release has no wheel for this machine: only Python sources are taken out of it, so any wheel will do."""

COMMON = ("--no-deps", "--only-binary=:all:", "--retries=1", "--quiet", "--no-input")

Say = Callable[[str], object]
"""Is told of progress, a line at a time."""


def fetch(version: str, folder: Path, say: Say) -> None:
    """Put the sources of a release into ``folder``, which appears only when it is whole.

    Raises:
        PortError: There is no such release.
        ReleaseError: It cannot be fetched, or its wheel lacks the core.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=folder.parent) as made:
        beside = Path(made) / "sources"
        _fill(version, beside, Path(made), say)
        if not (beside / "vllm" / "v1").is_dir():
            raise ReleaseError(f"vllm {version} has no vllm/v1 in its wheel; give a release from 0.14.1 on")
        if not folder.exists():
            beside.rename(folder)


def _fill(version: str, folder: Path, scratch: Path, say: Say) -> None:
    say(f"vllm {version}: asking the index")
    try:
        url = _wheel_address(version, scratch)
        say(f"vllm {version}: reading its sources out of the wheel")
        _write(read_members(RangedFile(url), KEPT, ".py"), folder)
    except NoRanges:
        shutil.rmtree(folder, ignore_errors=True)
        say(f"vllm {version}: the index sends whole files only; downloading the wheel, some hundred megabytes")
        wheels = scratch / "wheel"
        _pip(version, ["download", *COMMON, f"--dest={wheels}"], scratch)
        for wheel in wheels.glob("*.whl"):
            with wheel.open("rb") as file:
                _write(read_members(file, KEPT, ".py"), folder)


def _wheel_address(version: str, scratch: Path) -> str:
    """Where the index keeps the wheel; pip downloads no wheel to say so where the index has metadata of its own."""
    report = scratch / "report.json"
    _pip(version, ["install", "--dry-run", "--ignore-installed", *COMMON, f"--target={scratch / 'target'}", f"--report={report}"], scratch)
    return str(json.loads(report.read_text(encoding="utf-8"))["install"][0]["download_info"]["url"])


def _pip(version: str, arguments: Sequence[str], scratch: Path) -> None:
    """Run pip for this machine, or for any if the release has no wheel for this one."""
    told = ""
    for further in ((), OF_ANY_MACHINE):
        command = [sys.executable, "-m", "pip", *arguments, *further, f"vllm=={version}"]
        ended = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        if ended.returncode == 0:
            return
        told = ended.stderr
    _refuse(version, told)


def _refuse(version: str, told: str) -> None:
    """Say whether the release does not exist or could not be had."""
    known = re.search(r"from versions: ([^)]*)\)", told)
    names = [name.strip() for name in known[1].split(",")] if known else []
    if names and names != ["none"] and version not in names:
        raise PortError(f"got vllm=={version}; allowed is a release of vLLM, such as {', '.join(names[-3:])}; correct the number")
    errors = [line for line in told.splitlines() if line.startswith("ERROR")] or told.splitlines()[-1:] or ["pip said nothing"]
    raise ReleaseError(
        f"vllm {version} is not in the cache and cannot be fetched ({one_line(errors[0])}); "
        "connect to a package index, or give a checkout as vllm:PATH"
    )


def _write(members: Iterable[tuple[str, bytes]], folder: Path) -> None:
    for name, content in members:
        path = folder.joinpath(*[part for part in name.split("/") if part not in ("", "..")])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


__all__ = ["KEPT", "fetch"]
