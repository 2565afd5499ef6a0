"""A real planner driven operation by operation, each translated into views and judged by the same oracles as any run."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve, frozen

from kvwitness.model import planning
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.model.request import Planned
from kvwitness.properties.operations import Arrive, Execute, Reset
from kvwitness.properties.planning import Abort, Plan, PlannerOperation, PlannerSettings, Submit, check_planner, most_blocks
from kvwitness.properties.prefixes import Prefixes
from kvwitness.properties.run import ORACLES, first_broken, make_oracles
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation
from kvwitness.vllm.loader import Release, ReleaseError
from kvwitness.vllm.looking import Hashes
from kvwitness.vllm.planner.allowed import require_allowed
from kvwitness.vllm.planner.building import build_planner
from kvwitness.vllm.planner.connector import PlainConnector
from kvwitness.vllm.planner.listening import KEPT, Listener
from kvwitness.vllm.planner.loading import REQUEST
from kvwitness.vllm.planner.outputs import ModelOutput, loads_done, proposed
from kvwitness.vllm.planner.raised import told_error
from kvwitness.vllm.planner.requests import Chains, make_request
from kvwitness.vllm.planner.told import told_tables
from kvwitness.vllm.planner.views import Row, Translator
from kvwitness.vllm.stand_ins import StandInError

NAME = "planner"

UTILS = "vllm.v1.core.kv_cache_utils"

JUDGES = tuple(name for name in ORACLES if name != "refinement")
"""The oracles that judge a planner: what it calls is its own business."""


@frozen
class Ahead:
    """A plan that was not executed yet: the planner's own output, and its rows."""

    output: Any
    rows: dict[str, Row]


class PlannerRun:
    """One planner from idle on.

    Attributes:
        given: The configuration as it was given.
        operations: The operations carried out so far.
        plans: How many steps were planned.
        prefixes: The table that keys are decoded by.
        scheduler: The release's planner.
        ahead: The plans that were not executed yet, oldest first.
    """

    def __init__(
        self, release: Release, config: Config, profile: Profile, settings: PlannerSettings, *, oracles: Sequence[str] = JUDGES
    ) -> None:
        """Begin with an idle planner.

        Raises:
            NotOffered: The release cannot plan for these groups.
            ReleaseError: It asks for something that is not known here.
        """
        check_planner(config, settings)
        self.config, self.settings = config.under(profile), settings
        self.given = config
        self.operations: list[PlannerOperation] = []
        self.plans = 0
        self.ahead: deque[Ahead] = deque()
        self._release = release
        self.prefixes, hashes = Prefixes(), Hashes(release[UTILS].make_block_hash_with_group_id)
        self._chains = Chains(self.prefixes, hashes, self.config.tokens_per_block)
        self.translator = Translator(self.config, profile)
        self.connector = PlainConnector(self.translator.submitted, self.config.hit_alignment) if settings.connector else None
        self._built = build_planner(release, self.config, settings, self.connector)
        self.scheduler = self._built.scheduler
        self._listener = Listener(release.label, self.config, self._built, hashes, self._full_keys)
        self._oracles = make_oracles(self.config, profile, self.prefixes, [name for name in oracles if name in JUDGES])
        self._real: dict[str, Any] = {}
        self._tables: dict[str, tuple[tuple[int, ...], ...]] = {}
        self._started: set[str] = set()
        self._arrived: set[str] = set()
        self._complete: set[str] = set()
        self._told: Violation | None = None

    def _full_keys(self, request: Any) -> list[int]:
        block = self.config.tokens_per_block
        return self._chains.of(request)[block - 1 :: block]

    @property
    def seen(self) -> Any:
        """The state as it was last looked at."""
        return self._listener.seen

    def real(self, name: str) -> Any:
        """The planner's own request of that name, or None once it is gone."""
        return self.scheduler.requests.get(name)

    def apply(self, operation: PlannerOperation) -> Violation | None:
        """Carry out one operation and judge it.

        Raises:
            Illegal: It cannot occur now; nothing was done.
        """
        return self.judge(self.perform(operation))

    def judge(self, views: Sequence[View]) -> Violation | None:
        """The first clause that the views of the last operation break, or what the planner itself did wrong."""
        for view in views:
            violation = first_broken(self._oracles, view)
            if violation is not None:
                return violation
        told, self._told = self._told, None
        return told

    def perform(self, operation: PlannerOperation) -> list[View]:
        """Carry out one operation and say what it came to; `judge` is to be asked before the next."""
        doing: Callable[[PlannerRun, Any], list[View]] = _DOINGS[type(operation)]
        require_allowed(self, operation)
        self.operations.append(operation)
        try:
            return doing(self, operation)
        except (ReleaseError, StandInError):
            raise
        except Exception as error:  # noqa: BLE001  whatever a planner raises is a finding, not ours
            because = told_error(self._release, error)
            views = self._views(_during(operation))
            if all(view.event.kind != "broken" for view in views):
                self._say("PLAN.SURVIVES", because)
            return views

    def _say(self, clause: str, because: str) -> None:
        """Note what the planner did wrong, unless something was noted already."""
        if self._told is None:
            self._told = Violation(clause, because, NAME)

    def _views(self, during: str) -> list[View]:
        views = []
        for heard in self._listener.take():
            chain = self._chains.of(self._real[heard.request]) if heard.request in self._real else ()
            views.append(self.translator.heard(heard, chain, during=during))
        return views

    def _know(self) -> None:
        """Take over what the planner knows of every request now; those that it has let go are gone."""
        for name in list(self.translator.requests):
            real = self._real[name]
            if name in self.scheduler.requests:
                self.translator.know(name, real, self._chains.of(real))
            else:
                del self.translator.requests[name]

    def submit(self, operation: Submit) -> list[View]:
        """Give the planner a request."""
        self.translator.submitted[operation.id] = operation
        request = make_request(self._release, operation, len(self._real), self._chains)
        self._real[operation.id] = request
        self.scheduler.add_request(request)
        return []

    def plan(self, operation: Plan) -> list[View]:
        """Let it plan a step, with the drafts that were proposed."""
        if operation.drafts:
            self.scheduler.update_draft_token_ids(proposed(operation.drafts))
        occupied = bool(self.ahead or self.scheduler.running or self.under_way())
        waits = self._first_waiting()
        before = self.seen
        self.plans += 1
        output = self.scheduler.schedule()
        views = self._views("plan")
        rows = dict(self.translator.rows)
        self._started.difference_update(name for name, row in rows.items() if not row.planned.new)
        step = self._step(output, rows)
        self.ahead.append(Ahead(output, rows))
        views.append(self.translator.closed(step, before, self.seen))
        self._know()
        refused = next((self.real(view.event.request) for view in views if view.event.kind == "refused"), None)
        if not step and (refused or waits) is not None:
            self._judge_progress(occupied, refused or waits)
        return views

    def _step(self, output: Any, rows: dict[str, Row]) -> tuple[Planned, ...]:
        """The rows in the order of the planner's output; what the worker is told must be what was granted."""
        for name, told in told_tables(output, self._tables).items():
            self._tables[name] = told
            held = tuple([tables.get(name, ()) for tables in self.seen.tables or ()])
            if not planning.worker_is_told_the_table(told, held):
                self._say("PLAN.TOLD", f"{name} has {[list(table) for table in held]} and the worker {[list(table) for table in told]}")
        told_rows = {name: rows[name].planned.new if name in rows else 0 for name in output.num_scheduled_tokens}
        if told_rows != dict(output.num_scheduled_tokens):
            self._say("PLAN.TOLD", f"the worker is to compute {dict(output.num_scheduled_tokens)} tokens, and slots are for {told_rows}")
        drafts = {name: len(tokens) for name, tokens in output.scheduled_spec_decode_tokens.items() if tokens}
        counted = {name: row.planned.drafts for name, row in rows.items() if row.planned.drafts}
        if drafts != counted:
            self._say(
                "PLAN.TOLD", f"the worker is told of {drafts or 'no'} drafts, and what is computed beyond the known tokens is {counted}"
            )
        loading = [row.planned for row in rows.values() if not row.planned.new]
        return (*loading, *[rows[name].planned for name in output.num_scheduled_tokens if name in rows])

    def loading(self) -> list[str]:
        """The requests whose external tokens are under way."""
        return [name for name, request in self.translator.requests.items() if request.status == "loading"]

    def arrivable(self) -> list[str]:
        """Those of them whose load may complete now: its step was executed."""
        return [name for name in self.loading() if name in self._started and name not in self._complete]

    def holding_without_running(self) -> list[str]:
        """The requests that hold blocks and do not run: their external tokens are under way or have arrived."""
        running = {request.request_id for request in self.scheduler.running}
        tables: dict[str, Any] = (self.seen.tables or ({},))[0]
        return [name for name in tables if name not in running and not name.startswith(KEPT)]

    def under_way(self) -> list[str]:
        """The requests whose load is not complete, or was not told to the planner yet."""
        return [name for name in self.loading() if name not in self._complete or name in self._arrived]

    def _first_waiting(self) -> Any:
        """The planner's own first request that waits, in whichever of its queues, or None."""
        queues = [getattr(self.scheduler, name, ()) for name in ("kv_holding_waiting", "skipped_waiting", "waiting")]
        return next((request for queue in queues for request in queue), None)

    def is_new(self, name: str) -> bool:
        """Whether a request's name was never used."""
        return name not in self._real

    def alive(self) -> list[str]:
        """The requests that have not ended."""
        return [name for name, request in self.scheduler.requests.items() if not request.is_finished()]

    def decoding(self) -> list[str]:
        """The requests that compute their last known token next, so that drafts can follow it."""
        return [each.request_id for each in self.scheduler.running if each.num_computed_tokens == each.num_tokens - 1]

    def sampling(self) -> dict[str, int]:
        """The requests that the oldest plan samples for, with how many tokens it can be at most."""
        rows = self.ahead[0].rows if self.ahead else {}
        return {name: row.planned.drafts + 1 for name, row in rows.items() if row.planned.samples}

    def _judge_progress(self, occupied: bool, waits: Any) -> None:
        """An empty plan of an idle planner, while a request waits for which the pool has room."""
        tokens = min(waits.num_tokens + self.config.drafts, self.config.max_model_len)
        blocks = sum(most_blocks(self.config, kind, group, tokens) for group, kind in enumerate(self.config.groups))
        fits = blocks < self.config.blocks
        if not planning.planner_goes_on(planned=False, occupied=occupied, waiting=True, fits=fits):
            because = f"{waits.request_id} waits with {waits.num_tokens} tokens, at most {blocks} blocks, and nothing is planned"
            others = ", ".join(self.holding_without_running())
            kept = f"; {others} hold blocks and wait too" if others else f" on an idle pool of {self.config.blocks}"
            self._say("PLAN.PROGRESS", because + kept)

    def execute(self, operation: Execute) -> list[View]:
        """Compute the oldest plan: the planner is told its outputs."""
        ahead = self.ahead.popleft()
        step = tuple([row.planned for row in ahead.rows.values() if not row.planned.new])
        step += tuple([ahead.rows[name].planned for name in ahead.output.num_scheduled_tokens if name in ahead.rows])
        sampled = {name: self._sampled(operation, ahead.rows.get(name)) for name in ahead.output.num_scheduled_tokens}
        lengths = {name: len(self._real[name].all_token_ids) for name in sampled}
        before = self.seen
        arrived, self._arrived = self._arrived, set()
        self.scheduler.update_from_output(ahead.output, ModelOutput(sampled, loads_done(arrived)))
        self._note_started(step)
        self._judge_outputs(ahead, sampled, lengths)
        kept = {name: tuple(self._real[name].all_token_ids[lengths[name] :]) or tokens for name, tokens in sampled.items() if tokens}
        return self._executed(step, kept, before)

    def _note_started(self, step: tuple[Planned, ...]) -> None:
        """The loads that this step begins may complete from now on."""
        for planned in step:
            if not planned.new:
                self._started.add(planned.request)
                self._complete.discard(planned.request)

    def _executed(self, step: tuple[Planned, ...], outputs: dict[str, tuple[int, ...]], before: Any) -> list[View]:
        """First the step with everybody in it, then what the planner did on its output."""
        for name, request in list(self.translator.requests.items()):
            chain = self._chains.of(self._real[name])
            if len(chain) != len(request.chain):
                self.translator.requests[name] = evolve(request, chain=tuple(chain))
        view = self.translator.executed(step, outputs, before)
        views = [view, *self._views("execute")]
        self._know()
        return views

    @staticmethod
    def _sampled(operation: Execute, row: Row | None) -> tuple[int, ...]:
        if row is None or not row.planned.samples:
            return ()
        return operation.outputs.get(row.planned.request, (0,))

    def _judge_outputs(self, ahead: Ahead, sampled: dict[str, tuple[int, ...]], lengths: dict[str, int]) -> None:
        """What was sampled is appended, unless the request left since."""
        for name, tokens in sampled.items():
            request, row = self._real[name], ahead.rows.get(name)
            appended = tuple(request.all_token_ids[lengths[name] :])
            if row is None or not tokens or self._gone(name, row):
                continue
            if self.translator.admissions[name] != row.admission:
                if not planning.stale_output_is_dropped(appended, readmitted=True):
                    self._say("PLAN.OUTPUT.STALE", f"{list(appended)}, sampled before {name} was admitted again, is appended to it")
            elif self.translator.requests[name].status == "running":
                ended = request.is_finished()
                if not planning.output_is_kept(tokens, appended, ended=ended):
                    self._say("PLAN.OUTPUT.KEPT", f"{name} sampled {list(tokens)}, and {list(appended) or 'nothing'} is appended")

    def _gone(self, name: str, row: Row) -> bool:
        """Whether the request had left before this step's outputs came."""
        return name not in self.translator.requests

    def arrive(self, operation: Arrive) -> list[View]:
        """The load of a request is complete; the planner hears of it with the next output."""
        self._arrived.add(operation.id)
        self._complete.add(operation.id)
        return [self.translator.arrived(operation.id, self.seen)]

    def abort(self, operation: Abort) -> list[View]:
        """End a request from outside."""
        status = self._release[REQUEST].RequestStatus.FINISHED_ABORTED
        self.scheduler.finish_requests(operation.id, status)
        return self._views("abort")

    def reset(self, operation: Reset) -> list[View]:
        """Reset the prefix cache."""
        self.scheduler.reset_prefix_cache(reset_running_requests=operation.force)
        views = self._views(_during(operation))
        self._know()
        return views


def _during(operation: PlannerOperation) -> str:
    return "forced reset" if isinstance(operation, Reset) and operation.force else type(operation).__name__.lower()


_DOINGS: dict[type[Any], Any] = {
    Submit: PlannerRun.submit,
    Plan: PlannerRun.plan,
    Execute: PlannerRun.execute,
    Arrive: PlannerRun.arrive,
    Abort: PlannerRun.abort,
    Reset: PlannerRun.reset,
}
__all__ = ["JUDGES", "PlannerRun"]
