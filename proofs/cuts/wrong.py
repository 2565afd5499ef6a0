"""Wrong variants of the sources that are cut: each is the port's own function with one operator changed, and must be refuted.

An operator is found by its number in the order of the source, so nothing of the source is written here.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from kvwitness.proofs.engines.cut_source import Change

FIND, SKIPPED = "find_longest_cache_hit", "remove_skipped_blocks"


def _compares(function: str, number: int, operator: ast.cmpop, words: str) -> Change:
    def apply(node: Any) -> None:
        node.ops[0] = operator

    return Change(function, words, "Compare", number, apply)


def _computes(function: str, number: int, operator: ast.operator, words: str) -> Change:
    def apply(node: Any) -> None:
        node.op = operator

    return Change(function, words, "BinOp", number, apply)


OURS: Mapping[str, Sequence[Change]] = {
    "CUT.HIT.FULL": [_computes(FIND, 3, ast.FloorDiv(), "what is cut off is a quotient, not what is left above the alignment")],
    "CUT.HIT.FULL.DRAFT": [_computes(FIND, 1, ast.Add(), "a draft model's block is added instead of dropped")],
    "CUT.HIT.SLIDING": [
        _computes("_search", 5, ast.FloorDiv(), "after a miss the run ends at a length that is not aligned"),
    ],
    "CUT.HIT.SLIDING.DRAFT": [_computes("_search", 5, ast.FloorDiv(), "after a miss the run ends where no hit may end")],
    "CUT.HIT.CHUNKED": [_computes(FIND, 1, ast.FloorDiv(), "the chunk's number is divided by the chunk again")],
    "CUT.HIT.MAMBA-ALL": [_computes(FIND, 2, ast.Add(), "the state behind the length is asked for")],
    "CUT.HIT.MAMBA-ALL.DRAFT": [_computes(FIND, 1, ast.FloorDiv(), "the search begins at a length that is not aligned")],
    "CUT.SKIPPED.SLIDING": [_compares(SKIPPED, 0, ast.LtE(), "a first block that is skipped whole is kept")],
    "CUT.SKIPPED.CHUNKED": [_compares(SKIPPED, 2, ast.GtE(), "the walk goes past the first entry")],
}
"""Of our own source, by theorem."""

RELEASES: Mapping[str, Sequence[Change]] = {
    "CUT.HIT.FULL": [_compares(FIND, 2, ast.Eq(), "blocks are dropped while the length is aligned")],
    "CUT.HIT.FULL.DRAFT": [_compares(FIND, 2, ast.Eq(), "blocks are dropped while the length is aligned")],
    "CUT.HIT.SLIDING": [_compares(FIND, 5, ast.Gt(), "a run of one block more is asked for")],
    "CUT.HIT.SLIDING.DRAFT": [_computes(FIND, 7, ast.Sub(), "the blocks behind the run are cut off in the wrong place")],
    "CUT.HIT.CHUNKED": [_compares(FIND, 4, ast.Lt(), "the chunk's start is always the first block")],
    "CUT.HIT.MAMBA-ALL": [_compares(FIND, 3, ast.Eq(), "the state of an unaligned length is taken")],
    "CUT.HIT.MAMBA-ALL.DRAFT": [_compares(FIND, 3, ast.Eq(), "the state of an unaligned length is taken")],
    "CUT.SKIPPED.SLIDING": [_computes(SKIPPED, 1, ast.Add(), "the walk begins behind the skipped blocks")],
    "CUT.SKIPPED.CHUNKED": [_compares(SKIPPED, 1, ast.NotEq(), "the walk ends at the first block that is held")],
}
"""Of the releases around 0.16, by theorem."""


__all__ = ["OURS", "RELEASES"]
