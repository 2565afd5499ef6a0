"""All groups of a pool together: a state, and what each call of the protocol makes of it."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from kvwitness.model import hybrid, lookup, sink
from kvwitness.model.calls import Blocks, Call, Key, Observation, Outcome
from kvwitness.model.clauses import clause
from kvwitness.model.hybrid import keys_of_group
from kvwitness.model.kinds import Config
from kvwitness.model.need import first_needed
from kvwitness.model.pool import NULL, Pool, Rejection, found, fresh_pool, reset, without_keys
from kvwitness.model.profile import Profile
from kvwitness.model.rules import RULES
from kvwitness.model.table import NOTHING, Group, Held


@frozen(slots=False)
class State:
    """A pool and the tables of every group.

    Attributes:
        config: Sizes.
        groups: The fixed facts of each group.
        pool: The pool.
        tables: Per group, what each request holds.
        published_this_step: Per group, the blocks keyed since the step began, each with its key.
    """

    config: Config
    groups: tuple[Group, ...]
    pool: Pool
    tables: tuple[dict[str, Held], ...]
    published_this_step: tuple[frozenset[tuple[int, Key]], ...]


def initial_state(config: Config, profile: Profile) -> State:
    """An idle pool with its managers built."""
    config = config.under(profile)
    groups = tuple(
        Group(number, kind, config.block_of(number), config.blocks, config.caching, profile, config.hit_alignment, config.draft_model)
        for number, kind in enumerate(config.groups)
    )
    pool = fresh_pool(config.blocks)
    for group in groups:
        if group.kind.kind == "sink":
            pool = sink.reserve_sink(group, pool)
    return State(config, groups, pool, tuple({} for _ in groups), tuple(frozenset() for _ in groups))


def apply(state: State, call: Call) -> tuple[State, Outcome]:
    """Make one call; a rejected one leaves the state as it was."""
    try:
        after, value = TRANSITIONS[call.name](state, *call.arguments)
    except Rejection as rejection:
        return state, Outcome("rejected", None, rejection.reason)
    return after, Outcome("ok", value)


def observe(state: State) -> Observation:
    """The whole state as plain data."""
    return Observation(
        tuple({request: held.blocks for request, held in tables.items() if held.blocks} for tables in state.tables),
        state.pool.free,
        state.pool.references,
        state.pool.keys,
        state.pool.index,
        tuple({request: held.published for request, held in tables.items() if held.published is not None} for tables in state.tables),
        state.pool.reserved,
    )


def _with(state: State, pool: Pool, tables: tuple[dict[str, Held], ...]) -> State:
    return State(state.config, state.groups, pool, tables, state.published_this_step)


def _put(tables: dict[str, Held], request: str, held: Held) -> dict[str, Held]:
    """The tables with one request's entry replaced; a request that holds nothing has none."""
    if held is NOTHING or (not held.blocks and held.published is None):
        return {other: kept for other, kept in tables.items() if other != request}
    return {**tables, request: held}


def find_longest_cache_hit(state: State, keys: tuple[Key, ...], max_length: int) -> tuple[State, tuple[Blocks, ...]]:
    """The longest hit that all groups have, as a table each; nothing changes."""
    group, pool = state.groups[0], state.pool
    if state.config.is_hybrid:
        return state, lookup.look_up(state.config, state.groups, pool, keys, max_length)
    keys = tuple(keys_of_group(keys, group.block, state.config.tokens_per_block))

    def is_cached(index: int) -> bool:
        return all((other.number, keys[index]) in pool.index for other in state.groups)

    nulls, cached = RULES[group.kind.kind].look_up(group, state.config, num_keys=len(keys), max_length=max_length, is_cached=is_cached)
    return state, tuple(
        (NULL,) * nulls + tuple(found(pool, other.number, key) or NULL for key in keys[nulls : nulls + cached]) for other in state.groups
    )


def remove_skipped_blocks(state: State, request: str, num_computed_tokens: int) -> tuple[State, None]:
    """Release what no later token reads, in every group."""
    pool, tables = state.pool, list(state.tables)
    for group in state.groups:
        held = tables[group.number].get(request)
        if held is not None:
            pool, kept = RULES[group.kind.kind].release_skipped(group, pool, held, num_computed_tokens=num_computed_tokens)
            if kept is not held:
                tables[group.number] = _put(tables[group.number], request, kept)
    return (state if pool is state.pool else _with(state, pool, tuple(tables))), None


@clause("HYBRID.ESTIMATE", level="L2", source="get_num_blocks_to_allocate")
def get_num_blocks_to_allocate(
    state: State, request: str, num_tokens: int, hits: tuple[Blocks, ...], total: int, main: int, encoder_tokens: int
) -> tuple[State, int]:
    """The estimate is the blocks that all groups together will take, and more than the pool has where a hit must be put off."""
    blocks = 0
    for group in state.groups:
        tokens = encoder_tokens if group.kind.kind == "cross" else num_tokens
        held = state.tables[group.number].get(request, NOTHING)
        mine = hits[group.number] if hits else ()
        if group.kind.kind == "mamba" and group.profile.mamba_same_step_guard and _is_put_off(state, group, mine):
            blocks += group.num_blocks + 1
            continue
        blocks += RULES[group.kind.kind].estimate(group, state.pool, held, num_tokens=tokens, hits=mine, total_computed=total, main=main)
    return state, blocks


def _is_put_off(state: State, group: Group, hits: Blocks) -> bool:
    """Whether a hit was published in this step; by the key's scope, whether any copy of it was."""
    published = state.published_this_step[group.number]
    if group.profile.mamba_guard_scope == "block":
        return not {block for block, _ in published}.isdisjoint(hits)
    return not {(group.number, key) for _, key in published}.isdisjoint(state.pool.keys[block] for block in hits if block)


def allocate_new_computed_blocks(
    state: State, request: str, hits: tuple[Blocks, ...], num_local: int, num_external: int
) -> tuple[State, tuple[Blocks, ...]]:
    """Adopt the hits and take blocks for external tokens; in two phases every group adopts before any takes."""
    if state.groups[0].profile.adoption == "two_phase":
        order = [("adopt", group) for group in state.groups] + [("load", group) for group in state.groups]
    else:
        order = [(phase, group) for group in state.groups for phase in ("adopt", "load")]
    pool, tables, taken = state.pool, list(state.tables), [NOTHING.blocks] * len(state.groups)
    sizes = {"num_local_tokens": num_local, "num_external_tokens": num_external}
    for phase, group in order:
        rules, number = RULES[group.kind.kind], group.number
        held = tables[number].get(request, NOTHING)
        if phase == "adopt":
            pool, held = rules.adopt_hits(group, pool, held, hits=hits[number] if hits else (), **sizes)
        else:
            pool, held, taken[number] = rules.take_external(group, pool, held, **sizes)
        tables[number] = _put(tables[number], request, held)
    return _with(state, pool, tuple(tables)), tuple(taken)


def allocate_new_blocks(state: State, request: str, num_tokens: int, main: int, encoder_tokens: int) -> tuple[State, tuple[Blocks, ...]]:
    """Grow every group's table for the tokens to be computed."""
    pool, tables, appended = state.pool, list(state.tables), []
    for group in state.groups:
        tokens = encoder_tokens if group.kind.kind == "cross" else num_tokens
        held = tables[group.number].get(request, NOTHING)
        pool, grown, fresh = RULES[group.kind.kind].grow(group, pool, held, num_tokens=tokens, main=main)
        if grown is not held:
            tables[group.number] = _put(tables[group.number], request, grown)
        appended.append(fresh)
    return (_with(state, pool, tuple(tables)) if any(appended) else state), tuple(appended)


def cache_blocks(state: State, request: str, keys: tuple[Key, ...], num_tokens: int) -> tuple[State, None]:
    """Publish the full blocks of the first ``num_tokens`` tokens in every group."""
    pool, tables, published = state.pool, list(state.tables), list(state.published_this_step)
    for group in state.groups:
        held = tables[group.number].get(request, NOTHING)
        mine = tuple(keys_of_group(keys, group.block, state.config.tokens_per_block))
        published_tokens = hybrid.publishable(state.config, group.profile, group.block, num_tokens)
        pool, kept = RULES[group.kind.kind].publish_full(group, pool, held, keys=mine, num_tokens=published_tokens)
        if kept is not held:
            tables[group.number] = _put(tables[group.number], request, kept)
            fresh = kept.keyed_this_step[len(held.keyed_this_step) :]
            published[group.number] |= {(block, entry[1]) for block in fresh if (entry := pool.keys[block])}
    if pool is state.pool and tables == list(state.tables):
        return state, None
    return State(state.config, state.groups, pool, tuple(tables), tuple(published)), None


def free(state: State, request: str) -> tuple[State, None]:
    """Release all that the request holds; an unknown request holds nothing."""
    pool, tables = state.pool, list(state.tables)
    for group in state.groups:
        held = tables[group.number].get(request)
        if held is not None:
            pool = RULES[group.kind.kind].release_all(group, pool, held)
            tables[group.number] = _put(tables[group.number], request, NOTHING)
    return _with(state, pool, tuple(tables)), None


@clause("STEP.WITHDRAWN", level="L2", source="cache_blocks, new_step_starts")
def withdraw_blocks(state: State, request: str) -> tuple[State, None]:
    """What a request published in the step that preempts it is withdrawn: it will not be computed."""
    pool, tables = state.pool, list(state.tables)
    for group in state.groups:
        held = tables[group.number].get(request)
        if held is not None and held.published_this_step:
            pool = without_keys(pool, [block for block in dict.fromkeys(held.keyed_this_step) if block in held.blocks])
            kept = Held(held.blocks, held.published_before, held.allocated, held.last_state)
            tables[group.number] = _put(tables[group.number], request, kept)
    return _with(state, pool, tuple(tables)), None


def new_step_starts(state: State) -> tuple[State, None]:
    """Forget what was published in the step before."""
    published = [held.published_this_step for tables in state.tables for held in tables.values()]
    if not any(published) and not any(state.published_this_step):
        return state, None
    tables = tuple(
        {
            request: Held(held.blocks, held.published, held.allocated, held.last_state) if held.published_this_step else held
            for request, held in group_tables.items()
        }
        for group_tables in state.tables
    )
    return State(state.config, state.groups, state.pool, tables, (frozenset(),) * len(state.groups)), None


def get_num_common_prefix_blocks(state: State, request: str) -> tuple[State, tuple[int, ...]]:
    """Per group, how many leading blocks all requests share."""
    return state, tuple(
        RULES[group.kind.kind].num_common_prefix_blocks(state.pool, state.tables[group.number], request)
        if request in state.tables[group.number]
        else 0
        for group in state.groups
    )


def get_num_skipped_tokens(state: State, num_computed_tokens: int) -> tuple[State, tuple[int, ...]]:
    """Per group, how many leading tokens no later token reads."""
    return state, tuple(first_needed(group.kind, num_computed_tokens) for group in state.groups)


def get_num_free_blocks(state: State) -> tuple[State, int]:
    """Blocks that can be taken."""
    return state, len(state.pool.free)


def reset_prefix_cache(state: State) -> tuple[State, bool]:
    """Forget every cached prefix if nothing is in use."""
    pool, done = reset(state.pool, state.groups[0].profile)
    return _with(state, pool, state.tables), done


TRANSITIONS: dict[str, Callable[..., tuple[State, Any]]] = {
    transition.__name__: transition
    for transition in (
        find_longest_cache_hit,
        remove_skipped_blocks,
        get_num_blocks_to_allocate,
        get_num_free_blocks,
        allocate_new_computed_blocks,
        allocate_new_blocks,
        cache_blocks,
        free,
        withdraw_blocks,
        new_step_starts,
        get_num_common_prefix_blocks,
        get_num_skipped_tokens,
        reset_prefix_cache,
    )
}
