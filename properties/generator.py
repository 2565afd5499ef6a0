"""The seeded generator: a planner that steers towards pressure, reuse and block edges.

It looks only at what the caller knows, so the same seed gives the same operations on every port that behaves the same.
"""

import random
from collections.abc import Generator, Iterator

from kvwitness.model.legal import aligned_chunk, may_leave_plan, planned_once
from kvwitness.model.request import Request, in_flight_of
from kvwitness.properties.mixes import edge_of
from kvwitness.properties.operations import (
    Arrive,
    Close,
    Execute,
    Free,
    Grow,
    Operation,
    Preempt,
    Probe,
    Reset,
    Resume,
    Share,
    Start,
)
from kvwitness.properties.run import Run


class Planner:
    """Chooses the next operation of a run.

    A step is planned as a real planner does it: running requests, preemptions where one is refused, then waiting ones.
    Between steps come aborts, arrivals, look-ups and resets.
    In free mode the order inside a step and the preemptions are arbitrary.
    """

    def __init__(self, rng: random.Random, run: Run) -> None:
        """Plan for this run with this source of chance."""
        self._rng, self._run = rng, run
        self._count = 0
        self._prompts: list[tuple[int, ...]] = []
        self._tokens = rng.choice((1, 2, 2, 3))
        self._crowd = rng.choice((1, 2, 3, 4))
        self._caution = rng.random()
        self._edge = edge_of(run.config)

    def operations(self) -> Iterator[Operation]:
        """Operations without end; each must be applied before the next is asked for."""
        while True:
            yield from self._between()
            yield from self._step()
            yield from self._execute()

    def _between(self) -> Iterator[Operation]:
        """What happens between steps: loads arrive, requests end, look-ups are abandoned, the cache is reset."""
        rng = self._rng
        for request in list(self._run.caller.requests.values()):
            if request.status == "loading" and not in_flight_of(request.id, self._run.caller.steps) and rng.random() < 0.6:
                yield Arrive(request.id)
            elif rng.random() < 0.02 or (request.outputs > 2 and rng.random() < 0.15) or self._is_full(request):
                yield Free(request.id)
        chance = rng.random()
        running = [request.id for request in self._run.caller.requests.values() if request.status == "running"]
        if chance < 0.03:
            yield Probe(self._prompt())
        elif chance < 0.05 and running:
            yield Share(rng.choice(running))
        elif chance < 0.06:
            yield Reset(force=self._may_force())
        elif chance < 0.12 and running and not self._run.caller.strict:
            yield Preempt(rng.choice(running))

    def _may_force(self) -> bool:
        """A forced reset needs every request to be running or preempted, so that preempting them empties the pool."""
        statuses = {request.status for request in self._run.caller.requests.values()}
        return self._rng.random() < 0.7 and statuses <= {"running", "preempted"}

    def _is_full(self, request: Request) -> bool:
        """Whether the request has no room left for a step and its outputs."""
        return request.num_tokens + request.placeholders + self._run.config.drafts + 1 >= self._run.config.max_model_len

    def _step(self) -> Iterator[Operation]:
        preempted = False
        if not self._run.caller.strict and self._rng.random() < 0.2:
            yield from self._admissions()
        running = [request for request in self._run.caller.requests.values() if request.status == "running"]
        for request in running:
            if not planned_once(self._run.caller.open or (), request.id):
                continue
            if self._rng.random() < 0.12 or not self._can_grow(request.id):
                continue
            preempted |= yield from self._grow(request.id)
        if not preempted:
            yield from self._admissions()

    def _can_grow(self, name: str) -> bool:
        request = self._run.caller.requests.get(name)
        return request is not None and request.status in ("running", "loaded") and not self._is_full(request)

    def _grow(self, name: str) -> Generator[Operation, None, bool]:
        """Plan one request, preempting others while it is refused; whether anybody was preempted."""
        run, rng = self._run, self._rng
        preempted = False
        while self._can_grow(name):
            request = run.caller.requests[name]
            operation = self._growth(request)
            if operation is None:
                return preempted
            yield operation
            if not run.caller.refused:
                return preempted
            candidates = self._victims()
            if not candidates:
                return preempted
            victim = candidates[-1] if rng.random() < 0.6 else rng.choice(candidates)
            yield Preempt(victim.id)
            preempted = True
            if victim.id == name:
                return True
        return preempted

    def _victims(self) -> list[Request]:
        """Who may be preempted now, in order of admission."""
        caller = self._run.caller
        planned = caller.open or ()
        return [other for other in caller.requests.values() if other.status == "running" and may_leave_plan(planned, other.id)]

    def _growth(self, request: Request) -> Grow | None:
        """A chunk of the prefill, or a decode with some drafts."""
        run, rng = self._run, self._rng
        known = request.num_tokens + request.placeholders - request.computed
        if known < 1:
            return None
        config, steps = run.config, run.caller.steps
        must = config.has("mamba") and (request.accepted > 0 or any(p.drafts for p in in_flight_of(request.id, steps)))
        if config.drafts and (must or (request.computed + known > request.prefill and rng.random() < 0.7)):
            drafts = rng.randint(1, config.drafts)
            return Grow(request.id, known + drafts, drafts)
        new = self._chunk(known)
        new = aligned_chunk(config, run.profile, request, new)
        return Grow(request.id, new) if new > 0 else None

    def _chunk(self, known: int) -> int:
        """Mostly everything, else a few tokens or up to a block's edge."""
        rng, size = self._rng, self._edge
        if known == 1 or rng.random() < 0.5:
            return known
        return min(known, rng.choice((1, size, size + 1, rng.randint(1, known))))

    def _admissions(self) -> Iterator[Operation]:
        rng, run = self._rng, self._run
        for request in list(run.caller.requests.values()):
            waiting = request.status == "preempted" and not in_flight_of(request.id, run.caller.steps)
            if request.status == "loaded" and self._can_grow(request.id):
                growth = self._growth(request)
                if growth is not None:
                    yield growth
            elif waiting and not self._is_full(request) and rng.random() < 0.6:
                external, delayed = self._external(request.num_tokens)
                yield Resume(request.id, self._first_chunk(request.num_tokens), external, delayed)
        while len(run.caller.requests) < self._crowd + 1 and rng.random() < 0.6:
            yield self._start()
            if self._count > 10_000:
                return

    def _first_chunk(self, num_tokens: int) -> int:
        return 0 if self._rng.random() < 0.6 else self._rng.randint(1, num_tokens)

    def _external(self, num_tokens: int) -> tuple[int, bool]:
        """Tokens that a connector supplies, and whether it loads them asynchronously."""
        config, rng = self._run.config, self._rng
        if not config.caching or config.has("mamba", "cross") or rng.random() < 0.75:
            return 0, False
        return rng.randint(1, max(1, num_tokens - 1)), rng.random() < 0.5

    def _start(self) -> Start:
        self._count += 1
        prompt = self._prompt()
        external, delayed = self._external(len(prompt))
        config = self._run.config
        encoder = self._rng.randint(1, 3 * config.block_size) if config.has("cross") else 0
        return Start(f"r{self._count}", prompt, self._first_chunk(len(prompt)), external, delayed, encoder)

    def _prompt(self) -> tuple[int, ...]:
        """A prompt: often one seen before, or its beginning with something else behind it; lengths lie around block edges."""
        rng, config = self._rng, self._run.config
        blocks = (config.blocks - 2) // (len(config.groups) if config.is_hybrid else 1)
        longest = max(1, min(config.max_model_len - config.drafts - 4, self._edge * max(1, blocks)))
        chance = rng.random()
        if self._prompts and chance < 0.35:
            prompt = rng.choice(self._prompts)
        elif self._prompts and chance < 0.75:
            known = rng.choice(self._prompts)
            prompt = known[: rng.randint(1, len(known))] + self._fresh(rng.randint(1, 1 + longest // 2))
        else:
            edge = self._edge * rng.randint(1, 4) + rng.choice((-1, 0, 0, 1, 1))
            prompt = self._fresh(rng.choice((edge, edge, rng.randint(1, longest))))
        prompt = prompt[:longest]
        self._prompts = [*self._prompts[-5:], prompt]
        return prompt

    def _fresh(self, length: int) -> tuple[int, ...]:
        return tuple(self._rng.randrange(self._tokens) for _ in range(max(1, length)))

    def _execute(self) -> Iterator[Operation]:
        """Execute the oldest step, or end planning and plan one ahead."""
        caller = self._run.caller
        pending = len(caller.steps) + bool(caller.open)
        if pending == 0:
            if caller.open is not None:
                yield Close()
            return
        if pending < caller.config.depth and self._rng.random() < 0.8:
            if caller.open is not None:
                yield Close()
            return
        yield Execute(self._outputs())
        if self._rng.random() < 0.3 and self._run.caller.steps:
            yield Execute(self._outputs())

    def _outputs(self) -> dict[str, tuple[int, ...]]:
        """Accepted drafts and one more token, for each request that samples."""
        rng, caller = self._rng, self._run.caller
        step = (caller.steps or (caller.open or (),))[0]
        outputs = {}
        for planned in step:
            request = caller.requests.get(planned.request)
            if planned.samples and request is not None:
                accepted = rng.randint(0, planned.drafts) if planned.drafts else 0
                outputs[planned.request] = tuple(rng.randrange(self._tokens) for _ in range(accepted + 1))
        return outputs
