"""The pool, transition by transition."""

import pytest
from attrs import evolve

from kvwitness.model.pool import Pool, Rejection, found, fresh_pool, publish, release, reserve, reset, take, touch, without_keys
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile

APPENDED, KEYLESS_FIRST = (evolve(SOUND, free_order=order) for order in ("appended", "keyless_first"))


def used(num_blocks: int = 6, count: int = 3) -> Pool:
    """A pool whose first blocks are taken, the first two of them published under keys 10 and 11 of group 0."""
    pool, _ = take(fresh_pool(num_blocks), count)
    return publish(pool, 0, [(1, 10), (2, 11)])


def test_a_fresh_pool_hands_out_the_lowest_blocks_and_never_null() -> None:
    pool, taken = take(fresh_pool(4), 2)

    assert taken == (1, 2)
    assert pool == Pool((3,), (0, 1, 1, 0), (None,) * 4, {})


def test_taking_nothing_leaves_the_pool_as_it_is() -> None:
    pool = fresh_pool(4)

    assert take(pool, 0) == (pool, ())
    assert take(pool, 0)[0] is pool


@pytest.mark.parametrize(("count", "reason"), [(-1, "negative_count"), (4, "pool_exhausted")])
def test_what_cannot_be_taken_is_rejected(count: int, reason: str) -> None:
    with pytest.raises(Rejection) as refused:
        take(fresh_pool(4), count)
    assert refused.value.reason == reason


def test_a_taken_block_is_no_longer_found_under_its_old_key() -> None:
    pool = release(used(), (2, 1, 3), APPENDED)
    pool, taken = take(pool, 3)

    assert taken == (4, 5, 2)
    assert pool.free == (1, 3)
    assert found(pool, 0, 11) is None
    assert found(pool, 0, 10) == 1
    assert pool.keys[2] is None


def test_a_released_block_joins_the_tail_and_is_still_found() -> None:
    pool = release(used(), (2, 1), SOUND)

    assert pool.free == (4, 5, 2, 1)
    assert found(pool, 0, 10) == 1


def test_blocks_without_a_key_are_reused_first_where_the_profile_says_so() -> None:
    assert release(used(), (3, 2, 1), KEYLESS_FIRST).free == (3, 4, 5, 2, 1)


def test_a_block_that_others_hold_is_not_freed() -> None:
    pool = touch(used(), (1,), SOUND)
    pool = release(pool, (1,), SOUND)

    assert pool.references[1] == 1
    assert 1 not in pool.free


def test_releasing_a_free_block_is_rejected() -> None:
    with pytest.raises(Rejection) as refused:
        release(used(), (5,), SOUND)
    assert refused.value.reason == "block_already_free"


def test_touching_a_free_block_takes_it_from_the_queue() -> None:
    pool = touch(release(used(), (2, 1), SOUND), (1,), SOUND)

    assert pool.free == (4, 5, 2)
    assert pool.references[1] == 1


@pytest.mark.parametrize(("profile", "references"), [(SOUND, 0), (VLLM_0_16, 1)], ids=["untouched", "drift"])
def test_touching_null_moves_its_count_only_where_the_profile_lets_it_drift(profile: Profile, references: int) -> None:
    pool = touch(used(), (0,), profile)

    assert pool.references[0] == references
    assert release(pool, (0,), profile).references[0] == 0
    assert 0 not in pool.free


def test_a_look_up_finds_the_copy_that_was_published_first() -> None:
    pool = publish(used(), 0, [(3, 10)])

    assert pool.index[0, 10] == (1, 3)
    assert found(pool, 0, 10) == 1
    assert found(without_keys(pool, (1,)), 0, 10) == 3
    assert found(pool, 1, 10) is None


def test_publishing_a_keyed_block_is_rejected() -> None:
    with pytest.raises(Rejection) as refused:
        publish(used(), 0, [(1, 12)])
    assert refused.value.reason == "block_already_keyed"


def test_forgetting_keys_that_are_not_there_leaves_the_pool_as_it_is() -> None:
    pool = used()

    assert without_keys(pool, (3, 4)) is pool
    assert without_keys(pool, (1, 2)).index == {}


def test_sink_blocks_leave_the_queue_for_good() -> None:
    pool = reserve(fresh_pool(5), 2, SOUND)

    assert (pool.free, pool.reserved) == ((3, 4), (1, 2))
    assert reserve(fresh_pool(5), 2, evolve(SOUND, sink_reservation="none")) == fresh_pool(5)
    with pytest.raises(Rejection) as refused:
        reserve(fresh_pool(3), 3, SOUND)
    assert refused.value.reason == "pool_exhausted"


def test_a_reset_of_an_idle_pool_forgets_every_key_and_keeps_the_order() -> None:
    pool, done = reset(release(used(), (3, 2, 1), APPENDED), SOUND)

    assert done
    assert pool == Pool((4, 5, 3, 2, 1), (0,) * 6, (None,) * 6, {})


def test_a_reset_of_a_pool_in_use_changes_nothing_and_says_so() -> None:
    pool = used()

    assert reset(pool, SOUND) == (pool, False)


@pytest.mark.parametrize(("profile", "done"), [(SOUND, True), (VLLM_0_16, False)], ids=["reserved", "taken"])
def test_sinks_stand_in_the_way_of_a_reset_only_in_the_seed(profile: Profile, done: bool) -> None:
    assert reset(reserve(fresh_pool(5), 2, profile), profile)[1] == done
