"""Claims about small rules on Python's own integers, for a checker that runs them on symbolic ones.

Each is a function that begins by asserting what it assumes; every other assertion is claimed. They are no part of a verdict: the
theorems say more, over the solver's integers, and these are looked at by another tool, as Python runs them.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kvwitness.model import contents, hits, legal, need, table
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, floor_div, maximum, minimum, round_down

CLAIMS: list[Callable[..., None]] = []


def claim(states: Callable[..., None]) -> Callable[..., None]:
    """Register a claim; its docstring is the sentence."""
    CLAIMS.append(states)
    return states


@claim
def pieces_hold_all_tokens(tokens: int, block: int) -> None:
    """So many blocks hold all tokens, and one fewer do not."""
    assert block >= 1
    pieces = ceil_div(tokens, block)
    assert (pieces - 1) * block < tokens <= pieces * block


@claim
def rounding_down_stays_within_a_unit(tokens: int, unit: int) -> None:
    """Rounding down gives the multiple that is less than a unit away."""
    assert unit >= 1
    rounded = round_down(tokens, unit)
    assert floor_div(rounded, unit) * unit == rounded
    assert 0 <= tokens - rounded < unit


@claim
def one_of_two_is_larger(left: int, right: int) -> None:
    """The larger and the smaller of two numbers are these two."""
    assert left != right
    low, high = minimum(left, right), maximum(left, right)
    assert low < high
    assert low + high == left + right


@claim
def a_window_skips_what_it_does_not_read(window: int, computed: int, token: int) -> None:
    """A sliding window skips a token exactly if the next one does not read it."""
    assert window >= 1
    assert 0 <= token < computed
    kind = Kind("sliding", window=window)
    assert need.is_skipped(kind, token, computed) != need.reads(kind, computed, token)


@claim
def a_state_but_the_last_is_skipped(computed: int, token: int) -> None:
    """Mamba skips every state but the one after the last computed token."""
    assert 0 <= token < computed
    kind = Kind("mamba", mode="align")
    assert need.is_skipped(kind, token, computed) != need.reads(kind, computed, token)


@claim
def a_null_prefix_ends_before_what_is_needed(window: int, computed: int, block: int) -> None:
    """No null block of a sliding window holds a token that is still needed, and the next block does."""
    assert window >= 1
    assert computed >= 0
    assert block >= 1
    kind = Kind("sliding", window=window)
    nulls, first = need.num_skipped_blocks(kind, computed, block), need.first_needed(kind, computed)
    assert nulls * block <= first < (nulls + 1) * block


@claim
def growth_gives_every_token_a_slot(tokens: int, block: int, held: int) -> None:
    """After growth all tokens have slots, and no block is taken that none needs."""
    assert block >= 1
    assert held >= 0
    fresh = table.num_new_blocks(tokens, block, 0, held)
    assert fresh >= 0
    assert tokens <= (held + fresh) * block
    assert fresh == 0 or (held + fresh - 1) * block < tokens


@claim
def a_state_is_copied_to_a_block_before_its_own(computed: int, drafts: int, accepted: int, block: int) -> None:
    """A state that is copied after sampling goes to an earlier place, from one that the step wrote."""
    assert computed >= 0
    assert block >= 1
    assert 0 <= accepted <= drafts
    kept = contents.state_kept(computed, drafts + 1, drafts, accepted, block)
    running = contents.running_state(computed, drafts + 1, block)
    assert kept is None or kept[1] < kept[0] <= running + accepted


@claim
def a_kept_tail_lies_in_its_hit(window: int, place: int, block: int, alignment: int) -> None:
    """A block that is kept for a hit is one of those that the shortest aligned hit behind it needs."""
    assert window >= 1
    assert place >= 0
    assert block >= 1
    assert alignment >= 1
    kind = Kind("sliding", window=window)
    length = ceil_div((place + 1) * block, alignment) * alignment
    first, _ = need.needed_blocks(kind, length, block)
    assert hits.serves_a_hit(kind, place, block, alignment=alignment, draft_drop=False) == (first <= place)


@claim
def an_aligned_chunk_ends_well(computed: int, prefill: int, new: int, block: int) -> None:
    """What mode align lets through is no more than was asked, and ends on a block's edge or in the prompt's last block."""
    assert 0 <= computed < prefill
    assert 1 <= new <= prefill - computed
    assert block >= 1
    request: Any = SimpleNamespace(outputs=0, computed=computed, prefill=prefill)
    rules: Any = SimpleNamespace(resumed_split="as_new", tail_chunks="end_at_blocks")
    kept = legal.let_through((block,), rules, request, new, draft_model=False)
    after = computed + kept
    assert 0 <= kept <= new
    assert kept == 0 or after % block == 0 or after > floor_div(prefill, block) * block


__all__ = ["CLAIMS", "claim"]
