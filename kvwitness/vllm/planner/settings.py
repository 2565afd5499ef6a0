"""A planner's configuration: as much of vLLM's as its scheduler asks for."""

from typing import Any

from kvwitness.model.kinds import Config
from kvwitness.properties.planning import PlannerSettings
from kvwitness.vllm.loader import ReleaseError


class MissingSetting(ReleaseError, AttributeError):
    """A planner asked for a setting that is not known here."""


class Told:
    """A section of the configuration; what is not in it is missed by name."""

    def __init__(self, label: str, section: str, **facts: Any) -> None:
        """A section of that release's configuration with these facts."""
        vars(self).update(facts)
        self._label, self._section = label, section

    def __getattr__(self, name: str) -> Any:
        """Nothing by that name is known.

        Raises:
            MissingSetting: Always, with the names of section and setting.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingSetting(f"{self._label} asks for {self._section}.{name}, which the planner's settings do not have: it is new or moved")


def _answer(value: Any) -> Any:
    """A method without arguments that gives a value."""
    return lambda: value


def _scheduler(label: str, config: Config, settings: PlannerSettings) -> Told:
    return Told(
        label,
        "scheduler_config",
        max_num_seqs=settings.seats,
        max_num_active_seqs=None,
        max_num_batched_tokens=settings.budget,
        max_num_scheduled_tokens=settings.budget,
        long_prefill_token_threshold=settings.longest_chunk,
        long_prefill_token_threshold_adaptive=False,
        max_long_partial_prefills=1,
        enable_chunked_prefill=True,
        policy=settings.policy,
        async_scheduling=config.depth > 1,
        scheduler_reserve_full_isl=settings.reserve_full,
        disable_chunked_mm_input=False,
        prefill_schedule_interval=1,
        watermark=0.0,
        disable_hybrid_kv_cache_manager=False,
    )


def _cache(label: str, config: Config) -> Told:
    modes = [kind.mode for kind in config.groups if kind.kind == "mamba"]
    return Told(
        label,
        "cache_config",
        num_gpu_blocks=config.blocks,
        block_size=states_block(config),
        enable_prefix_caching=config.caching,
        mamba_cache_mode=modes[0] if modes else "none",
        enable_mamba_shared_prefix_checkpoint=False,
        enable_mamba_fine_grained_prefix_cache=False,
        prefix_cache_retention_interval=None,
    )


def states_block(config: Config) -> int:
    """What the cache's configuration says of the block size, in tokens: with Mamba groups it is theirs, by which chunks are split."""
    sizes = [config.block_of(group) for group, kind in enumerate(config.groups) if kind.kind == "mamba"]
    return max(sizes) if sizes else scheduler_block(config)


def scheduler_block(config: Config) -> int:
    """What a planner takes for the block size, in tokens: the least common multiple of its groups'."""
    return config.hit_alignment


def _model(label: str, config: Config) -> Told:
    return Told(
        label,
        "model_config",
        max_model_len=config.max_model_len,
        is_encoder_decoder=False,
        is_diffusion=False,
        runner_type="generate",
        enable_return_routed_experts=False,
        return_sampling_mask=False,
        supports_multimodal_inputs=False,
        uses_mrope=False,
        uses_xdrope=False,
        uses_xdrope_dim=0,
        is_hybrid=config.is_hybrid,
    )


def _parallel(label: str, config: Config) -> Told:
    return Told(
        label,
        "parallel_config",
        decode_context_parallel_size=config.dcp,
        prefill_context_parallel_size=config.pcp,
        pipeline_parallel_size=1,
        data_parallel_size=1,
        data_parallel_index=0,
        data_parallel_rank=0,
    )


def _speculative(label: str, config: Config) -> Told | None:
    if not config.drafts:
        return None
    return Told(
        label,
        "speculative_config",
        num_speculative_tokens=config.drafts,
        num_speculative_tokens_per_batch_size=None,
        use_eagle=_answer(config.draft_model),
        use_eagle_block_drop=_answer(config.draft_model),
        needs_eagle_block_drop=_answer(config.draft_model),
        disable_eagle_block_drop=False,
        uses_draft_model=_answer(False),
        use_dflash=_answer(False),
        use_dspark=_answer(False),
        use_multi_module_mtp=_answer(False),
        use_ngram_gpu=_answer(False),
        max_num_new_slots_for_drafting=0,
        parallel_drafting=False,
    )


def _transfer(label: str, connector: Any) -> Told:
    kept = {"kv_load_failure_policy": "recompute", "is_kv_consumer": True, "is_kv_producer": False}
    return Told(label, "kv_transfer_config", connector=connector, **kept)


def _observability(label: str) -> Told:
    off = dict.fromkeys(("kv_cache_metrics", "enable_mfu_metrics", "enable_logging_iteration_details"), False)
    return Told(label, "observability_config", per_request_spec_decode_metrics="none", **off)


NOT_THERE: dict[str, Any] = {
    **dict.fromkeys(("lora_config", "kv_events_config", "ec_transfer_config")),
    **dict.fromkeys(("is_mm_encoder_only", "is_encoder_only", "use_v2_model_runner"), False),
    "num_hash_lookahead_tokens": 0,
}
"""What the configuration says it does not have."""


def configuration(label: str, config: Config, settings: PlannerSettings, connector: Any) -> Told:
    """All of a release's configuration that its planner asks for; steps may be planned as far ahead as the depth says."""
    sections = {
        "scheduler_config": _scheduler(label, config, settings),
        "cache_config": _cache(label, config),
        "model_config": _model(label, config),
        "parallel_config": _parallel(label, config),
        "speculative_config": _speculative(label, config),
        "observability_config": _observability(label),
        "ec_manager_config": Told(label, "ec_manager_config", get_encoder_cache_manager_obj=_answer(None)),
        "aux_output_config": Told(label, "aux_output_config", enabled=False),
        "kv_transfer_config": _transfer(label, connector) if settings.connector else None,
    }
    counts = {
        "max_concurrent_batches": config.depth,
        "max_in_flight_tokens": settings.budget * config.depth,
        "num_speculative_tokens": config.drafts,
        "num_lookahead_tokens": config.drafts if config.draft_model else 0,
        "num_prefill_lookahead_tokens": 1 if config.draft_model else 0,
    }
    return Told(label, "vllm_config", **sections, **counts, **NOT_THERE)


__all__ = ["MissingSetting", "Told", "configuration", "scheduler_block"]
