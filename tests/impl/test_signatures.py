"""Names, order and defaults of all parameters, typed in from the seed's API page."""

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from kvwitness import impl

LOOK_UP = "block_hashes max_length kv_cache_group_ids block_pool kv_cache_spec use_eagle alignment_tokens dcp_world_size=1 pcp_world_size=1"
BUILD = "self kv_cache_spec block_pool enable_caching kv_cache_group_id dcp_world_size=1 pcp_world_size=1"
ADOPT = "self request_id new_computed_blocks num_local_computed_tokens num_external_computed_tokens"
ESTIMATE = "self request_id num_tokens new_computed_blocks total_computed_tokens num_tokens_main_model"
BASE = {
    "__init__": BUILD,
    "get_num_blocks_to_allocate": ESTIMATE,
    "allocate_new_computed_blocks": ADOPT,
    "allocate_new_blocks": "self request_id num_tokens num_tokens_main_model",
    "cache_blocks": "self request num_tokens",
    "free": "self request_id",
    "get_num_common_prefix_blocks": "self running_request_id",
    "find_longest_cache_hit": LOOK_UP,
    "remove_skipped_blocks": "self request_id total_computed_tokens",
    "get_num_skipped_tokens": "self num_computed_tokens",
    "new_step_starts": "self",
    "add_local_computed_blocks": ADOPT,
    "allocate_external_computed_blocks": "self request_id num_local_computed_tokens num_external_computed_tokens",
    "withdraw_blocks": "self request_id",
}
BY_NAME = {"__init__": "self kv_cache_spec **kwargs"}
SEED: dict[type[Any], dict[str, str]] = {
    impl.SingleTypeKVCacheManager: BASE,
    impl.FullAttentionManager: BASE,
    impl.SlidingWindowManager: BASE | BY_NAME,
    impl.ChunkedLocalAttentionManager: BASE | BY_NAME,
    impl.MambaManager: BASE | BY_NAME | {"remove_skipped_blocks": "self request_id num_computed_tokens"},
    impl.CrossAttentionManager: BASE,
    impl.SinkFullAttentionManager: BASE,
    impl.BlockPool: {
        "__init__": "self num_gpu_blocks enable_caching hash_block_size enable_kv_cache_events=False metrics_collector=None "
        "*profile=vllm-0.16",
        "get_cached_block": "self block_hash kv_cache_group_ids",
        "cache_full_blocks": "self request blocks num_cached_blocks num_full_blocks block_size kv_cache_group_id",
        "get_new_blocks": "self num_blocks",
        "touch": "self blocks",
        "free_blocks": "self ordered_blocks",
        "evict_blocks": "self block_ids",
        "reset_prefix_cache": "self",
        "get_num_free_blocks": "self",
        "get_usage": "self",
        "take_events": "self",
    },
}
DEFINITION_ORDER = (
    "__init__",
    "expect_look_ups",
    "find_longest_cache_hit",
    "get_num_skipped_tokens",
    "get_num_common_prefix_blocks",
    "get_num_blocks_to_allocate",
    "allocate_new_computed_blocks",
    "add_local_computed_blocks",
    "num_blocks_for_adoption",
    "demand_adoptable",
    "allocate_external_computed_blocks",
    "allocate_new_blocks",
    "num_blocks_for_growth",
    "cache_blocks",
    "new_step_starts",
    "withdraw_blocks",
    "remove_skipped_blocks",
    "free",
    "snapshot",
    "check",
)


def written(parameter: inspect.Parameter) -> str:
    marks: dict[Any, str] = {inspect.Parameter.VAR_KEYWORD: "**", inspect.Parameter.KEYWORD_ONLY: "*"}
    default = parameter.default
    value = "" if default is inspect.Parameter.empty else f"={getattr(default, 'name', default)}"
    return f"{marks.get(parameter.kind, '')}{parameter.name}{value}"


@pytest.mark.parametrize(("owner", "method"), [(owner, method) for owner, methods in SEED.items() for method in methods])
def test_a_method_has_the_seeds_parameters(owner: type[Any], method: str) -> None:
    parameters = inspect.signature(getattr(owner, method)).parameters.values()

    assert " ".join(map(written, parameters)) == SEED[owner][method]


def test_the_factory_has_the_seeds_parameters() -> None:
    parameters = inspect.signature(impl.get_manager_for_kv_cache_spec).parameters.values()

    assert " ".join(map(written, parameters)) == "kv_cache_spec **kwargs"


@pytest.mark.parametrize("name", ["manager", "full", "sliding", "chunked", "mamba", "cross", "sink"])
def test_every_manager_file_defines_in_the_same_order(name: str) -> None:
    tree = ast.parse((Path(inspect.getfile(impl)).parent / f"{name}.py").read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    methods = [node.name for owner in classes for node in owner.body if isinstance(node, ast.FunctionDef)]
    public = [method for method in methods if method in DEFINITION_ORDER]

    assert public == sorted(public, key=DEFINITION_ORDER.index)
    assert all(method in DEFINITION_ORDER or method.startswith("_") for method in methods)


@pytest.mark.parametrize("name", impl.__all__)
def test_every_public_name_says_what_it_is(name: str) -> None:
    assert name in ("Key", "REASONS", "Reason", "spec_manager_map") or inspect.getdoc(getattr(impl, name))
