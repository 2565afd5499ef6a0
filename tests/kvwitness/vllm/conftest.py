"""A made-up release that is small enough to read, and the real ones where they can be had."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kvwitness.ports.resolve import PortError
from kvwitness.vllm.loader import MANAGERS, POOL, SPECS, Release, ReleaseError
from kvwitness.vllm.opening import open_release

NEEDED = {MANAGERS: ("Manager",), POOL: ("BlockPool",), SPECS: ("Spec",)}

FILES = {
    "vllm/__init__.py": "raise RuntimeError('no __init__ runs')\n",
    "vllm/utils/math_utils.py": "def cdiv(a, b):\n    return -(-a // b)\n",
    "vllm/v1/kv_cache_interface.py": """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar
import torch
from typing_extensions import Self, no_such_decorator

@no_such_decorator
@dataclass(frozen=True, kw_only=True)
class Spec:
    kind: ClassVar[str] = "made up"
    block_size: int
    dtype: torch.dtype = None

    def merged(self) -> Self:
        return self
""",
    "vllm/v1/core/block_pool.py": """
from vllm import envs
from vllm.distributed.kv_events import Event
from vllm.logger import init_logger
from ..kv_cache_interface import Spec

logger = init_logger(__name__)
logger.info("%s", __name__)

class Stored(Event, tag=True):
    pass

class BlockPool:
    size = SIZE
    events = envs.VLLM_EVENTS
""",
    "vllm/v1/core/single_type_kv_cache_manager.py": """
import itertools
from vllm.utils.math_utils import cdiv
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.kv_cache_interface import Spec
from vllm.v1.request import Request

class Manager:
    def blocks(self, tokens):
        from vllm.v1.core.block_pool import BlockPool as late
        import vllm.v1.core.block_pool
        assert late is BlockPool is vllm.v1.core.block_pool.BlockPool
        return cdiv(tokens, BlockPool.size)

    def guesses(self, tokens):
        return cdiv(tokens, Request().num_tokens)

    def branches(self):
        return 1 if Request().is_new else 2
""",
}
"""Everything that the real core does while it loads, and later."""

MakeRelease = Callable[..., Release]


@pytest.fixture
def made_up(tmp_path: Path) -> MakeRelease:
    """What writes a made-up release with that block size, with some files changed, and loads it."""

    def make(size: int = 2, name: str = "made-up", **changed: str | None) -> Release:
        root = tmp_path / name
        for path, usual in FILES.items():
            text = changed.get(Path(path).stem, usual)
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text.replace("SIZE", str(size)), encoding="utf-8")
        return Release(name, "", root, NEEDED)

    return make


@pytest.fixture(scope="session")
def seed() -> Release:
    """The real seed, from the cache or the index."""
    try:
        return open_release("vllm==0.16.0")
    except (PortError, ReleaseError) as reason:
        pytest.skip(f"the sources of vllm 0.16.0 cannot be had: {reason}")
