import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvwitness import impl


def test_of_two_blocks_with_one_key_the_first_inserted_is_found_until_it_goes() -> None:
    index, (a, b, c) = impl.BlockIndex(), (impl.KVCacheBlock(number) for number in (1, 2, 3))
    for block in (c, a, b):
        index.insert(block, "key", 0)

    assert index.snapshot() == {(0, "key"): (3, 1, 2)}
    index.remove(c)
    assert index.find("key", 0) is a
    index.remove(b)
    index.remove(a)
    assert (index.find("key", 0), index.snapshot(), len(index)) == (None, {}, 0)


def test_groups_keep_their_keys_apart() -> None:
    index, block = impl.BlockIndex(), impl.KVCacheBlock(1)
    index.insert(block, "key", 0)

    assert index.find("key", 0) is block
    assert index.find("key", 1) is None


def test_a_probe_of_several_groups_finds_all_or_nothing() -> None:
    index, a, b = impl.BlockIndex(), impl.KVCacheBlock(1), impl.KVCacheBlock(2)
    index.insert(a, "both", 0)
    index.insert(b, "both", 1)
    index.insert(impl.KVCacheBlock(3), "one", 0)
    find = index.finder([0, 1])

    assert (find("both"), find("one"), find("none")) == ((a, b), None, None)
    assert index.finder([1])("both") is b


def test_a_probe_of_no_group_is_rejected() -> None:
    with pytest.raises(impl.RejectedValue, match="invalid_configuration"):
        impl.BlockIndex().finder([])


def test_a_block_gets_no_second_key() -> None:
    index, block = impl.BlockIndex(), impl.KVCacheBlock(1)
    index.insert(block, "key", 0)
    with pytest.raises(impl.RejectedAssertion, match="block_already_keyed"):
        index.insert(block, "other", 0)

    assert index.snapshot() == {(0, "key"): (1,)}


def test_clearing_takes_every_key_away() -> None:
    index, blocks = impl.BlockIndex(), [impl.KVCacheBlock(number) for number in range(3)]
    for block in blocks:
        index.insert(block, "key", block.block_id // 2)
    index.clear()

    assert index.snapshot() == {}
    assert [block.block_hash for block in blocks] == [None] * 3


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 1)), max_size=40))
def test_the_index_does_what_lists_of_blocks_would_do(steps: list[tuple[int, int, int]]) -> None:
    index, blocks = impl.BlockIndex(), [impl.KVCacheBlock(number) for number in range(6)]
    expected: dict[tuple[int, impl.Key], tuple[int, ...]] = {}
    for number, key, group in steps:
        block = blocks[number]
        if block.block_hash is None:
            index.insert(block, key, group)
            expected[group, key] = (*expected.get((group, key), ()), number)
        else:
            entry = block.group_id, block.block_hash
            index.remove(block)
            expected[entry] = tuple(other for other in expected[entry] if other != number)
        index.check(blocks)

        assert index.snapshot() == {entry: numbers for entry, numbers in expected.items() if numbers}


def test_a_key_that_is_on_the_block_only_is_found_out() -> None:
    index, block = impl.BlockIndex(), impl.KVCacheBlock(0)
    block.block_hash = "key"
    with pytest.raises(impl.CorruptState, match="1 blocks carry a key, 0 are listed"):
        index.check([block])


def test_an_entry_whose_block_carries_another_key_is_found_out() -> None:
    index, block = impl.BlockIndex(), impl.KVCacheBlock(0)
    index.insert(block, "key", 0)
    block.block_hash = "other"
    with pytest.raises(impl.CorruptState, match="block 0 is listed under 'key' of group 0"):
        index.check([block])
