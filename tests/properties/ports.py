"""Ports that are wrong on purpose, for tests: the model with one outcome or one observation changed."""

from collections.abc import Callable, Sequence

from attrs import evolve

from kvwitness.model.calls import Blocks, Call, Observation, Outcome
from kvwitness.model.kinds import Config
from kvwitness.model.managers import State
from kvwitness.model.profile import SOUND, Profile
from kvwitness.model.table import Held
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import Operation
from kvwitness.properties.run import Run
from kvwitness.properties.violation import Violation

Change = Callable[["Changed", Call, Outcome], Outcome | None]


class Changed(ModelPort):
    """The model, whose outcomes, state and observations may be changed."""

    def __init__(self, change: Change | None = None, spoil: Callable[[Observation], Observation] | None = None) -> None:
        super().__init__(SOUND)
        self._change, self._spoil = change, spoil
        self.made: list[str] = []

    @property
    def state(self) -> State:
        return self._state

    @state.setter
    def state(self, state: State) -> None:
        self._state = state

    def follow(self, profile: Profile) -> "Changed":
        self._profile = profile
        return self

    def call(self, call: Call) -> Outcome:
        self.made.append(call.name)
        outcome = super().call(call)
        return (self._change(self, call, outcome) if self._change else None) or outcome

    def observe(self) -> Observation:
        seen = super().observe()
        return self._spoil(seen) if self._spoil else seen


def answering(name: str, value: object, *, at: int = 1) -> Change:
    """Answer the ``at``-th call of this name with another value."""
    return lambda port, call, _: Outcome("ok", value) if call.name == name and port.made.count(name) == at else None


def with_table(state: State, request: str, blocks: Blocks) -> State:
    """The state in which the request's table in the first group is another; its references follow."""
    before = state.tables[0].get(request, Held())
    references = list(state.pool.references)
    for block in before.blocks:
        references[block] -= block > 0
    for block in blocks:
        references[block] += block > 0
    free = tuple(block for block in state.pool.free if not references[block])
    freed = tuple(block for block in before.blocks if block and not references[block])
    pool = evolve(state.pool, references=tuple(references), free=(*free, *freed))
    return evolve(state, pool=pool, tables=({**state.tables[0], request: evolve(before, blocks=blocks)}, *state.tables[1:]))


def first_broken(
    port: ModelPort, config: Config, operations: Sequence[Operation], oracle: str, *, profile: Profile = SOUND, level: str = "L3"
) -> Violation | None:
    """What this oracle alone finds on a run; the operations before the last break nothing."""
    run = Run(port, config, profile, oracles=(oracle,), level=level)
    for operation in operations[:-1]:
        assert run.apply(operation) is None
    return run.apply(operations[-1])
