"""The JSON schemas of what kvwitness reads and writes, shipped as files beside this module."""

import json
from importlib.resources import files
from typing import Any


def schema(name: str) -> dict[str, Any]:
    """A shipped schema by its name, such as ``trace-1``."""
    document: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text(encoding="utf-8"))
    return document
