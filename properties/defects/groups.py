"""Defects of mixed groups: what is looked up, adopted, counted and published for all of them together."""

from collections.abc import Sequence
from typing import Any

from kvwitness.impl.block import HashedRequest, Key
from kvwitness.impl.merged import MergedKeys
from kvwitness.impl.pool import BlockPool
from kvwitness.model.profile import VLLM_0_20, VLLM_0_22
from kvwitness.properties.defects.defect import in_common_hit, in_groups, in_pool, in_rule

_PAIRS = ("full+sliding", "sliding+full", "sliding+sliding", "full+mamba-align")
_DRAFTED = ("full+sliding", "sliding+full", "full+sliding+sliding")


class _AdoptedInTurn:
    """Each group takes blocks for external tokens before the next one has referenced its hits."""

    def allocate_new_computed_blocks(self: Any, request_id: str, hits: Any, num_local: int, num_external: int) -> None:
        for manager, found in zip(self.single_type_managers, hits or self._no_hits, strict=True):
            manager.allocate_new_computed_blocks(request_id, found, num_local, num_external)


class _NoMargin:
    """Under a draft model a group is looked up no further than the length, so that each loses a block of its own."""

    def _margin(self, _kindred: Any) -> int:
        return 0


class _OwnAlignment:
    """Each group aligns the hit to its own block, not to the blocks of all."""

    def _look_up(self: Any, hits: Any, kindred: Any, keys: Sequence[Key], max_length: int, *, drop: bool) -> int:
        right, self.alignment_tokens = self.alignment_tokens, kindred.block_size
        length: int = super()._look_up(hits, kindred, keys, max_length, drop=drop)  # type: ignore[misc]
        self.alignment_tokens = right
        return length


class _FirstGroupDecides:
    """The length of the first group's hit is taken for that of all."""

    def find(self: Any, keys: Sequence[Key], max_length: int) -> Any:
        hits: list[Any] = [None] * self._num_groups
        length = 0
        for number, kindred in enumerate(self.kindred):
            found = self._look_up(hits, kindred, keys, max_length, drop=self._use_eagle)
            length = length if number else found
        return tuple(hits), length


class _NotCut:
    """Full attention keeps its whole hit where another group has less."""

    def find(self: Any, keys: Sequence[Key], max_length: int) -> Any:
        hits: list[Any] = [None] * self._num_groups
        length = self._find(hits, keys, max_length)
        return tuple(hits), length


class _LastGroupUncounted:
    """The estimate leaves out the last group."""

    def get_num_blocks_to_allocate(self: Any, request_id: str, tokens: int, hits: Any, encoder: int, total: int, main: int) -> int:
        needed = 0
        groups = list(zip(self.single_type_managers, hits or self._no_hits, self._encodes, strict=True))
        for manager, found, encodes in groups[:-1]:
            needed += manager.get_num_blocks_to_allocate(request_id, encoder if encodes else tokens, found, total, main)
        return needed


class _OneGroupPublishes:
    """Only the first group's blocks become findable."""

    def cache_blocks(self: Any, request: HashedRequest, num_tokens: int) -> None:
        self.single_type_managers[0].cache_blocks(request, num_tokens)


class _OneGroupReleases:
    """Skipped blocks are released in the first group only."""

    def remove_skipped_blocks(self: Any, request_id: str, total_computed_tokens: int) -> None:
        self.single_type_managers[0].remove_skipped_blocks(request_id, total_computed_tokens)


class _LastGroupHeld:
    """A request that is freed keeps its blocks in the last group."""

    def free(self: Any, request_id: str) -> None:
        for manager in self.single_type_managers[:-1]:
            manager.free(request_id)


class _OneGroupWithdraws:
    """Of a request preempted in the step that planned it, only the first group's keys are withdrawn."""

    def withdraw_blocks(self: Any, request_id: str) -> None:
        self.single_type_managers[0].withdraw_blocks(request_id)


class _EncoderEverywhere:
    """Every group, not only cross attention, is given the encoder's tokens."""

    def allocate_new_blocks(self: Any, request_id: str, num_tokens: int, main: int, num_encoder_tokens: int = 0) -> Any:
        wanted = max(num_tokens, num_encoder_tokens)
        return super().allocate_new_blocks(request_id, wanted, main, num_encoder_tokens)  # type: ignore[misc]


class _KeysUnmerged(BlockPool):
    """A block of several keys gets the key of the block at its place that is as large as one key."""

    def _merged_keys(self, keys: Sequence[Key], block_size: int) -> Sequence[Key]:
        return keys


class _FirstKeyOfBlock(BlockPool):
    """A block of several keys gets the first of them instead of the last."""

    def _merged_keys(self, keys: Sequence[Key], block_size: int) -> Sequence[Key]:
        factor = block_size // self.hash_block_size
        return keys[: len(MergedKeys(keys, factor)) * factor : factor]


DEFECTS = (
    in_groups("groups-adopt-in-turn", _AdoptedInTurn, ("sink+sliding", "full+full+sliding"), ("HYBRID.ADOPT.KEPT",), "K05"),
    in_common_hit("groups-no-margin", _NoMargin, _DRAFTED, ("HYBRID.HIT.LONGEST",), "K20"),
    in_common_hit("groups-own-alignment", _OwnAlignment, ("full+sliding", "sliding+sliding"), ("HYBRID.HIT.SOUND", "LIVE.HIT.CAP")),
    in_common_hit("groups-first-decides", _FirstGroupDecides, _PAIRS, ("HYBRID.HIT.SOUND",)),
    in_common_hit("groups-hit-not-cut", _NotCut, _PAIRS, ("HYBRID.HIT.SOUND",)),
    in_groups("groups-last-uncounted", _LastGroupUncounted, _PAIRS, ("BOOKS.ESTIMATE", "BOOKS.ACCEPTED")),
    in_groups("groups-one-publishes", _OneGroupPublishes, _PAIRS, ("HYBRID.PUBLISH", "SLIDING.PUBLISH", "LIVE.PUBLISHED")),
    in_groups("groups-one-releases", _OneGroupReleases, ("full+sliding", "sliding+sliding"), ("LIVE.RELEASED",)),
    in_groups("groups-last-held", _LastGroupHeld, _PAIRS, ("TABLE.FREE", "BOOKS.REST")),
    in_groups(
        "groups-one-withdraws", _OneGroupWithdraws, ("full+sliding", "full+mamba-align"), ("STEP.WITHDRAWN", "CONTENTS.CACHED"), "K37"
    ),
    in_groups("groups-encoder-everywhere", _EncoderEverywhere, ("full+cross", "full+sliding+cross"), ("BOOKS.ACCEPTED", "BOOKS.ESTIMATE")),
    in_pool(
        "groups-keys-unmerged", _KeysUnmerged, ("full+sliding", "sliding+sliding"), ("SLIDING.PUBLISH", "TABLE.PUBLISH", "CONTENTS.CACHED")
    ),
    in_pool(
        "groups-first-key", _FirstKeyOfBlock, ("full+sliding", "sliding+sliding"), ("SLIDING.PUBLISH", "TABLE.PUBLISH", "CONTENTS.CACHED")
    ),
    in_rule(
        "rule-drop-in-every-pass",
        "Under a draft model every pass of the common look-up drops one more block.",
        "hybrid_hit",
        ("full+sliding", "full+sliding+sliding", "sliding+full"),
        ("HYBRID.HIT.LONGEST",),
        "K19",
    ),
    in_rule(
        "rule-mamba-lengthens-hit",
        "Under a draft model Mamba is looked up a block further than the others, and lengthens the common hit.",
        "hybrid_hit",
        ("full+mamba-align", "full+mamba-all"),
        ("HYBRID.HIT.SOUND",),
        release=VLLM_0_20,
    ),
    in_rule(
        "rule-second-full-uncut",
        "Of two sizes of full attention the second keeps more than the common hit.",
        "hybrid_trim",
        ("full+full+sliding",),
        ("HYBRID.HIT.SOUND",),
    ),
    in_rule(
        "rule-mask-without-draft",
        "The blocks that a sliding window publishes leave out the one that a draft model's hit looks for behind it.",
        "sliding_publish",
        ("full+sliding", "sliding+sliding"),
        ("LIVE.PUBLISHED",),
        "K24",
        release=VLLM_0_22,
    ),
)
"""The defects of this file, in the order of reports."""
