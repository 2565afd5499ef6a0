"""Taking back what was published in the step being planned."""

from typing import Any, NamedTuple

from kvwitness import impl
from kvwitness.impl.step_book import StepBook
from kvwitness.model.profile import VLLM_0_16, Profile

KEYS = [f"k{number}" for number in range(20)]


class Request(NamedTuple):
    request_id: str
    block_hashes: list[str]


FULL = impl.FullAttentionSpec(block_size=4)
SLIDING = impl.SlidingWindowSpec(block_size=4, sliding_window=5)


def build(
    spec: impl.KVCacheSpec = FULL, blocks: int = 10, profile: Profile = VLLM_0_16, *, caching: bool = True
) -> impl.SingleTypeKVCacheManager:
    pool = impl.BlockPool(blocks, enable_caching=caching, hash_block_size=4, profile=profile)
    return impl.get_manager_for_kv_cache_spec(spec, block_pool=pool, enable_caching=caching, kv_cache_group_id=0)


def run(manager: impl.SingleTypeKVCacheManager, request_id: str, num_tokens: int) -> None:
    """Allocate and publish."""
    manager.allocate_new_blocks(request_id, num_tokens, num_tokens)
    manager.cache_blocks(Request(request_id, KEYS), num_tokens)


def hits(manager: impl.SingleTypeKVCacheManager, max_length: int) -> Any:
    return type(manager).find_longest_cache_hit(KEYS, max_length, [0], manager.block_pool, manager.kv_cache_spec, False, 4)[0]


def everything(manager: impl.SingleTypeKVCacheManager) -> Any:
    return manager.block_pool.snapshot(), manager.snapshot()


def test_a_request_preempted_in_its_own_step_takes_its_keys_back() -> None:
    manager = build()
    run(manager, "a", 8)
    manager.new_step_starts()
    before = everything(manager)
    manager.cache_blocks(Request("a", KEYS), 8)
    manager.allocate_new_blocks("a", 16, 16)
    manager.cache_blocks(Request("a", KEYS), 12)
    manager.cache_blocks(Request("a", KEYS), 16)
    manager.withdraw_blocks("a")

    assert manager.block_pool.snapshot()[2:4] == before[0][2:4]
    assert manager.snapshot() == ({"a": (1, 2, 3, 4)}, {"a": 2})
    manager.withdraw_blocks("a")
    assert manager.snapshot()[1] == {"a": 2}


def test_withdrawal_from_a_request_that_never_published_before_leaves_no_count() -> None:
    manager = build()
    run(manager, "a", 8)
    manager.withdraw_blocks("a")

    assert (manager.snapshot()[1], manager.block_pool.snapshot()[3]) == ({}, {})


def test_adopted_hits_are_not_withdrawn() -> None:
    manager = build()
    run(manager, "a", 8)
    manager.new_step_starts()
    manager.allocate_new_computed_blocks("b", hits(manager, 8), 8, 0)
    run(manager, "b", 12)
    manager.withdraw_blocks("b")

    assert manager.snapshot()[1] == {"a": 2, "b": 2}
    assert manager.block_pool.snapshot()[3] == {(0, "k0"): (1,), (0, "k1"): (2,)}


def test_what_was_published_before_the_step_stays() -> None:
    manager = build()
    run(manager, "a", 8)
    manager.new_step_starts()
    before = everything(manager)
    manager.withdraw_blocks("a")

    assert everything(manager) == before


def test_a_block_that_another_request_published_meanwhile_is_not_withdrawn() -> None:
    manager = build(SLIDING, blocks=3)
    run(manager, "a", 8)
    manager.remove_skipped_blocks("a", 8)
    run(manager, "b", 4)
    assert manager.snapshot()[0] == {"a": (0, 2), "b": (1,)}
    manager.withdraw_blocks("a")

    assert manager.block_pool.snapshot()[3] == {(0, "k0"): (1,)}


def test_a_request_freed_and_started_anew_takes_back_only_its_new_keys() -> None:
    manager = build()
    run(manager, "a", 8)
    manager.free("a")
    manager.allocate_new_blocks("a", 4, 4)
    manager.withdraw_blocks("a")

    assert manager.block_pool.snapshot()[3] == {(0, "k0"): (1,), (0, "k1"): (2,)}


def test_what_a_request_published_is_this_steps_until_the_next_begins_whoever_is_gone() -> None:
    book, block = StepBook(), impl.KVCacheBlock(3)
    book.record("a", None, [block])
    book.forget("a")
    assert book.has_published(block)
    book.clear()

    assert not book.has_published(block)


def test_a_key_of_another_group_is_not_taken_back() -> None:
    book, block = StepBook(), impl.KVCacheBlock(3)
    block.group_id = 1
    book.record("a", 2, [block])

    assert book.take_back("a", 0) == (2, [])
