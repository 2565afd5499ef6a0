"""From what was heard of a planner to the views that the oracles judge: the planner's doings as operations of our alphabet."""

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import define, field

from kvwitness.model.caller import Caller, Event
from kvwitness.model.calls import Blocks, Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.model.request import Planned, Request, Status, Step, keys_of
from kvwitness.model.values import evolve as changed
from kvwitness.properties.operations import Arrive, Close, Execute, Free, Grow, Operation, Preempt, Probe, Reset, Resume, Start
from kvwitness.properties.planning import Submit
from kvwitness.properties.view import View
from kvwitness.vllm.planner.listening import KEPT, Asked, Heard

Made = list[tuple[Call, Outcome]]

STATUSES: dict[str, Status] = {"RUNNING": "running", "PREEMPTED": "preempted", "WAITING_FOR_REMOTE_KVS": "loading"}
"""What we call a release's statuses of requests that were admitted; any other that holds tokens was loaded, or is being let go."""


PREEMPTING = ("plan", "forced reset")
"""During what a request that loses its blocks is preempted; otherwise it ends."""

LEFT = Request(KEPT, (), (), "loading", 0, 0, 0, 0, 0, 0)
"""What stands for requests that ended and whose blocks are kept back."""


@define
class Row:
    """One request in a plan, from the moment that it was given slots.

    Attributes:
        planned: What it computes, as far as it is known by then.
        admission: Which admission of the request it belongs to, counted from 1.
        table: The table when it was given slots.
    """

    planned: Planned
    admission: int
    table: tuple[Blocks, ...]


@define
class Translator:
    """Turns what is heard into views, and knows of each request what our caller would.

    Attributes:
        config: Sizes.
        profile: The rules that the release is said to follow.
        submitted: The requests by name, as they were given to the planner.
        requests: Those that were admitted, as our caller knows them.
        admissions: How often each was admitted.
        rows: What the plan being made holds so far.
    """

    config: Config
    profile: Profile
    submitted: dict[str, Submit] = field(factory=dict)
    requests: dict[str, Request] = field(factory=dict)
    admissions: dict[str, int] = field(factory=dict)
    rows: dict[str, Row] = field(factory=dict)
    loads: dict[str, tuple[int, int]] = field(factory=dict)

    def caller(self, seen: Observation, *, planning: bool = False) -> Caller:
        """What our caller would know; blocks that are kept back belong to a request that is not gone altogether."""
        opened = tuple([row.planned for row in self.rows.values()]) if planning else None
        kept = {name: LEFT for name in (seen.tables or ({},))[0] if name.startswith(KEPT)}
        return Caller(self.config, self.profile, requests={**self.requests, **kept}, open=opened)

    def heard(self, heard: Heard, chain: Sequence[int], *, during: str) -> View:
        """The view of one thing heard while the planner plans, judges outputs, aborts or resets."""
        if heard.asked is not None:
            return self._asked(heard, heard.asked, chain)
        operation, event = self._told(heard, during)
        if heard.kind == "gone":
            self._leave(heard.request, preempted=during in PREEMPTING)
        caller = self.caller(heard.after, planning=during == "plan")
        return View(operation, event, heard.calls, heard.before, heard.after, caller, None, None, [])

    def _told(self, heard: Heard, during: str) -> tuple[Operation, Event]:
        name = heard.request
        if heard.kind == "gone":
            return (Preempt(name) if during in PREEMPTING else Free(name)), Event("gone", name)
        if heard.kind == "reset":
            return Reset(force=during == "forced reset"), Event("reset", done=heard.done)
        if heard.kind == "looked":
            return Probe(self.submitted[name].tokens), Event("probed", name)
        return Arrive(name), Event(heard.kind, name)

    def _leave(self, name: str, *, preempted: bool) -> None:
        self.rows.pop(name, None)
        request = self.requests.get(name)
        if request is None:
            return
        if preempted:
            self.requests[name] = changed(request, status="preempted", computed=0, accepted=0)
        else:
            del self.requests[name]

    def _asked(self, heard: Heard, asked: Asked, chain: Sequence[int]) -> View:
        """A request asked for slots: it is planned, loading, or refused, or the planner broke down over it."""
        name = heard.request
        hits = next((outcome.value for call, outcome in heard.calls if call.name == "find_longest_cache_hit"), ())
        local = self._local(heard.calls, asked)
        computed = asked.computed + local + asked.external
        admitted = asked.status != "RUNNING"
        operation = self._operation(name, asked, computed if asked.external else 0, admitted=admitted)
        if not heard.done:
            event = Event("broken" if heard.kind == "broken" else "refused", name, hits=hits)
            calls = _less_reserved(heard.calls, asked.reserved)
            return View(operation, event, calls, heard.before, heard.after, self.caller(heard.after, planning=True), None, None, [])
        appended = next((outcome.value for call, outcome in heard.calls if call.name == "allocate_new_blocks"), ())
        planned = self._planned(name, asked, computed, appended, admitted=admitted, local=local)
        self._admit(name, asked, planned, chain, admitted=admitted)
        table = tuple([tables.get(name, ()) for tables in heard.after.tables or ()])
        self.rows[name] = Row(planned, self.admissions[name], table)
        event = Event("loading" if asked.delayed else "planned", name, planned, hits)
        return View(operation, event, heard.calls, heard.before, heard.after, self.caller(heard.after, planning=True), None, None, [])

    @staticmethod
    def _local(calls: Made, asked: Asked) -> int:
        """Tokens of the local hit: what the estimate counts as computed, less what was and what comes from outside."""
        total = next((call.arguments[3] for call, _ in calls if call.name == "get_num_blocks_to_allocate"), asked.computed + asked.external)
        return int(total) - asked.computed - asked.external

    def _planned(self, name: str, asked: Asked, computed: int, appended: tuple[Blocks, ...], *, admitted: bool, local: int) -> Planned:
        known = asked.num_tokens + asked.placeholders
        end = computed + asked.new
        drafts = max(0, end - known)
        external = (local, local + asked.external) if asked.external else (0, 0)
        return Planned(name, computed, asked.new, drafts, not asked.delayed and end >= known, admitted, external, appended, 0)

    def _operation(self, name: str, asked: Asked, external: int, *, admitted: bool) -> Operation:
        """What our caller would be asked for; external tokens are counted from the prompt's beginning."""
        submit = self.submitted[name]
        if not admitted or asked.computed:
            drafts = max(0, asked.computed + asked.new - asked.num_tokens - asked.placeholders)
            return Grow(name, max(asked.new, 1), drafts)
        if name in self.requests:
            return Resume(name, asked.new, external, asked.delayed)
        return Start(name, submit.tokens, asked.new, external, asked.delayed)

    def _admit(self, name: str, asked: Asked, planned: Planned, chain: Sequence[int], *, admitted: bool) -> None:
        """Note the request as our caller would know it right after it was planned."""
        # A load that has arrived goes on with the admission that began it.
        if admitted and not (asked.computed and name in self.requests):
            self.admissions[name] = self.admissions.get(name, 0) + 1
        before = self.requests.get(name)
        prefill = len(chain) if admitted or before is None else before.prefill
        status: Status = "loading" if asked.delayed else "running"
        keys = keys_of(tuple(chain), self.config.tokens_per_block)
        outputs = len(chain) - len(self.submitted[name].tokens)
        self.requests[name] = Request(
            name, tuple(chain), keys, status, planned.computed, asked.placeholders, prefill, 0, outputs, planned.encoder
        )

    def closed(self, step: Step, before: Observation, after: Observation) -> View:
        """The plan is made: this step is what the worker will be told."""
        self.rows.clear()
        return View(Close(), Event("closed"), [], before, after, self.caller(after), step, None, [])

    def executed(self, step: Step, outputs: dict[str, tuple[int, ...]], seen: Observation, ended: Iterable[str] = ()) -> View:
        """A step was computed; requests that it ended still exist in this view."""
        return View(Execute(outputs), Event("executed"), [], seen, seen, self.caller(seen), None, step, [])

    def arrived(self, name: str, seen: Observation) -> View:
        """The load of a request is complete."""
        return View(Arrive(name), Event("arrived", name), [], seen, seen, self.caller(seen), None, None, [])

    def know(self, name: str, real: Any, chain: Sequence[int]) -> None:
        """Take over what the planner knows of an admitted request."""
        request = self.requests.get(name)
        if request is None:
            return
        # One that was aborted while it loads keeps its blocks until the load is complete.
        status = "loading" if real.is_finished() else STATUSES.get(real.status.name, "loaded")
        if len(chain) != len(request.chain):
            longer = tuple(chain)
            keys = keys_of(longer, self.config.tokens_per_block)
            request = changed(request, chain=longer, keys=keys, outputs=len(longer) - len(self.submitted[name].tokens))
        computed, placeholders = real.num_computed_tokens, real.num_output_placeholders
        self.requests[name] = changed(request, status=status, computed=computed, placeholders=placeholders)


def _less_reserved(calls: Made, reserved: int) -> Made:
    """The calls of a refusal with the free blocks that the request might have had."""
    if not reserved:
        return calls
    return [(call, Outcome("ok", outcome.value - reserved) if call.name == "get_num_free_blocks" else outcome) for call, outcome in calls]


__all__ = ["Row", "Translator"]
