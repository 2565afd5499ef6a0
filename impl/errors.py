"""Why a call is rejected: a closed list of reasons, and exceptions that are also what the seed raises there.

Every rejected call leaves the state as it was.
"""

from typing import Literal, get_args

Reason = Literal[
    "pool_exhausted",
    "block_not_referenced",
    "block_already_free",
    "negative_count",
    "unknown_request",
    "request_has_blocks",
    "hits_for_running_request",
    "hits_without_caching",
    "not_enough_keys",
    "publish_unallocated",
    "block_already_keyed",
    "requirement_shrinks",
    "draft_drop_alignment",
    "draft_drop_unsupported",
    "context_parallel_unsupported",
    "alignment_unsupported",
    "wrong_spec",
    "caching_unsupported",
    "invalid_configuration",
]

REASONS: tuple[Reason, ...] = get_args(Reason)
"""The closed list, in the order in which every port shares it."""


class Rejected(Exception):
    """A call that its callee refuses, with nothing changed.

    Attributes:
        reason: One of `REASONS`.
        got: What was given.
        allowed: What would have been accepted.
        remedy: What to do.
    """

    def __init__(self, reason: Reason, got: str, allowed: str, remedy: str) -> None:
        """Keep the four parts; the text is put together when it is asked for."""
        super().__init__(reason, got, allowed, remedy)
        self.reason: Reason = reason
        self.got = got
        self.allowed = allowed
        self.remedy = remedy

    def __str__(self) -> str:
        """One line for the person who will fix it."""
        return f"{self.reason}: got {self.got}; allowed is {self.allowed}; {self.remedy}"


class RejectedAssertion(Rejected, AssertionError):
    """Rejected where the seed fails an assertion."""


class RejectedValue(Rejected, ValueError):
    """Rejected where the seed raises ValueError, or goes on with a damaged state."""


class RejectedIndex(Rejected, IndexError):
    """Rejected where the seed runs past the end of the hash list."""


class RejectedKey(Rejected, KeyError):
    """Rejected where the seed looks up an entry that is not there."""

    __str__ = Rejected.__str__


class RejectedNotImplemented(Rejected, NotImplementedError):
    """Rejected because nothing here does it."""


class CorruptState(AssertionError):
    """A representation check failed: the text names the invariant that does not hold."""
