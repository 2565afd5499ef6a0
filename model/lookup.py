"""The look-up of a pool whose groups are mixed: declaratively, or by the passes of a release."""

from collections.abc import Sequence
from functools import partial

from attrs import evolve

from kvwitness.model import hybrid
from kvwitness.model.calls import Blocks, Key
from kvwitness.model.clauses import clause
from kvwitness.model.hits import hit_table
from kvwitness.model.hybrid import Found, Part, Passing
from kvwitness.model.kinds import Config
from kvwitness.model.pool import NULL, Pool, Rejection, found
from kvwitness.model.rules import RULES
from kvwitness.model.table import Group

FULL = ("full", "sink")


def _part_of(group: Group, pool: Pool, keys: Sequence[Key]) -> Part:
    """One group with what of it is cached."""
    return Part(group.kind, group.block, lambda index: index < len(keys) and (group.number, keys[index]) in pool.index)


@clause("HYBRID.HIT", level="L2", source="find_longest_cache_hit")
def look_up(config: Config, groups: Sequence[Group], pool: Pool, keys: Sequence[Key], max_length: int) -> tuple[Blocks, ...]:
    """Mixed groups have one hit, as a table each: the longest length that every group accepts, or what a release's passes come to."""
    mine = [hybrid.keys_of_group(keys, group.block, config.tokens_per_block) for group in groups]
    parts = [_part_of(group, pool, own) for group, own in zip(groups, mine, strict=True)]
    if groups[0].profile.hybrid_hit == "longest":
        layout = _longest(config, groups, parts, mine, max_length)
    else:
        layout = _in_passes(config, groups, parts, mine, max_length, len(keys) * config.tokens_per_block)
    return tuple(
        (NULL,) * nulls + tuple(found(pool, group.number, key) or NULL for key in own[nulls : nulls + cached])
        for group, own, (nulls, cached) in zip(groups, mine, layout, strict=True)
    )


def _longest(config: Config, groups: Sequence[Group], parts: Sequence[Part], keys: Sequence[Sequence[Key]], max_length: int) -> list[Found]:
    """The declarative hit: every group's layout at the longest common length."""
    profile = groups[0].profile
    if any(group.kind.kind not in FULL and max_length // group.block > len(own) for group, own in zip(groups, keys, strict=True)):
        raise Rejection("not_enough_keys")
    length = hybrid.longest_common(parts, profile, max_length=max_length, alignment=config.hit_alignment, draft_model=config.draft_model)
    return [
        hit_table(group.kind, profile, group.block, length, draft_drop=hybrid.drops(group.kind, config.draft_model)) for group in groups
    ]


def _in_passes(
    config: Config, groups: Sequence[Group], parts: Sequence[Part], keys: Sequence[Sequence[Key]], max_length: int, hashed_tokens: int
) -> list[Found]:
    """A release's hit: groups of one kind and size are looked up together, full attention before the others."""
    alike: dict[tuple[object, int], list[int]] = {}
    for group in groups:
        alike.setdefault((evolve(group.kind, block_size=0), group.block), []).append(group.number)
    together = sorted(alike.values(), key=lambda numbers: groups[numbers[0]].kind.kind not in FULL)
    passing = [_passing(config, groups[numbers[0]], [parts[number] for number in numbers], keys[numbers[0]]) for numbers in together]
    found_by_kind = hybrid.found_in_passes(passing, groups[0].profile, max_length=max_length, hashed_tokens=hashed_tokens)
    by_group = {number: layout for numbers, layout in zip(together, found_by_kind, strict=True) for number in numbers}
    return [by_group[group.number] for group in groups]


def _passing(config: Config, group: Group, parts: Sequence[Part], keys: Sequence[Key]) -> Passing:
    """Groups of one kind and size as a release looks them up: a block counts as cached where all of them have it."""
    kind = group.kind.kind
    ask = partial(_ask, config, evolve(config, draft_model=False), group, parts, len(keys))
    return Passing(group.block, kind in FULL, config.draft_model, kind == "mamba", ask)


def _ask(config: Config, without_draft: Config, group: Group, parts: Sequence[Part], num_keys: int, cap: int, drops: bool) -> Found:
    layout: Found = RULES[group.kind.kind].look_up(
        group,
        config if drops else without_draft,
        num_keys=num_keys,
        max_length=cap,
        is_cached=lambda index: all(part.is_cached(index) for part in parts),
    )
    return layout
