"""The methods of a manager that the adapter calls, matched with what a release's own take."""

from collections.abc import Mapping
from typing import Any

from kvwitness.vllm.by_name import ByName
from kvwitness.vllm.loader import ReleaseError

OFFERED: dict[str, tuple[str, ...]] = {
    "find_longest_cache_hit": (
        "block_hashes",
        "max_length",
        "kv_cache_group_ids",
        "block_pool",
        "kv_cache_spec",
        "use_eagle",
        "alignment_tokens",
        "dcp_world_size",
        "pcp_world_size",
    ),
    "remove_skipped_blocks": ("request_id", "total_computed_tokens"),
    "get_num_blocks_to_allocate": (
        "request_id",
        "num_tokens",
        "new_computed_blocks",
        "total_computed_tokens",
        "num_local_computed_tokens",
        "num_tokens_main_model",
    ),
    "allocate_new_computed_blocks": ("request_id", "new_computed_blocks", "num_local_computed_tokens", "num_external_computed_tokens"),
    "add_local_computed_blocks": ("request_id", "new_computed_blocks", "num_local_computed_tokens", "num_external_computed_tokens"),
    "allocate_external_computed_blocks": ("request_id", "num_local_computed_tokens", "num_external_computed_tokens"),
    "allocate_new_blocks": ("request_id", "num_tokens", "num_tokens_main_model"),
    "cache_blocks": ("request", "num_tokens", "alignment_tokens", "replay_boundaries"),
    "free": ("request_id",),
    "get_num_common_prefix_blocks": ("running_request_id",),
    "get_num_skipped_tokens": ("total_computed_tokens",),
    "new_step_starts": (),
}
"""The arguments that each method of a manager may take, by the seed's names."""

REQUIRED = frozenset(OFFERED) - {
    "add_local_computed_blocks",
    "allocate_external_computed_blocks",
    "allocate_new_computed_blocks",
    "get_num_common_prefix_blocks",
    "new_step_starts",
}
"""The methods that every release has; the others came or went."""


def methods_of(label: str, manager: Any) -> Mapping[str, ByName]:
    """The methods of one manager.

    Raises:
        ReleaseError: One is missing, or takes something that is not known here.
    """
    lacking = [name for name in sorted(REQUIRED) if not hasattr(manager, name)]
    if lacking:
        raise ReleaseError(f"{label} has no {lacking[0]} in {type(manager).__name__}: it is missing or moved")
    return {name: ByName(label, getattr(manager, name), offered) for name, offered in OFFERED.items() if hasattr(manager, name)}


__all__ = ["OFFERED", "methods_of"]
