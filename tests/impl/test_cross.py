from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from kvwitness import impl

SPEC = impl.CrossAttentionSpec(block_size=4)


class Request(NamedTuple):
    request_id: str
    block_hashes: list[str]


def build() -> impl.CrossAttentionManager:
    pool = impl.BlockPool(6, enable_caching=False, hash_block_size=4)
    manager = impl.CrossAttentionManager(SPEC, pool, enable_caching=False, kv_cache_group_id=0)
    manager.allocate_new_blocks("a", 7, 7)
    return manager


def test_encoder_blocks_are_taken_once_and_kept() -> None:
    manager = build()

    assert manager.get_num_blocks_to_allocate("a", 0, [], 30, 0) == 0
    assert manager.allocate_new_blocks("a", 0, 0) == []
    manager.remove_skipped_blocks("a", 30)
    assert manager.snapshot() == ({"a": (1, 2)}, {})
    assert manager.get_num_common_prefix_blocks("a") == 0


def test_decoder_tokens_have_no_place_whether_local_or_external() -> None:
    manager = build()
    manager.allocate_new_computed_blocks("b", [], 4, 8)
    manager.add_local_computed_blocks("b", [], 4, 8)
    manager.allocate_external_computed_blocks("b", 4, 8)

    assert manager.snapshot() == ({"a": (1, 2)}, {})


def find(manager: impl.CrossAttentionManager, spec: impl.KVCacheSpec) -> Any:
    return impl.CrossAttentionManager.find_longest_cache_hit([], 4, [0], manager.block_pool, spec, False, 4)


class Rejection(NamedTuple):
    call: Callable[[impl.CrossAttentionManager], Any]
    kind: type[Exception]
    reason: str


REJECTIONS = {
    "a look-up": Rejection(lambda m: find(m, SPEC), NotImplementedError, "caching_unsupported"),
    "a look-up of another kind": Rejection(lambda m: find(m, impl.FullAttentionSpec(block_size=4)), AssertionError, "wrong_spec"),
    "publishing": Rejection(lambda m: m.cache_blocks(Request("a", []), 4), ValueError, "caching_unsupported"),
    "adopting hits": Rejection(
        lambda m: m.allocate_new_computed_blocks("b", m.req_to_blocks["a"], 8, 0), AssertionError, "hits_without_caching"
    ),
    "the first phase with hits": Rejection(
        lambda m: m.add_local_computed_blocks("b", m.req_to_blocks["a"], 8, 0), AssertionError, "hits_without_caching"
    ),
}


@pytest.mark.parametrize("name", REJECTIONS)
def test_sharing_is_rejected_and_changes_nothing(name: str) -> None:
    call, kind, reason = REJECTIONS[name]
    manager = build()
    before = manager.snapshot(), manager.block_pool.snapshot()
    with pytest.raises(kind) as rejected:
        call(manager)

    assert isinstance(rejected.value, impl.Rejected)
    assert rejected.value.reason == reason
    assert (manager.snapshot(), manager.block_pool.snapshot()) == before
