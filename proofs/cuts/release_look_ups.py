"""The loops of the look-ups of the releases around 0.16, and what holds at their heads."""

from collections.abc import Mapping
from typing import Any

from kvwitness.model.numbers import ceil_div
from kvwitness.proofs.cuts.look_ups import Loops, Question
from kvwitness.proofs.engines.cut import Loop
from kvwitness.proofs.logic import both, implies, within

FIND = "find_longest_cache_hit"


def full(question: Question) -> Loops:
    """A walk from the start while blocks are cached; then blocks are dropped until the length is aligned."""
    search, most = question.search, question.most

    def walked(now: Any, _before: Any) -> Mapping[str, Any]:
        hit = now.computed_blocks
        return {
            "the list is what was walked over": both(within(0, now.at, most + 1), hit.length == now.at),
            "its blocks are cached": search.run(0, now.at),
            "they stand in their places": question.found_in(hit, 0, hit.length),
        }

    return {FIND: {0: Loop(["computed_blocks"], walked), 3: _shortened(question)}}


def _shortened(question: Question) -> Loop:
    """Blocks are dropped from the end; no length that was dropped is aligned."""

    def holds(now: Any, before: Any) -> Mapping[str, Any]:
        hit, longest = now.computed_blocks, before.computed_blocks
        return {
            "it is no longer than it was": both(hit.length >= 0, hit.length <= longest.length),
            "what was dropped is not aligned": question.none_aligned(hit.length, longest.length),
            "what is left is as it was": question.every(
                lambda place: implies(within(0, place, hit.length), hit.at(place) == longest.at(place)), hit
            ),
        }

    return Loop(["computed_blocks"], holds, measure=lambda now: now.computed_blocks.length)


def mamba(question: Question) -> Loops:
    """A search from the right for a state at an aligned length."""

    def holds(now: Any, _before: Any) -> Mapping[str, Any]:
        return {
            "a block of the prefix is next, or none is left": within(-1, now.at, question.most),
            "nothing was found": now.computed_blocks.length == 0,
            "no usable length is longer": implies(question.candidate, question.other <= now.at + 1),
        }

    return {FIND: {0: Loop(["computed_blocks"], holds)}}


def chunked(question: Question) -> Loops:
    """A walk from the chunk's start while blocks are cached."""
    search = question.search

    def holds(now: Any, _before: Any) -> Mapping[str, Any]:
        hit, start = now.computed_blocks, now.local_attention_start_block_idx
        return {
            "the list reaches up to the next block": both(start >= 0, start <= now.at, now.at <= question.most, hit.length == now.at),
            "nulls stand before the chunk": question.null_in(hit, 0, start),
            "blocks of the chunk stand in their places": question.found_in(hit, start, now.at),
            "they are cached": search.run(start, now.at),
        }

    return {FIND: {0: Loop(["computed_blocks"], holds)}}


def sliding(question: Question) -> Loops:
    """A search from the right: a run of cached blocks grows to the left until it is long enough, and a miss begins a new one."""
    search, most = question.search, question.most
    wanted = question.ways.named(ceil_div(question.window - 1, search.block)) + question.drop

    def holds(now: Any, _before: Any) -> Mapping[str, Any]:
        hit, place, run = now.computed_blocks, now.at, now.num_contiguous_blocks
        end = place + 1 + run
        return {
            "the run is within the prefix and not long enough": both(within(-1, place, most), within(0, run, wanted), end <= most),
            "its blocks are cached": search.run(place + 1, end),
            "it may end where it ends": implies(run > 0, search.aligned(end)),
            "no usable length is longer": implies(question.candidate, question.other + question.drop <= end),
            "the list has a place for every block": hit.length == most,
            "the run stands in its place": question.found_in(hit, place + 1, end),
            "before it stand nulls": question.null_in(hit, 0, place + 1),
        }

    values = ["computed_blocks", "num_contiguous_blocks"]
    return {FIND: {0: Loop(values, holds, stays=["match_found"]), 4: _shortened(question)}}


__all__ = ["chunked", "full", "mamba", "sliding"]
