"""Judging once a step: the pool of a workload is too large to be looked at after every operation.

Operations go through the same caller, and every outcome is judged at once: whether the call was accepted, whether the estimate was taken,
whether a hit is the one that was due, whether a refusal has a reason.
The state is looked at before each look-up and when planning has ended; then books, contents and the model are compared with it.
A running request's table changes only by its own operations, so the last look shows it as it was before each of them.
"""

from collections.abc import Sequence

from kvwitness.model.caller import Event
from kvwitness.model.calls import Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.properties.accounting import Accounting
from kvwitness.properties.contents import Contents
from kvwitness.properties.liveness import Liveness
from kvwitness.properties.operations import Close, Execute, Operation, Resume, Start
from kvwitness.properties.port import Port
from kvwitness.properties.prefixes import Keys
from kvwitness.properties.refinement import Refinement
from kvwitness.properties.run import Run
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

COUNT_FREE = Call("get_num_free_blocks", ())


class StepRun(Run):
    """A run that is judged once a step.

    Attributes:
        opening: The state when the last step's planning had ended.
        view: The last operation as it was carried out.
        num_evicted: Keys lost because their block was handed out again.
        num_operations: Operations carried out.
        num_looks: Times the whole state was looked at.
        judged: Per oracle, the engine steps that it judged.
        refined_operations: Operations that the model took part in.
    """

    def __init__(self, port: Port, config: Config, profile: Profile, keys: Keys, *, refined_steps: int, level: str = "L3") -> None:
        """Begin with an idle pool; refinement judges the first ``refined_steps`` steps."""
        super().__init__(port, config, profile, oracles=(), prefixes=keys)
        self.opening: Observation = self.seen
        self.view: View
        self.num_operations = self.num_looks = self.num_evicted = self.refined_operations = 0
        self.judged = dict.fromkeys(("accounting", "contents", "liveness", "refinement"), 0)
        self._accounting, self._liveness = Accounting(config), Liveness(config, sees_each_operation=False)
        self._contents = Contents(config, keys.ancestor)
        self._refinement = Refinement(config, profile, level) if refined_steps else None
        self._refined_steps = refined_steps
        self._planned: list[View] = []
        self._taken: set[int] = set()
        self._calls: list[tuple[Call, Outcome]] = []
        self._compared = 0
        self._is_stale = False

    def apply(self, operation: Operation) -> Violation | None:
        """Carry out one operation; judge its outcomes at once and, where it executes a step, the step."""
        ends_step = isinstance(operation, Execute | Close)
        if self._is_stale and isinstance(operation, Execute | Close | Start | Resume):
            self._refresh()
        view = self.view = self.perform(operation)
        self.num_operations += 1
        self._compared += 1
        if ends_step:
            self.operations.clear()
            return self._judge_step(view)
        return self._judge_outcomes(view)

    def look(self) -> Observation:
        """Not now: the state is looked at once a step."""
        self._is_stale = True
        return self.seen

    def settle(self) -> Violation | None:
        """Look at the state between steps and judge its books: at the end, when every request is freed."""
        self._refresh()
        return self._judge_state([])

    def _refresh(self) -> None:
        seen = self.port.observe()
        if seen != self.seen:
            # An unchanged state stays the same object, so that the oracles see at once that nothing changed.
            self.seen = seen
        self.num_looks += 1
        self._is_stale = False

    def _judge_outcomes(self, view: View) -> Violation | None:
        """What one operation's outcomes break."""
        planned = view.event.planned
        if planned is not None:
            self._planned.append(view)
            for blocks in planned.appended:
                self._taken.update(blocks)
        if self._refinement is not None:
            self._calls += view.calls
        free = self.port.call(COUNT_FREE).value
        return self._accounting.judge_calls(view, free) or self._judge_liveness(view)

    def _judge_liveness(self, view: View) -> Violation | None:
        """Liveness has nothing to say of an operation that looked up nothing and was not refused."""
        if view.event.kind == "refused" or isinstance(view.operation, Start | Resume):
            return self._liveness.judge(view)
        return None

    def _judge_step(self, view: View) -> Violation | None:
        """Judge the state at the end of planning, tell the worker what was planned, and execute it."""
        broken = self._judge_state(view.calls)
        if broken is not None:
            return broken
        for planned in self._planned:
            told = planned._replace(after=view.before)
            broken = broken or self._contents.judge(told)
        self._planned = []
        self.judged["contents"] += 1
        self.judged["liveness"] += 1
        if self.opening.keys is not None:
            self.num_evicted += sum([self.opening.keys[block] is not None for block in self._taken])
        self.opening, self._taken = view.before, set()
        return broken or self._contents.judge(view)

    def _judge_state(self, calls: Sequence[tuple[Call, Outcome]]) -> Violation | None:
        """Compare the books, and the model after all calls of the step, with the state as it was just looked at."""
        whole = View(Close(), Event("closed"), [*self._calls, *calls], self.opening, self.seen, self.caller, None, None, [])
        self.judged["accounting"] += 1
        broken = self._accounting.judge(whole._replace(calls=[]))
        if broken is None and self._refinement is not None:
            broken = self._refinement.judge(whole)
            self.judged["refinement"] += 1
            self.refined_operations += self._compared
            self._calls, self._compared = [], 0
            if self.judged["refinement"] >= self._refined_steps:
                self._refinement = None
        return broken
