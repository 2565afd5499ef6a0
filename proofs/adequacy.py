"""What the theorems state anew, beside what the model does: the same moves made twice, and the first difference told.

Each comparison draws small pools and tables from a seed, makes a call of the model, and makes the move that the theorems reason about.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from kvwitness.model import full, mamba
from kvwitness.model import pool as pools
from kvwitness.model import table as tables
from kvwitness.model.kinds import Kind
from kvwitness.model.pool import NULL, Pool, Rejection
from kvwitness.model.profile import SOUND
from kvwitness.model.table import Group, Held
from kvwitness.proofs.theorems import mamba as lifecycle

BLOCKS, MANY, HALF = 8, 60, 0.5

Move = Callable[[random.Random, Pool], tuple[Any, Any]]
"""What the model comes to, and what the theorems say it comes to."""


def any_pool(rng: random.Random) -> Pool:
    """A pool in which some blocks are held, some keyed, and the free ones queue in any order."""
    references = [0, *(rng.choice((0, 0, 1, 2)) for _ in range(BLOCKS - 1))]
    free = [block for block in range(1, BLOCKS) if not references[block]]
    rng.shuffle(free)
    keys: list[tuple[int, int] | None] = [None] * BLOCKS
    index: dict[tuple[int, int], tuple[int, ...]] = {}
    for block in rng.sample(range(1, BLOCKS), rng.randint(0, BLOCKS - 1)):
        entry = (0, rng.randint(1, 2))
        keys[block] = entry
        index[entry] = (*index.get(entry, ()), block)
    return Pool(tuple(free), tuple(references), tuple(keys), index)


def _outcome(call: Callable[[], Any]) -> Any:
    """What a call comes to, or the reason that it is rejected for."""
    try:
        return call()
    except Rejection as rejected:
        return rejected.reason


def _without(pool: Pool, gone: set[int]) -> tuple[Any, Any]:
    """The keys and the index when blocks forget theirs: each loses its place, and a key without blocks goes."""
    keys = tuple(None if block in gone else key for block, key in enumerate(pool.keys))
    left = {entry: tuple(block for block in blocks if block not in gone) for entry, blocks in pool.index.items()}
    return keys, {entry: blocks for entry, blocks in left.items() if blocks}


def _taking(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    count = rng.randint(-1, BLOCKS)
    done = _outcome(lambda: pools.take(pool, count))
    if count < 0 or count > len(pool.free):
        return done, "negative_count" if count < 0 else "pool_exhausted"
    taken = pool.free[:count]
    keys, index = _without(pool, set(taken))
    references = tuple(1 if block in taken else held for block, held in enumerate(pool.references))
    return done, (Pool(pool.free[count:], references, keys, index), taken)


def _touching(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    block = rng.randrange(BLOCKS)
    held = block != NULL
    references = tuple(count + (held and at == block) for at, count in enumerate(pool.references))
    free = tuple(other for other in pool.free if other != block)
    return pools.touch(pool, (block,), SOUND), Pool(free, references, pool.keys, pool.index)


KEYLESS_FIRST: dict[Any, Callable[[bool, bool], bool]] = {
    "appended": lambda skipped, caching: False,
    "keyless_first": lambda skipped, caching: True,
    "skipped_keyless_first": lambda skipped, caching: skipped,
    "keyless_first_if_caching": lambda skipped, caching: caching,
}
"""By the order of a profile, whether a block without a key is put in front of the queue."""


def _releasing(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    block, order = rng.randrange(BLOCKS), rng.choice([*KEYLESS_FIRST])
    skipped, caching = rng.random() < HALF, rng.random() < HALF
    rules = evolve(SOUND, free_order=order)
    done = _outcome(lambda: pools.release(pool, (block,), rules, skipped=skipped, caching=caching))
    if block == NULL:
        return done, pool
    if not pool.references[block]:
        return done, "block_already_free"
    references = tuple(count - (at == block) for at, count in enumerate(pool.references))
    free = pool.free
    if not references[block]:
        in_front = pool.keys[block] is None and KEYLESS_FIRST[order](skipped, caching)
        free = (block, *free) if in_front else (*free, block)
    return done, Pool(free, references, pool.keys, pool.index)


def _publishing(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    block, entry = rng.randrange(1, BLOCKS), (0, rng.randint(1, 3))
    done = _outcome(lambda: pools.publish(pool, *entry[:1], ((block, entry[1]),)))
    if pool.keys[block] is not None:
        return done, "block_already_keyed"
    keys = tuple(entry if at == block else key for at, key in enumerate(pool.keys))
    return done, Pool(pool.free, pool.references, keys, {**pool.index, entry: (*pool.index.get(entry, ()), block)})


def _withdrawing(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    gone = set(rng.sample(range(1, BLOCKS), rng.randint(1, 3)))
    keys, index = _without(pool, gone)
    return pools.without_keys(pool, sorted(gone)), Pool(pool.free, pool.references, keys, index)


def _looking_up(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    entry = (0, rng.randint(1, 3))
    copies = [block for block in pool.index.get(entry, ()) if pool.keys[block] == entry]
    return pools.found(pool, *entry), copies[0] if copies else None


def _sharing(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    """The common prefix, by the tables themselves; each holds a block once, at one place."""
    prefix = tuple(rng.sample(range(1, BLOCKS), 4))
    cuts = [rng.randint(0, 4) for _ in range(rng.randint(1, 3))]
    held = {str(number): Held(prefix[:cut]) for number, cut in enumerate(cuts)}
    references = tuple(sum(block in each.blocks for each in held.values()) for block in range(BLOCKS))
    return full.num_common_prefix_blocks(pools.Pool((), references, (), {}), held, "0"), min(cuts)


def _evictable(rng: random.Random, pool: Pool) -> tuple[Any, Any]:
    hits = tuple(rng.sample(range(BLOCKS), 3))
    after = pools.touch(pool, hits, SOUND)
    return tables.num_evictable(pool, hits), len(pool.free) - len(after.free)


def _group(kind: Kind, block: int, **rules: Any) -> Group:
    return Group(0, kind, block, MANY, True, evolve(SOUND, **rules))


def _admitting(rng: random.Random, _pool: Pool) -> tuple[Any, Any]:
    """A new request's estimate, and what is loaded for it, beside what it takes."""
    block, window, cut = rng.randint(1, 4), rng.randint(1, 9), rng.choice(("tokens", "whole_blocks"))
    group = _group(Kind("sliding", window=window), block, external_cut=cut)
    pool = pools.publish(pools.fresh_pool(MANY), 0, ((each, each) for each in range(1, 9)))
    local, external = rng.randint(0, 6), rng.randint(0, 8)
    total, hits = local * block + external, tuple(range(1, local + 1))
    slots = total + rng.randint(1, 9)
    told = tables.estimate(group, pool, Held(), num_tokens=slots, hits=hits, total_computed=total, main=slots)
    free, held = len(pool.free), Held()
    loaded: tuple[int, ...] = ()
    if hits or external:
        pool, held = tables.adopt_hits(group, pool, held, hits=hits, num_local_tokens=local * block, num_external_tokens=external)
        pool, held, loaded = tables.take_external(group, pool, held, num_local_tokens=local * block, num_external_tokens=external)
    pool, held, _ = tables.grow(group, pool, held, num_tokens=slots, main=slots)
    skipped = max(total - window + 1, 0)
    nulls = skipped // block
    unread = total <= (skipped if cut == "tokens" or nulls else 0)
    needed = max(-(-total // block) - max(nulls, local), 0) if external and not unread else 0
    table = (*(NULL,) * nulls, *hits[nulls:])
    return (told, len(loaded), held.blocks[: len(table)]), (free - len(pool.free), needed, table)


def _running(rng: random.Random, _pool: Pool) -> tuple[Any, Any]:
    """A running request's estimates beside what it takes, with prefix caching and without, and with state blocks for drafts."""
    drafts = rng.randint(0, 2)
    kind, block = rng.choice(((Kind("full"), rng.randint(1, 4)), (Kind("mamba", mode="none", drafts=drafts), MANY)))
    module: Any = mamba if kind.kind == "mamba" else tables
    group, pool, held, slots = _group(kind, block), pools.fresh_pool(MANY), Held(), 0
    seen, expected = [], []
    for _ in range(3):
        slots, free = slots + rng.randint(1, 8), len(pool.free)
        told = module.estimate(group, pool, held, num_tokens=slots, hits=(), total_computed=slots, main=slots)
        pool, held, _ = module.grow(group, pool, held, num_tokens=slots, main=slots)
        if rng.random() < HALF:
            held = evolve(held, published=0)
        seen.append((told, len(held.blocks)))
        expected.append((free - len(pool.free), -(-slots // block) + (drafts if kind.kind == "mamba" else 0)))
    return seen, expected


def _growing(rng: random.Random, _pool: Pool) -> tuple[Any, Any]:
    """An align table's growth beside the theorem's, from a hit or from nothing, over steps of which some are for fewer tokens."""
    drafts = rng.randint(0, 3)
    block, pool = rng.randint(drafts + 1, 5), pools.publish(pools.fresh_pool(MANY), 0, ((9, 9),))
    shrink = rng.choice(("raises", "nothing"))
    group = _group(Kind("mamba", mode="align", drafts=drafts), block, mamba_align_shrink=shrink, external_state="counted")
    hits = (*(NULL,) * rng.randint(0, 2), 9) if rng.random() < HALF else ()
    external = rng.choice((0, 0, rng.randint(1, 2 * block)))
    lengths = {"num_local_tokens": len(hits) * block, "num_external_tokens": external}
    main = (total := sum(lengths.values())) + rng.randint(1, 2 * block)
    told = mamba.estimate(group, pool, Held(), num_tokens=main, hits=hits, total_computed=total, main=main)
    free = len(pool.free)
    pool, held = mamba.adopt_hits(group, pool, Held(), hits=hits, **lengths)
    pool, held, _ = mamba.take_external(group, pool, held, **lengths)
    seen, expected = [], []
    for _ in range(4):
        before = held
        done = _outcome(lambda: mamba.grow(group, pool, before, num_tokens=main, main=main))  # noqa: B023 - called at once
        required, length = mamba.num_state_blocks(group, main), len(held.blocks)
        if required < length and shrink == "raises":
            return done, "requirement_shrinks"
        pool, held, fresh = done
        seen.append((told, held.blocks, held.last_state, fresh))
        expected.append((free - len(pool.free), *_grown(before, required, drafts, held.blocks)))
        computed, main, free = main, max(1, main + rng.randint(-drafts, 2 * block)), len(pool.free)
        told = mamba.estimate(group, pool, held, num_tokens=main, hits=(), total_computed=computed, main=main)
    return seen, expected


def _grown(held: Held, required: int, drafts: int, after: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """The table, the last state's place and what was appended, by the relation of the theorems; fresh blocks are as they come."""
    old, length = held.blocks, len(held.blocks)
    if required <= length:
        return old, held.last_state, ()
    first, moved, before = lifecycle.grown(length, required - 1 - drafts, drafts, held.allocated)
    kept = [NULL if first <= at < first + moved else old[at] if at < length else NULL for at in range(before)]
    table = (*kept, *old[first : first + moved], *after[before + moved : required])
    state = length - 1 - (drafts if held.allocated else 0)
    return table, state if length else None, table[length:]


COMPARISONS: dict[str, Move] = {
    "taking": _taking,
    "touching": _touching,
    "releasing": _releasing,
    "publishing": _publishing,
    "withdrawing": _withdrawing,
    "looking up": _looking_up,
    "sharing": _sharing,
    "counting evictable hits": _evictable,
    "admitting": _admitting,
    "running": _running,
    "growing an align table": _growing,
}
"""Each comparison by what is compared."""


def differences(name: str, tries: int = 400) -> Iterator[tuple[Any, Any]]:
    """Where the model and the theorems part, of so many tries."""
    rng = random.Random(name)
    for _ in range(tries):
        pool = any_pool(rng)
        done, said = COMPARISONS[name](rng, pool)
        if done != said:
            yield done, said


def difference(name: str, tries: int = 400) -> Any:
    """The first difference; None if there is none."""
    try:
        return next(differences(name, tries), None)
    except (ArithmeticError, ValueError, TypeError, LookupError, AssertionError, Rejection) as error:
        return error


__all__ = ["COMPARISONS", "difference", "differences"]
