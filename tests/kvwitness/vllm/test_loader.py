import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kvwitness.vllm.loader import MANAGERS, POOL, SPECS, Release, ReleaseError
from kvwitness.vllm.stand_ins import StandInError

MakeRelease = Callable[..., Release]


def test_real_modules_run_and_all_else_stands_in(made_up: MakeRelease) -> None:
    release = made_up(size=4)

    assert release[MANAGERS].Manager().blocks(9) == 3
    assert release[SPECS].Spec(block_size=4).merged().block_size == 4
    assert release[POOL].BlockPool.events is None


def test_releases_live_side_by_side(made_up: MakeRelease) -> None:
    first, second = made_up(size=1, name="first"), made_up(size=3, name="second")

    assert first[MANAGERS].Manager().blocks(6) == 6
    assert second[MANAGERS].Manager().blocks(6) == 2
    assert first[POOL].BlockPool is not second[POOL].BlockPool


def test_the_users_own_modules_are_left_alone(made_up: MakeRelease, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {name: object() for name in ("vllm", "vllm.envs", "torch", "typing_extensions")}
    for name, module in own.items():
        monkeypatch.setitem(sys.modules, name, module)
    finders = list(sys.meta_path)

    made_up()[MANAGERS].Manager().blocks(1)

    assert {name: sys.modules[name] for name in own} == own
    assert not [name for name in sys.modules if name.startswith(("vllm.v1", "torch."))]
    assert sys.meta_path == finders


def test_nothing_is_written_beside_the_sources(made_up: MakeRelease, tmp_path: Path) -> None:
    made_up()

    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".pyc" or path.name == "__pycache__"]


def test_computing_with_a_stand_in_fails_loudly(made_up: MakeRelease) -> None:
    manager = made_up()[MANAGERS].Manager()

    with pytest.raises(TypeError):
        manager.guesses(4)
    with pytest.raises(StandInError, match="a branch depends on"):
        manager.branches()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"block_pool": None}, "imports vllm.v1.core.block_pool and does not have it"),
        ({"single_type_kv_cache_manager": None}, f"no module {MANAGERS}"),
        ({"block_pool": "class Pool: pass"}, "cannot import name 'BlockPool' from 'vllm.v1.core.block_pool'"),
        ({"single_type_kv_cache_manager": "class Other: pass"}, f"no Manager in {MANAGERS}"),
        ({"math_utils": None}, "imports vllm.utils.math_utils and does not have it"),
        ({"math_utils": "cdiv ="}, "SyntaxError"),
    ],
    ids=["moved module", "no managers", "moved class", "renamed class", "moved helper", "broken file"],
)
def test_a_missing_name_is_told_with_the_release(made_up: MakeRelease, changed: dict[str, str | None], told: str) -> None:
    before = set(sys.modules)

    with pytest.raises(ReleaseError) as caught:
        made_up(name="a-fork", **changed)

    assert "a-fork" in str(caught.value)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert set(sys.modules) == before
