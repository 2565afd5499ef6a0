"""The loops of our own look-ups, and what holds at their heads; full and chunked attention leave theirs to ``takewhile``."""

from collections.abc import Mapping
from typing import Any

from kvwitness.proofs.cuts.look_ups import Loops, Question
from kvwitness.proofs.engines.cut import Loop
from kvwitness.proofs.logic import both, implies


def full(_question: Question) -> Loops:
    """No loop of its own."""
    return {}


def chunked(_question: Question) -> Loops:
    """No loop of its own."""
    return {}


def mamba(question: Question) -> Loops:
    """A search from the right over aligned lengths."""

    def holds(now: Any, _before: Any) -> Mapping[str, Any]:
        return {
            "the length is within the cap": both(now.at >= 0, now.at <= question.most),
            "it is aligned": question.search.aligned(now.at),
            "no usable length is longer": implies(question.candidate, question.other <= now.at),
        }

    return {"find_longest_cache_hit": {0: Loop([], holds)}}


def sliding(question: Question) -> Loops:
    """A search that skips ahead: a miss moves the end of the run to the left of it, and the hits behind it are kept."""
    search, drop = question.search, question.drop

    def searched(now: Any, _before: Any) -> Mapping[str, Any]:
        end, known, rows = now.end, now.known, now.rows
        return {
            "the hits that are kept end where the run ends": both(known <= end, rows.length == end - known, end <= question.most),
            "a kept hit is a block of the prefix": both(implies(known < end, known >= 0)),
            "they are cached": search.run(known, end),
            "they stand in order": question.found_in(rows, 0, rows.length, known),
            "the run may end there": search.aligned(end - now.shift),
            "no usable length is longer": implies(question.candidate, question.other + drop <= end),
        }

    def probed(now: Any, before: Any) -> Mapping[str, Any]:
        probed, place, start = now.probed, now.at, before.start
        return {
            "the window is probed from its start": both(start <= place, probed.length == place - start),
            "no further than to the kept hits": both(implies(place > start, place <= before.known)),
            "its hits are cached": search.run(start, place),
            "they stand in order": question.found_in(probed, 0, probed.length, start),
        }

    loops = {
        0: Loop(["end", "known", "rows"], searched, measure=lambda now: now.end - now.shift),
        1: Loop(["probed"], probed, stays=["end", "known", "rows"]),
    }
    return {"_search": loops}


__all__ = ["chunked", "full", "mamba", "sliding"]
