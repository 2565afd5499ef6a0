"""What no file of the house may say: where some machine keeps its files, and where packages come from.

The words looked for are put together here, so that this file holds none of them.
"""

import re

import pytest

Tree = dict[str, str]

MACHINE_FOLDERS = ("home", "root", "work", "tmp", "Users")
# A folder's name counts at the start of a path, not in the middle of one.
MACHINE_PATH = re.compile(r"(?<![\w.\-/})])/(" + "|".join(MACHINE_FOLDERS) + ")/")
INDEX_HOSTS = [
    f"{name}.{end}"
    for name, end in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("crates", "io"),
        ("anaconda", "org"),
        ("proxy.golang", "org"),
        ("deb.debian", "org"),
    )
]
INDEX = re.compile(rf"\b({'|'.join(map(re.escape, INDEX_HOSTS))})\b|index[-_]" + "url", re.IGNORECASE)


def lines_with(pattern: re.Pattern[str], tree: Tree) -> list[str]:
    return [
        f"{path}:{number}: {found.group()}"
        for path, text in tree.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if (found := pattern.search(line))
    ]


def machine_paths(tree: Tree) -> list[str]:
    return lines_with(MACHINE_PATH, {path: text for path, text in tree.items() if not path.startswith(".ci/")})


def package_indexes(tree: Tree) -> list[str]:
    return lines_with(INDEX, tree)


def test_no_file_names_a_machine_s_folder(tree: Tree) -> None:
    assert machine_paths(tree) == []


def test_no_file_names_a_package_index(tree: Tree) -> None:
    assert package_indexes(tree) == []


@pytest.mark.parametrize("folder", MACHINE_FOLDERS)
def test_a_machine_s_folder_is_found(folder: str) -> None:
    path = f"/{folder}/somebody"

    assert machine_paths({"docs/a.md": f"first\nsee {path}\n"}) == [f"docs/a.md:2: /{folder}/"]
    assert machine_paths({"a.py": f'open("{path}")'}) == [f"a.py:1: /{folder}/"]
    assert machine_paths({".ci/run": path}) == []


@pytest.mark.parametrize("folder", MACHINE_FOLDERS)
def test_a_folder_of_the_same_name_inside_the_tree_is_no_machine_s(folder: str) -> None:
    inside = f"bench/{folder}/a.json ./{folder}/b $DIR/x/{folder}/ ${{DIR}}/{folder}/ https://a.example/{folder}/"

    assert machine_paths({"docs/a.md": inside}) == []


@pytest.mark.parametrize("host", INDEX_HOSTS)
def test_a_package_index_is_found(host: str) -> None:
    assert package_indexes({".ci/run": f"pip install -i https://files.{host}/x"}) == [f".ci/run:1: {host}"]
    assert package_indexes({"a.md": host.upper()}) == [f"a.md:1: {host.upper()}"]
    assert package_indexes({"a.md": f"{host}ization, {host[:-1]}"}) == []


def test_an_option_for_another_index_is_found() -> None:
    option = "--extra-index" + "-url"

    assert package_indexes({"a.sh": f"pip {option} x"}) == [f"a.sh:1: {option.removeprefix('--extra-')}"]
