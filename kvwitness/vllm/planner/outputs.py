"""What a planner is told after a step: the worker's output, completed loads, and proposed drafts."""

from collections.abc import Mapping, Sequence
from typing import Any


class ModelOutput:
    """A worker's output, with the fields that a planner reads."""

    logprobs = pooler_output = num_nans_in_logits = cudagraph_stats = ec_connector_output = None
    aux_output_connector_output = sampling_masks = routed_experts = routed_experts_dict = None

    def __init__(self, sampled: Mapping[str, Sequence[int]], loads: Any) -> None:
        """The tokens that each request of a step sampled, and the loads that are complete."""
        self.req_ids = list(sampled)
        self.req_id_to_index = {name: number for number, name in enumerate(sampled)}
        self.sampled_token_ids = [list(tokens) for tokens in sampled.values()]
        self.prompt_logprobs_dict: dict[str, Any] = {}
        self.prompt_token_id_logprobs_dict: dict[str, Any] = {}
        self.kv_connector_output = loads


class LoadsDone:
    """What a connector's worker side reports: which loads are complete."""

    finished_sending = failed_recving = kv_connector_stats = kv_cache_events = kv_connector_worker_meta = None

    def __init__(self, names: set[str]) -> None:
        """The loads of these requests are complete."""
        self.finished_recving = names
        self.invalid_block_ids: set[int] = set()
        self.expected_finished_count = 0


class Proposed:
    """Draft tokens that were proposed; which tokens they are does not matter to a planner."""

    def __init__(self, drafts: Mapping[str, int]) -> None:
        """So many for each request."""
        self.req_ids = list(drafts)
        self.draft_token_ids = [[-1] * count for count in drafts.values()]


def loads_done(names: set[str]) -> LoadsDone | None:
    """The report of these loads, or None where there are none."""
    return LoadsDone(names) if names else None


def proposed(drafts: Mapping[str, int]) -> Proposed:
    """The proposal of so many draft tokens for each request."""
    return Proposed(drafts)


__all__ = ["ModelOutput", "loads_done", "proposed"]
