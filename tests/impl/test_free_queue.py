import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvwitness import impl


def blocks(count: int) -> list[impl.KVCacheBlock]:
    return [impl.KVCacheBlock(block_id) for block_id in range(count)]


def test_blocks_are_taken_in_the_order_in_which_they_joined() -> None:
    queue = impl.FreeQueue(blocks(4))

    assert [block.block_id for block in queue.pop_front(3)] == [0, 1, 2]
    assert queue.ids() == (3,)


def test_blocks_pushed_to_the_front_are_taken_first_and_in_their_own_order() -> None:
    a, b, c = blocks(3)
    queue = impl.FreeQueue([c])
    queue.push_front([a, b])

    assert queue.ids() == (0, 1, 2)


def test_a_block_leaves_the_middle_and_knows_it() -> None:
    a, b, c = blocks(3)
    queue = impl.FreeQueue([a, b, c])
    queue.remove(b)

    assert queue.ids() == (0, 2)
    assert (a.is_queued, b.is_queued) == (True, False)


@pytest.mark.parametrize(("count", "reason"), [(-1, "negative_count"), (3, "pool_exhausted")])
def test_taking_a_count_that_is_not_there_is_rejected_and_changes_nothing(count: int, reason: str) -> None:
    queue = impl.FreeQueue(blocks(2))
    with pytest.raises(impl.RejectedValue) as rejected:
        queue.pop_front(count)

    assert (rejected.value.reason, queue.ids(), len(queue)) == (reason, (0, 1), 2)


def test_removing_a_block_that_is_not_queued_is_rejected() -> None:
    queue = impl.FreeQueue(blocks(2))
    with pytest.raises(impl.RejectedAssertion, match="block_not_referenced"):
        queue.remove(impl.KVCacheBlock(7))

    assert queue.ids() == (0, 1)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["take", "remove", "front", "back"]), st.integers(0, 3)), max_size=40))
def test_the_queue_does_what_a_list_would_do(operations: list[tuple[str, int]]) -> None:
    queued = blocks(6)
    queue, outside = impl.FreeQueue(queued), list[impl.KVCacheBlock]()
    for name, number in operations:
        if name == "take":
            count = min(number, len(queued))
            taken, queued = queued[:count], queued[count:]
            assert queue.pop_front(count) == taken
            outside += taken
        elif name == "remove" and queued:
            block = queued.pop(number % len(queued))
            queue.remove(block)
            outside.append(block)
        elif name in ("front", "back"):
            joining, outside = outside[:number], outside[number:]
            (queue.push_front if name == "front" else queue.push_back)(joining)
            queued = joining + queued if name == "front" else queued + joining
        queue.check()

        assert list(queue) == queued
        assert queue.num_free_blocks == len(queued)


def test_a_wrong_count_is_found() -> None:
    queue = impl.FreeQueue(blocks(2))
    queue.num_free_blocks = 3
    with pytest.raises(impl.CorruptState, match="2 blocks are linked, 3 are counted"):
        queue.check()


def test_a_broken_link_is_found() -> None:
    a, b, c = blocks(3)
    queue = impl.FreeQueue([a, b, c])
    c.previous_free = a
    with pytest.raises(impl.CorruptState, match="block 2 does not point back"):
        queue.check()


def test_a_ring_that_bites_its_middle_is_found() -> None:
    a, b = blocks(2)
    queue = impl.FreeQueue([a, b])
    b.next_free = a
    with pytest.raises(impl.CorruptState, match="block 0 is in it twice"):
        queue.check()


def test_a_queue_that_ends_too_early_is_found_when_taking() -> None:
    a, b = blocks(2)
    queue = impl.FreeQueue([a, b])
    a.next_free = None
    with pytest.raises(impl.CorruptState, match="ends before its count"):
        queue.pop_front(2)
