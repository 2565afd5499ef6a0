"""What the next token needs, against its definition: which tokens it reads."""

import pytest

from kvwitness.model.kinds import Kind
from kvwitness.model.need import first_needed, is_skipped, needed_blocks, num_skipped_blocks, reads

KINDS = [
    Kind("full"),
    Kind("cross"),
    Kind("sink", sink_tokens=2),
    *(Kind("sliding", window=window) for window in range(1, 9)),
    *(Kind("chunked", chunk=chunk) for chunk in range(1, 9)),
    Kind("mamba", mode="all"),
]
LONGEST = 20


def name(kind: Kind) -> str:
    return f"{kind.label}-{kind.window or kind.chunk}"


@pytest.mark.parametrize("kind", KINDS, ids=name)
def test_the_first_needed_token_is_the_first_that_the_next_one_reads(kind: Kind) -> None:
    for computed in range(1, LONGEST):
        earlier = [token for token in range(computed) if reads(kind, computed, token)]

        assert first_needed(kind, computed) == (earlier[0] if earlier else computed)


@pytest.mark.parametrize("kind", KINDS, ids=name)
def test_skipped_tokens_are_those_that_no_later_token_reads(kind: Kind) -> None:
    for computed in range(LONGEST):
        for token in range(computed):
            read_later = any(reads(kind, reader, token) for reader in range(computed, computed + 2 * LONGEST))

            assert is_skipped(kind, token, computed) == (not read_later)


@pytest.mark.parametrize("kind", KINDS, ids=name)
def test_a_token_reads_nothing_but_itself_and_what_lies_before_it(kind: Kind) -> None:
    for reader in range(LONGEST):
        assert not any(reads(kind, reader, token) for token in range(reader + 1, LONGEST))
        assert reads(kind, reader, reader) == (kind.kind != "mamba")


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS, ids=name)
def test_the_null_prefix_is_the_blocks_that_are_skipped_whole(kind: Kind, block: int) -> None:
    for computed in range(LONGEST):
        skipped = [all(is_skipped(kind, token, computed) for token in range(at, at + block)) for at in range(0, 2 * LONGEST, block)]

        assert num_skipped_blocks(kind, computed, block) == skipped.index(False)


def test_the_needed_blocks_are_counted_from_the_null_prefix_to_the_hits_end() -> None:
    assert needed_blocks(Kind("full"), 8, 2) == (0, 4)
    assert needed_blocks(Kind("sliding", window=4), 8, 2) == (2, 4)
    assert needed_blocks(Kind("chunked", chunk=4), 8, 2) == (4, 4)
    assert needed_blocks(Kind("chunked", chunk=4), 6, 2) == (2, 3)
    assert needed_blocks(Kind("mamba", mode="all"), 8, 2) == (3, 4)


@pytest.mark.parametrize(
    ("kind", "computed", "skipped"),
    [
        (Kind("chunked", chunk=8), 13, 8),
        (Kind("chunked", chunk=8), 8, 8),
        (Kind("chunked", chunk=8), 7, 0),
        (Kind("sliding", window=4), 7, 4),
        (Kind("mamba", mode="align"), 7, 6),
        (Kind("mamba", mode="align"), 0, -1),
    ],
    ids=str,
)
def test_the_seeds_own_examples_hold(kind: Kind, computed: int, skipped: int) -> None:
    assert first_needed(kind, computed) == skipped
