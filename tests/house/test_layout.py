"""The layout of the house: how long a file and a function may be, what a file may be called, what is packaged.

A rule is a function from a tree (paths with their texts) to its faults, so that each is also shown to find some.
"""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

Tree = dict[str, str]

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 25
ROOMS = ("model", "impl", "properties", "proofs")


def sources(tree: Tree) -> Iterator[tuple[str, str]]:
    """The Python files: named so, or a script that says so in its first line."""
    for path, text in tree.items():
        if path.endswith(".py") or (text.startswith("#!") and "python" in text.partition("\n")[0]):
            yield path, text


def files_too_long(tree: Tree) -> list[str]:
    counted = ((path, len(text.splitlines())) for path, text in sources(tree))
    return [f"{path}: {lines} lines" for path, lines in counted if lines > MOST_FILE_LINES]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """The lines of a function's body that hold something, its docstring left out."""
    body = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    if not body:
        return 0
    return sum(bool(line.strip()) for line in lines[body[0].lineno - 1 : body[-1].end_lineno])


def functions_too_long(tree: Tree) -> list[str]:
    faults = []
    for path, text in sources(tree):
        if path.startswith("tests/"):
            continue
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text, path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = body_lines(node, lines)
                if count > MOST_FUNCTION_LINES:
                    faults.append(f"{path}:{node.lineno}: {node.name} has {count} lines")
    return faults


def files_without_an_idea(tree: Tree) -> list[str]:
    return [path for path in tree if PurePosixPath(path).stem in {"utils", "util", "helpers", "misc", "common"}]


def package_folders(tree: Tree) -> dict[str, str]:
    """The installed packages, each with its folder."""
    parents = {PurePosixPath(path).parent for path in tree if path.endswith(".py")}
    folders = [folder.parts for folder in parents if folder.parts and folder.parts[0] in {*ROOMS, "kvwitness"}]
    return {".".join(("kvwitness", *parts) if parts[0] in ROOMS else parts): "/".join(parts) for parts in folders}


def packaging_faults(tree: Tree) -> list[str]:
    setuptools = tomllib.loads(tree["pyproject.toml"])["tool"]["setuptools"]
    listed, found = set(setuptools["packages"]), set(package_folders(tree))
    mapping = {"kvwitness": "kvwitness"} | {f"kvwitness.{room}": room for room in ROOMS}
    faults = [f"{name}: a folder, but not listed" for name in sorted(found - listed)]
    faults += [f"{name}: listed, but no folder" for name in sorted(listed - found)]
    if setuptools["package-dir"] != mapping:
        faults.append(f"package-dir is {setuptools['package-dir']}, and should be {mapping}")
    return faults


def packages_without_a_docstring(tree: Tree) -> list[str]:
    front_doors = [f"{folder}/__init__.py" for folder in sorted(package_folders(tree).values())]
    return [path for path in front_doors if not ast.get_docstring(ast.parse(tree.get(path, "")))]


def test_no_file_is_longer_than_the_wall(tree: Tree) -> None:
    assert files_too_long(tree) == []


def test_no_function_is_longer_than_a_glance(tree: Tree) -> None:
    assert functions_too_long(tree) == []


def test_every_file_is_named_by_its_idea(tree: Tree) -> None:
    assert files_without_an_idea(tree) == []


def test_the_packages_listed_are_the_packages_there(tree: Tree) -> None:
    assert packaging_faults(tree) == []


def test_every_package_says_what_it_is(tree: Tree) -> None:
    assert packages_without_a_docstring(tree) == []


def test_a_file_of_401_lines_is_found_and_one_of_400_is_not() -> None:
    made_up = {"model/a.py": "x = 1\n" * 400, "model/b.py": "x = 1\n" * 401, "docs/c.md": "x\n" * 999}
    made_up["tools/d"] = "#!/usr/bin/env python3\n" * 401

    assert files_too_long(made_up) == ["model/b.py: 401 lines", "tools/d: 401 lines"]


def test_a_function_is_measured_without_docstring_and_blank_lines() -> None:
    head = 'async def f():\n    """One.\n\n    Two.\n    """\n\n'
    fits, too_long = head + "    x = 1\n\n" * 25, head + "    x = 1\n" * 26
    made_up = {"impl/a.py": fits, "impl/b.py": too_long, "tests/test_c.py": too_long, "impl/d.py": 'def g(): "-"\n'}

    assert functions_too_long(made_up) == ["impl/b.py:1: f has 26 lines"]


def test_a_method_inside_a_class_is_measured() -> None:
    made_up = {"impl/a.py": "class C:\n    def f(self):\n" + "        x = 1\n" * 26}

    assert functions_too_long(made_up) == ["impl/a.py:2: f has 26 lines"]


def test_a_drawer_for_everything_is_found() -> None:
    assert files_without_an_idea({"impl/utils.py": "", "model/util.py": "", "model/pool.py": ""}) == [
        "impl/utils.py",
        "model/util.py",
    ]


def test_a_package_missing_on_either_side_is_found() -> None:
    made_up = {"proofs/engines/prove.py": "", "model/pool.py": "", "bench/run.py": "", "kvwitness/cli/main.py": ""}
    made_up["pyproject.toml"] = """
        [tool.setuptools]
        packages = ["kvwitness.cli", "kvwitness.model", "kvwitness.gone"]
        package-dir = {"kvwitness" = "kvwitness"}
    """
    unlisted, gone, mapping = packaging_faults(made_up)

    assert unlisted == "kvwitness.proofs.engines: a folder, but not listed"
    assert gone == "kvwitness.gone: listed, but no folder"
    assert mapping.startswith("package-dir is {'kvwitness': 'kvwitness'}, and should be")


def test_a_package_without_a_docstring_is_found() -> None:
    made_up = {"model/__init__.py": '"""The spec."""\n', "impl/__init__.py": "", "kvwitness/cli/main.py": ""}

    assert packages_without_a_docstring(made_up) == ["impl/__init__.py", "kvwitness/cli/__init__.py"]
