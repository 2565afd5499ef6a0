"""One form for all states that differ in names only: which blocks are meant, and which requests.

Blocks are numbered as they come: the free queue, what is set apart, then table by table.
Requests are numbered by their order of admission, which is a part of the state.
What no rule reads any more is left out, so that the states of a small world are finitely many.
"""

from collections.abc import Hashable, Mapping, Sequence

from kvwitness.model.caller import Caller
from kvwitness.model.managers import State
from kvwitness.model.profile import Profile
from kvwitness.model.request import Request, Step
from kvwitness.model.table import Held

Form = Hashable
"""Equal for two states exactly if one is the other with blocks and requests renamed."""


def reads_the_step(profile: Profile) -> bool:
    """Whether any rule of the profile looks at what was published in the step being planned."""
    return profile.mamba_same_step_guard or profile.preempted_in_plan == "withdrawn"


def canonical_form(state: State, caller: Caller) -> Form:
    """The form of a pool and its caller.

    Left out are the null block's references (they drift without end under some profiles and decide nothing), ids that were
    used before, what steps in flight hold of requests that are gone, and, where no rule reads it, what this step published.
    """
    pool, timed = state.pool, reads_the_step(caller.profile)
    order = [block for block in _in_order(state, caller) if block]
    labels = {0: 0, **{block: label for label, block in enumerate(dict.fromkeys(order), start=1)}}
    tables = tuple(
        tuple(_held(tables[name], labels, timed=timed) if name in tables else None for name in caller.requests) for tables in state.tables
    )
    keys = tuple(pool.keys[block] for block in labels)
    copies = tuple(sorted((entry, tuple(labels[block] for block in blocks)) for entry, blocks in pool.index.items() if len(blocks) > 1))
    published = (
        tuple(tuple(sorted((labels[block], key) for block, key in entries)) for entries in state.published_this_step) if timed else ()
    )
    return len(pool.free), len(pool.reserved), tables, keys, copies, published, caller_form(caller)


def _in_order(state: State, caller: Caller) -> list[int]:
    order = [*state.pool.free, *state.pool.reserved]
    for tables in state.tables:
        for name in caller.requests:
            if name in tables:
                order += tables[name].blocks
    return order


def _held(held: Held, labels: Mapping[int, int], *, timed: bool) -> Hashable:
    blocks = tuple([labels[block] for block in held.blocks])
    if not timed:
        return blocks, held.published, held.allocated, held.last_state
    keyed = tuple(sorted({labels[block] for block in held.keyed_this_step}))
    return blocks, held.published, held.allocated, held.last_state, keyed, held.published_before, held.published_this_step


def caller_form(caller: Caller) -> Hashable:
    """What decides the caller's further course: its requests by number, its steps, and what the open step has seen."""
    numbers = {name: number for number, name in enumerate(caller.requests)}
    requests = tuple([_request(request) for request in caller.requests.values()])
    steps = tuple([_step(step, numbers) for step in caller.steps])
    if caller.open is None:
        return requests, steps, None, caller.refused
    return requests, steps, _step(caller.open, numbers), caller.refused, caller.preempted


def _request(request: Request) -> Hashable:
    """The last key of a chain stands for all its tokens; of the outputs only whether there are any is ever read."""
    return (
        request.chain[-1],
        request.status,
        request.computed,
        request.placeholders,
        request.prefill,
        request.accepted,
        request.outputs > 0,
        request.encoder,
    )


def _step(step: Step, numbers: Mapping[str, int]) -> Sequence[Hashable]:
    return tuple(
        [
            (numbers[planned.request], planned.computed, planned.new, planned.drafts, planned.samples, planned.admitted)
            for planned in step
            if planned.request in numbers
        ]
    )


__all__ = ["Form", "canonical_form", "reads_the_step"]
