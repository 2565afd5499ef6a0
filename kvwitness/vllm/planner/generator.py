"""The seeded generator of what happens to a planner: requests that share prefixes, outputs, arrivals, aborts and resets."""

import random
from collections.abc import Iterator

from kvwitness.properties.operations import Arrive, Execute, Reset
from kvwitness.properties.planning import Abort, Plan, PlannerOperation, Submit
from kvwitness.vllm.planner.driver import PlannerRun

MOST_TO_DRAIN = 400
"""Operations after which a planner that was given nothing new should be idle."""


class Surroundings:
    """Chooses what happens to a planner next, from what an engine around it can see."""

    def __init__(self, rng: random.Random, run: PlannerRun) -> None:
        """Surround this planner, with this source of chance."""
        self._rng, self._run = rng, run
        self._count = 0
        self._prompts: list[tuple[int, ...]] = []
        self._tokens = rng.choice((1, 2, 2, 3))
        self._crowd = rng.choice((1, 2, 3, 4, 5))

    def operations(self) -> Iterator[PlannerOperation]:
        """Operations without end; each must be applied before the next is asked for."""
        while True:
            yield from self._between()
            yield Plan(self._drafts())
            if len(self._run.ahead) >= self._run.config.depth or self._rng.random() < 0.3:
                yield self._execution()

    def drain(self) -> Iterator[PlannerOperation]:
        """What empties the planner: steps until every request has ended, then a reset."""
        run = self._run
        for _ in range(MOST_TO_DRAIN):
            if not run.scheduler.requests and not run.ahead:
                break
            yield from (Arrive(name) for name in run.arrivable())
            if len(run.ahead) < run.config.depth and run.scheduler.requests:
                yield Plan(self._drafts())
            yield self._execution()
        yield from (Abort(name) for name in run.alive())
        yield from (Execute() for _ in range(len(run.ahead)))
        yield Reset()

    def _between(self) -> Iterator[PlannerOperation]:
        rng, run = self._rng, self._run
        alive = run.alive()
        while len(run.scheduler.requests) < self._crowd and rng.random() < 0.6:
            yield self._submission()
        for name in run.arrivable():
            if rng.random() < 0.6:
                yield Arrive(name)
        chance = rng.random()
        if chance < 0.03 and alive:
            yield Abort(rng.choice(alive))
        elif chance < 0.05:
            yield Reset(force=not run.holding_without_running() and rng.random() < 0.7)

    def _submission(self) -> Submit:
        rng, run = self._rng, self._run
        tokens, self._count = self._prompt(), self._count + 1
        name = f"r{self._count}"
        external = rng.randint(0, len(tokens)) if run.settings.connector and rng.random() < 0.5 else 0
        most = rng.choice((1, 2, 4, 8, 16))
        # Earlier releases know of loads that come later for a single group only.
        later = bool(external) and len(run.config.groups) == 1 and rng.random() < 0.6
        return Submit(name, tokens, most, rng.randint(0, 2), external, later)

    def _prompt(self) -> tuple[int, ...]:
        """A prompt that often goes on from an earlier one."""
        rng, most = self._rng, self._run.config.max_model_len - 1
        head: tuple[int, ...] = ()
        if self._prompts and rng.random() < 0.7:
            earlier = rng.choice(self._prompts)
            head = earlier[: rng.randint(0, len(earlier))]
        length = rng.randint(max(1, len(head)), most)
        tokens = (head + tuple(rng.randrange(self._tokens) for _ in range(length - len(head))))[:most]
        self._prompts.append(tokens)
        return tokens

    def _drafts(self) -> dict[str, int]:
        """Drafts for some requests that decode; a planner that plans ahead counts on them by itself."""
        rng, run = self._rng, self._run
        if not run.config.drafts or run.config.depth > 1:
            return {}
        return {name: rng.randint(1, run.config.drafts) for name in run.decoding() if rng.random() < 0.8}

    def _execution(self) -> Execute:
        """The oldest plan's outputs: some of the drafts and one token more for each request that samples."""
        rng, run = self._rng, self._run
        outputs = {}
        for name, most in run.sampling().items():
            count = rng.randint(1, most)
            outputs[name] = tuple(rng.randrange(self._tokens) for _ in range(count))
        return Execute(outputs)


__all__ = ["Surroundings"]
