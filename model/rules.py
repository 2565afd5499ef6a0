"""The rules of each kind of manager, by the kind's name; every module of them has the same functions."""

from types import ModuleType

from kvwitness.model import chunked, cross, full, mamba, sink, sliding

RULES: dict[str, ModuleType] = {
    "full": full,
    "sliding": sliding,
    "chunked": chunked,
    "mamba": mamba,
    "cross": cross,
    "sink": sink,
}
