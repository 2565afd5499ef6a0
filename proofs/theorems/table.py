"""Tables: the estimate is what is taken, growth gives every token a slot, publishing keys whole blocks only."""

from typing import Any

from kvwitness.model import books, hits, need
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, floor_div, maximum, minimum
from kvwitness.model.table import num_new_blocks
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, iff, implies, updated, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem
from kvwitness.proofs.theorems.need import sliding
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK

NATURAL = "counts are 0 or more"
HELD = "it holds 0 blocks or more"


def _rounded_down(tokens: Any, block: Any, skipped: Any, held: Any) -> Any:
    return maximum(floor_div(tokens, block) - maximum(skipped, held), 0)


def _added_up(tokens: Any, block: Any, skipped: Any, held: Any) -> Any:
    return maximum(ceil_div(tokens, block) - skipped - held, 0)


def _unfloored(tokens: Any, block: Any, skipped: Any, held: Any) -> Any:
    return ceil_div(tokens, block) - maximum(skipped, held)


def _one_more(tokens: Any, block: Any, skipped: Any, held: Any) -> Any:
    return num_new_blocks(tokens, block, skipped, held) + 1


@theorem(
    "new-request-estimate-is-taken",
    clauses="TABLE.ESTIMATE, BOOKS.ESTIMATE, TABLE.ADOPT, TABLE.EXTERNAL",
    witness={"slots": 7, "skipped": 1, "hits": 2, "total": 5, "external": 1, "block": 2},
    sizes=("block",),
    wrong=[
        Wrong("skipped and hit blocks are added up", {"rule": _added_up}),
        Wrong("the last block is not counted", {"rule": _rounded_down}),
    ],
)
def new_request_estimate_is_taken(domain: Domain, rule: Any = num_new_blocks) -> Statement:
    """A new request takes as many fresh blocks as are estimated: for external tokens first, then for the rest of its slots."""
    slots, skipped, found, total, external = numbers(domain, "slots skipped hits total external")
    block = domain.size("block")
    adopted = maximum(skipped, found)
    loaded = chosen(external > 0, maximum(ceil_div(total, block) - adopted, 0), 0)
    grown = num_new_blocks(slots, block, 0, adopted + loaded)
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "slots are for the computed tokens and more": total <= slots,
        NATURAL: both(skipped >= 0, found >= 0),
    }
    return Statement(hypotheses, {"as many": books.estimate_is_taken(rule(slots, block, skipped, found), loaded + grown, 0)})


@theorem(
    "running-request-estimate-is-taken",
    clauses="TABLE.ESTIMATE, BOOKS.ESTIMATE, BOOKS.ESTIMATE.FLOOR",
    witness={"slots": 5, "held": 2, "free": 3, "block": 2},
    sizes=("block",),
    wrong=[Wrong("the estimate may fall below zero", {"rule": _unfloored}), Wrong("it counts one block more", {"rule": _one_more})],
)
def running_request_estimate_is_taken(domain: Domain, rule: Any = num_new_blocks) -> Statement:
    """A running request takes what is estimated: the blocks between what it holds and what its slots fill; never less than none."""
    slots, held, free = numbers(domain, "slots held free")
    block = domain.size("block")
    estimate = rule(slots, block, 0, held)
    after = maximum(ceil_div(slots, block), held)
    hypotheses = {HELD: held >= 0}
    goals = {
        "what the free queue loses": books.estimate_is_taken(estimate, free, free - (after - held)),
        "not negative": books.estimate_is_natural(estimate),
    }
    return Statement(hypotheses, goals)


@theorem(
    "evictable-hits-are-counted-once",
    clauses="TABLE.ESTIMATE, BOOKS.ESTIMATE, POOL.TOUCH, TABLE.ADOPT",
    witness={"place": 2, "counted": 1, "lost": 1, "hit": {0: 3, 1: 2, 2: 4, 3: 5, 4: 6}, "before": {2: 1}, "now": {2: 2, 3: 1}, "later": 3},
    reach=4,
    wrong=[Wrong("every hit is counted, held by others or not", {"counts": lambda references: True})],
)
def evictable_hits_are_counted_once(domain: Domain, counts: Any = lambda references: references == 0) -> Statement:
    """The hits that are counted as evictable are those that leave the free queue when they are adopted one by one."""
    place, counted, lost = numbers(domain, "place counted lost")
    hit, before, now = (domain.function(name) for name in ("hit", "before", "now"))
    untouched = domain.every(lambda later: implies(place <= later, now(hit(later)) == before(hit(later))), lambda later: hit(later))
    distinct = domain.every(
        lambda one, two: implies(both(0 <= one, one < two), hit(one) != hit(two)), lambda one, two: (hit(one), hit(two))
    )
    block = hit(place)
    after = updated(now, block, now(block) + 1)
    leaves, estimated = chosen(now(block) == 0, 1, 0), chosen(counts(before(block)), 1, 0)
    later = domain.number("later")
    hypotheses = {
        "so far as many left as were counted": counted == lost,
        "what comes later is untouched": untouched,
        "hits name no block twice": distinct,
        "places count from 0": place >= 0,
    }
    goals = {
        "as many left after one hit more": counted + estimated == lost + leaves,
        "what comes later is untouched still": implies(place + 1 <= later, after(hit(later)) == before(hit(later))),
    }
    return Statement(hypotheses, goals)


@theorem(
    "growth-gives-every-token-a-slot",
    clauses="TABLE.GROW, CONTENTS.WRITE.PRESENT",
    witness={"slots": 5, "held": 2, "token": 4, "block": 2},
    sizes=("block",),
    wrong=[Wrong("the last block is not taken", {"rule": _rounded_down}), Wrong("one block more", {"rule": _one_more})],
)
def growth_gives_every_token_a_slot(domain: Domain, rule: Any = num_new_blocks) -> Statement:
    """After growth every token has a slot, nothing that was held is lost, and no block is there that no token needs."""
    slots, held, token = numbers(domain, "slots held token")
    block = domain.size("block")
    after = held + rule(slots, block, 0, held)
    goals = {
        "every token has a block": implies(token < slots, floor_div(token, block) < after),
        "nothing is lost": held <= after,
        "no block is spare": implies(after > held, after * block - block < slots),
    }
    return Statement({POSITIVE_BLOCK: block >= 1, HELD: held >= 0}, goals)


@theorem(
    "growth-in-steps-is-growth-at-once",
    clauses="TABLE.GROW",
    witness={"some": 3, "more": 6, "held": 1, "block": 2},
    sizes=("block",),
    wrong=[Wrong("one block more at every step", {"rule": _one_more})],
)
def growth_in_steps_is_growth_at_once(domain: Domain, rule: Any = num_new_blocks) -> Statement:
    """Growing in two steps takes as many blocks as growing at once, however the tokens are cut into chunks."""
    some, more, held = numbers(domain, "some more held")
    block = domain.size("block")
    first = rule(some, block, 0, held)
    hypotheses = {POSITIVE_BLOCK: block >= 1, "the second step is for more": some <= more, HELD: held >= 0}
    return Statement(hypotheses, {"as many": first + rule(more, block, 0, held + first) == rule(more, block, 0, held)})


@theorem(
    "external-tokens-get-slots",
    clauses="TABLE.EXTERNAL, CONTENTS.WRITE.PRESENT",
    witness={"held": 1, "total": 5, "token": 4, "window": 3, "block": 2},
    kinds=("full", "sink", "sliding", "chunked"),
    sizes=("block",),
    wrong=[Wrong("only whole blocks of them", {"pieces": floor_div})],
)
def external_tokens_get_slots(domain: Domain, pieces: Any = ceil_div) -> Statement:
    """Every external token that is still needed has a block, behind the null prefix and the hits."""
    held, total, token = numbers(domain, "held total token")
    block, window = domain.size("block"), domain.number("window")
    after = held + maximum(pieces(total, block) - held, 0)
    nulls = need.num_skipped_blocks(sliding(window), total, block)
    hypotheses = {POSITIVE_BLOCK: block >= 1, "the token is one of them": token < total}
    needed = need.first_needed(sliding(window), total) <= token
    goals = {
        "it has a block": floor_div(token, block) < after,
        "a needed one is not null": implies(both(needed, 0 <= token), nulls <= floor_div(token, block)),
    }
    return Statement(hypotheses, goals)


@theorem(
    "adoption-covers-the-hit",
    clauses="TABLE.ADOPT",
    witness={"skipped": 1, "hits": 3, "place": 2},
    wrong=[Wrong("hits are put behind the nulls, not in their places", {"shift": 1})],
)
def adoption_covers_the_hit(domain: Domain, shift: int = 0) -> Statement:
    """An adopted table is as long as the hit where that reaches beyond the null prefix, and each block keeps its place."""
    skipped, found, place = numbers(domain, "skipped hits place")
    length = skipped + maximum(found - skipped, 0)
    source = chosen(place < skipped, -1, skipped + (place - skipped) - shift * skipped)
    hypotheses = {"the place is one of the hit, behind the nulls": both(skipped <= place, place < found)}
    return Statement(hypotheses, {"the length is the hit's": length == found, "each block keeps its place": source == place})


def _full_blocks(tokens: Any, block: Any) -> Any:
    return floor_div(tokens, block)


def _begun_blocks(tokens: Any, block: Any) -> Any:
    return ceil_div(tokens, block)


def _all_but_one(tokens: Any, block: Any) -> Any:
    return floor_div(tokens, block) - 1


@theorem(
    "published-blocks-are-full",
    clauses="TABLE.PUBLISH, CONTENTS.CACHED, LIVE.PUBLISHED",
    witness={"done": 1, "tokens": 5, "place": 1, "block": 2},
    sizes=("block",),
    wrong=[Wrong("a begun block counts", {"full": _begun_blocks}), Wrong("the last full block is left out", {"full": _all_but_one})],
)
def published_blocks_are_full(domain: Domain, full: Any = _full_blocks) -> Statement:
    """A block behind those published before is published exactly if all its tokens are among the computed ones."""
    done, tokens, place = numbers(domain, "done tokens place")
    block = domain.size("block")
    published = within(done, place, full(tokens, block))
    hypotheses = {POSITIVE_BLOCK: block >= 1, "the block comes behind those published before": done <= place}
    return Statement(hypotheses, {"exactly the full ones": iff(published, place * block + block <= tokens)})


@theorem(
    "published-count-stays-in-the-table",
    clauses="TABLE.PUBLISH, BOOKS.PUBLISHED",
    witness={"done": 1, "tokens": 5, "length": 3, "slots": 6, "block": 2},
    sizes=("block",),
    wrong=[Wrong("begun blocks count and the slots are not for all tokens", {"full": lambda tokens, block: ceil_div(tokens, block) + 1})],
)
def published_count_stays_in_the_table(domain: Domain, full: Any = _full_blocks) -> Statement:
    """The published count never exceeds the table that was grown for the tokens, and never shrinks."""
    done, tokens, length, slots = numbers(domain, "done tokens length slots")
    block = domain.size("block")
    after = maximum(done, full(tokens, block))
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "the table was grown for the slots": ceil_div(slots, block) <= length,
        "the slots are for the tokens and more": tokens <= slots,
        "what was published is in the table": done <= length,
    }
    return Statement(hypotheses, {"within the table": after <= length, "it does not shrink": done <= after})


def _kept_tails(domain: Domain, draft: bool, behind: int) -> Statement:
    """Both directions of "kept exactly if a hit of an aligned length needs the block"; a draft model's hit asks for one block more."""
    place, count, window = numbers(domain, "place count window")
    block, alignment = domain.size("block"), domain.size("alignment")
    reached = place * block if draft else place * block + block

    def needs(length: Any) -> Any:
        return both(need.needed_blocks(sliding(window), length, block)[0] <= place, reached <= length)

    def kept(at: Any, tokens: Any, unit: Any, reach: Any) -> bool:
        return hits.serves_a_hit(Kind("sliding", window=reach), at - 1 + behind, tokens, alignment=unit, draft_drop=draft)

    is_kept = merged(kept, place, block, alignment, window)
    # The shortest aligned length that reaches as far shows what a kept block is good for.
    shortest = maximum(alignment, ceil_div(reached, alignment) * alignment)
    hypotheses = {POSITIVE_BLOCK: block >= 1, "the alignment is 1 token or more": alignment >= 1}
    goals = {
        "what a hit needs is kept": implies(both(count >= 1, needs(count * alignment)), is_kept),
        "what is kept a hit needs": implies(is_kept, needs(shortest)),
    }
    return Statement(hypotheses, goals)


KEPT_WITNESS = {"place": 1, "count": 1, "window": 3, "block": 2, "alignment": 4}


@theorem(
    "kept-tails-are-the-needed-ones",
    clauses="SLIDING.PUBLISH, LIVE.HIT.FOUND, LIVE.PUBLISHED",
    witness=KEPT_WITNESS,
    kinds=("sliding",),
    sizes=("block", "alignment"),
    wrong=[Wrong("blocks are kept by the aligned length before, not behind", {"behind": 0})],
)
def kept_tails_are_the_needed_ones(domain: Domain, behind: int = 1) -> Statement:
    """A full block of a sliding window is kept exactly if a hit of an aligned length needs it."""
    return _kept_tails(domain, False, behind)


@theorem(
    "kept-tails-with-draft-are-the-needed-ones",
    clauses="SLIDING.PUBLISH, LIVE.HIT.FOUND, LIVE.PUBLISHED",
    witness=KEPT_WITNESS,
    kinds=("sliding",),
    sizes=("block", "alignment"),
    wrong=[Wrong("blocks are kept by the aligned length before, not behind", {"behind": 0})],
)
def kept_tails_with_draft_are_the_needed_ones(domain: Domain, behind: int = 1) -> Statement:
    """Under a draft model a full block of a sliding window is kept exactly if it is needed by a hit of an aligned length, or is the
    one behind it.
    """
    return _kept_tails(domain, True, behind)


def _nothing_left(end: Any, length: Any) -> Any:
    return minimum(end, length)


@theorem(
    "release-leaves-one-null-prefix",
    clauses="TABLE.RELEASE-SKIPPED, CONTENTS.READ.LATENT, LIVE.RELEASED",
    witness={"start": 1, "end": 3, "nulls": 1, "place": 2, "table": dict.fromkeys(range(1, 6), 7)},
    kinds=("sliding", "chunked", "mamba"),
    reach=5,
    wrong=[Wrong("the block at the end is released too", {"beyond": 1}), Wrong("the walk stops a block early", {"stop": 1})],
)
def release_leaves_one_null_prefix(domain: Domain, beyond: int = 0, stop: int = 0) -> Statement:
    """Releasing from the right until a null block makes exactly the skipped blocks null where the nulls before were a prefix."""
    start, end, nulls, place = numbers(domain, "start end nulls place")
    table = domain.function("table")
    prefix = domain.every(lambda at: implies(0 <= at, iff(table(at) == 0, at < nulls)), lambda at: table(at))
    hypotheses = {
        "the nulls before were a prefix": prefix,
        "the walk began at the end of what is skipped": both(0 <= start, start <= end, nulls <= end),
        "it stopped at the front or at a null block": implies(start > 0, table(start - 1) == 0),
        "the place is one of the table": 0 <= place,
    }
    after = chosen(within(start + stop, place, end + beyond), 0, table(place))
    return Statement(hypotheses, {"null exactly where skipped": iff(after == 0, place < end)})
