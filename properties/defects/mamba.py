"""Defects of Mamba's tables of states."""

from typing import Any

from kvwitness.impl.block import KVCacheBlock
from kvwitness.impl.errors import RejectedAssertion
from kvwitness.impl.mamba import MambaManager
from kvwitness.properties.defects.defect import in_manager


class _GuardMissing(MambaManager):
    """A hit on a state that another request computes in the same step is not put off."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._guards_step = False


class _GuardStays(MambaManager):
    """A new step does not lift the guard, so hits on states computed long ago are put off."""

    def new_step_starts(self) -> None:
        pass


class _FreedBeforeCopy(MambaManager):
    """The state that the next step copies from is released before the copy."""

    def remove_skipped_blocks(self, request_id: str, num_computed_tokens: int) -> None:
        super().remove_skipped_blocks(request_id, num_computed_tokens + 1)


class _SourceFreedAtOnce(MambaManager):
    """In mode align the state that a step started from is released although the next one still starts from it."""

    def remove_skipped_blocks(self, request_id: str, num_computed_tokens: int) -> None:
        super().remove_skipped_blocks(request_id, num_computed_tokens)
        place, table = self.last_state_block_idx.get(request_id), self.req_to_blocks.get(request_id)
        if place is not None and table is not None and not table[place].is_null:
            self.block_pool.free_blocks([table[place]])
            table.put_nulls(place - table.num_nulls, place - table.num_nulls + 1)


class _RejectedDraftsCount(MambaManager):
    """States are released as if all drafts of the last step had been accepted."""

    def remove_skipped_blocks(self, request_id: str, num_computed_tokens: int) -> None:
        super().remove_skipped_blocks(request_id, num_computed_tokens + self.num_speculative_blocks)


class _ReleaseLags(MambaManager):
    """States are kept as if all drafts of the last step had been rejected."""

    def remove_skipped_blocks(self, request_id: str, num_computed_tokens: int) -> None:
        super().remove_skipped_blocks(request_id, max(0, num_computed_tokens - self.block_size))


class _EstimateBelowZero(MambaManager):
    """The estimate is negative when a step needs fewer draft blocks than the last one."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._floors_estimate = False


class _ShrinkingRaises(MambaManager):
    """A step with fewer drafts than the last one ends in a failed assertion."""

    def _answer_shrinking(self, request_id: str, num_required_blocks: int, num_held_blocks: int) -> list[KVCacheBlock]:
        raise RejectedAssertion("requirement_shrinks", f"{num_required_blocks} blocks", f"{num_held_blocks} or more", "plan as many")


class _MarkMissing(MambaManager):
    """A request that runs is treated as new again: it is not marked as having its state and draft blocks."""

    def allocate_new_blocks(self, request_id: str, num_tokens: int, num_tokens_main_model: int) -> list[KVCacheBlock]:
        blocks = super().allocate_new_blocks(request_id, num_tokens, num_tokens_main_model)
        self._allocated_block_reqs.discard(request_id)
        return blocks


class _SpeculativeForgotten(MambaManager):
    """No blocks are taken for the states after draft tokens."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.num_speculative_blocks = 0


class _DraftsReversed(MambaManager):
    """In mode align the draft blocks are moved in reverse order."""

    def _take_out(self, request_id: str, place: int, num_blocks: int) -> list[KVCacheBlock]:
        return super()._take_out(request_id, place, num_blocks)[::-1]


_STATES = ("mamba-all", "mamba-align")
_RELEASE = ("MAMBA.RELEASE-SKIPPED", "TABLE.RELEASE-SKIPPED")
_READ = ("CONTENTS.READ.PRESENT", "CONTENTS.READ.FREED")

DEFECTS = (
    in_manager("same-step-guard-missing", _GuardMissing, _STATES, ("MAMBA.ESTIMATE", "MAMBA.HIT.COMPUTED"), "K36"),
    in_manager("same-step-guard-stays", _GuardStays, _STATES, ("LIVE.REFUSAL", "MAMBA.ESTIMATE"), "K66"),
    in_manager("state-freed-before-copy", _FreedBeforeCopy, _STATES, (*_READ, *_RELEASE)),
    in_manager("source-state-freed-at-once", _SourceFreedAtOnce, ("mamba-align",), (*_READ, *_RELEASE)),
    in_manager("rejected-drafts-released", _RejectedDraftsCount, ("mamba-align",), (*_READ, *_RELEASE), "K55"),
    in_manager("state-release-lags", _ReleaseLags, _STATES, ("LIVE.RELEASED", *_RELEASE), "K56"),
    in_manager("estimate-below-zero", _EstimateBelowZero, ("mamba-align",), ("BOOKS.ESTIMATE.FLOOR",), "K07"),
    in_manager("shrinking-drafts-raise", _ShrinkingRaises, ("mamba-align",), ("BOOKS.ACCEPTED",), "K57"),
    in_manager("running-mark-missing", _MarkMissing, ("mamba-align",), ("BOOKS.ESTIMATE", "MAMBA.ESTIMATE"), "K64"),
    in_manager("speculative-blocks-forgotten", _SpeculativeForgotten, ("mamba-none", "mamba-all"), ("MAMBA.ESTIMATE", "MAMBA.GROW"), "K77"),
    in_manager("draft-blocks-reversed", _DraftsReversed, ("mamba-align",), ("MAMBA.GROW",), "K60"),
)
"""The defects of this file, in the order of reports."""
