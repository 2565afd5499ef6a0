"""What is read is what was written: each write, adoption and take keeps it so, for any number of blocks, requests and steps.

A slot is a place in some request's table, and its own prefix is what the place must hold. A keyed block claims a prefix.
"""

from collections.abc import Callable
from typing import Any

from attrs import evolve, frozen

from kvwitness.model import contents, need
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.numbers import floor_div
from kvwitness.model.pool import NULL
from kvwitness.model.profile import Profile
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, Values, numbers
from kvwitness.proofs.logic import both, either, implies, negated, updated, within
from kvwitness.proofs.theorem import Scenario, Statement, Wrong, theorem
from kvwitness.proofs.theorems.null_prefix import POSITIVE_BLOCK
from kvwitness.properties.operations import Execute, Start

Function = Callable[..., Any]


@frozen
class Ghost:
    """What is in the blocks, beside who holds them.

    Attributes:
        holds: The block in each slot; null for nothing.
        filled: Whether a slot's tokens are computed, or came with a hit.
        own: The prefix that a slot must hold.
        content: The prefix that a block holds.
        keyed: Whether a block carries a key.
        claim: The prefix that a block's key stands for.
    """

    holds: Function
    filled: Function
    own: Function
    content: Function
    keyed: Function
    claim: Function


def ghost(domain: Domain) -> Ghost:
    """Any contents."""
    functions = {name: domain.function(name) for name in ("holds", "own", "content", "claim")}
    return Ghost(**functions, filled=domain.predicate("filled"), keyed=domain.predicate("keyed"))


def slot_is_own(state: Ghost, slot: Any) -> Any:
    """A slot that is filled holds its own prefix."""
    block = state.holds(slot)
    return implies(both(block != NULL, state.filled(slot)), state.content(block) == state.own(slot))


def key_is_own(state: Ghost, slot: Any) -> Any:
    """A keyed block is held only where its key is the slot's own."""
    block = state.holds(slot)
    return implies(both(block != NULL, state.keyed(block)), state.claim(block) == state.own(slot))


def key_is_true(state: Ghost, block: Any) -> Any:
    """A keyed block holds what its key claims."""
    return implies(state.keyed(block), state.content(block) == state.claim(block))


OWN = "filled slots hold their own prefix"
CLAIMED = "a keyed block is held only where its key is wanted"
TRUE = "a keyed block holds what its key claims"


def before(domain: Domain, state: Ghost) -> dict[str, Any]:
    """What holds before a step."""
    return {
        OWN: domain.every(lambda slot: slot_is_own(state, slot), lambda slot: state.holds(slot)),
        CLAIMED: domain.every(lambda slot: key_is_own(state, slot), lambda slot: state.holds(slot)),
        TRUE: domain.every(lambda block: key_is_true(state, block), lambda block: state.keyed(block)),
    }


def after(domain: Domain, state: Ghost) -> dict[str, Any]:
    """The same of any slot and any block."""
    slot, block = numbers(domain, "any_slot any_block")
    return {OWN: slot_is_own(state, slot), CLAIMED: key_is_own(state, slot), TRUE: key_is_true(state, block)}


HELD: dict[str, Any] = {
    "holds": {0: 2, 1: 2, 2: 3},
    "own": {0: 5, 1: 5, 2: 4},
    "content": {1: 6, 2: 5, 3: 4},
    "claim": {1: 6, 2: 5},
    "filled": frozenset({0, 1, 2}),
    "keyed": frozenset({1, 2}),
    "any_slot": 1,
    "any_block": 1,
    "slot": 2,
    "block": 1,
}
"""Block 2 is keyed and shared, 3 is one request's own, 1 is free and keyed."""
REACH = 3


def _set(predicate: Function, place: Any, truth: Any) -> Function:
    def changed(at: Any) -> Any:
        return either(both(at == place, truth), both(at != place, predicate(at)))

    return changed


@theorem(
    "a-write-leaves-others-their-own",
    clauses="CONTENTS.READ.OWN, CONTENTS.WRITE.ALONE, CONTENTS.CACHED",
    witness=HELD,
    reach=REACH,
    wrong=[Wrong("a block that others hold is written without a key", {"alone": False})],
)
def a_write_leaves_others_their_own(domain: Domain, alone: bool = True) -> Statement:
    """A step that writes a slot's prefix into a block that is the slot's alone, or carries that prefix as its key, leaves all that
    is filled, and all that is keyed, as it must be.
    """
    state, slot = ghost(domain), domain.number("slot")
    block = state.holds(slot)
    others = domain.every(lambda other: implies(other != slot, state.holds(other) != block), lambda other: state.holds(other))
    written = {
        "it is written alone, or keyed": either(both(others, negated(state.keyed(block))), state.keyed(block), not alone),
        "the block is real": block != NULL,
    }
    new = evolve(state, content=updated(state.content, block, state.own(slot)), filled=_set(state.filled, slot, True))
    return Statement({**before(domain, state), **written}, after(domain, new))


@theorem(
    "a-hit-brings-its-own-prefix",
    clauses="CONTENTS.READ.OWN, LIVE.HIT.KEYED, TABLE.ADOPT",
    witness={**HELD, "slot": 3, "own": {0: 5, 1: 5, 2: 4, 3: 6}},
    reach=REACH,
    wrong=[Wrong("a block is adopted under another key", {"by_key": False}), Wrong("a block without a key is adopted", {"keyed": False})],
)
def a_hit_brings_its_own_prefix(domain: Domain, by_key: bool = True, keyed: bool = True) -> Statement:
    """A block that is adopted because its key is the slot's own prefix holds that prefix, with nothing computed."""
    state, slot, block = ghost(domain), domain.number("slot"), domain.number("block")
    adopted = {
        "the block is real and keyed": both(block != NULL, either(state.keyed(block), not keyed)),
        "its key is the slot's own": either(state.claim(block) == state.own(slot), not by_key),
    }
    new = evolve(state, holds=updated(state.holds, slot, block), filled=_set(state.filled, slot, True))
    return Statement({**before(domain, state), **adopted}, after(domain, new))


@theorem(
    "a-fresh-block-takes-nothing-away",
    clauses="CONTENTS.READ.OWN, POOL.TAKE, TABLE.GROW",
    witness={**HELD, "slot": 3, "rubbish": 7},
    reach=REACH,
    wrong=[Wrong("what it was cached under is not forgotten", {"forgets": False})],
)
def a_fresh_block_takes_nothing_away(domain: Domain, forgets: bool = True) -> Statement:
    """A free block that is taken and forgets its key may be overwritten: no filled slot and no key speaks of it."""
    state, slot, block, rubbish = ghost(domain), *numbers(domain, "slot block rubbish")
    unheld = domain.every(lambda other: state.holds(other) != block, lambda other: state.holds(other))
    taken = evolve(
        state,
        holds=updated(state.holds, slot, block),
        filled=_set(state.filled, slot, False),
        keyed=_set(state.keyed, block, negated(forgets)),
        content=updated(state.content, block, rubbish),
    )
    return Statement({**before(domain, state), "no slot holds the block": unheld}, after(domain, taken))


@theorem(
    "publishing-claims-what-is-written",
    clauses="CONTENTS.CACHED, POOL.PUBLISH, TABLE.PUBLISH",
    witness={**HELD, "slot": 2},
    reach=REACH,
    wrong=[Wrong("a block that is not filled is published", {"filled": False}), Wrong("a shared block is published", {"alone": False})],
)
def publishing_claims_what_is_written(domain: Domain, filled: bool = True, alone: bool = True) -> Statement:
    """A filled block that one slot holds may be published as that slot's prefix: the key is true, and wanted wherever it is held."""
    state, slot = ghost(domain), domain.number("slot")
    block = state.holds(slot)
    others = domain.every(lambda other: implies(other != slot, state.holds(other) != block), lambda other: state.holds(other))
    published = {
        "the block is real and filled": both(block != NULL, either(state.filled(slot), not filled)),
        "no other slot holds it": either(others, not alone),
    }
    new = evolve(state, keyed=_set(state.keyed, block, True), claim=updated(state.claim, block, state.own(slot)))
    return Statement({**before(domain, state), **published}, after(domain, new))


def _unguarded(profile: Profile) -> bool:
    return not profile.mamba_same_step_guard


def _same_step_run(_values: Values) -> Scenario:
    """Two requests of one step: the second starts from a state that the first has yet to compute."""
    config = Config(blocks=6, block_size=2, groups=(Kind("mamba", mode="align"),))
    return Scenario(config, (Start("A", (0, 0)), Start("B", (0, 0, 1)), Execute()), "MAMBA.HIT.COMPUTED")


@theorem(
    "a-hit-was-computed-before",
    clauses="MAMBA.HIT.COMPUTED, MAMBA.ESTIMATE",
    witness={
        "now": 4,
        "later": 5,
        "block": 2,
        "hit": 3,
        "any_block": 2,
        "written": {2: 4, 3: 1},
        "keyed": frozenset({3}),
        "new": frozenset(),
    },
    kinds=("mamba",),
    reach=5,
    wrong=[
        Wrong("a state that is published in this step may be hit", {"guard": False}),
        Wrong("what is published is forgotten before the step ends", {"early": 1}),
        Wrong("the same, in a run", {"guard": False}, found_in=_unguarded, scenario=_same_step_run),
    ],
)
def a_hit_was_computed_before(domain: Domain, guard: bool = True, early: int = 0) -> Statement:
    """If states published in the step that is planned are put off, every state that is hit was computed in an earlier step."""
    now, later, block, hit, other = numbers(domain, "now later block hit any_block")
    written, keyed, new = domain.function("written"), domain.predicate("keyed"), domain.predicate("new")

    def known(at: Any, step: Any, has_key: Function, is_new: Function) -> Any:
        """A keyed block is computed, or it was published in this step, which will compute it."""
        return implies(has_key(at), either(written(at) < step, both(is_new(at), written(at) == step)))

    published = known(other, now, _set(keyed, block, True), _set(new, block, True))
    started = known(other, later - early, keyed, lambda _at: False)
    hypotheses = {
        "keyed states are computed, or published now": domain.every(lambda at: known(at, now, keyed, new), lambda at: keyed(at)),
        "this step computes what it publishes": written(block) == now,
        "steps follow one another": now < later,
        "the hit is on a keyed state": keyed(hit),
        "it is not put off": either(negated(new(hit)), not guard),
    }
    goals = {"after publishing too": published, "in the next step too": started, "the hit is computed": written(hit) < now}
    return Statement(hypotheses, goals)


def _whole(after_tokens: Any, block: Any) -> Any:
    return floor_div(after_tokens, block) * block


def _kept(*sizes: Any) -> tuple[Any, Any]:
    """From where to where a state is copied after sampling; -1 twice for no copy."""
    copied = contents.state_kept(*sizes)
    return (-1, -1) if copied is None else copied


def _copied_behind(n: Any, new: Any, drafts: Any, accepted: Any, block: Any) -> tuple[Any, Any]:
    """As if a block whose last token is no draft needed no copy."""
    verified, end = n + new - drafts, n + new - drafts + accepted
    if _whole(end, block) <= verified:
        return -1, -1
    return _kept(n, new, drafts, accepted, block)


@theorem(
    "a-full-block-gets-its-state",
    clauses="CONTENTS.CACHED, MAMBA.GROW",
    witness={"n": 3, "drafts": 2, "accepted": 1, "block": 4},
    kinds=("mamba",),
    sizes=("block",),
    reach=8,
    wrong=[Wrong("a block that the verified token fills gets none", {"kept": _copied_behind})],
)
def a_full_block_gets_its_state(domain: Domain, kept: Callable[..., Any] = _kept) -> Statement:
    """In mode align a step of one token and its drafts leaves the state of the block that it fills in that block, in place or copied
    from the place where the step wrote it.
    """
    n, drafts, accepted = numbers(domain, "n drafts accepted")
    block = domain.size("block")
    source, place = merged(kept, n, drafts + 1, drafts, accepted, block)
    whole = _whole(n + 1 + accepted, block)
    wrote = contents.running_state(n, drafts + 1, block) + whole - (n + 1)
    end = floor_div(n + 1 + accepted, block) - 1
    copied, in_place = both(source == wrote, place == end), both(source == -1, wrote == end)
    fills = whole > n
    hypotheses = {
        POSITIVE_BLOCK: block >= 1,
        "the accepted are among the drafts": both(0 <= accepted, accepted <= drafts),
    }
    goals = {
        "it is there": implies(fills, either(copied, in_place)),
        "it was written": implies(fills, within(0, whole - (n + 1), drafts + 1)),
        "no other block gets one": implies(negated(fills), source == -1),
    }
    return Statement(hypotheses, goals)


@theorem(
    "a-chunk-leaves-its-state-in-place",
    clauses="CONTENTS.CACHED, CALLER.ALIGN.SPLIT",
    witness={"n": 2, "new": 2, "block": 2},
    kinds=("mamba",),
    sizes=("block",),
    reach=8,
    wrong=[Wrong("a chunk ends anywhere", {"split": False})],
)
def a_chunk_leaves_its_state_in_place(domain: Domain, split: bool = True) -> Statement:
    """A chunk without drafts that ends on a block's edge writes that block's state in place, and nothing is copied."""
    n, new = numbers(domain, "n new")
    block = domain.size("block")
    source, _ = merged(_kept, n, new, 0, 0, block)
    on_edge = _whole(n + new, block) == n + new
    hypotheses = {POSITIVE_BLOCK: block >= 1, "it ends on a block's edge": either(on_edge, not split)}
    running = contents.running_state(n, new, block)
    goals = {"nothing is copied": source == -1, "it ran in the block that it fills": running == floor_div(n + new, block) - 1}
    return Statement(hypotheses, goals)


def _as_remembered(kind: Kind, n: Any, block: Any, ran: Any) -> Any:
    return ran if ran is not None else contents.source_state(kind, n, block, ran, 0) + 1


@theorem(
    "a-new-request-starts-from-its-hit",
    clauses="MAMBA.HIT.LONGEST, CONTENTS.READ.PRESENT",
    witness={"count": 3, "ran": 1, "block": 2},
    kinds=("mamba",),
    sizes=("block",),
    wrong=[Wrong("it starts from the block behind", {"source": _as_remembered})],
)
def a_new_request_starts_from_its_hit(domain: Domain, source: Callable[..., Any] | None = None) -> Statement:
    """A request with nothing run yet, and in mode all any request at a block's end, continues the state of its last full block, which
    is the one cached block of its hit.
    """
    count, ran = numbers(domain, "count ran")
    block = domain.size("block")
    length = count * block
    found = source or (lambda kind, n, size, remembered: contents.source_state(kind, n, size, remembered, 0))
    align, every = Kind("mamba", mode="align"), Kind("mamba", mode="all")
    first, end = need.needed_blocks(align, length, block)
    goals = {
        "it is the hit's only block": both(first == count - 1, end == count),
        "mode align starts there": found(align, length, block, None) == count - 1,
        "mode all starts there": found(every, length, block, ran) == count - 1,
    }
    return Statement({POSITIVE_BLOCK: block >= 1, "the hit has 1 block or more": count >= 1}, goals)
