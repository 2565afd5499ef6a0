"""Defects of the step being planned: what a preempted request published in it, and how far that reaches back."""

from kvwitness.impl.manager import SingleTypeKVCacheManager
from kvwitness.properties.defects.defect import in_manager


class _WithdrawalForgotten(SingleTypeKVCacheManager):
    """A request that is preempted in the step that planned it leaves keys on blocks that nobody computes."""

    def withdraw_blocks(self, request_id: str) -> None:
        pass


class _StepNeverEnds(SingleTypeKVCacheManager):
    """What was published in earlier steps is withdrawn too when a request is preempted in its plan."""

    def new_step_starts(self) -> None:
        pass


_ATTENTION = ("full", "sliding", "chunked", "sink")

DEFECTS = (
    in_manager("withdrawal-forgotten", _WithdrawalForgotten, (*_ATTENTION, "mamba-align"), ("STEP.WITHDRAWN", "CONTENTS.CACHED"), "K37"),
    in_manager("withdrawal-goes-too-far", _StepNeverEnds, _ATTENTION, ("STEP.WITHDRAWN",)),
)
"""The defects of this file, in the order of reports."""
