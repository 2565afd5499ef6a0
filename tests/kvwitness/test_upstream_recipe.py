"""The recipe runs a file that imports the seed's names against ours."""

import subprocess
import sys
from pathlib import Path

import pytest

RECIPE = Path(__file__).resolve().parents[2] / "tools" / "upstream-tests"

MADE_UP = """
import pytest
import torch

from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_utils import BlockHash, KVCacheBlock, make_block_hash_with_group_id
from vllm.v1.core.single_type_kv_cache_manager import SlidingWindowManager
from vllm.v1.kv_cache_interface import SlidingWindowSpec

pytestmark = pytest.mark.cpu_test


def test_a_table_that_is_given_as_a_list_shows_what_is_released():
    spec = SlidingWindowSpec(block_size=1, num_kv_heads=1, head_size=1, dtype=torch.float32, sliding_window=2)
    pool = BlockPool(num_gpu_blocks=4, enable_caching=True, hash_block_size=1)
    manager = SlidingWindowManager(spec, block_pool=pool, enable_caching=True, kv_cache_group_id=0)
    table = manager.req_to_blocks["A"] = [KVCacheBlock(7), KVCacheBlock(8), KVCacheBlock(9)]
    manager.remove_skipped_blocks("A", 3)
    assert [block.block_id for block in table] == [0, 0, 9]
    pool.cached_block_hash_to_block.insert(make_block_hash_with_group_id(BlockHash(b"1"), 0), pool.blocks[1])
    assert pool.get_cached_block(BlockHash(b"1"), [0]) == [pool.blocks[1]]
    pool.cached_block_hash_to_block._cache.clear()
    assert pool.get_cached_block(BlockHash(b"1"), [0]) is None


def test_that_fails():
    assert BlockPool.__module__.startswith("vllm")
"""


@pytest.mark.slow
def test_a_file_is_run_against_ours(tmp_path: Path) -> None:
    file = tmp_path / "test_made_up.py"
    file.write_text(MADE_UP, encoding="utf-8")
    done = subprocess.run([sys.executable, str(RECIPE), str(file), "-q"], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout


def test_without_a_file_it_says_how_it_is_used() -> None:
    done = subprocess.run([sys.executable, str(RECIPE)], capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")
