"""The methods that the spec answers for: those of the seed's managers, their base class and the block pool, as release 0.16 has them."""

MANAGER = "SingleTypeKVCacheManager"
POOL = "BlockPool"

METHODS: dict[str, tuple[str, ...]] = {
    MANAGER: (
        "__init__",
        "get_num_blocks_to_allocate",
        "allocate_new_computed_blocks",
        "allocate_new_blocks",
        "cache_blocks",
        "free",
        "get_num_common_prefix_blocks",
        "find_longest_cache_hit",
        "remove_skipped_blocks",
        "get_num_skipped_tokens",
        "new_step_starts",
    ),
    "FullAttentionManager": ("find_longest_cache_hit", "get_num_common_prefix_blocks"),
    "SlidingWindowManager": ("__init__", "find_longest_cache_hit", "get_num_skipped_tokens", "get_num_common_prefix_blocks"),
    "ChunkedLocalAttentionManager": ("__init__", "find_longest_cache_hit", "get_num_skipped_tokens", "get_num_common_prefix_blocks"),
    "MambaManager": (
        "__init__",
        "find_longest_cache_hit",
        "remove_skipped_blocks",
        "get_num_common_prefix_blocks",
        "get_num_blocks_to_allocate",
        "allocate_new_blocks",
        "free",
        "get_num_skipped_tokens",
    ),
    "CrossAttentionManager": (
        "allocate_new_computed_blocks",
        "cache_blocks",
        "get_num_common_prefix_blocks",
        "find_longest_cache_hit",
    ),
    "SinkFullAttentionManager": ("__init__",),
    POOL: (
        "__init__",
        "get_cached_block",
        "cache_full_blocks",
        "get_new_blocks",
        "touch",
        "free_blocks",
        "reset_prefix_cache",
        "get_num_free_blocks",
        "take_events",
    ),
}
"""Per class the methods that it defines, in the seed's order; ``new_step_starts`` came with 0.17."""

OUTSIDE = {
    "BlockPool.evict_blocks": "no call of the protocol reaches it",
    "BlockPool.get_usage": "the free count, as a share",
}
"""Methods that no clause speaks of, with the reason."""


def all_methods() -> tuple[str, ...]:
    """Every method, as ``Class.method``."""
    return tuple(f"{owner}.{method}" for owner, methods in METHODS.items() for method in methods)
