"""Sliding windows: where releases put the draft drop, and which blocks they give a key."""

from typing import Any

import pytest
from attrs import evolve

from kvwitness.model import sliding
from kvwitness.model.hits import serves_a_hit
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.need import reads
from kvwitness.model.pool import Rejection
from kvwitness.model.profile import SOUND
from kvwitness.model.table import Group


def look_up(cached: str, drop: Any, *, window: int, alignment: int = 2) -> tuple[int, int]:
    """The hit in blocks of one token, with the blocks marked 1 cached, under a draft model."""
    config = Config(16, 1, (Kind("sliding", window=window),), draft_model=True, drafts=1, alignment=alignment)
    group = Group(0, config.kind, 1, 16, True, evolve(SOUND, sliding_draft_drop=drop), alignment, True)
    return sliding.look_up(group, config, num_keys=len(cached), max_length=len(cached), is_cached=lambda place: cached[place] == "1")


@pytest.mark.parametrize(
    ("cached", "window", "drop", "hit"),
    [
        ("111", 2, "longest", (1, 1)),
        ("111", 2, "align_after_drop", (1, 1)),
        ("11", 2, "drop_then_align", (0, 0)),
        ("0111", 2, "drop_then_align", (2, 0)),
        ("0111", 2, "longest", (1, 1)),
        ("111", 5, "longest", (0, 2)),
        ("111", 5, "align_after_drop", (0, 0)),
        ("11111", 7, "align_after_drop", (0, 2)),
        ("11111", 5, "align_after_drop", (0, 4)),
        ("1111", 5, "drop_then_align", (0, 2)),
    ],
)
def test_each_rule_drops_the_draft_s_block_in_its_own_way(cached: str, window: int, drop: str, hit: tuple[int, int]) -> None:
    assert look_up(cached, drop, window=window) == hit


def test_the_seed_refuses_a_match_and_only_a_match() -> None:
    assert look_up("010", "raises", window=2) == (0, 0)
    with pytest.raises(Rejection, match="draft_drop_alignment"):
        look_up("11", "raises", window=2)


def kept(rule: Any, *, window: int, alignment: int, draft: bool = False, places: int = 8) -> str:
    group = Group(0, Kind("sliding", window=window), 1, 16, True, evolve(SOUND, sliding_publish=rule), alignment, draft)
    return "".join(str(int(sliding.is_kept(group, place))) for place in range(places))


@pytest.mark.parametrize(
    ("rule", "sizes", "places"),
    [
        ("all", {"window": 2, "alignment": 4}, "11111111"),
        ("segment_tails", {"window": 2, "alignment": 4}, "00010001"),
        ("segment_tails", {"window": 5, "alignment": 4}, "11111111"),
        ("segment_tails", {"window": 1, "alignment": 1}, "11111111"),
        ("segment_tails", {"window": 2, "alignment": 4, "draft": True}, "00010001"),
        ("segment_tails_with_draft", {"window": 1, "alignment": 1}, "00000000"),
        ("segment_tails_with_draft", {"window": 2, "alignment": 4}, "00010001"),
        ("segment_tails_with_draft", {"window": 2, "alignment": 4, "draft": True}, "00011001"),
        ("segment_tails_with_draft", {"window": 4, "alignment": 4, "draft": True}, "11111111"),
    ],
)
def test_the_ends_of_aligned_segments_are_kept(rule: str, sizes: dict[str, Any], places: str) -> None:
    assert kept(rule, **sizes) == places


@pytest.mark.parametrize("draft", [False, True], ids=["plain", "draft"])
@pytest.mark.parametrize("kind", [Kind("full"), Kind("sliding", window=1), Kind("sliding", window=4), Kind("chunked", chunk=4)])
def test_a_block_serves_a_hit_if_the_token_behind_some_aligned_length_reads_it(kind: Kind, draft: bool) -> None:
    for block, alignment in ((1, 1), (1, 2), (2, 2), (2, 6)):
        for place in range(8):
            lengths = range(alignment, 60, alignment)
            read = any(reads(kind, length, token) for length in lengths for token in range(place * block, min((place + 1) * block, length)))
            expected = read or (draft and any(place == length // block for length in lengths))

            assert serves_a_hit(kind, place, block, alignment=alignment, draft_drop=draft) == expected
