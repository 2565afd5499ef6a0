"""Mixed groups: one hit for all of them, and what of it is published.

Keys come at one granularity; a group with larger blocks takes the key of each block's last token.

    full, block 2      [ 1  2  3 |·]
    sliding, block 4   [ ∅    7  |·]      the hit is 8 tokens where every group accepts 8, and no longer length
"""

from collections.abc import Callable, Sequence

from attrs import frozen

from kvwitness.model.calls import Key
from kvwitness.model.clauses import clause
from kvwitness.model.hits import IsCached, usable
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.numbers import round_down
from kvwitness.model.profile import Profile


@frozen
class Part:
    """One group as a common look-up sees it.

    Attributes:
        kind: The kind of its manager.
        block: Tokens a block.
        is_cached: Whether the block with this index in the request's prefix is cached.
    """

    kind: Kind
    block: int
    is_cached: IsCached


def keys_of_group(keys: Sequence[Key], block: int, tokens_per_key: int) -> Sequence[Key]:
    """The keys of a group's blocks: those of the last token of each."""
    merged = block // tokens_per_key
    return keys if merged == 1 else keys[merged - 1 :: merged]


def drops(kind: Kind, draft_model: bool) -> bool:
    """Whether the group's hits leave a matched block to a draft model; no draft model has Mamba layers."""
    return draft_model and kind.kind != "mamba"


def accepts(part: Part, profile: Profile, length: int, *, max_length: int, draft_model: bool) -> bool:
    """Whether one group by itself accepts a length: all that the next token reads is cached, and a block behind it for a draft model."""
    dropped = drops(part.kind, draft_model)
    if length == 0:
        return True
    if length + dropped * part.block > max_length:
        return False
    return usable(part.kind, profile, part.block, length, draft_drop=dropped, is_cached=part.is_cached)


def longest_common(parts: Sequence[Part], profile: Profile, *, max_length: int, alignment: int, draft_model: bool) -> int:
    """The longest aligned length within the cap that every group accepts, in tokens; 0 where nothing else is."""
    for length in range(round_down(max_length, alignment), 0, -alignment):
        if all(accepts(part, profile, length, max_length=max_length, draft_model=draft_model) for part in parts):
            return length
    return 0


@clause("HYBRID.HIT.LONGEST", level="L1", source="find_longest_cache_hit")
def is_longest(found_tokens: int, common_tokens: int) -> bool:
    """The hit of mixed groups is no shorter than the longest length that every group accepts."""
    return found_tokens >= common_tokens


@clause("HYBRID.HIT.SOUND", level="L0", source="find_longest_cache_hit")
def is_one_length(lengths: tuple[int, ...]) -> bool:
    """The hit of mixed groups has one length, in tokens, and every group covers it."""
    return len(set(lengths)) <= 1


@clause("HYBRID.HIT.DROP-ONCE", level="L1", source="find_longest_cache_hit")
def leaves_a_block(part: Part, length: int, draft_model: bool) -> bool:
    """Under a draft model every group that attends has one matched block behind the common hit, which it gives up once."""
    return length == 0 or not drops(part.kind, draft_model) or part.is_cached(length // part.block)


@clause("HYBRID.ADOPT.KEPT", level="L0", source="allocate_new_computed_blocks")
def holds_in_one_group(groups: tuple[int, ...]) -> bool:
    """Every group keeps its own blocks while the others adopt and grow: no block is in the tables of two groups."""
    return len(groups) <= 1


@clause("HYBRID.PUBLISH", level="L2", source="cache_blocks")
def publishable(config: Config, profile: Profile, block: int, num_tokens: int) -> int:
    """Mixed groups publish what is computed, in some profiles only up to the last length that a hit can have, or a draft
    model's block further.
    """
    if profile.hybrid_publish == "all" or not config.is_hybrid:
        return num_tokens
    aligned: int = round_down(num_tokens, config.hit_alignment)
    if profile.hybrid_publish == "aligned_with_draft" and config.draft_model and aligned:
        return min(num_tokens, aligned + block)
    return aligned


KINDS_OF_ONE_PASS = 2
"""Full attention and one other kind: releases take what the first pass comes to."""

Found = tuple[int, int]
"""A group's part of a hit: so many null blocks, then so many cached ones."""

AskOne = Callable[[int, bool], Found]
"""Looks one kind up within a cap in tokens, with a draft model's block dropped or not."""


@frozen
class Passing:
    """One kind with all its groups, as releases look them up.

    Attributes:
        block: Tokens a block.
        is_full: Whether it is full attention: looked up once, and cut to shorter lengths after that.
        drops: Whether a draft model's block is dropped from what it finds.
        is_mamba: Whether it is Mamba, whose look-up never drops a block.
        ask: Its look-up.
    """

    block: int
    is_full: bool
    drops: bool
    is_mamba: bool
    ask: AskOne


def found_in_passes(kinds: Sequence[Passing], profile: Profile, *, max_length: int, hashed_tokens: int) -> list[Found]:
    """What releases find: full attention first, each kind shortening the length, pass after pass until none does.

    Full attention and one other kind make a single pass.
    """
    found: dict[int, Found] = {}
    dropped: set[int] = set()
    length = max_length
    while True:
        current = _pass(kinds, profile, found, dropped, length=length, max_length=max_length, hashed_tokens=hashed_tokens)
        if current >= length:
            break
        length = current
        if len(kinds) == KINDS_OF_ONE_PASS and kinds[0].is_full:
            break
    return [_trimmed(kinds, profile, number, found[number], length) for number in range(len(kinds))]


def _pass(
    kinds: Sequence[Passing],
    profile: Profile,
    found: dict[int, Found],
    dropped: set[int],
    *,
    length: int,
    max_length: int,
    hashed_tokens: int,
) -> int:
    """Ask every kind once; ``dropped`` are those whose drop counts for the length as it is."""
    rule = profile.hybrid_hit
    for number, kind in enumerate(kinds):
        if kind.is_full and number in found:
            reached = sum(found[number]) * kind.block
            length = round_down(length, kind.block) if rule in ("drop_every_pass", "drop_once") else min(length, reached)
            continue
        drops_now = kind.drops and number not in dropped
        cap = _cap(kind, rule, length, max_length, hashed_tokens) if drops_now else length
        found[number] = kind.ask(cap, drops_now)
        reached = sum(found[number]) * kind.block
        if rule != "drop_every_pass":
            if drops_now:
                dropped.add(number)
            elif reached < length:
                dropped.clear()
        length = reached
    return length


def _cap(kind: Passing, rule: str, length: int, max_length: int, hashed_tokens: int) -> int:
    """How far a look-up that will drop a block may match, so that it comes back to the length it was asked for."""
    if rule == "drop_every_pass" or (kind.is_mamba and rule != "drop_once"):
        return length
    return min(length + kind.block, hashed_tokens if rule == "drop_once_past_cap" else max_length)


def _trimmed(kinds: Sequence[Passing], profile: Profile, number: int, found: Found, length: int) -> Found:
    """Full attention cut to the common length: the first such kind, or every one; others keep what they found last."""
    kind = kinds[number]
    if not kind.is_full or (number > 0 and profile.hybrid_trim == "first_full"):
        return found
    return found[0], min(found[1], length // kind.block)
