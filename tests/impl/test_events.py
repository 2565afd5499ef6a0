"""The pool's KV events: what becomes findable and what ceases to be, under every rule of telling."""

from typing import NamedTuple

import pytest
from attrs import evolve

from kvwitness import impl
from kvwitness.impl.events import AllBlocksCleared, BlockRemoved, BlockStored
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile

EACH = evolve(SOUND, event_copies="each")
ONE_RUN = evolve(SOUND, event_runs="one_a_call")


class Request(NamedTuple):
    request_id: str
    block_hashes: list[impl.Key]


def build(profile: Profile = SOUND, num_blocks: int = 8) -> impl.BlockPool:
    return impl.BlockPool(num_blocks, True, 4, True, profile=profile)


def publish(pool: impl.BlockPool, blocks: list[impl.KVCacheBlock], first: int = 0, end: int | None = None, group: int = 0) -> None:
    keys: list[impl.Key] = [f"k{place}" for place in range(len(blocks))]
    pool.cache_full_blocks(Request("a", keys), blocks, first, len(blocks) if end is None else end, 4, group)


def test_a_pool_that_is_built_without_events_tells_none_until_it_is_asked_to() -> None:
    pool = impl.BlockPool(8, True, 4, profile=SOUND)
    publish(pool, pool.get_new_blocks(1))
    silent = pool.take_events()
    pool.begin_events()
    pool.evict_blocks({1})

    assert (silent, pool.take_events(), pool.enable_kv_cache_events) == ([], [BlockRemoved(0, "k0")], True)


def test_a_run_tells_its_keys_its_parent_and_its_tokens() -> None:
    pool = build()
    blocks = pool.get_new_blocks(3)
    publish(pool, blocks, 0, 1)
    publish(pool, blocks, 1, 3)

    assert pool.take_events() == [BlockStored(0, ("k0",), None, 0, 4), BlockStored(0, ("k1", "k2"), "k0", 4, 12)]
    assert pool.take_events() == []


def test_blocks_without_a_key_divide_the_runs() -> None:
    pool = build()
    one, two = pool.get_new_blocks(2)
    publish(pool, [pool.null_block, one, pool.null_block, two, pool.null_block])

    assert pool.take_events() == [BlockStored(0, ("k1",), "k0", 4, 8), BlockStored(0, ("k3",), "k2", 12, 16)]


def test_a_profile_tells_one_run_a_call_with_whatever_keys_there_are() -> None:
    pool = build(ONE_RUN)
    (block,) = pool.get_new_blocks(1)
    publish(pool, [pool.null_block, block, pool.null_block], 0, 2)
    publish(pool, [pool.null_block, block, pool.null_block], 2, 3)

    assert pool.take_events() == [BlockStored(0, ("k1",), None, 0, 8), BlockStored(0, (), "k1", 8, 12)]


def test_a_copy_is_not_told_and_its_key_is_removed_with_the_last() -> None:
    pool = build()
    for _ in range(2):
        publish(pool, pool.get_new_blocks(1))
    stored = pool.take_events()
    pool.evict_blocks({1})
    nothing = pool.take_events()
    pool.evict_blocks({2})

    assert (stored, nothing, pool.take_events()) == ([BlockStored(0, ("k0",), None, 0, 4)], [], [BlockRemoved(0, "k0")])


def test_a_profile_tells_of_every_copy() -> None:
    pool = build(EACH)
    for _ in range(2):
        publish(pool, pool.get_new_blocks(1))
    pool.evict_blocks({1})

    assert pool.take_events() == [BlockStored(0, ("k0",), None, 0, 4)] * 2 + [BlockRemoved(0, "k0")]


def test_a_new_key_behind_a_copy_has_a_run_of_its_own() -> None:
    pool = build()
    publish(pool, pool.get_new_blocks(1))
    publish(pool, pool.get_new_blocks(3))

    assert pool.take_events()[1:] == [BlockStored(0, ("k1", "k2"), "k0", 4, 12)]


def test_the_seed_names_no_group() -> None:
    pool = build(VLLM_0_16)
    publish(pool, pool.get_new_blocks(1), group=1)
    pool.evict_blocks({1})

    assert pool.take_events() == [BlockStored(None, ("k0",), None, 0, 4), BlockRemoved(None, "k0")]


def test_handing_out_a_findable_block_tells_of_its_key() -> None:
    pool = build(num_blocks=3)
    blocks = pool.get_new_blocks(2)
    publish(pool, blocks)
    pool.free_blocks(reversed(blocks))
    pool.take_events()
    pool.get_new_blocks(2)

    assert pool.take_events() == [BlockRemoved(0, "k1"), BlockRemoved(0, "k0")]


def test_only_a_reset_that_succeeds_is_told() -> None:
    pool = build()
    blocks = pool.get_new_blocks(1)
    refused = pool.reset_prefix_cache()
    pool.free_blocks(blocks)

    assert (refused, pool.reset_prefix_cache(), pool.take_events()) == (False, True, [AllBlocksCleared()])


def test_a_refused_publishing_tells_nothing() -> None:
    pool = build()
    first, second = pool.get_new_blocks(2)
    publish(pool, [second])
    pool.take_events()
    with pytest.raises(impl.RejectedAssertion):
        publish(pool, [first, second])

    assert pool.take_events() == []


def test_larger_blocks_are_told_by_the_keys_of_their_last_tokens() -> None:
    pool = build()
    blocks = pool.get_new_blocks(2)
    pool.cache_full_blocks(Request("a", ["k0", "k1", "k2", "k3"]), blocks, 1, 2, 8, 1)

    assert pool.take_events() == [BlockStored(1, ("k3",), "k1", 8, 16)]
