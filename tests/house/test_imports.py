"""Who may import whom: model ← impl, properties, proofs ← the tool, and every name in full."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

Tree = dict[str, str]

ROOMS = ("model", "impl", "properties", "proofs")
VALUES = ("attr", "attrs")
# What the two rooms that stand alone may import beside the standard library.
ALLOWED = {
    "model": (*VALUES, "kvwitness.model"),
    "impl": (*VALUES, "kvwitness.model.profile", "kvwitness.impl"),
}
# The world outside, with its clocks and its chance, is none of the spec's business.
OUTSIDE_THE_SPEC = frozenset(
    {"asyncio", "datetime", "io", "logging", "os", "pathlib", "random", "secrets", "socket", "subprocess", "time"}
)


def imports(text: str) -> Iterator[tuple[int, str]]:
    """Every name that a source imports, in full, with its line; a relative one keeps its leading dots."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            yield from ((node.lineno, f"{origin.rstrip('.')}.{alias.name}") for alias in node.names)


def is_within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def fault(path: str, name: str) -> str:
    """What is wrong with the file's import of the name, or nothing."""
    room = path.partition("/")[0]
    top, *rest = name.split(".")
    if not top:
        return "is relative"
    if top in ROOMS:
        return f"makes a second module: import kvwitness.{top}"
    if room in ALLOWED and top not in sys.stdlib_module_names and not is_within(name, ALLOWED[room]):
        return f"is not for {room}"
    if room == "model" and top in OUTSIDE_THE_SPEC:
        return "reaches outside the spec"
    if room not in {"bench", "kvwitness", "tests"} and top == "kvwitness" and (not rest or rest[0] not in ROOMS):
        return "goes up to the tool"
    return ""


def import_faults(tree: Tree) -> list[str]:
    return [
        f"{path}:{line}: {name} {wrong}"
        for path, text in tree.items()
        if path.endswith(".py")
        for line, name in imports(text)
        if (wrong := fault(path, name))
    ]


def test_imports_go_one_way_and_by_full_name(tree: Tree) -> None:
    assert import_faults(tree) == []


def test_importing_the_spec_makes_no_second_module(root: Path) -> None:
    program = """
import importlib, pkgutil, sys
import kvwitness.model
for module in pkgutil.iter_modules(kvwitness.model.__path__):
    importlib.import_module(f"kvwitness.model.{module.name}")
print(*sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True)
    loaded = set(run.stdout.split())

    assert loaded >= {"kvwitness.model.kinds"}
    assert loaded.isdisjoint(ROOMS)
    assert loaded.isdisjoint({"cattrs", "click", "hypothesis", "rich", "z3"})


@pytest.mark.parametrize(
    ("path", "line", "wrong"),
    [
        ("model/full.py", "from . import need", "is relative"),
        ("proofs/lemmas.py", "from ..model import need", "is relative"),
        ("tests/test_a.py", "import model.need", "makes a second module: import kvwitness.model"),
        ("kvwitness/trace.py", "from properties import run", "makes a second module: import kvwitness.properties"),
        ("model/full.py", "import z3", "is not for model"),
        ("model/full.py", "from kvwitness.impl import pool", "is not for model"),
        ("model/full.py", "import random", "reaches outside the spec"),
        ("model/full.py", "def f():\n    import time", "reaches outside the spec"),
        ("impl/full.py", "from kvwitness.model.hits import longest_hit", "is not for impl"),
        ("impl/full.py", "import kvwitness.model", "is not for impl"),
        ("impl/full.py", "from kvwitness.model.profiles import x", "is not for impl"),
        ("impl/full.py", "from kvwitness.properties import run", "is not for impl"),
        ("properties/run.py", "from kvwitness.ports import child", "goes up to the tool"),
        ("proofs/terms.py", "from kvwitness import trace", "goes up to the tool"),
        ("impl/pool.py", "import kvwitness", "is not for impl"),
    ],
)
def test_an_import_against_the_rules_is_found(path: str, line: str, wrong: str) -> None:
    (found,) = import_faults({path: line})

    assert found.endswith(wrong)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("model/full.py", "import math\nfrom attrs import frozen\nfrom kvwitness.model.need import first_needed"),
        ("impl/full.py", "import time\nfrom kvwitness.model import profile\nfrom kvwitness.impl.pool import Pool"),
        ("impl/specs.py", "from kvwitness.model.profile import Profile"),
        ("properties/run.py", "import hypothesis\nfrom kvwitness.impl.pool import Pool"),
        ("bench/run.py", "from kvwitness.ports.impl import ImplPort"),
        ("kvwitness/cli/main.py", "import kvwitness\nfrom kvwitness.ports import child"),
        ("tests/test_a.py", "from kvwitness.trace import read"),
        ("model/notes.md", "import z3"),
    ],
)
def test_an_import_by_the_rules_is_left_alone(path: str, line: str) -> None:
    assert import_faults({path: line}) == []
