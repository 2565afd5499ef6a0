"""Which of our reasons a release's exception means, told from the call and the state that it met.

A release says no by assertions without a reason; where the circumstances show none of ours, the call has failed.
"""

from collections.abc import Sequence
from typing import Any

from kvwitness.model.calls import Call
from kvwitness.model.kinds import Config

REFUSALS = (AssertionError, ValueError, NotImplementedError, IndexError)
"""What a release raises where it refuses on purpose; IndexError where it runs past the end of the keys."""


def _of_look_up(call: Call, config: Config, error: Exception, managers: Sequence[Any]) -> str:
    keys, max_length = call.arguments
    kind = config.kind.kind
    if kind == "cross":
        return "caching_unsupported"
    if isinstance(error, IndexError) and max_length // config.tokens_per_block > len(keys):
        return "not_enough_keys"
    if not isinstance(error, AssertionError):
        return ""
    if config.is_hybrid:
        return "draft_drop_alignment" if config.draft_model and _a_window_is_finer(config) else ""
    if kind == "chunked" and config.draft_model:
        return "draft_drop_unsupported"
    if config.dcp * config.pcp > 1 and kind not in ("full", "sink"):
        return "context_parallel_unsupported"
    if config.hit_alignment == config.tokens_per_block:
        return ""
    return {"sliding": "draft_drop_alignment" if config.draft_model else "", "chunked": "alignment_unsupported"}.get(kind, "")


def _a_window_is_finer(config: Config) -> bool:
    """Whether hits are aligned to more than a block of some sliding window."""
    return any(kind.kind == "sliding" and config.block_of(group) != config.hit_alignment for group, kind in enumerate(config.groups))


def _of_estimate(call: Call, config: Config, error: Exception, managers: Sequence[Any]) -> str:
    request, hits = call.arguments[0], call.arguments[2]
    running = any(request in manager.num_cached_block for manager in managers)
    return "hits_for_running_request" if running and any(hits) and isinstance(error, AssertionError) else ""


def _of_adoption(call: Call, config: Config, error: Exception, managers: Sequence[Any]) -> str:
    request, hits = call.arguments[:2]
    if isinstance(error, ValueError):
        return "pool_exhausted"
    if not isinstance(error, AssertionError):
        return ""
    if any(request in manager.num_cached_block for manager in managers) and any(hits):
        return "hits_for_running_request"
    if any(hits) and not config.caching:
        return "caching_unsupported" if config.kind.kind == "cross" else "hits_without_caching"
    return "request_has_blocks" if any(manager.req_to_blocks.get(request) for manager in managers) else ""


def _of_growth(call: Call, config: Config, error: Exception, managers: Sequence[Any]) -> str:
    request, _, main, _ = call.arguments
    if isinstance(error, ValueError):
        return "pool_exhausted"
    if not isinstance(error, AssertionError):
        return ""
    for group, (kind, manager) in enumerate(zip(config.groups, managers, strict=True)):
        required = -(-main // config.block_of(group)) + kind.drafts
        if kind.label == "mamba-align" and required < len(manager.req_to_blocks.get(request, ())):
            return "requirement_shrinks"
    return ""


def _of_publishing(call: Call, config: Config, error: Exception, managers: Sequence[Any]) -> str:
    request, keys, num_tokens = call.arguments
    if config.kind.kind == "cross":
        return "caching_unsupported"
    for manager in managers:
        held, full = len(manager.req_to_blocks.get(request, ())), num_tokens // manager.block_size
        if full > held:
            return "publish_unallocated" if held else "unknown_request"
    if num_tokens // config.tokens_per_block > len(keys):
        return "not_enough_keys"
    return "block_already_keyed" if isinstance(error, AssertionError) else ""


def _of_taking(call: Call, config: Config, error: Exception, managers: Sequence[Any]) -> str:
    if call.arguments[0] < 0:
        return "negative_count"
    return "pool_exhausted" if isinstance(error, ValueError) else ""


_BY_CALL = {
    "find_longest_cache_hit": _of_look_up,
    "get_num_blocks_to_allocate": _of_estimate,
    "allocate_new_computed_blocks": _of_adoption,
    "allocate_new_blocks": _of_growth,
    "cache_blocks": _of_publishing,
    "get_new_blocks": _of_taking,
}


def reason_of(call: Call, config: Config, error: Exception, managers: Sequence[Any]) -> str:
    """The reason for which a call was refused, or "" where none of ours fits."""
    decide = _BY_CALL.get(call.name)
    return decide(call, config, error, managers) if decide is not None and isinstance(error, REFUSALS) else ""


__all__ = ["REFUSALS", "reason_of"]
