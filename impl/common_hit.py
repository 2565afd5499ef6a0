"""The hit that groups of several kinds have in common: one length in tokens that all of them accept.

Releases come to it by passes over the groups, each of which may shorten the length; they differ in how a draft model's block is dropped.
The profile says which way is followed.
"""

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

from kvwitness.impl.block import Key
from kvwitness.impl.mamba import MambaManager
from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.impl.merged import merged
from kvwitness.impl.pool import BlockPool
from kvwitness.impl.specs import FullAttentionSpec, KVCacheSpec
from kvwitness.impl.table import BlockTable

Hits = list[BlockTable]


@frozen(eq=False)
class Kindred:
    """Groups with equal specs, looked up together.

    Attributes:
        spec: Their spec.
        groups: Their numbers.
        look_up: Their manager's look-up.
        block_size: Tokens a block.
        is_full: Whether a shorter hit is a hit too, so that one look-up is enough.
        drops: Whether a draft model's block is dropped in the look-up.
    """

    spec: KVCacheSpec
    groups: list[int]
    look_up: Callable[..., Any]
    block_size: int
    is_full: bool
    drops: bool


def kindred_groups(managers: Sequence[SingleTypeKVCacheManager]) -> list[Kindred]:
    """The groups by their specs, full attention first: it needs one look-up only, and bounds the others."""
    found: list[Kindred] = []
    for group, manager in enumerate(managers):
        spec = manager.kv_cache_spec
        same = next((kindred for kindred in found if kindred.spec == spec), None)
        if same is not None:
            same.groups.append(group)
            continue
        is_full, drops = isinstance(spec, FullAttentionSpec), not isinstance(manager, MambaManager)
        found.append(Kindred(spec, [group], type(manager).find_longest_cache_hit, manager.block_size, is_full, drops))
    return sorted(found, key=lambda kindred: not kindred.is_full)


class CommonHit:
    """The look-up of mixed groups.

    Attributes:
        kindred: The groups, those with equal specs together.
        alignment_tokens: What hit lengths are multiples of.
    """

    def __init__(self, managers: Sequence[SingleTypeKVCacheManager], pool: BlockPool, alignment_tokens: int, use_eagle: bool) -> None:
        """A look-up over these managers' groups; O(groups²)."""
        self.kindred = kindred_groups(managers)
        self.alignment_tokens = alignment_tokens
        self._pool, self._use_eagle, self._num_groups = pool, use_eagle, len(managers)
        profile = pool.profile
        ways = {"drop_every_pass": self._dropping_every_pass, "longest": self._longest}
        self._find = ways.get(profile.hybrid_hit, self._dropping_once)
        self._way, self._trims_all = profile.hybrid_hit, profile.hybrid_trim == "every_full"
        self._is_simple = len(self.kindred) == 2 and self.kindred[0].is_full  # noqa: PLR2004 - full attention and one other

    def find(self, keys: Sequence[Key], max_length: int) -> tuple[tuple[BlockTable, ...], int]:
        """The hits of all groups, and the length in tokens; O(passes * probes of the groups' look-ups), two passes as a rule."""
        hits: list[BlockTable | None] = [None] * self._num_groups
        length = self._find(hits, keys, max_length)
        for number, kindred in enumerate(self.kindred):
            if kindred.is_full and (number == 0 or self._trims_all):
                for group in kindred.groups:
                    hits[group] = cut(hits[group], length // kindred.block_size)
        empty = self._pool.null_block
        return tuple([BlockTable(empty) if hit is None else hit for hit in hits]), length

    def _look_up(self, hits: list[BlockTable | None], kindred: Kindred, keys: Sequence[Key], max_length: int, *, drop: bool) -> int:
        """One look-up over groups with equal specs; the length of their hits in tokens."""
        found = kindred.look_up(
            block_hashes=merged(keys, kindred.block_size // self._pool.hash_block_size),
            max_length=max_length,
            kv_cache_group_ids=kindred.groups,
            block_pool=self._pool,
            kv_cache_spec=kindred.spec,
            use_eagle=drop,
            alignment_tokens=self.alignment_tokens,
        )
        for group, hit in zip(kindred.groups, found, strict=True):
            hits[group] = hit
        return len(hits[kindred.groups[0]] or ()) * kindred.block_size

    def _dropping_every_pass(self, hits: list[BlockTable | None], keys: Sequence[Key], max_length: int) -> int:
        """Passes until none shortens the length; every look-up drops a draft model's block anew."""
        length = max_length
        while True:
            current = length
            for kindred in self.kindred:
                if kindred.is_full and hits[kindred.groups[0]] is not None:
                    current -= current % kindred.block_size
                else:
                    current = self._look_up(hits, kindred, keys, current, drop=self._use_eagle)
            if current >= length:
                return length
            length = current
            if self._is_simple:
                return length

    def _dropping_once(self, hits: list[BlockTable | None], keys: Sequence[Key], max_length: int) -> int:
        """Passes until none shortens the length; a block is dropped once a length, and looked for behind it."""
        cap = len(keys) * self._pool.hash_block_size if self._way == "drop_once_past_cap" else max_length
        grows = self._way == "drop_once"
        length, dropped, own = max_length, set[int](), dict[int, int]()
        while True:
            current = length
            for number, kindred in enumerate(self.kindred):
                if kindred.is_full and number in own:
                    current = current - current % kindred.block_size if grows else min(current, own[number])
                    continue
                drop = self._use_eagle and number not in dropped
                reach = min(current + kindred.block_size, cap) if drop and (kindred.drops or grows) else current
                found = own[number] = self._look_up(hits, kindred, keys, reach, drop=drop)
                if drop:
                    dropped.add(number)
                elif found < current:
                    dropped.clear()
                current = found
            if current >= length:
                return length
            length = current
            if self._is_simple:
                return length

    def _longest(self, hits: list[BlockTable | None], keys: Sequence[Key], max_length: int) -> int:
        """The longest length that every group accepts: each in turn shortens it until all agree."""
        length, agreed, number, own = max_length - max_length % self.alignment_tokens, 0, 0, dict[int, int]()
        while agreed < len(self.kindred):
            kindred = self.kindred[number]
            if kindred.is_full and number in own:
                found = min(length, own[number])
            else:
                reach = min(length + self._margin(kindred), max_length)
                found = own[number] = self._look_up(hits, kindred, keys, reach, drop=self._use_eagle)
            agreed = agreed + 1 if found == length else 1
            length, number = found, (number + 1) % len(self.kindred)
        return length

    def _margin(self, kindred: Kindred) -> int:
        """How far behind a length its look-up must match, so that it comes back to that length once a draft model's block is dropped."""
        return kindred.block_size if self._use_eagle and kindred.drops else 0


def cut(hit: BlockTable | None, num_blocks: int) -> BlockTable | None:
    """The first blocks of a hit; O(blocks) where it is longer."""
    if hit is None or len(hit) <= num_blocks:
        return hit
    return BlockTable(hit.null_block, min(hit.num_nulls, num_blocks), hit.tail[: max(0, num_blocks - hit.num_nulls)])
