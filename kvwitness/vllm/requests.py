"""Requests as a release's cache managers see them: what they ask of one, and nothing else."""

from typing import Any


class HashedRequest:
    """What publishing needs of a request, and the further facts that some releases look at.

    Attributes:
        request_id: Its name.
        block_hashes: The hashes of its full blocks, as the release makes them.
        num_tokens: Its verified tokens.
        num_computed_tokens: How many of them are computed.
        num_in_flight_tokens: How many of those are computed by steps that have not come back.
        all_token_ids: Its tokens, numbered from 0: an event that names some of them names a range.
    """

    lora_request = cache_salt = prompt_embeds = prompt_embeds_hashes = session_id = None
    mm_features: tuple[Any, ...] = ()
    shared_prefix_boundary = 0
    num_computed_tokens = 0
    num_in_flight_tokens = 0
    skip_reading_prefix_cache = False
    status = None

    def __init__(self, request_id: str, block_hashes: list[bytes], num_tokens: int) -> None:
        """A request by this name whose full blocks have these hashes."""
        self.request_id = request_id
        self.block_hashes = block_hashes
        self.num_tokens = self.num_prompt_tokens = num_tokens
        self.all_token_ids = range(num_tokens)


__all__ = ["HashedRequest"]
