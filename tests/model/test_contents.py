"""What the worker reads and writes, worked out by hand."""

import pytest

from kvwitness.model.contents import first_read_block, running_state, source_state, state_kept, state_writes
from kvwitness.model.kinds import Kind

NONE, ALL, ALIGN = (Kind("mamba", mode=mode, drafts=2) for mode in ("none", "all", "align"))


@pytest.mark.parametrize(
    ("kind", "first"),
    [(Kind("full"), 0), (Kind("sliding", window=3), 2), (Kind("sliding", window=1), 3), (Kind("chunked", chunk=4), 2)],
    ids=str,
)
def test_attention_reads_from_the_block_of_the_first_needed_token_on(kind: Kind, first: int) -> None:
    assert first_read_block(kind, 7, 2) == first


def test_the_running_state_lies_in_the_block_of_the_steps_last_token() -> None:
    assert [running_state(3, new, 4) for new in (1, 2, 5, 6)] == [0, 1, 1, 2]


def test_mode_none_counts_accepted_drafts_from_the_front() -> None:
    assert source_state(NONE, 9, 16, None, 2) == 2


def test_mode_all_reads_the_block_of_the_last_computed_token() -> None:
    assert [source_state(ALL, n, 4, 7, 1) for n in (4, 5, 8)] == [0, 1, 1]


def test_mode_align_reads_where_the_last_step_ran_and_behind_it_for_accepted_drafts() -> None:
    assert source_state(ALIGN, 9, 4, None, 0) == 2
    assert source_state(ALIGN, 9, 4, 2, 0) == 2
    assert source_state(ALIGN, 9, 4, 2, 2) == 4


def test_mode_none_writes_one_state_for_every_draft_and_one_more() -> None:
    assert state_writes(NONE, 5, 3, 2, 16) == [(0, 6), (1, 7), (2, 8)]


def test_mode_all_writes_every_boundary_inside_and_the_end() -> None:
    assert state_writes(ALL, 3, 6, 0, 4) == [(0, 4), (1, 8), (2, 9)]
    assert state_writes(ALL, 4, 4, 0, 4) == [(1, 8)]
    assert state_writes(ALL, 5, 1, 0, 4) == [(1, 6)]


def test_mode_align_writes_the_running_state_and_one_behind_it_for_every_draft() -> None:
    assert state_writes(ALIGN, 4, 3, 2, 4) == [(1, 5), (2, 6), (3, 7)]
    assert state_writes(ALIGN, 0, 8, 0, 4) == [(1, 8)]


@pytest.mark.parametrize(
    ("n", "k", "d", "a", "kept"),
    [
        (2, 3, 2, 0, None),  # three tokens are verified, no whole block ends behind the first
        (2, 3, 2, 1, (2, 0)),  # the first draft ends a block, and its state lies behind the running one
        (2, 3, 2, 2, (2, 0)),
        (3, 1, 0, 0, None),  # the running state is the block's own
        (3, 3, 2, 2, (1, 0)),  # the verified token ends a block that the step ran beyond
    ],
)
def test_the_last_whole_block_that_is_accepted_gets_its_state(n: int, k: int, d: int, a: int, kept: tuple[int, int] | None) -> None:
    assert state_kept(n, k, d, a, 4) == kept
