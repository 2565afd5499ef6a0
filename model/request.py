"""What the caller remembers of a request, and of the steps that were planned and not yet executed."""

from collections.abc import Sequence
from typing import Any, Literal

from attrs import frozen

from kvwitness.model.calls import Blocks, Key

Status = Literal["running", "loading", "loaded", "preempted"]


@frozen(slots=False)
class Request:
    """One request as its planner sees it.

    Attributes:
        id: Its name.
        chain: One key per verified token, each standing for the whole prefix that ends with the token.
        keys: The keys of the full blocks: every ``block``-th of the chain.
        status: Running, waiting for an external load, loaded and waiting to be planned, or preempted.
        computed: Tokens that are computed or planned, unverified drafts included (the optimistic length).
        placeholders: Outputs that steps in flight will bring, drafts included.
        prefill: Tokens it was admitted with; up to there it computes what is known.
        accepted: Drafts that its last judged step had accepted.
        outputs: Tokens it has sampled so far.
        encoder: Encoder tokens (cross attention).
    """

    id: str
    chain: Sequence[Key]
    keys: tuple[Key, ...]
    status: Status
    computed: int
    placeholders: int
    prefill: int
    accepted: int
    outputs: int
    encoder: int

    @property
    def num_tokens(self) -> int:
        """Verified tokens."""
        return len(self.chain)


@frozen(slots=False)
class Planned:
    """What one request computes in one step: tokens ``[computed, computed + new)``, the last ``drafts`` of them drafts.

    Attributes:
        request: Its id.
        computed: The planner's count when it planned, hits and external tokens included.
        new: Tokens to compute, drafts included.
        drafts: How many of them are drafts.
        samples: Whether the step yields output: it computes the last known token.
        admitted: Whether the step admits (or readmits) the request, so that the worker learns its whole table.
        external: The range of tokens that is loaded from outside when the step executes.
        appended: Per group, what was appended to the table.
        encoder: Encoder tokens written in this step.
    """

    request: str
    computed: int
    new: int
    drafts: int
    samples: bool
    admitted: bool
    external: tuple[int, int]
    appended: tuple[Blocks, ...]
    encoder: int


Step = tuple[Planned, ...]


def extended(chain: Any, outputs: Sequence[Key]) -> Sequence[Key]:
    """The chain with outputs behind it: a tuple, or another sequence that offers ``+`` without copying what it holds."""
    longer: Sequence[Key] = chain + tuple(outputs)
    return longer


def keys_of(chain: Sequence[Key], block: int) -> tuple[Key, ...]:
    """The key of each full block: that of its last token."""
    return tuple(chain[block - 1 :: block])


def in_flight_of(request: str, steps: tuple[Step, ...]) -> list[Planned]:
    """What steps not yet executed compute for the request, oldest first."""
    return [planned for step in steps for planned in step if planned.request == request]


def settled_tokens(request: Request, steps: tuple[Step, ...]) -> int:
    """The settled length: what is computed for certain once steps in flight are left out."""
    return request.computed - sum(planned.new for planned in in_flight_of(request.id, steps))
