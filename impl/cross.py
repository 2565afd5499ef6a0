"""Cross attention: blocks for the encoder tokens of one request, shared with nobody."""

from collections.abc import Sequence
from typing import NoReturn

from kvwitness.impl.block import HashedRequest, Key, KVCacheBlock
from kvwitness.impl.errors import RejectedAssertion, RejectedNotImplemented, RejectedValue
from kvwitness.impl.lookup import demand_spec
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.specs import CrossAttentionSpec, KVCacheSpec
from kvwitness.impl.table import BlockTable

_REMEDY = "leave cross attention out of prefix caching: encoder states belong to one request"


class CrossAttentionManager(SingleTypeKVCacheManager):
    """Tables that are taken at admission and kept until the request is freed."""

    @classmethod
    def find_longest_cache_hit(
        cls,
        block_hashes: Sequence[Key],
        max_length: int,
        kv_cache_group_ids: list[int],
        block_pool: BlockPool,
        kv_cache_spec: KVCacheSpec,
        use_eagle: bool,
        alignment_tokens: int,
        dcp_world_size: int = 1,
        pcp_world_size: int = 1,
    ) -> tuple[BlockTable, ...]:
        """Rejected: nothing is shared; O(1).

        Raises:
            RejectedAssertion: ``wrong_spec``.
            RejectedNotImplemented: ``caching_unsupported``.
        """
        demand_spec(cls, kv_cache_spec, CrossAttentionSpec)
        raise RejectedNotImplemented("caching_unsupported", "a look-up for cross attention", "none", _REMEDY)

    def get_num_common_prefix_blocks(self, running_request_id: str) -> int:
        """None: nothing is shared; O(1)."""
        return 0

    def allocate_new_computed_blocks(
        self,
        request_id: str,
        new_computed_blocks: Sequence[KVCacheBlock],
        num_local_computed_tokens: int,
        num_external_computed_tokens: int,
    ) -> None:
        """Nothing to adopt; O(1).

        Raises:
            RejectedAssertion: ``hits_without_caching``.
        """
        self.add_local_computed_blocks(request_id, new_computed_blocks, num_local_computed_tokens, num_external_computed_tokens)

    def add_local_computed_blocks(
        self,
        request_id: str,
        new_computed_blocks: Sequence[KVCacheBlock],
        num_local_computed_tokens: int,
        num_external_computed_tokens: int,
    ) -> None:
        """Nothing to adopt; O(1).

        Raises:
            RejectedAssertion: ``hits_without_caching``.
        """
        if len(new_computed_blocks):
            raise RejectedAssertion("hits_without_caching", f"{len(new_computed_blocks)} hits for {request_id!r}", "none", _REMEDY)

    def allocate_external_computed_blocks(self, request_id: str, num_local_computed_tokens: int, num_external_computed_tokens: int) -> None:
        """Nothing to take: external tokens are the decoder's; O(1)."""

    def cache_blocks(self, request: HashedRequest, num_tokens: int) -> NoReturn:
        """Rejected: nothing is shared; O(1).

        Raises:
            RejectedValue: ``caching_unsupported``.
        """
        raise RejectedValue("caching_unsupported", f"publishing {num_tokens} tokens of {request.request_id!r}", "none", _REMEDY)
