"""Mamba: the state that a step continues from is held, the blocks that it writes are its own, and few are live."""

from types import SimpleNamespace
from typing import Any

from kvwitness.model import contents, mamba, need
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, floor_div, maximum, minimum
from kvwitness.model.profile import Profile
from kvwitness.model.table import num_new_blocks
from kvwitness.proofs import lemmas
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, either, implies, negated, within
from kvwitness.proofs.theorem import Statement, Wrong, theorem
from kvwitness.proofs.theorems.lifecycles import SHRINKS, THREE_STEPS
from kvwitness.proofs.theorems.need import MAMBA
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK

COMPUTES = "a step computes 1 token or more beside its drafts"
STARTED = "1 token or more is computed"
KINDS = ("mamba",)
NONE, ALL = Kind("mamba", mode="none"), Kind("mamba", mode="all")


def state_blocks(main: Any, block: Any, drafts: Any) -> Any:
    """The length of an align table, by the model's own rule."""
    return mamba.num_state_blocks(SimpleNamespace(block=block, kind=SimpleNamespace(drafts=drafts)), main)  # type: ignore[arg-type]


@theorem(
    "none-has-a-state-for-every-draft",
    clauses="MAMBA.GROW, MAMBA.ESTIMATE, CALLER.DRAFTS",
    witness={"n": 3, "k": 2, "accepted": 1, "block": 4},
    kinds=KINDS,
    sizes=("block",),
    wrong=[Wrong("no blocks for drafts", {"spare": 0})],
)
def none_has_a_state_for_every_draft(domain: Domain, spare: int = 1) -> Statement:
    """In mode none the state is found at the place of the accepted drafts, which the table has from the first step to the last."""
    n, k, accepted = numbers(domain, "n k accepted")
    block = domain.size("block")
    length = num_new_blocks(n + block * k * spare, block, 0, 0)
    source = contents.source_state(NONE, n, block, 0, accepted)
    hypotheses = {STARTED: n >= 1, "at most k drafts are accepted": accepted <= k, POSITIVE_BLOCK: block >= 1}
    return Statement(hypotheses, {"the table has the place": source < length}, _sum_of_blocks(n, k, block))


def _sum_of_blocks(n: Any, k: Any, block: Any) -> list[Any]:
    return [lemmas.quotient_of_shifted(n + block - 1, block, k), lemmas.product_of_sum(floor_div(n + block - 1, block), k, block)]


def _next_state(n: Any, block: Any) -> Any:
    return floor_div(n, block)


def _last_state(n: Any, block: Any) -> Any:
    return contents.source_state(ALL, n, block, None, 0)


@theorem(
    "all-continues-from-a-held-state",
    clauses="MAMBA.RELEASE-SKIPPED, MAMBA.GROW, CONTENTS.READ.PRESENT, CONTENTS.READ.LATENT",
    witness={"n": 4, "block": 2},
    kinds=KINDS,
    sizes=("block",),
    wrong=[Wrong("it continues from the next token's block", {"source": _next_state})],
)
def all_continues_from_a_held_state(domain: Domain, source: Any = _last_state) -> Statement:
    """In mode all the state of the last computed token is in the table, behind the null prefix, and holds that token."""
    n, block = domain.number("n"), domain.size("block")
    place = source(n, block)
    hypotheses = {POSITIVE_BLOCK: block >= 1}
    goals = {
        "it is not null": need.num_skipped_blocks(MAMBA, n, block) <= place,
        "it is in the table": place < ceil_div(n, block),
        "it is the last token's": both(place * block < n, n <= place * block + block),
    }
    return Statement({STARTED: n >= 1, **hypotheses}, goals)


@theorem(
    "running-state-is-its-own-block",
    clauses="MAMBA.GROW, CONTENTS.WRITE.PRESENT",
    witness={"n": 3, "new": 2, "block": 2},
    kinds=KINDS,
    sizes=("block",),
    wrong=[Wrong("it is the block of the next token", {"late": 1})],
)
def running_state_is_its_own_block(domain: Domain, late: int = 0) -> Statement:
    """The running state lies in the block of the step's last token, which is at or behind the block of the state it continues."""
    n, new = numbers(domain, "n new")
    block = domain.size("block")
    place = contents.running_state(n, new + late, block)
    goals = {
        "it holds the last token": both(place * block < n + new, n + new <= place * block + block),
        "it comes not before the source": contents.source_state(ALL, n, block, None, 0) <= place,
    }
    return Statement({POSITIVE_BLOCK: block >= 1, "the step computes 1 token or more": new >= 1}, goals)


def grown(length: Any, running: Any, k: Any, allocated: Any) -> tuple[Any, Any, Any]:
    """How an align table grows: where its speculative blocks begin, how many move, and how long it is before fresh ones come."""
    first = length - k
    moved = chosen(allocated, maximum(first, minimum(length, running)) - first, 0)
    return first, moved, maximum(length, running)


@theorem(
    "align-estimate-is-taken",
    clauses="MAMBA.ESTIMATE, BOOKS.ESTIMATE",
    witness={"main": 5, "length": 3, "k": 1, "allocated": True, "block": 2},
    kinds=KINDS,
    sizes=("block",),
    wrong=[
        Wrong("a running request takes its speculative blocks anew", {"running_takes": lambda k: 1 + k}),
        Wrong("a new one takes only its running state", {"new_takes": lambda k: 1}),
    ],
)
def align_estimate_is_taken(domain: Domain, running_takes: Any = lambda k: 1, new_takes: Any = lambda k: 1 + k) -> Statement:
    """In mode align a table that grows takes one block if the request runs and 1 + k if it is new, as estimated; never more."""
    main, length, k = numbers(domain, "main length k")
    allocated, block = domain.truth("allocated"), domain.size("block")
    required = state_blocks(main, block, k)
    running = required - 1 - k
    _, moved, before = grown(length, running, k, allocated)
    hypotheses = {
        "drafts are 0 or more": k >= 0,
        "the table grows": required > length,
        "a new request's hit ends before the next token's block": either(allocated, length <= running),
    }
    estimate = chosen(allocated, running_takes(k), new_takes(k))
    return Statement(hypotheses, {"as many": required - before - moved == estimate})


@theorem(
    "align-external-state-is-counted",
    clauses="MAMBA.ESTIMATE, BOOKS.ESTIMATE",
    witness={"main": 5, "total": 4, "k": 1, "block": 2},
    kinds=KINDS,
    sizes=("block",),
    wrong=[Wrong("the block of the external state is forgotten", {"counted": 0})],
)
def align_external_state_is_counted(domain: Domain, counted: int = 1) -> Statement:
    """In mode align an admission behind external tokens takes the block of their state and what growing takes, as estimated."""
    main, total, k = numbers(domain, "main total k")
    block = domain.size("block")
    length = ceil_div(total, block)
    required = state_blocks(main, block, k)
    _, _, before = grown(length, required - 1 - k, k, False)
    estimate = mamba.with_external_state(main, total, block, k) - 1 + counted
    hypotheses = {POSITIVE_BLOCK: block >= 1, "drafts are 0 or more": k >= 0, "external tokens are computed ones": total <= main}
    return Statement(hypotheses, {"as many": estimate == 1 + required - before, "never less than the state's": estimate >= 1})


def _raw(lacking: Any) -> Any:
    return lacking


def _natural(lacking: Any) -> Any:
    return maximum(lacking, 0)


@theorem(
    "align-estimate-is-natural",
    clauses="MAMBA.ESTIMATE, BOOKS.ESTIMATE.FLOOR, BOOKS.ACCEPTED",
    witness={"main": 3, "length": 4, "k": 2, "block": 3},
    kinds=KINDS,
    sizes=("block",),
    wrong=[Wrong("what lacks is told as it is, below zero too", {"floor": _raw}), *SHRINKS],
)
def align_estimate_is_natural(domain: Domain, floor: Any = _natural) -> Statement:
    """A request whose drafts shrink across a block's edge is estimated at no block and not below, and its table stays as it is."""
    main, length, k = numbers(domain, "main length k")
    required = state_blocks(main, domain.size("block"), k)
    after = chosen(required > length, required, length)
    return Statement({}, {"not negative": floor(required - length) >= 0, "the table does not shrink": after >= length})


def _owned_before(domain: Domain, length: Any, k: Any, old: Any, fresh: Any) -> dict[str, Any]:
    """An align table before it grows, and the blocks that it will be given."""
    apart = domain.every(
        lambda one, two: implies(both(0 <= one, one < two, two < length, old(one) != 0), old(one) != old(two)),
        lambda one, two: (old(one), old(two)),
    )
    real = domain.every(lambda at: implies(within(length - k, at, length), old(at) != 0), lambda at: old(at))
    unheld = domain.every(
        lambda one, at: implies(both(0 <= one, within(0, at, length)), fresh(one) != old(at)), lambda one, at: (fresh(one), old(at))
    )
    return {
        "the table has its speculative blocks": both(k >= 0, length >= k + 1),
        "speculative blocks are real": real,
        "no block is in the table twice": apart,
        "fresh blocks are real": domain.every(lambda one: implies(0 <= one, fresh(one) != 0), lambda one: fresh(one)),
        "fresh blocks are held by nobody": unheld,
    }


@theorem(
    "align-table-owns-its-states",
    clauses="MAMBA.GROW, BOOKS.ONCE, CONTENTS.WRITE.PRESENT, CONTENTS.WRITE.ALONE",
    witness={
        "length": 3,
        "running": 2,
        "k": 2,
        "place": 2,
        "other": 4,
        "old": {0: 1, 1: 2, 2: 3},
        "fresh": dict.fromkeys(range(6), 4),
    },
    kinds=KINDS,
    reach=5,
    wrong=[Wrong("speculative blocks stay where they were, too", {"keeps": True})],
)
def align_table_owns_its_states(domain: Domain, keeps: bool = False) -> Statement:
    """When an align table grows, the running state and its k speculative blocks are real, and no block is in the table twice."""
    length, running, k, place, other = numbers(domain, "length running k place other")
    old, fresh = domain.function("old"), domain.function("fresh")
    first, moved, before = grown(length, running, k, True)

    def new(at: Any) -> Any:
        kept = chosen(both(within(first, at, first + moved), not keeps), 0, chosen(at < length, old(at), 0))
        return chosen(at < before, kept, chosen(at < before + moved, old(first + (at - before)), fresh(at - before - moved)))

    count = running + 1 + k - before - moved
    goals = {
        "one block is fresh": count == 1,
        "running and speculative blocks are real": implies(within(running, place, running + k + 1), new(place) != 0),
        "none is there twice": implies(both(0 <= place, place < other, other <= running + k, new(place) != 0), new(place) != new(other)),
    }
    return Statement({**_owned_before(domain, length, k, old, fresh), "the table grows": running + 1 + k > length}, goals)


@theorem(
    "align-holds-few-states",
    clauses="MAMBA.GROW, MAMBA.RELEASE-SKIPPED",
    witness={"n": 4, "new": 2, "k": 1, "running": 1, "last": 0, "place": 1, "real": frozenset({1, 2}), "block": 2},
    kinds=KINDS,
    sizes=("block",),
    reach=9,
    wrong=[
        Wrong("release lags behind by the drafts", {"lag": lambda k: k}),
        Wrong("the state copied from is never released", {"lag": lambda k: 99}),
    ],
)
def align_holds_few_states(domain: Domain, lag: Any = lambda k: 0) -> Statement:
    """With release by settled lengths an align table has at most 2 + k real blocks: the running state, k behind it, and the one
    that it was copied from.
    """
    n, new, k, running, last, place = numbers(domain, "n new k running last place")
    block, real = domain.size("block"), domain.predicate("real")
    now = contents.running_state(n, new, block)
    few = domain.every(lambda at: implies(real(at), either(at == last, within(running, at, running + k + 1))), lambda at: real(at))
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "so it was before": few,
        "a step that may start before the running block has at most a block of tokens": either(n > running * block, new <= block),
        "the table grows": now > running,
    }
    released = both(place == last, last < ceil_div(n - lag(k), block) - 1)
    moved = within(running + 1, place, now)
    left = both(real(place), negated(released), negated(moved), place < now)
    after = either(within(now, place, now + k + 1), left)
    return Statement(hypotheses, {"so it is again": implies(after, either(place == running, within(now, place, now + k + 1)))})


@theorem(
    "align-source-is-held",
    clauses="MAMBA.RELEASE-SKIPPED, CONTENTS.READ.LATENT, CONTENTS.READ.FREED, CALLER.OUTPUTS",
    witness={"n": 3, "new": 3, "drafts": 2, "accepted": 1, "last": 0, "block": 3},
    kinds=KINDS,
    sizes=("block",),
    wrong=[Wrong("what the step ran from counts, not where it ran", {"ran": lambda n, new, block: floor_div(n - 1, block)})],
)
def align_source_is_held(domain: Domain, ran: Any = contents.running_state) -> Statement:
    """The state that the next step copies, where the last step ran plus the accepted drafts, is not released by the settled length."""
    n, new, drafts, accepted, last = numbers(domain, "n new drafts accepted last")
    block = domain.size("block")
    settled = n + new - drafts + accepted
    place = ran(n, new, block)
    source = contents.source_state(MAMBA, settled, block, place, accepted)
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "the accepted are among the drafts": both(0 <= accepted, accepted <= drafts),
        "the state copied from comes before": last < place,
    }
    goals = {
        "the null prefix ends before it": need.num_skipped_blocks(MAMBA, settled, block) <= maximum(source, 0),
        "it is not the one that was copied from": last != source,
    }
    return Statement(hypotheses, goals)


def kept_place(n: Any, new: Any, drafts: Any, accepted: Any, block: Any) -> Any:
    """Where the state of the last whole block goes after sampling; -1 for nowhere."""
    kept = contents.state_kept(n, new, drafts, accepted, block)
    return -1 if kept is None else kept[1]


def _settled(n: Any, rejected: Any) -> Any:
    return n


def _optimistic(n: Any, rejected: Any) -> Any:
    return n + rejected


def _releases_optimistically(profile: Profile) -> bool:
    return profile.release_basis == "optimistic" and profile.mamba_release_lag == "none"


KEEP_WITNESS = {"n": 2, "new": 2, "drafts": 1, "accepted": 0, "rejected": 1, "k": 2, "block": 3}


def _destination(domain: Domain, basis: Any, most: Any) -> Statement:
    n, new, drafts, accepted, rejected = numbers(domain, "n new drafts accepted rejected")
    block = domain.size("block")
    place = merged(kept_place, n, new, drafts, accepted, block)
    nulls = need.num_skipped_blocks(MAMBA, basis(n, rejected), block)
    copied = ceil_div(basis(n, rejected), block) - 1
    hypotheses = {POSITIVE_BLOCK: block >= 1, COMPUTES: new > drafts, **most(rejected)}
    goals = {
        "the null prefix ends before it": implies(place >= 0, nulls <= place),
        "nor is it released as copied from": implies(place >= 0, copied <= place),
    }
    return Statement(hypotheses, goals)


@theorem(
    "align-destination-is-held",
    clauses="MAMBA.RELEASE-SKIPPED, CONTENTS.WRITE.PRESENT, CONTENTS.CACHED",
    witness=KEEP_WITNESS,
    kinds=KINDS,
    sizes=("block",),
    reach=8,
    wrong=[
        Wrong("released by lengths that count unverified drafts", {"basis": _optimistic}),
        Wrong("the same, from the first step on", {}, _releases_optimistically, THREE_STEPS.scenario, twin=THREE_STEPS.states, high=6),
    ],
)
def align_destination_is_held(domain: Domain, basis: Any = _settled) -> Statement:
    """By settled lengths no block is released that gets the state of a whole block after sampling, however many drafts were rejected."""
    return _destination(domain, basis, lambda rejected: {})


@theorem(
    "align-optimistic-release-allows-one-draft",
    clauses="MAMBA.RELEASE-SKIPPED, CONTENTS.WRITE.PRESENT",
    witness=KEEP_WITNESS,
    kinds=KINDS,
    sizes=("block",),
    reach=8,
    bound="k = 1: for k of 2 and more it is refuted, see align-destination-is-held",
    wrong=[Wrong("two drafts may be rejected", {"most": 2})],
)
def align_optimistic_release_allows_one_draft(domain: Domain, most: int = 1) -> Statement:
    """Released by lengths that count unverified drafts, the blocks that a step writes are still held if at most one draft is rejected."""
    return _destination(domain, _optimistic, lambda rejected: {"at most one draft was rejected": rejected <= most})


__all__ = ["grown", "kept_place", "state_blocks"]
