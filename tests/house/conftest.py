"""The tree that the house rules are checked on."""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root(pytestconfig: pytest.Config) -> Path:
    return pytestconfig.rootpath


@pytest.fixture(scope="session")
def tree(root: Path) -> dict[str, str]:
    """The text files that git tracks or would track, each path with its text."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.split("\0")
    contents = {name: (root / name).read_bytes() for name in sorted({*names}) if (root / name).is_file()}
    return {name: content.decode() for name, content in contents.items() if b"\0" not in content}
