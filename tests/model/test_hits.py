"""The longest hit, against a search that knows nothing but which tokens a token reads."""

from collections.abc import Iterator
from itertools import product

import pytest

from kvwitness.model.hits import hit_table, longest_hit, matched_run_end
from kvwitness.model.kinds import Kind
from kvwitness.model.need import reads
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile

NUM_BLOCKS = 5
WINDOWS = (1, 2, 3, 4, 5, 7)


def kinds_of(block: int) -> dict[str, list[Kind]]:
    return {
        "full": [Kind("full")],
        "sink": [Kind("sink", sink_tokens=block)],
        "sliding": [Kind("sliding", window=window) for window in WINDOWS],
        "chunked": [Kind("chunked", chunk=block * times) for times in (1, 2, 3)],
        "mamba": [Kind("mamba", mode=mode) for mode in ("all", "align")],
    }


def brute_force(kind: Kind, block: int, cached: tuple[bool, ...], *, max_length: int, alignment: int, draft: bool, last: bool) -> int:
    """The largest length whose next token finds every earlier token that it reads in a cached block.

    A draft model drops the last matched block, so that one must be matched too; ``last``: the last block must be cached, read or not.
    """
    best = 0
    for length in range(1, max_length + 1):
        needed = {token // block for token in range(length) if reads(kind, length, token)}
        if draft and kind.kind != "mamba":
            needed.add(length // block)
        elif last:
            needed.add((length - 1) // block)
        matched = length + (block if draft and kind.kind != "mamba" else 0)
        if length % alignment == 0 and matched <= max_length and all(cached[index] for index in needed):
            best = length
    return best


def situations(block: int) -> Iterator[tuple[tuple[bool, ...], int, int]]:
    """Every set of cached blocks with every cap and two alignments."""
    for cached in product((False, True), repeat=NUM_BLOCKS):
        for max_length in range(NUM_BLOCKS * block + 1):
            for alignment in (block, 2 * block):
                yield cached, max_length, alignment


def agree(kind: Kind, profile: Profile, block: int, *, draft: bool, last: bool) -> None:
    for cached, max_length, alignment in situations(block):
        found = longest_hit(
            kind, profile, block, max_length=max_length, alignment=alignment, draft_drop=draft, is_cached=cached.__getitem__
        )
        expected = brute_force(kind, block, cached, max_length=max_length, alignment=alignment, draft=draft, last=last)

        assert found == expected, (kind, cached, max_length, alignment)


@pytest.mark.slow
@pytest.mark.parametrize("draft", [False, True], ids=["plain", "draft"])
@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("name", ["full", "sink", "sliding", "chunked", "mamba"])
def test_the_longest_hit_is_what_a_search_by_reads_finds(name: str, block: int, draft: bool) -> None:
    for kind in kinds_of(block)[name]:
        agree(kind, SOUND, block, draft=draft, last=False)


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 2])
def test_the_seeds_window_of_one_token_asks_for_a_cached_block_all_the_same(block: int) -> None:
    for window in (1, 2, 3):
        agree(Kind("sliding", window=window), VLLM_0_16, block, draft=False, last=True)


def test_a_chunk_begins_with_a_hit_of_whatever_length_it_starts_at() -> None:
    kind = Kind("chunked", chunk=4)

    length = longest_hit(kind, SOUND, 2, max_length=9, alignment=2, draft_drop=False, is_cached=lambda index: False)

    assert length == 8
    assert hit_table(kind, SOUND, 2, length) == (4, 0)


@pytest.mark.parametrize(
    ("kind", "length", "layout"),
    [
        (Kind("full"), 6, (0, 3)),
        (Kind("sliding", window=3), 6, (2, 1)),
        (Kind("sliding", window=1), 6, (3, 0)),
        (Kind("chunked", chunk=4), 6, (2, 1)),
        (Kind("mamba", mode="all"), 6, (2, 1)),
        (Kind("mamba", mode="all"), 0, (0, 0)),
    ],
    ids=str,
)
def test_a_hits_table_is_null_up_to_the_first_needed_block(kind: Kind, length: int, layout: tuple[int, int]) -> None:
    assert hit_table(kind, SOUND, 2, length) == layout


def test_a_window_of_one_token_has_one_block_in_the_seed() -> None:
    assert hit_table(Kind("sliding", window=1), VLLM_0_16, 2, 6) == (2, 1)


def test_a_matched_run_ends_aligned_with_its_last_block_dropped() -> None:
    cached = (True, True, True, True, False)

    def end(alignment: int) -> int:
        return matched_run_end(Kind("sliding", window=3), 2, max_length=9, alignment=alignment, is_cached=cached.__getitem__)

    assert (end(2), end(4), end(6), end(10)) == (4, 4, 3, 0)
