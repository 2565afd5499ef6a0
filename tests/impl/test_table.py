import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvwitness import impl
from kvwitness.impl.table import live_blocks

NULL = impl.KVCacheBlock(0)
NULL.is_null = True
BLOCKS = [impl.KVCacheBlock(number) for number in range(1, 4)]
ENTRIES = st.lists(st.sampled_from([NULL, NULL, *BLOCKS]), max_size=8)


@given(ENTRIES, st.integers(0, 3), ENTRIES)
def test_a_table_equals_the_list_of_its_entries(first: list[impl.KVCacheBlock], nulls: int, more: list[impl.KVCacheBlock]) -> None:
    table = impl.BlockTable(NULL, nulls, list(first))
    table.extend(more)
    expected = [NULL] * nulls + first + more

    assert table == expected
    assert list(table) == expected
    assert table.ids() == tuple(block.block_id for block in expected)
    assert not table.tail or table.tail[0] is not NULL


@given(ENTRIES, st.slices(8))
def test_slices_and_places_are_those_of_the_list(entries: list[impl.KVCacheBlock], part: slice) -> None:
    table = impl.BlockTable(NULL, 0, list(entries))

    assert table[part] == entries[part]
    assert [table[place] for place in range(-len(entries), len(entries))] == entries * 2


@given(ENTRIES, st.integers(0, 8), st.integers(0, 8))
def test_nulls_put_into_the_tail_are_nulls_of_the_table(entries: list[impl.KVCacheBlock], one: int, other: int) -> None:
    table = impl.BlockTable(NULL, 0, list(entries))
    start, end = sorted(min(place, len(table.tail)) for place in (one, other))
    expected = list(table)
    expected[table.num_nulls + start : table.num_nulls + end] = [NULL] * (end - start)
    table.put_nulls(start, end)

    assert table == expected
    assert not table.tail or table.tail[0] is not NULL


@given(ENTRIES, st.integers(0, 9))
def test_the_live_blocks_are_the_same_for_a_table_and_a_list_but_for_leading_nulls(entries: list[impl.KVCacheBlock], skipped: int) -> None:
    def without_nulls(blocks: list[impl.KVCacheBlock]) -> list[impl.KVCacheBlock]:
        return [block for block in blocks if block is not NULL]

    table = impl.BlockTable(NULL, 0, list(entries))

    assert without_nulls(live_blocks(table, skipped)) == without_nulls(live_blocks(entries, skipped))


def test_a_place_outside_the_table_is_refused() -> None:
    with pytest.raises(IndexError, match="got place 2; allowed is 0 to 1"):
        impl.BlockTable(NULL, 1, [BLOCKS[0]])[2]


def test_a_table_is_printed_as_a_strip() -> None:
    assert repr(impl.BlockTable(NULL, 2, BLOCKS[:2])) == "[∅ ∅ 1 2]"


def test_a_table_is_no_number() -> None:
    assert impl.BlockTable(NULL) != 0
