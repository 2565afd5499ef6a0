"""A request's table in one group, transition by transition."""

import pytest

from kvwitness.model import table
from kvwitness.model.kinds import Kind
from kvwitness.model.pool import Pool, Rejection, found, fresh_pool, publish, release, take
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.model.table import NOTHING, Group, Held

KEYS = (10, 11, 12, 13)


def group(kind: Kind | None = None, profile: Profile = SOUND) -> Group:
    return Group(0, kind or Kind("full"), 2, 8, True, profile)


SLIDING = group(Kind("sliding", window=3))


def cached(count: int) -> Pool:
    """A pool whose first blocks are published and free, behind all the others."""
    pool, blocks = take(fresh_pool(8), count)
    pool = publish(pool, 0, [(block, KEYS[place]) for place, block in enumerate(blocks)])
    return release(pool, reversed(blocks), VLLM_0_16)


def test_blocks_are_lacking_beyond_the_longer_of_what_is_skipped_and_what_is_held() -> None:
    assert [table.num_new_blocks(7, 2, skipped, held) for skipped, held in ((0, 0), (2, 1), (1, 2), (0, 9))] == [4, 2, 2, 0]


def test_only_real_hits_that_are_free_count_as_evictable() -> None:
    pool, _ = take(fresh_pool(8), 2)

    assert table.num_evictable(pool, (0, 1, 2, 5)) == 1


def test_the_estimate_of_a_new_request_counts_its_evictable_hits() -> None:
    pool = cached(2)

    assert table.estimate(group(), pool, NOTHING, num_tokens=7, hits=(1, 2), total_computed=4, main=7) == 4


def test_the_estimate_leaves_out_hits_that_are_skipped() -> None:
    pool = cached(2)

    assert table.estimate(SLIDING, pool, NOTHING, num_tokens=6, hits=(0, 2), total_computed=4, main=6) == 2
    assert table.estimate(SLIDING, pool, NOTHING, num_tokens=6, hits=(1, 2), total_computed=6, main=6) == 0 + 1


def test_the_estimate_of_a_running_request_is_what_its_table_lacks() -> None:
    assert table.estimate(group(), fresh_pool(8), Held((1, 2), 2), num_tokens=7, hits=(), total_computed=4, main=7) == 2


@pytest.mark.parametrize("hits", [(1,), (0, 1)])
def test_hits_for_a_running_request_are_rejected(hits: tuple[int, ...]) -> None:
    held = Held((1, 2), 2)

    with pytest.raises(Rejection, match="hits_for_running_request"):
        table.estimate(group(), fresh_pool(8), held, num_tokens=7, hits=hits, total_computed=4, main=7)
    with pytest.raises(Rejection, match="hits_for_running_request"):
        table.adopt_hits(group(), fresh_pool(8), held, hits=hits, num_local_tokens=4, num_external_tokens=0)


def test_an_adopted_hit_has_a_holder_more_and_counts_as_published() -> None:
    pool, held = table.adopt_hits(group(), cached(2), NOTHING, hits=(1, 2), num_local_tokens=4, num_external_tokens=0)

    assert held == Held((1, 2), 2)
    assert pool.references[:3] == (0, 1, 1)
    assert not {1, 2} & set(pool.free)


def test_adoption_leaves_skipped_hits_alone() -> None:
    pool, held = table.adopt_hits(SLIDING, cached(3), NOTHING, hits=(0, 2, 3), num_local_tokens=6, num_external_tokens=0)

    assert held == Held((0, 0, 3), 3)
    assert pool.references[2:4] == (0, 1)


def test_external_tokens_that_outrun_the_window_push_the_hits_out() -> None:
    pool, held = table.adopt_hits(SLIDING, cached(2), NOTHING, hits=(1, 2), num_local_tokens=4, num_external_tokens=4)
    pool, held, taken = table.take_external(SLIDING, pool, held, num_local_tokens=4, num_external_tokens=4)

    assert held.blocks == (0, 0, 0, 3)
    assert taken == (3,)


def test_external_tokens_get_blocks_behind_the_hits() -> None:
    pool, held, taken = table.take_external(group(), cached(2), Held((1, 2), 2), num_local_tokens=4, num_external_tokens=3)

    assert held.blocks == (1, 2, 3, 4)
    assert taken == (3, 4)
    assert len(pool.free) == 5


def test_no_external_tokens_take_nothing() -> None:
    pool, held = cached(2), Held((1, 2), 2)

    assert table.take_external(group(), pool, held, num_local_tokens=4, num_external_tokens=0) == (pool, held, ())


def test_adoption_for_a_request_with_blocks_is_rejected() -> None:
    with pytest.raises(Rejection, match="request_has_blocks"):
        table.adopt_hits(group(), cached(2), Held((5,)), hits=(1,), num_local_tokens=2, num_external_tokens=0)


def test_adoption_without_caching_is_rejected() -> None:
    uncached = Group(0, Kind("full"), 2, 8, False, SOUND)

    with pytest.raises(Rejection, match="hits_without_caching"):
        table.adopt_hits(uncached, cached(1), NOTHING, hits=(1,), num_local_tokens=2, num_external_tokens=0)


def test_a_table_grows_at_its_end_only() -> None:
    pool, _ = take(fresh_pool(8), 3)
    _, held, taken = table.grow(group(), pool, Held((0, 3), 2), num_tokens=7, main=7)

    assert held.blocks == (0, 3, 4, 5)
    assert taken == (4, 5)
    assert held.published == 2


def test_publishing_keys_full_blocks_once_and_no_null() -> None:
    pool, _ = take(fresh_pool(8), 3)
    pool, held = table.publish_full(group(), pool, Held((0, 2, 3)), keys=KEYS, num_tokens=5)

    assert held.published == 2
    assert pool.index == {(0, 11): (2,)}
    again, kept = table.publish_full(group(), pool, held, keys=KEYS, num_tokens=5)
    assert again is pool
    assert kept is held
    pool, held = table.publish_full(group(), pool, held, keys=KEYS, num_tokens=6)
    assert found(pool, 0, 12) == 3


@pytest.mark.parametrize(
    ("held", "keys", "reason"),
    [
        (NOTHING, KEYS, "unknown_request"),
        (Held((1,)), KEYS, "publish_unallocated"),
        (Held((1, 2)), KEYS[:1], "not_enough_keys"),
    ],
)
def test_what_cannot_be_published_is_rejected(held: Held, keys: tuple[int, ...], reason: str) -> None:
    pool, _ = take(fresh_pool(8), 2)

    with pytest.raises(Rejection, match=reason):
        table.publish_full(group(), pool, held, keys=keys, num_tokens=4)


def test_skipped_blocks_are_released_from_the_right_and_become_null() -> None:
    pool, _ = take(fresh_pool(8), 4)
    pool, held = table.release_skipped(SLIDING, pool, Held((1, 2, 3, 4), 3), num_computed_tokens=6)

    assert held == Held((0, 0, 3, 4), 3)
    assert pool.references[1:5] == (0, 0, 1, 1)
    assert set(pool.free) == {1, 2, 5, 6, 7}


def test_release_stops_at_the_first_null_block() -> None:
    pool, _ = take(fresh_pool(8), 4)
    held = Held((1, 0, 3, 4), 3)
    after, kept = table.release_skipped(SLIDING, pool, held, num_computed_tokens=6)

    assert after is pool
    assert kept is held


def test_freeing_releases_the_tail_first() -> None:
    pool, _ = take(fresh_pool(8), 3)
    pool = table.release_all(group(profile=VLLM_0_16), pool, Held((1, 0, 2, 3)))

    assert pool.free == (4, 5, 6, 7, 3, 2, 1)
