"""The serving loop: continuous batching with chunked prefill, as an operations source for a run.

Requests are admitted in the order of their arrival as capacity permits: the timestamps give the order and nothing else,
so the loop always has a queue to admit from, and the same trace gives the same operations.
"""

from collections import deque
from collections.abc import Generator, Iterator

from attrs import frozen

from kvwitness.model.legal import aligned_chunk
from kvwitness.model.request import Request
from kvwitness.properties.operations import Close, Execute, Free, Grow, Operation, Preempt, Resume, Start
from kvwitness.properties.run import Run
from kvwitness.reading import Place
from kvwitness.workload.chain import output_key
from kvwitness.workload.trace_file import Arrival, Workload


@frozen
class Limits:
    """What one engine step may hold.

    Attributes:
        batch_tokens: Tokens computed in a step, drafts included.
        max_running: Requests that run at once.
    """

    batch_tokens: int
    max_running: int


class Serving:
    """Chooses the next operation of a run.

    A step plans running requests first, in the order of their admission: a prefill's next chunk or a decode within the token budget.
    Where one is refused, the last running one is preempted and waits in front; a step that preempted admits nobody.
    Otherwise waiting requests are admitted until the budget, the number of running requests or the pool ends it.
    """

    def __init__(self, run: Run, workload: Workload, limits: Limits) -> None:
        """Serve the workload on this run."""
        self._run, self._workload, self._limits = run, workload, limits
        self._arrivals = {f"r{arrival.prompt.number}": arrival for arrival in workload.arrivals}
        self._waiting: deque[str] = deque(self._arrivals)
        self._running: list[str] = []
        self._budget = 0
        self._plans_nothing = True

    def operations(self) -> Iterator[Operation]:
        """Operations until every request is served; each must be applied before the next is asked for.

        Raises:
            TraceError: A request can never fit the pool.
        """
        while self._waiting or self._running:
            self._budget, self._plans_nothing = self._limits.batch_tokens, True
            preempted = yield from self._grow_running()
            if not preempted:
                yield from self._admit()
            if self._plans_nothing:
                yield Close()
                continue
            yield Execute(self._outputs())
            yield from self._finish()

    def line_of(self, name: str) -> int:
        """The line of the trace that a request comes from."""
        return self._arrivals[name].line

    def _grow_running(self) -> Generator[Operation, None, bool]:
        """Plan every running request, preempting from the back where one is refused; whether anybody was preempted."""
        preempted, place = False, 0
        while place < len(self._running) and self._budget > 0:
            name = self._running[place]
            growth = self._growth(self._run.caller.requests[name])
            if growth is None:
                place += 1
                continue
            yield growth
            if not self._run.caller.refused:
                self._note(growth.new)
                place += 1
                continue
            if len(self._running) == 1:
                self._refuse_for_good(name)
            yield Preempt(self._running[-1])
            self._waiting.appendleft(self._running.pop())
            preempted = True
        return preempted

    def _growth(self, request: Request) -> Grow | None:
        """A prefill's next chunk, or a decode with the drafts that are configured; None where the budget is too small for it."""
        run = self._run
        known = request.num_tokens - request.computed
        drafts = run.config.drafts if request.computed + known > request.prefill else 0
        if drafts:
            return Grow(request.id, known + drafts, drafts) if known + drafts <= self._budget else None
        new = known if known == 1 else aligned_chunk(run.config, run.profile, request, min(known, self._budget))
        return Grow(request.id, new) if new > 0 else None

    def _note(self, new: int) -> None:
        self._budget -= new
        self._plans_nothing = False

    def _admit(self) -> Iterator[Operation]:
        """Admit from the front of the queue until one is refused."""
        run, most = self._run, self._limits.max_running
        while self._waiting and self._budget > 0 and len(self._running) < most:
            name = self._waiting[0]
            if name in run.caller.requests:
                yield Resume(name, self._budget)
            else:
                yield Start(name, (self._arrivals[name].prompt.number,), self._budget)
            plan = run.caller.open or ()
            if not plan or plan[-1].request != name:
                if not self._running:
                    self._refuse_for_good(name)
                return
            self._note(plan[-1].new)
            self._running.append(self._waiting.popleft())

    def _outputs(self) -> dict[str, tuple[int, ...]]:
        """What each request that samples yields: some of its drafts, in turn none to all of them, and one token more."""
        outputs = {}
        for planned in self._run.caller.open or ():
            if not planned.samples:
                continue
            request, arrival = self._run.caller.requests[planned.request], self._arrivals[planned.request]
            left = max(1, arrival.output_tokens - request.outputs)
            accepted = (arrival.prompt.number + request.outputs) % (planned.drafts + 1)
            first = output_key(arrival.prompt.number, request.outputs)
            outputs[planned.request] = tuple([first - place for place in range(min(accepted + 1, left))])
        return outputs

    def _finish(self) -> Iterator[Operation]:
        """Free the requests that have sampled all their tokens."""
        requests, stay = self._run.caller.requests, []
        for name in self._running:
            request = requests[name]
            if request.outputs and request.outputs >= self._arrivals[name].output_tokens:
                yield Free(name)
            else:
                stay.append(name)
        self._running = stay

    def _refuse_for_good(self, name: str) -> None:
        """Nobody else holds a block and still it was refused."""
        refuse_oversized(self._workload.file, self._arrivals[name], self._run.config.blocks)


def refuse_oversized(file: str, arrival: Arrival, blocks: int) -> None:
    """Raise the error of a request that a pool cannot hold even alone.

    Raises:
        TraceError: Always.
    """
    tokens = f"{arrival.prompt.length:,} prompt and {arrival.output_tokens:,} output tokens"
    place = Place(file, f"line {arrival.line}")
    place.refuse(f"a request of {tokens}", f"what fits {blocks - 1:,} usable blocks", "raise --blocks, or lower --batch-tokens")


__all__ = ["Limits", "Serving", "refuse_oversized"]
