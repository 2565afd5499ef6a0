from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from attrs import evolve

from kvwitness import impl
from kvwitness.impl.supported import LEFT_TO_THE_CALLER, SUPPORTED
from kvwitness.model.profile import AXES, SOUND, VLLM_0_16, Profile


class Request(NamedTuple):
    request_id: str
    block_hashes: list[impl.Key]


def build(num_blocks: int = 6, profile: Profile = VLLM_0_16) -> impl.BlockPool:
    return impl.BlockPool(num_blocks, enable_caching=True, hash_block_size=4, profile=profile)


def publish(pool: impl.BlockPool, blocks: list[impl.KVCacheBlock], *keys: impl.Key, group: int = 0) -> None:
    pool.cache_full_blocks(Request("a", list(keys)), blocks, 0, len(keys), 4, group)


def ids(blocks: list[impl.KVCacheBlock] | None) -> list[int] | None:
    return None if blocks is None else [block.block_id for block in blocks]


def test_a_new_pool_is_free_but_for_the_null_block() -> None:
    pool = build(4)

    assert pool.snapshot() == ((1, 2, 3), (0, 0, 0, 0), (None,) * 4, {}, ())
    assert (pool.null_block.is_null, pool.get_num_free_blocks(), pool.get_usage()) == (True, 3, 0.0)
    assert pool.take_events() == []


def test_taken_blocks_are_referenced_and_counted_as_used() -> None:
    pool = build(5)

    assert ids(pool.get_new_blocks(3)) == [1, 2, 3]
    assert pool.snapshot()[:2] == ((4,), (0, 1, 1, 1, 0))
    assert pool.get_usage() == pytest.approx(0.75)


def test_a_pool_of_the_null_block_alone_is_not_in_use() -> None:
    assert build(1).get_usage() == 0.0


def test_released_blocks_are_appended_in_the_order_given() -> None:
    pool = build()
    blocks = pool.get_new_blocks(3)
    publish(pool, blocks[:1], "k1")
    pool.free_blocks(reversed(blocks))

    assert pool.snapshot()[0] == (4, 5, 3, 2, 1)


def test_released_keyless_blocks_come_first_where_the_profile_says_so() -> None:
    pool = build(profile=SOUND)
    blocks = pool.get_new_blocks(4)
    publish(pool, blocks[:2], "k1", "k2")
    pool.free_blocks([blocks[3], blocks[1], blocks[2], blocks[0]])

    assert pool.snapshot()[0] == (4, 3, 5, 2, 1)


def test_a_block_that_two_hold_joins_the_queue_once_and_when_both_let_go() -> None:
    pool = build()
    (block,) = pool.get_new_blocks(1)
    pool.touch([block])
    pool.free_blocks([block, block])
    pool.check()

    assert pool.snapshot()[0] == (2, 3, 4, 5, 1)


def test_a_cached_block_survives_its_release_until_it_is_taken_anew() -> None:
    pool = build(3)
    (block,) = pool.get_new_blocks(1)
    publish(pool, [block], "k1")
    pool.free_blocks([block])

    assert ids(pool.get_cached_block("k1", [0])) == [1]
    pool.get_new_blocks(2)
    assert pool.get_cached_block("k1", [0]) is None
    assert pool.snapshot()[2] == (None, None, None)


def test_a_hit_leaves_the_free_queue() -> None:
    pool = build(4)
    (block,) = pool.get_new_blocks(1)
    publish(pool, [block], "k1")
    pool.free_blocks([block])
    pool.touch([block])

    assert pool.snapshot()[:2] == ((2, 3), (0, 1, 0, 0))


def test_every_group_must_have_the_key() -> None:
    pool = build()
    one, other = pool.get_new_blocks(2)
    publish(pool, [one], "k1", group=0)

    assert pool.get_cached_block("k1", [0, 1]) is None
    publish(pool, [other], "k1", group=1)
    assert ids(pool.get_cached_block("k1", [0, 1])) == [1, 2]


@pytest.mark.parametrize(("profile", "after_touch", "after_release"), [(VLLM_0_16, 2, 1), (SOUND, 0, 0)])
def test_null_references_drift_only_where_the_profile_says_so(profile: Profile, after_touch: int, after_release: int) -> None:
    pool = build(profile=profile)
    pool.touch([pool.null_block, pool.null_block])
    assert pool.null_block.ref_cnt == after_touch
    pool.free_blocks([pool.null_block])

    assert pool.null_block.ref_cnt == after_release
    assert not pool.null_block.is_queued


def test_null_blocks_get_no_key_and_use_up_no_key_of_another() -> None:
    pool = build()
    (block,) = pool.get_new_blocks(1)
    publish(pool, [pool.null_block, block], "k1", "k2")

    assert pool.snapshot()[3] == {(0, "k2"): (1,)}


def test_withdrawn_and_evicted_blocks_keep_their_references() -> None:
    pool = build()
    blocks = pool.get_new_blocks(3)
    publish(pool, blocks, "k1", "k2", "k3")
    pool.withdraw(blocks[:1])
    pool.evict_blocks({2})

    assert pool.snapshot()[1:4] == ((0, 1, 1, 1, 0, 0), (None, None, None, (0, "k3"), None, None), {(0, "k3"): (3,)})


def test_a_reset_forgets_all_keys_once_nothing_is_held() -> None:
    pool = build()
    (block,) = pool.get_new_blocks(1)
    publish(pool, [block], "k1")
    before = pool.snapshot()

    assert pool.reset_prefix_cache() is False
    assert pool.snapshot() == before
    pool.free_blocks([block])
    assert pool.reset_prefix_cache() is True
    assert pool.snapshot()[2:4] == ((None,) * 6, {})


@pytest.mark.parametrize(("profile", "is_reset", "usage"), [(VLLM_0_16, False, 0.4), (SOUND, True, 0.0)])
def test_blocks_set_apart_hinder_a_reset_only_where_the_profile_takes_them(profile: Profile, is_reset: bool, usage: float) -> None:
    pool = build(profile=profile)

    assert ids(pool.reserve(2)) == [1, 2]
    assert (pool.snapshot()[0], pool.snapshot()[4]) == ((3, 4, 5), (1, 2))
    pool.check()
    assert pool.reset_prefix_cache() is is_reset
    assert pool.get_usage() == pytest.approx(usage)


def test_a_block_set_apart_is_no_longer_findable() -> None:
    pool = build(3)
    blocks = pool.get_new_blocks(1)
    publish(pool, blocks, "k1")
    pool.free_blocks(blocks)
    pool.reserve(2)

    assert pool.get_cached_block("k1", [0]) is None


def rejected_pool() -> impl.BlockPool:
    """Blocks 1 and 2 held, 1 by two and keyed; 5 and 3 set apart; 4 free."""
    pool = build(6)
    one, _two = pool.get_new_blocks(2)
    pool.touch([one])
    publish(pool, [one], "k1")
    pool.free_blocks(pool.get_new_blocks(2))
    pool.reserve(2)
    assert pool.snapshot()[0] == (4,)
    return pool


class Rejection(NamedTuple):
    call: Callable[[impl.BlockPool], Any]
    kind: type[Exception]
    reason: str


def publish_two(pool: impl.BlockPool, *keys: impl.Key, cached: int = 0, full: int = 1, block_size: int = 4) -> None:
    pool.cache_full_blocks(Request("a", list(keys)), pool.blocks[2:4], cached, full, block_size, 0)


REJECTIONS = {
    "a negative count of blocks": Rejection(lambda pool: pool.get_new_blocks(-1), ValueError, "negative_count"),
    "more blocks than are free": Rejection(lambda pool: pool.get_new_blocks(2), ValueError, "pool_exhausted"),
    "releasing a free block": Rejection(
        lambda pool: pool.free_blocks([pool.blocks[2], pool.blocks[4]]), ValueError, "block_not_referenced"
    ),
    "releasing one reference twice": Rejection(
        lambda pool: pool.free_blocks([pool.null_block, pool.blocks[2], pool.blocks[2]]), ValueError, "block_already_free"
    ),
    "touching a block set apart": Rejection(
        lambda pool: pool.touch([pool.blocks[2], pool.blocks[5]]), AssertionError, "block_not_referenced"
    ),
    "setting too many apart": Rejection(lambda pool: pool.reserve(2), AssertionError, "pool_exhausted"),
    "setting a negative count apart": Rejection(lambda pool: pool.reserve(-1), AssertionError, "negative_count"),
    "evicting past the pool": Rejection(lambda pool: pool.evict_blocks({1, 6}), AssertionError, "block_not_referenced"),
    "evicting before the pool": Rejection(lambda pool: pool.evict_blocks({1, -1}), AssertionError, "block_not_referenced"),
    "publishing more than is held": Rejection(
        lambda pool: publish(pool, [pool.blocks[2]], "k", "l"), AssertionError, "publish_unallocated"
    ),
    "publishing a keyed block": Rejection(
        lambda pool: publish(pool, [pool.blocks[2], pool.blocks[1]], "k", "l"), AssertionError, "block_already_keyed"
    ),
    "publishing a block twice": Rejection(
        lambda pool: publish(pool, [pool.blocks[2], pool.blocks[2]], "k", "l"), AssertionError, "block_already_keyed"
    ),
    "publishing past the keys": Rejection(lambda pool: publish_two(pool, "k", full=2), AssertionError, "not_enough_keys"),
    "publishing from below zero": Rejection(lambda pool: publish_two(pool, "k", cached=-1), ValueError, "negative_count"),
    "blocks that keys do not divide": Rejection(lambda pool: publish_two(pool, "k", block_size=6), AssertionError, "alignment_unsupported"),
    "blocks of several keys": Rejection(lambda pool: publish_two(pool, "k", block_size=8), AssertionError, "not_enough_keys"),
}


@pytest.mark.parametrize("name", REJECTIONS)
def test_a_rejected_call_changes_nothing(name: str) -> None:
    call, kind, reason = REJECTIONS[name]
    pool = rejected_pool()
    before = pool.snapshot()
    with pytest.raises(kind) as rejected:
        call(pool)

    assert isinstance(rejected.value, impl.Rejected)
    assert rejected.value.reason == reason
    assert pool.snapshot() == before


def test_a_key_that_cannot_be_hashed_leaves_the_pool_as_it_was() -> None:
    pool = build()
    blocks = pool.get_new_blocks(2)
    before = pool.snapshot()
    unhashable: Any = []
    with pytest.raises(TypeError):
        publish(pool, blocks, "k1", unhashable)

    assert pool.snapshot() == before


@pytest.mark.parametrize(("num_blocks", "hash_block_size"), [(0, 4), (-1, 4), (2.0, 4), (4, 0)])
def test_a_pool_of_impossible_size_is_rejected(num_blocks: Any, hash_block_size: int) -> None:
    with pytest.raises(impl.RejectedAssertion, match="invalid_configuration"):
        impl.BlockPool(num_blocks, enable_caching=True, hash_block_size=hash_block_size)


@pytest.mark.parametrize(
    ("axis", "value"),
    [
        ("partial_hits", True),
        ("free_order", "shuffled"),
    ],
)
def test_an_axis_value_that_is_not_honoured_is_rejected_by_name(axis: str, value: Any) -> None:
    with pytest.raises(impl.RejectedNotImplemented, match=f"{axis} {value!r}") as rejected:
        build(profile=evolve(VLLM_0_16, **{axis: value}))

    assert rejected.value.reason == "invalid_configuration"


def test_every_axis_is_either_honoured_here_or_left_to_the_caller() -> None:
    assert sorted((*SUPPORTED, *LEFT_TO_THE_CALLER)) == sorted(AXES)


class Spoilt(NamedTuple):
    spoil: Callable[[impl.BlockPool], Any]
    found: str


def queue_a_held_block(pool: impl.BlockPool) -> None:
    pool.free_block_queue.push_back([pool.blocks[1]])


def lose_a_free_block(pool: impl.BlockPool) -> None:
    pool.free_block_queue.remove(pool.blocks[5])


def spoil(pool: impl.BlockPool, block_id: int, **wrong: Any) -> None:
    for name, value in wrong.items():
        setattr(pool.blocks[block_id], name, value)


SPOILT = {
    "a reference nobody holds": Spoilt(
        lambda pool: spoil(pool, 1, ref_cnt=2), "references = holders: block 1 has 2 references and 1 holders"
    ),
    "a held block in the queue": Spoilt(queue_a_held_block, "free = no reference: block 1"),
    "a free block outside the queue": Spoilt(lose_a_free_block, "free = no reference: block 5"),
    "a key that is not in the index": Spoilt(lambda pool: spoil(pool, 1, block_hash="k"), "index: 2 blocks carry a key, 1 are listed"),
    "a null block that is none": Spoilt(lambda pool: spoil(pool, 0, is_null=False), "block 0 has 0 references, queued is False"),
    "a null block in the queue": Spoilt(lambda pool: pool.free_block_queue.push_back([pool.null_block]), "null block: it is queued"),
    "a null block with references": Spoilt(lambda pool: spoil(pool, 0, ref_cnt=-1), "null block: -1 references are counted"),
    "a block set apart in the queue": Spoilt(
        lambda pool: pool.free_block_queue.push_back(pool.reserved_blocks), "set apart: block 3 is queued"
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_pool_is_found_out(name: str) -> None:
    pool = build(6, SOUND)
    manager = impl.get_manager_for_kv_cache_spec(
        impl.FullAttentionSpec(block_size=4), block_pool=pool, enable_caching=True, kv_cache_group_id=0
    )
    manager.allocate_new_blocks("a", 4, 4)
    (cached,) = manager.allocate_new_blocks("b", 4, 4)
    publish(pool, [cached], "k2")
    manager.free("b")
    assert ids(pool.reserve(1)) == [3]
    pool.check([manager])
    SPOILT[name].spoil(pool)
    with pytest.raises(impl.CorruptState, match=SPOILT[name].found):
        pool.check([manager])


class Collector:
    def __init__(self) -> None:
        self.heard: list[tuple[str, int]] = []

    def on_block_allocated(self, block: impl.KVCacheBlock) -> None:
        self.heard.append(("allocated", block.block_id))

    def on_block_accessed(self, block: impl.KVCacheBlock) -> None:
        self.heard.append(("accessed", block.block_id))

    def on_block_evicted(self, block: impl.KVCacheBlock) -> None:
        self.heard.append(("evicted", block.block_id))

    def reset(self) -> None:
        self.heard.append(("reset", -1))


def test_a_metrics_collector_hears_of_what_happens_to_blocks() -> None:
    collector = Collector()
    pool = impl.BlockPool(3, enable_caching=True, hash_block_size=4, metrics_collector=collector)
    blocks = pool.get_new_blocks(1)
    pool.touch(blocks)
    pool.evict_blocks({2})
    pool.free_blocks(blocks * 2)
    pool.reset_prefix_cache()

    assert collector.heard == [("evicted", 1), ("allocated", 1), ("accessed", 1), ("evicted", 2), ("reset", -1)]


def test_a_block_is_printed_by_what_matters() -> None:
    pool = build()
    publish(pool, pool.get_new_blocks(1), "k1")

    assert repr(pool.blocks[1]) == "KVCacheBlock(block_id=1, ref_cnt=1, block_hash='k1', group_id=0)"
    assert repr(pool.null_block) == "KVCacheBlock(block_id=0, ref_cnt=0, is_null=True)"
