"""Defects of the look-up: hits that are too long, too short, unaligned, padded wrongly or not there."""

from typing import Any

from attrs import evolve

from kvwitness.impl.table import BlockTable
from kvwitness.properties.defects.defect import Hits, LookUp, in_look_up

_LONGEST = ("FULL.HIT.LONGEST", "SLIDING.HIT.LONGEST", "CHUNKED.HIT.LONGEST", "MAMBA.HIT.LONGEST")


def _draft_block_kept(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """Under a draft model the last block of a hit is not dropped."""
    return look_up(**{**asked, "use_eagle": False})


def _draft_drops_twice(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """Under a draft model a hit loses two blocks instead of one."""
    hits = look_up(**asked)
    return tuple(_cut(hit, len(hit) - 1) for hit in hits) if asked["use_eagle"] else hits


def _run_short(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """The run of cached blocks that makes a sliding hit is one block short of the window."""
    return look_up(**{**asked, "kv_cache_spec": _narrower(asked["kv_cache_spec"])})


def _draft_run_short(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """Under a draft model the run is not lengthened by the block that is dropped, so the window is one block short."""
    return look_up(**{**asked, "kv_cache_spec": _narrower(asked["kv_cache_spec"])}) if asked["use_eagle"] else look_up(**asked)


def _prompt_covered(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """A hit may cover the whole prompt, which leaves no token to compute."""
    return look_up(**{**asked, "max_length": asked["max_length"] + 1})


def _unaligned(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """The loop that cuts a hit to the alignment is missing."""
    width = asked.get("dcp_world_size", 1) * asked.get("pcp_world_size", 1)
    return look_up(**{**asked, "alignment_tokens": asked["kv_cache_spec"].block_size * width})


def _nulls_missing(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """The null prefix of a hit is missing, so its blocks stand at the front of the table."""
    return tuple(BlockTable(hit.null_block, 0, hit.tail) for hit in look_up(**asked))


def _null_short(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """A hit is padded with one null too few."""
    return tuple(BlockTable(hit.null_block, max(0, hit.num_nulls - 1), hit.tail) for hit in look_up(**asked))


def _chunk_end_unseen(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """The block behind a hit in the same chunk is taken for cached without being looked up."""
    hits = look_up(**asked)
    longest = asked["max_length"] // asked["kv_cache_spec"].block_size
    return tuple(BlockTable(hit.null_block, 0, [*hit, hit.null_block]) if hit.tail and len(hit) < longest else hit for hit in hits)


def _only_from_the_front(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """A hit is given up if any block before its window was evicted."""
    hits, pool = look_up(**asked), asked["block_pool"]
    find = pool.finder(asked["kv_cache_group_ids"])
    if all(find(key) for key in asked["block_hashes"][: len(hits[0])]):
        return hits
    return tuple(_cut(hit, 0) for hit in hits)


def _groups_apart(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """Each group's hit is as long as that group's own blocks reach, not as long as all groups cover."""
    return tuple(look_up(**{**asked, "kv_cache_group_ids": [group]})[0] for group in asked["kv_cache_group_ids"])


def _out_of_order(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """The last two blocks of a hit stand in each other's place."""
    return tuple(BlockTable(hit.null_block, hit.num_nulls, [*hit.tail[:-2], *hit.tail[:-3:-1]]) for hit in look_up(**asked))


def _width_forgotten(look_up: LookUp, asked: dict[str, Any]) -> Hits:
    """The look-up counts a block's tokens on one device, whatever the context parallel size."""
    return look_up(**{**asked, "dcp_world_size": 1, "pcp_world_size": 1})


def _cut(hit: BlockTable, num_blocks: int) -> BlockTable:
    return BlockTable(hit.null_block, 0, list(hit)[: max(0, num_blocks)])


def _narrower(spec: Any) -> Any:
    """The same spec with a window that ends a block earlier."""
    return evolve(spec, sliding_window=max(1, spec.sliding_window - spec.block_size))


_DRAFTED = ("full", "sliding", "sink")
_CACHING = ("full", "sliding", "chunked", "mamba-all", "mamba-align", "sink")
_STATES = ("mamba-all", "mamba-align")
_MISPLACED = ("LIVE.HIT.KEYED", "LIVE.HIT.NULLS", "LIVE.HIT.CAP", "LIVE.HIT.FOUND")

DEFECTS = (
    in_look_up("draft-block-kept", _draft_block_kept, _DRAFTED, ("FULL.HIT.LONGEST", "SLIDING.HIT.LONGEST")),
    in_look_up("draft-drops-twice", _draft_drops_twice, _DRAFTED, ("LIVE.HIT.FOUND", "LIVE.HIT.CAP"), "K20"),
    in_look_up("sliding-run-short", _run_short, ("sliding",), ("LIVE.HIT.NULLS", "SLIDING.HIT.LONGEST")),
    in_look_up("sliding-draft-run-short", _draft_run_short, ("sliding",), ("LIVE.HIT.NULLS", "SLIDING.HIT.LONGEST"), "K23"),
    in_look_up("prompt-covered", _prompt_covered, _CACHING, ("LIVE.HIT.CAP", *_LONGEST)),
    in_look_up("alignment-loop-missing", _unaligned, ("full", "sliding", *_STATES), ("LIVE.HIT.CAP",)),
    in_look_up("null-prefix-missing", _nulls_missing, ("sliding", "chunked", *_STATES), _MISPLACED),
    in_look_up("null-prefix-short", _null_short, ("sliding", "chunked", *_STATES), _MISPLACED),
    in_look_up("chunk-end-unseen", _chunk_end_unseen, ("chunked",), ("LIVE.HIT.NULLS",)),
    in_look_up("hit-only-from-the-front", _only_from_the_front, ("sliding", "chunked", *_STATES), ("LIVE.HIT.FOUND",), "K52"),
    in_look_up("groups-looked-up-apart", _groups_apart, ("full", "sliding", *_STATES), ("LIVE.HIT.COVERED",), "K33"),
    in_look_up("hit-out-of-order", _out_of_order, ("full", "sliding", "chunked", "sink"), ("LIVE.HIT.KEYED",)),
    in_look_up("context-parallel-forgotten", _width_forgotten, ("full",), ("LIVE.HIT.CAP", "LIVE.HIT.FOUND"), "K26"),
)
"""The defects of this file, in the order of reports."""
