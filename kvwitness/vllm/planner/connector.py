"""A connector for planning: it says how many external tokens a request has, and keeps what it was told."""

from collections.abc import Mapping
from typing import Any

from kvwitness.properties.planning import Submit
from kvwitness.vllm.planner.answers import HandlesAllGroups


class PlainConnector(HandlesAllGroups):
    """The scheduler's side of a connector that supplies what the requests were submitted with.

    Attributes:
        loads: For each request whose load was planned since the last step, the range of its external tokens.
    """

    requires_kv_delivery = False
    supports_divergent_local_hybrid_hits = False
    prefer_cross_layer_blocks = False

    def __init__(self, submitted: Mapping[str, Submit], block: int) -> None:
        """Know the requests that were submitted; ``block`` is what external tokens come in, in tokens."""
        self._submitted, self._block = submitted, block
        self.loads: dict[str, tuple[int, int]] = {}
        self._offered: dict[str, int] = {}

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int, bool]:
        """External tokens behind the local hit, whole blocks or all but the last token, and whether they come later."""
        submitted = self._submitted[request.request_id]
        end, most = submitted.external, request.num_tokens - 1
        end = most if end >= most else end // self._block * self._block
        more = max(0, end - num_computed_tokens)
        self._offered[request.request_id] = num_computed_tokens
        return more, submitted.delayed and more > 0

    def update_state_after_alloc(self, request: Any, _blocks: Any, num_external_tokens: int) -> None:
        """The request was given blocks: note what will be loaded into them."""
        if num_external_tokens > 0:
            start = self._offered[request.request_id]
            self.loads[request.request_id] = (start, start + num_external_tokens)

    def take_loads(self) -> dict[str, tuple[int, int]]:
        """What was planned to be loaded since this was last asked."""
        loads, self.loads = self.loads, {}
        return loads

    def request_finished(self, _request: Any, _blocks: Any) -> tuple[bool, None]:
        """Nothing is sent, so blocks may be freed at once."""
        return False, None

    request_finished_all_groups = request_finished

    def get_loaded_kv_cache_group_ids(self, _request: Any) -> tuple[int, ...]:
        """No group replays a window."""
        return ()

    def build_connector_meta(self, _output: Any) -> None:
        """The worker is not told anything in this way."""

    def has_pending_block_frees(self) -> bool:
        """No block is kept."""
        return False

    def reset_cache(self) -> bool:
        """There is nothing to reset."""
        return True

    def _say_nothing(self, *_arguments: Any, **_keywords: Any) -> None:
        """Nothing to say."""

    bind_kv_cache_manager = bind_gpu_block_pool = on_new_request = update_connector_output = _say_nothing
    take_events = get_kv_connector_stats = get_external_cache_hit_sources = shutdown = _say_nothing


__all__ = ["PlainConnector"]
