"""Mixed groups: one hit that every group accepts, the draft drop once a group, hits that are kept, and estimates that add up.

Groups are numbered from 0 to before ``groups``, any number of them; what a group accepts is left open here, and is proved of each kind
in its own file.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from attrs import evolve

from kvwitness.model import hits, hybrid, need
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.numbers import floor_div, minimum
from kvwitness.model.profile import SOUND, Profile
from kvwitness.proofs import lemmas
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, Values, numbers
from kvwitness.proofs.logic import both, chosen, either, implies, negated, updated, within
from kvwitness.proofs.theorem import Scenario, Statement, Wrong, theorem
from kvwitness.proofs.theorems.need import FULL, MAMBA, sliding
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK
from kvwitness.properties.operations import Execute, Free, Start

ALIGNED = "the alignment is 1 token or more"


def _one_unit(place: Any) -> Any:
    return place - 1


def _two_units(place: Any) -> Any:
    return place - 2


@theorem(
    "common-hit-is-longest",
    clauses="HYBRID.HIT, HYBRID.HIT.LONGEST, HYBRID.HIT.SOUND, LIVE.HIT.COVERED, LIVE.HIT.FOUND, LIVE.HIT.CAP",
    witness={
        "most": 7,
        "place": 2,
        "other": 1,
        "group": 1,
        "any_group": 0,
        "groups": 2,
        "alignment": 2,
        "accepts": frozenset({(0, 2), (1, 2), (0, 1), (1, 1), (0, 3)}),
        "refuser": {3: 1},
    },
    sizes=("alignment",),
    reach=4,
    wrong=[
        Wrong("it steps over a length", {"step": _two_units}),
        Wrong("one group's word is enough", {"stops": lambda all_accept, one_accepts: one_accepts}),
    ],
)
def common_hit_is_longest(
    domain: Domain, step: Callable[[Any], Any] = _one_unit, stops: Callable[[Any, Any], Any] = lambda all_accept, one_accepts: all_accept
) -> Statement:
    """The search for a common hit, down from the cap by the alignment until every group accepts, ends at an aligned length within the
    cap that each group accepts, and no longer aligned length within the cap is accepted by all.
    """
    most, place, other, group, anyone, groups = numbers(domain, "most place other group any_group groups")
    alignment = domain.size("alignment")
    accepts, refuser = domain.predicate("accepts", 2), domain.function("refuser")

    def ruled_out(length: Any, above: Any, by: Callable[[Any], Any]) -> Any:
        """A length that is longer, and within the cap, has a group that refuses it."""
        refused = both(within(0, by(length), groups), negated(accepts(by(length), length)))
        return implies(both(above < length, length * alignment <= most), refused)

    def all_accept(length: Any) -> Any:
        return domain.every(lambda one: implies(within(0, one, groups), accepts(one, length)), lambda one: accepts(one, length))

    hypotheses = {
        ALIGNED: alignment >= 1,
        "so far longer lengths are ruled out": ruled_out(other, place, refuser),
        "the group is one of them": within(0, group, groups),
    }
    stopped, begun = stops(all_accept(place), accepts(group, place)), floor_div(most, alignment)
    refuses = negated(accepts(group, place))
    goals = {
        "at the cap nothing is ruled out": implies(other * alignment <= most, other <= begun),
        "a length that a group refuses is ruled out": implies(refuses, ruled_out(other, step(place), updated(refuser, place, group))),
        "where it stops every group accepts": implies(both(stopped, within(0, anyone, groups)), accepts(anyone, place)),
        "and no longer length is accepted by all": implies(both(stopped, other * alignment <= most, all_accept(other)), other <= place),
    }
    return Statement(hypotheses, goals)


ASKS_FOR_ONE = evolve(SOUND, sliding_window_one="needs_a_block")


def _layout(kind: Kind, profile: Profile, block: Any, length: Any) -> tuple[Any, Any]:
    """How many null blocks and how many cached ones a group's part of a hit has."""
    parts: tuple[Any, Any] = merged(lambda unit, tokens: hits.hit_table(kind, profile, unit, tokens), block, length)
    return parts


@theorem(
    "one-length-covers-every-group",
    clauses="HYBRID.HIT.SOUND, HYBRID.HIT, LIVE.HIT.COVERED",
    witness={"count": 3, "pieces": 2, "window": 3, "block": 2, "rest": 0},
    sizes=("block", "pieces"),
    wrong=[Wrong("a length that is no multiple of a group's block is returned", {"aligned": False})],
)
def one_length_covers_every_group(domain: Domain, aligned: bool = True) -> Statement:
    """A length that is a multiple of the alignment, and so of each group's block, is what each group's part of the hit stands for."""
    count, window, rest = numbers(domain, "count window rest")
    block, pieces = domain.size("block"), domain.size("pieces")
    length = count * (pieces * block) + rest
    kinds = {"full": FULL, "sliding": sliding(window), "mamba": MAMBA}
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "the alignment is 1 block or more": pieces >= 1,
        "the length is a multiple of the alignment": either(rest == 0, not aligned),
    }
    goals: dict[str, Any] = {}
    for name, kind in kinds.items():
        nulls, cached = _layout(kind, SOUND, block, length)
        goals[f"{name}: it covers the length"] = (nulls + cached) * block == length
        goals[f"{name}: null exactly where skipped"] = nulls == need.num_skipped_blocks(kind, length, block)
    nulls, cached = _layout(kinds["sliding"], ASKS_FOR_ONE, block, length)
    skipped, end = need.needed_blocks(kinds["sliding"], length, block)
    one_is_asked = both(cached >= 1, nulls == minimum(skipped, end - 1))
    goals["sliding, where a block is asked for all the same"] = implies(length >= block, one_is_asked)
    return Statement(hypotheses, goals, [lemmas.multiple_of_multiple(count, pieces, block)])


def _leaves_a_block(length: Any, run: Any, block: Any) -> Any:
    """Whether a full-attention group has a block behind the length, where so many leading blocks are cached."""

    def judged(tokens: Any, cached: Any, unit: Any) -> Any:
        part = hybrid.Part(FULL, unit, lambda index: index < cached)
        return hybrid.leaves_a_block(part, tokens, draft_model=True)

    return merged(judged, length, run, block)


@theorem(
    "the-drop-counts-once-a-group",
    clauses="HYBRID.HIT.DROP-ONCE, HYBRID.HIT.LONGEST",
    witness={"run": 4, "most": 5, "shorter": 2, "other": 1, "block": 2},
    sizes=("block",),
    wrong=[Wrong("each pass drops a block", {"again": 1})],
)
def the_drop_counts_once_a_group(domain: Domain, again: int = 0) -> Statement:
    """A group that gave a block up once accepts its length, and every shorter one that other groups bring it down to, with no block
    given up again; and no longer length leaves a block.
    """
    run, most, shorter, other = numbers(domain, "run most shorter other")
    block = domain.size("block")

    def found(cap: Any, drop: int) -> Any:
        return minimum(run, cap) - drop

    first = found(most, 1)
    reached = both(1 <= shorter, shorter <= first)
    goals = {
        "asked again it keeps the length": implies(reached, found(shorter, again) == shorter),
        "where none is left, that is told": implies(
            both(1 <= shorter, run <= shorter), negated(_leaves_a_block(shorter * block, run, block))
        ),
        "a block is left behind it": implies(reached, both(_leaves_a_block(shorter * block, run, block), shorter + 1 <= most)),
        "no longer length leaves one": implies(both(other < run, other + 1 <= most), other <= first),
    }
    return Statement({POSITIVE_BLOCK: block >= 1}, goals)


def _one_phase(profile: Profile) -> bool:
    return profile.adoption == "one_phase"


def _loaded_over_a_hit(_values: Values) -> Scenario:
    """The first group loads external tokens into the free block that is the second group's hit."""
    config = Config(blocks=7, block_size=1, groups=(Kind("full"), Kind("sliding", window=5)))
    leaves = (Execute(), Free("A"), Free("C"))
    return Scenario(config, (Start("A", (0,)), Start("C", (1, 1)), *leaves, Start("B", (0, 2, 2), external=2)), "HYBRID.ADOPT.KEPT")


@theorem(
    "every-hit-is-held-before-a-block-is-taken",
    clauses="HYBRID.ADOPT.KEPT, TABLE.EXTERNAL, BOOKS.ESTIMATE",
    witness={
        "taker": 0,
        "group": 1,
        "groups": 2,
        "block": 4,
        "hit": {0: 1, 1: 2},
        "free": frozenset({3, 4}),
        "adopted": frozenset({0, 1}),
    },
    reach=4,
    wrong=[Wrong("each group adopts and takes before the next adopts", {"phases": 1}, _one_phase, _loaded_over_a_hit)],
)
def every_hit_is_held_before_a_block_is_taken(domain: Domain, phases: int = 2) -> Statement:
    """If all groups adopt their hits before any takes a block, no block that a group takes is another's hit, and hits stay held."""
    taker, group, groups, block = numbers(domain, "taker group groups block")
    hit, free, adopted = domain.function("hit"), domain.predicate("free"), domain.predicate("adopted")
    end = groups if phases == 2 else taker + 1  # noqa: PLR2004 - as the name says
    hypotheses = {
        "an adopted hit is not free": domain.every(lambda one: implies(adopted(one), negated(free(hit(one)))), lambda one: adopted(one)),
        "who takes comes after all that adopt": domain.every(
            lambda one: implies(within(0, one, end), adopted(one)), lambda one: adopted(one), lambda one: hit(one)
        ),
        "the block that is taken is free": free(block),
        "both groups are among them": both(within(0, taker, groups), within(0, group, groups)),
    }
    goals = {
        "it is nobody's hit": hit(group) != block,
        "the hit is held still": negated(both(free(hit(group)), hit(group) != block)),
    }
    return Statement(hypotheses, goals)


@theorem(
    "the-estimate-adds-up-over-groups",
    clauses="HYBRID.ESTIMATE, BOOKS.ESTIMATE, LIVE.REFUSAL",
    witness={"told": 3, "lost": 3, "estimate": 2, "taken": 2, "free": 5, "blocks": 6, "more": 0},
    wrong=[
        Wrong("a group that puts its hit off adds no more than the pool has", {"beyond": 0}),
        Wrong("the last group is left out", {"counts": 0}),
    ],
)
def the_estimate_adds_up_over_groups(domain: Domain, beyond: int = 1, counts: int = 1) -> Statement:
    """If each group takes what is estimated for it, all together take the sum; if one puts its hit off, the sum is more than is free."""
    told, lost, estimate, taken, free, blocks, more = numbers(domain, "told lost estimate taken free blocks more")
    hypotheses = {
        "so far as many were taken": told == lost,
        "the next group takes its estimate": estimate == taken,
        "estimates are 0 or more": both(told >= 0, more >= 0),
        "no more is free than the pool has": free <= blocks,
    }
    goals = {
        "as many with one group more": told + estimate * counts == lost + taken,
        "a hit put off is refused": told + (blocks + beyond) + more > free,
    }
    return Statement(hypotheses, goals)


def _published(rule: str, tokens: Any, alignment: Any, block: Any, *, mixed: bool = True, drafts: bool = True) -> Any:
    """How far groups publish, by the model's own function."""

    def run(count: Any, unit: Any, size: Any) -> Any:
        config: Any = SimpleNamespace(is_hybrid=mixed, hit_alignment=unit, draft_model=drafts)
        rules: Any = SimpleNamespace(hybrid_publish=rule)
        return hybrid.publishable(config, rules, size, count)

    return merged(run, tokens, alignment, block)


def _aligned_up(rule: str, tokens: Any, alignment: Any, block: Any, **facts: bool) -> Any:
    return _published(rule, tokens + alignment, alignment, block, **facts)


@theorem(
    "mixed-groups-publish-what-a-hit-can-have",
    clauses="HYBRID.PUBLISH, LIVE.PUBLISHED, CONTENTS.CACHED",
    witness={"tokens": 5, "count": 1, "block": 2, "alignment": 4},
    sizes=("block", "alignment"),
    wrong=[Wrong("lengths are rounded up", {"rule": _aligned_up})],
)
def mixed_groups_publish_what_a_hit_can_have(domain: Domain, rule: Any = _published) -> Statement:
    """Whatever the profile's rule, mixed groups publish nothing that is not computed, and all of every aligned length that is, and no
    more of it than the rule says; the rule for draft models the block behind that length too, as far as it is computed.
    """
    tokens, count = numbers(domain, "tokens count")
    block, alignment = domain.size("block"), domain.size("alignment")
    longest, aligned = count * alignment, rule("aligned", tokens, alignment, block)
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "it is the longest aligned length that is computed": both(count >= 0, longest <= tokens, tokens < longest + alignment),
    }
    behind = chosen(count > 0, minimum(tokens, longest + block), 0)
    goals = {
        "all": rule("all", tokens, alignment, block) == tokens,
        "groups that are alike: all": rule("aligned", tokens, alignment, block, mixed=False) == tokens,
        "aligned: the longest aligned length": aligned == longest,
        "aligned with draft: a block behind it": rule("aligned_with_draft", tokens, alignment, block) == behind,
        "the same without a draft model": rule("aligned_with_draft", tokens, alignment, block, drafts=False) == aligned,
        "no more than is computed": both(aligned <= tokens, behind <= tokens, longest <= behind),
    }
    return Statement(hypotheses, goals)
