"""The order of calls: what each precondition of the caller keeps true, and what breaks without it.

Where a precondition is a function of numbers or of membership, the model's own function is run, every way through it.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from kvwitness.model import contents, legal
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.request import settled_tokens
from kvwitness.proofs import lemmas
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, chosen, either, iff, implies, negated
from kvwitness.proofs.theorem import Statement, Wrong, theorem

Function = Callable[..., Any]
RUNNING, LOADING, LOADED, PREEMPTED = range(4)
NONE, ALIGN = Kind("mamba", mode="none"), Kind("mamba", mode="align")
STATES = Config(blocks=8, block_size=4, groups=(ALIGN,))


class _Members:
    """A set that has one member, or not."""

    def __init__(self, has_it: Any) -> None:
        self._has_it = has_it

    def __contains__(self, _member: object) -> bool:
        return bool(self._has_it)


def _is_new(used: Any) -> Any:
    return merged(lambda truth: legal.is_new(_Members(truth), ""), used)  # type: ignore[arg-type]


def _is_known(known: Any) -> Any:
    return merged(lambda truth: legal.is_known(_Members(truth), ""), known)  # type: ignore[arg-type]


def _any_id(_used: Any) -> Any:
    return True


def _with(predicate: Function, place: Any, truth: Any) -> Function:
    def changed(at: Any) -> Any:
        return either(both(at == place, truth), both(at != place, predicate(at)))

    return changed


@theorem(
    "an-id-names-one-request",
    clauses="CALLER.REQUEST.NEW, CALLER.REQUEST.KNOWN",
    witness={
        "id": 3,
        "other": 2,
        "any_id": 2,
        "known": frozenset({2}),
        "used": frozenset({1, 2}),
        "planned": frozenset({1, 2}),
        "born": {1: 1, 2: 1},
        "meant": {1: 1, 2: 1},
    },
    reach=4,
    wrong=[Wrong("an id may be used again", {"admits": _any_id}), Wrong("one that left may be planned", {"plans": _any_id})],
)
def an_id_names_one_request(domain: Domain, admits: Function = _is_new, plans: Function = _is_known) -> Statement:
    """A step that is executed after its requests left, and others came, still finds under each id the request that was planned, or none."""
    new, other, any_id = numbers(domain, "id other any_id")
    known, used, planned = (domain.predicate(name) for name in ("known", "used", "planned"))
    born, meant = domain.function("born"), domain.function("meant")

    def right(at: Any, exists: Function, is_used: Function, in_plan: Function, birth: Function) -> Any:
        """An id that exists is used; one that is planned is used, and means the request that exists, if any."""
        return both(implies(exists(at), is_used(at)), implies(in_plan(at), both(is_used(at), implies(exists(at), meant(at) == birth(at)))))

    def again(at: Any) -> Any:
        return chosen(at == new, born(new) + 1, born(at))

    admitted = right(any_id, _with(known, new, True), _with(used, new, True), planned, again)
    left = right(any_id, _with(known, other, False), used, planned, born)
    hypotheses = {
        "planned ids mean what exists": domain.every(lambda at: right(at, known, used, planned, born), lambda at: planned(at), known),
    }
    goals = {
        "after a new one came": implies(admits(used(new)), admitted),
        "after one left": left,
        "what is planned is used": implies(plans(known(other)), used(other)),
    }
    return Statement(hypotheses, goals)


def _may(status: Any, *allowed: int) -> Any:
    return merged(lambda at: legal.has_status(SimpleNamespace(status=at), *allowed), status)  # type: ignore[arg-type]


def _agrees(status: Any, holds: Any, arrived: Any) -> Any:
    """A request holds blocks unless it is preempted, and its external tokens are there unless it is loading."""
    known = both(status >= RUNNING, status <= PREEMPTED)
    return both(known, iff(holds, status != PREEMPTED), iff(arrived, status != LOADING))


@theorem(
    "a-status-says-what-is-there",
    clauses="CALLER.REQUEST.STATUS, TABLE.ADOPT",
    witness={"status": PREEMPTED, "holds": False, "arrived": True, "loads": False},
    wrong=[
        Wrong("one that runs may be readmitted", {"resumes": (PREEMPTED, RUNNING)}),
        Wrong("one that is loading may compute", {"grows": (RUNNING, LOADED, LOADING)}),
        Wrong("one that runs may be told that its load is there", {"arrives": (LOADING, PREEMPTED)}),
    ],
)
def a_status_says_what_is_there(
    domain: Domain,
    resumes: tuple[int, ...] = (PREEMPTED,),
    grows: tuple[int, ...] = (RUNNING, LOADED),
    arrives: tuple[int, ...] = (LOADING,),
) -> Statement:
    """A request that is readmitted holds nothing, so that it can adopt; one that computes has blocks, and all its external tokens."""
    status = domain.number("status")
    holds, arrived, loads = (domain.truth(name) for name in ("holds", "arrived", "loads"))
    goals = {
        "who is readmitted holds nothing": implies(_may(status, *resumes), negated(holds)),
        "after it is readmitted": _agrees(chosen(loads, LOADING, RUNNING), True, negated(loads)),
        "who computes has blocks and its tokens": implies(_may(status, *grows), both(holds, arrived)),
        "after its load is there": implies(_may(status, *arrives), _agrees(LOADED, holds, True)),
        "after it is preempted": implies(_may(status, RUNNING), _agrees(PREEMPTED, False, arrived)),
    }
    return Statement({"its status says so": _agrees(status, holds, arrived)}, goals)


def _once(first: Any, mine: Any) -> Any:
    return merged(lambda other, request: legal.planned_once((SimpleNamespace(request=other),), request), first, mine)  # type: ignore[arg-type]


def _twice(_first: Any, _mine: Any) -> Any:
    return True


@theorem(
    "each-planned-token-is-counted",
    clauses="CALLER.STEP.ONCE, CALLER.CHUNK",
    witness={"computed": 4, "earlier": 2, "new": 3, "first": 1, "mine": 2},
    wrong=[Wrong("a step may plan a request twice", {"allowed": _twice})],
)
def each_planned_token_is_counted(domain: Domain, allowed: Function = _once) -> Statement:
    """When a step closes, each of its requests counts as computed all tokens that the step plans for it."""
    computed, earlier, new, first, mine = numbers(domain, "computed earlier new first mine")
    planned = chosen(first == mine, earlier, 0) + new
    # The last plan of a request decides, and it was made before any of the step's plans counted.
    closed = computed + new
    goals = {"as many": implies(allowed(first, mine), closed == computed + planned)}
    return Statement({}, goals)


def _settled(computed: Any, first: Any, mine: Any, new: Any) -> Any:
    def run(counted: Any, other: Any, request: Any, tokens: Any) -> Any:
        step = (SimpleNamespace(request=other, new=tokens),)
        return settled_tokens(SimpleNamespace(id=request, computed=counted), (step,))  # type: ignore[arg-type]

    return merged(run, computed, first, mine, new)


def _nothing_in_flight(first: Any, mine: Any) -> Any:
    def run(other: Any, request: Any) -> Any:
        step = (SimpleNamespace(request=other),)
        return legal.nothing_in_flight(SimpleNamespace(id=request), (step,))  # type: ignore[arg-type]

    return merged(run, first, mine)


@theorem(
    "a-readmitted-request-is-settled",
    clauses="CALLER.RESUME.JUDGED, CALLER.EXECUTE",
    witness={"hit": 4, "new": 3, "first": 1, "mine": 2},
    wrong=[Wrong("it may come back while a step that names it is in flight", {"allowed": _twice})],
)
def a_readmitted_request_is_settled(domain: Domain, allowed: Function = _nothing_in_flight) -> Statement:
    """A request that is readmitted starts with its hit as its settled length, whatever step is in flight, so what it still needs is
    not released and its earlier steps' outputs are not taken for new ones.
    """
    hit, new, first, mine = numbers(domain, "hit new first mine")
    settled = _settled(hit, first, mine, new)
    goals = {
        "settled at the hit": implies(allowed(first, mine), settled == hit),
        "what is in flight is not settled": implies(first == mine, settled == hit - new),
    }
    return Statement({}, goals)


@theorem(
    "who-leaves-a-plan-leaves-no-hit-uncomputed",
    clauses="CALLER.PREEMPT.BEFORE-ADMISSION, CONTENTS.CACHED, CONTENTS.READ.OWN",
    witness={
        "leaving": 3,
        "block": 1,
        "writer": {1: 1},
        "adopter": {1: 2},
        "planned": frozenset({1, 2}),
        "admitted": frozenset({2}),
        "adopted": frozenset({1}),
        "computed": frozenset(),
    },
    reach=4,
    wrong=[Wrong("a planned request may leave although the step admits others", {"guarded": False})],
)
def who_leaves_a_plan_leaves_no_hit_uncomputed(domain: Domain, guarded: bool = True) -> Statement:
    """Every block that a step's admitted requests adopt is computed before, or in this step by a request that stays in its plan."""
    leaving, block = numbers(domain, "leaving block")
    writer, adopter = domain.function("writer"), domain.function("adopter")
    planned, admitted, adopted, computed = (domain.predicate(name) for name in ("planned", "admitted", "adopted", "computed"))
    nobody = domain.every(lambda one: implies(planned(one), negated(admitted(one))), lambda one: planned(one))
    hypotheses = {
        "so far what is adopted is computed, or planned": domain.every(
            lambda at: implies(adopted(at), either(computed(at), planned(writer(at)))), lambda at: adopted(at)
        ),
        "who adopts is admitted in this step": domain.every(
            lambda at: implies(adopted(at), both(planned(adopter(at)), admitted(adopter(at)))), lambda at: adopted(at)
        ),
        "who leaves is not planned, or nobody is admitted": either(negated(planned(leaving)), nobody, not guarded),
    }
    still = both(adopted(block), adopter(block) != leaving)
    return Statement(hypotheses, {"it still is": implies(still, either(computed(block), _with(planned, leaving, False)(writer(block))))})


def _keeps_drafts(accepted: Any, drafts: Any, in_flight: Any) -> Any:
    def run(taken: Any, carried: Any, ahead: Any) -> Any:
        request: Any = SimpleNamespace(id="A", accepted=taken)
        step: Any = (SimpleNamespace(request="A", drafts=ahead),)
        return legal.state_row_keeps_drafts(STATES, request, carried, (step,))

    return merged(run, accepted, drafts, in_flight)


@theorem(
    "without-drafts-the-state-is-in-the-first-row",
    clauses="CALLER.STATE-ROW, CONTENTS.READ.OWN",
    witness={"n": 5, "accepted": 0, "in_flight": 0, "later": 0, "drafts": 0, "ran": 2, "block": 4},
    kinds=("mamba",),
    sizes=("block",),
    wrong=[Wrong("a step without drafts may follow one that had some accepted", {"allowed": lambda *_counts: True})],
)
def without_drafts_the_state_is_in_the_first_row(domain: Domain, allowed: Function = _keeps_drafts) -> Statement:
    """A step without drafts, in which a worker copies nothing, continues a state that lies where the last step ran, not in a
    speculative block behind it.
    """
    n, accepted, in_flight, later, drafts, ran = numbers(domain, "n accepted in_flight later drafts ran")
    block = domain.size("block")
    # The step in flight decides how many are accepted by the time this one is computed, if it has drafts.
    counts = chosen(in_flight > 0, later, accepted)
    hypotheses = {
        "the step has no drafts, and may be planned": both(drafts == 0, allowed(accepted, drafts, in_flight)),
    }
    goals = {
        "mode none: the first block": contents.source_state(NONE, n, block, ran, counts) == 0,
        "mode align: the running block": contents.source_state(ALIGN, n, block, ran, counts) == ran,
    }
    return Statement(hypotheses, goals)


def _fit(drafts: Any, most: Any) -> Any:
    return merged(lambda carried, configured: legal.drafts_fit(SimpleNamespace(drafts=configured), carried), drafts, most)  # type: ignore[arg-type]


@theorem(
    "few-drafts-are-in-flight",
    clauses="CALLER.DEPTH, CALLER.DRAFTS",
    witness={"steps": 1, "in_flight": 2, "drafts": 2, "depth": 2, "k": 2},
    sizes=("k",),
    wrong=[Wrong("a step more may be planned", {"more": 1}), Wrong("a step may carry a draft more", {"spare": 1})],
)
def few_drafts_are_in_flight(domain: Domain, more: int = 0, spare: int = 0) -> Statement:
    """No more than the depth times k drafts are ever unverified: by so many at most the optimistic length is ahead of what will count."""
    steps, in_flight, drafts, depth = numbers(domain, "steps in_flight drafts depth")
    k = domain.size("k")
    hypotheses = {
        "so far k a step at most": in_flight <= steps * k,
        "the depth allows a step": steps < depth + more,
        "the step carries k drafts at most": _fit(drafts - spare, k),
        "k is 1 or more": k >= 1,
    }
    goals = {"k a step still": in_flight + drafts <= (steps + 1) * k, "within the depth": in_flight + drafts <= depth * k}
    return Statement(hypotheses, goals, [lemmas.product_of_sum(steps, 1, k), lemmas.product_keeps_order(steps + 1, depth, k)])


def _allows(known: Any, new: Any, drafts: Any, most: Any, outputs: Any) -> Any:
    """Whether a step of so many tokens is let through by all that is asked of one."""

    def run(tokens: Any, chunk: Any, carried: Any, configured: Any, sampled: Any) -> Any:
        request: Any = SimpleNamespace(num_tokens=tokens, placeholders=0, computed=0, id="A", accepted=carried)
        fits = legal.drafts_fit(SimpleNamespace(drafts=configured), carried)  # type: ignore[arg-type]
        rows = legal.state_row_keeps_drafts(STATES, request, carried, ())
        return legal.chunk_is_known(request, chunk, carried) and fits and rows and legal.outputs_fit(carried, sampled)

    return merged(run, known, new, drafts, most, outputs)


@theorem(
    "what-is-asked-leaves-room",
    clauses="CALLER.CHUNK, CALLER.DRAFTS, CALLER.OUTPUTS, CALLER.STATE-ROW",
    witness={"known": 5, "new": 5, "drafts": 1, "accepted": 1, "k": 2},
    wrong=[Wrong("a step of drafts may leave its one token out", {"beside": -1})],
)
def what_is_asked_leaves_room(domain: Domain, beside: int = 0) -> Statement:
    """A planner may always compute one known token or all, none, some or all of the configured drafts behind them, and have any number
    of its drafts accepted.
    """
    known, new, drafts, accepted, k = numbers(domain, "known new drafts accepted k")
    hypotheses = {
        "1 token or more is known": known >= 1,
        "the chunk is of known tokens": both(1 <= new, new <= known),
        "drafts are 0 to k": both(0 <= drafts, drafts <= k),
        "the accepted are among the drafts": both(0 <= accepted, accepted <= drafts),
    }
    goals = {
        "any known tokens": _allows(known, new, 0, k, 1),
        "all, and drafts": _allows(known, known + drafts + beside, drafts, k, accepted + 1),
    }
    return Statement(hypotheses, goals)


def _loads(kind: str, external: Any, caching: Any) -> Any:
    """Whether external tokens are let in where all groups are of a kind."""

    def run(tokens: Any, cached: Any) -> Any:
        config: Any = SimpleNamespace(caching=cached, has=lambda *kinds: kind in kinds)
        return legal.external_is_supported(config, tokens)

    return merged(run, external, caching)


def _loads_anything(_kind: str, external: Any, caching: Any) -> Any:
    return either(external == 0, caching)


@theorem(
    "external-tokens-have-entries-of-their-own",
    clauses="CALLER.EXTERNAL, TABLE.EXTERNAL",
    witness={"external": 2, "caching": True},
    wrong=[Wrong("any kind loads", {"loads": _loads_anything})],
)
def external_tokens_have_entries_of_their_own(domain: Domain, loads: Function = _loads) -> Statement:
    """External tokens come only where a token's entry is its own and is published: never as Mamba states, never for cross attention,
    and never without prefix caching; and none at all is always allowed.
    """
    external, caching = domain.number("external"), domain.truth("caching")
    goals = {kind: iff(loads(kind, external, caching), either(external == 0, caching)) for kind in ("full", "sliding", "chunked", "sink")}
    none = {kind: iff(loads(kind, external, caching), external == 0) for kind in ("mamba", "cross")}
    return Statement({}, {**goals, **none})
