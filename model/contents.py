"""What the worker reads and writes when a planned step executes: the ghost behind the contents oracle.

A step of a request computes tokens ``[n, n + k)``, the last ``d`` of them drafts, of which ``a`` turn out right; ``b`` is the block.
The worker appends to its own table and never sees what the manager nulls.
Inside a step: external loads, Mamba reads and copies, all writes, attention reads, sampling with Mamba's copies after it.
"""

from typing import Any

from kvwitness.model.clauses import clause
from kvwitness.model.kinds import Kind
from kvwitness.model.need import first_needed
from kvwitness.model.numbers import ceil_div, floor_div, maximum

Tag = tuple[int, int]
"""What a full block or a state is known to be: its group and the prefix it belongs to."""


def first_read_block(kind: Kind, n: Any, b: Any) -> Any:
    """The index of the first block that a step starting at token ``n`` reads (attention)."""
    return floor_div(maximum(0, first_needed(kind, n)), b)


def running_state(n: Any, k: Any, b: Any) -> Any:
    """The index of the block that holds the state while the step runs: that of its last token."""
    return ceil_div(n + k, b) - 1


def source_state(kind: Kind, n: Any, b: Any, remembered: int | None, accepted: int) -> Any:
    """The index that the state after ``n`` tokens is read from.

    Mode none counts accepted drafts from the front; mode align remembers where the last step ran.
    """
    if kind.mode == "none":
        return accepted
    if kind.mode == "all" or remembered is None:
        return floor_div(n - 1, b)
    return remembered + accepted


def state_writes(kind: Kind, n: int, k: int, d: int, b: int) -> list[tuple[int, int]]:
    """Each state that the step writes, as (index, number of tokens it stands after)."""
    if kind.mode == "none":
        return [(draft, n + k - d + draft) for draft in range(d + 1)]
    if kind.mode == "align":
        return [(running_state(n, k, b) + draft, n + k - d + draft) for draft in range(d + 1)]
    boundaries = [(end // b - 1, end) for end in range((n // b + 1) * b, n + k, b)]
    return [*boundaries, (running_state(n, k, b), n + k)]


def state_kept(n: int, k: int, d: int, a: int, b: int) -> tuple[int, int] | None:
    """Mode align, after sampling: the last whole block among the accepted tokens gets its state, as (source, destination) index."""
    verified, after = n + k - d, n + k - d + a
    whole = after // b * b
    if whole < verified:
        return None
    source, destination = running_state(n, k, b) + whole - verified, whole // b - 1
    return None if source == destination else (source, destination)


@clause("CONTENTS.READ.PRESENT", level="L0")
def is_present(block: int | None) -> bool:
    """Every place that a computed token reads is a real block of the worker's table, not null and not beyond its end."""
    return block is not None and block != 0


@clause("CONTENTS.READ.OWN", level="L0")
def is_own(found: Any, expected: Any) -> bool:
    """When a token is computed, every place it reads holds exactly what its own prefix put there."""
    return bool(found == expected)


@clause("CONTENTS.READ.FREED", level="L0")
def is_held_or_intact(held: bool, intact: bool) -> bool:
    """No token reads a block that its request no longer holds and whose contents were overwritten: use after free."""
    return held or intact


@clause("CONTENTS.READ.LATENT", level="L0")
def is_still_held(held: bool) -> bool:
    """Every block that a computed token reads is still held by its request, even while the old contents are intact."""
    return held


@clause("MAMBA.HIT.COMPUTED", level="L0", source="MambaManager.find_longest_cache_hit, MambaManager.get_num_blocks_to_allocate")
def was_computed_before(block: int, written_this_step: frozenset[int]) -> bool:
    """The state that a request starts from was computed in an earlier step than its own."""
    return block not in written_this_step


@clause("CONTENTS.WRITE.PRESENT", level="L0")
def is_writable(block: int | None, held: int | None) -> bool:
    """Every computed token has a real block in the worker's table, the one its request holds at that place."""
    return block is not None and block != 0 and block == held


@clause("CONTENTS.WRITE.ALONE", level="L0")
def is_written_alone(references: int, keyed: bool) -> bool:
    """A block that is written has one holder, unless it carries a key that says what it must contain."""
    return references == 1 or keyed


@clause("CONTENTS.CACHED", level="L0", source="cache_blocks, BlockPool.cache_full_blocks")
def holds_what_key_claims(key: Tag | None, contents: Tag | None) -> bool:
    """After a step, every block that carried a key when the step was planned holds exactly the prefix that the key claims."""
    return key is None or key == contents
