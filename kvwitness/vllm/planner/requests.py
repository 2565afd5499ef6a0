"""A release's own requests, with keys that can be decoded."""

from typing import Any

from kvwitness.model.calls import Key
from kvwitness.properties.planning import Submit
from kvwitness.properties.prefixes import Keys
from kvwitness.vllm.by_name import ByName
from kvwitness.vllm.loader import Release
from kvwitness.vllm.looking import Hashes
from kvwitness.vllm.planner.loading import REQUEST
from kvwitness.vllm.planner.settings import Told


class Chains:
    """The chain of keys of every request, one a verified token, and what hashes a release's requests by them."""

    def __init__(self, prefixes: Keys, hashes: Hashes, block: int) -> None:
        """Number prefixes by that table; one hash stands for ``block`` tokens."""
        self._prefixes, self._hashes, self._block = prefixes, hashes, block
        self._chains: dict[str, list[Key]] = {}

    def of(self, request: Any) -> list[Key]:
        """The chain of all that a request knows by now."""
        chain = self._chains.setdefault(request.request_id, [])
        tokens = request.all_token_ids
        if len(tokens) > len(chain):
            chain.extend(self._prefixes.chain(tokens[len(chain) :], chain[-1] if chain else 0))
        return chain

    def new_hashes(self, request: Any) -> list[bytes]:
        """The hashes of the blocks that became full since a request was last hashed."""
        chain, block = self.of(request), self._block
        first = len(request.block_hashes) * block
        return self._hashes.of(chain[first + block - 1 :: block])


SAMPLING = {
    "min_tokens": 0,
    "ignore_eos": True,
    "stop_token_ids": (),
    "all_stop_token_ids": (),
    **dict.fromkeys(("extra_args", "eos_token_id", "logprobs", "num_logprobs", "repetition_detection", "structured_outputs")),
    "skip_reading_prefix_cache": None,
}
"""How a request samples, as far as a planner asks: it goes on until it has as many outputs as it may have."""


def make_request(release: Release, submit: Submit, number: int, chains: Chains) -> Any:
    """A request of the release's own class; the ``number``-th to arrive."""
    offered = {
        "request_id": submit.id,
        "prompt_token_ids": list(submit.tokens),
        "sampling_params": Told(release.label, "sampling_params", max_tokens=submit.most, **SAMPLING),
        "pooling_params": None,
        "eos_token_id": None,
        "arrival_time": float(number),
        "priority": submit.priority,
        "block_hasher": chains.new_hashes,
    }
    request = ByName(release.label, release[REQUEST].Request, offered)(**offered)
    if hasattr(request, "prefill_stats"):
        request.prefill_stats = None
    return request


__all__ = ["Chains", "make_request"]
