"""kvwitness: what computing the next token still needs, stated once, proved, and held against KV-cache managers.

The rooms: `kvwitness.model` (the spec), `kvwitness.impl` (the optimised managers),
`kvwitness.properties` (what holds on runs), `kvwitness.proofs` (what holds for all runs).
The other packages are the tool.
Importing this package loads none of them.
"""

__version__: str


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: the installed metadata are slow to read."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version(__name__)
