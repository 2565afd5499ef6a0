"""Mamba align from the first step on, a few steps unrolled: where counterexamples are looked for that can be run."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

from kvwitness.model import contents, mamba, need
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import Profile
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain, Values, numbers
from kvwitness.proofs.logic import both, implies
from kvwitness.proofs.theorem import Scenario, Statement, Wrong
from kvwitness.properties.operations import Close, Execute, Grow, Operation, Start

STATES = Kind("mamba", mode="align")
STEPS = 3
LENGTH = 40


class Unrolled(NamedTuple):
    """A statement over some steps, and the run that its numbers describe."""

    states: Callable[[Domain], Statement]
    scenario: Callable[[Values], Scenario]


def _kept(n: Any, new: Any, drafts: Any, accepted: Any, block: Any) -> Any:
    kept = contents.state_kept(n, new, drafts, accepted, block)
    return -1 if kept is None else kept[1]


def three_steps(domain: Domain) -> Statement:
    """A prompt of one block at most, then three steps with drafts, each planned while the one before is not yet judged; release
    counts all that is planned.
    """
    n, k = numbers(domain, "prompt k")
    block = domain.size("block")
    assumed, held = {"sizes": both(1 <= n, n <= block, 1 <= k, k < block)}, {}
    in_flight = behind = 0
    for step in range(1, STEPS + 1):
        drafts, accepted = numbers(domain, f"drafts{step} accepted{step}")
        assumed[f"step {step}"] = both(0 <= accepted, accepted <= drafts, drafts <= k, implies(in_flight > 0, drafts > 0))
        place = merged(_kept, n, 1 + drafts, drafts, accepted, block)
        nulls = need.num_skipped_blocks(STATES, n + behind, block)
        held[f"step {step} writes what is held"] = implies(place >= 0, nulls <= place)
        n, in_flight, behind = n + 1 + accepted, drafts, drafts - accepted
    return Statement(assumed, held)


def _config(block: int, drafts: int, depth: int) -> Config:
    kind = Kind("mamba", mode="align", drafts=drafts)
    return Config(blocks=4 * drafts + 8, block_size=block, groups=(kind,), drafts=drafts, depth=depth, max_model_len=LENGTH)


def three_steps_run(values: Values) -> Scenario:
    """The same as operations."""
    operations: list[Operation] = [Start("A", (0,) * values["prompt"]), Close()]
    accepted = [0, *(values[f"accepted{step}"] for step in range(1, STEPS + 1))]
    for step in range(1, STEPS + 1):
        drafts = values[f"drafts{step}"]
        operations += [Grow("A", 1 + drafts, drafts), Execute({"A": (0,) * (accepted[step - 1] + 1)})]
    operations.append(Execute({"A": (0,) * (accepted[STEPS] + 1)}))
    return Scenario(_config(values["block"], values["k"], 2), tuple(operations), "CONTENTS.WRITE.PRESENT")


def shrinking(domain: Domain) -> Statement:
    """A prompt of one block at most, a step whose drafts are all rejected, and a step without drafts: what it requires beside what
    is held.
    """
    n, drafts, k = numbers(domain, "prompt drafts k")
    block = domain.size("block")
    group: Any = SimpleNamespace(block=block, kind=SimpleNamespace(drafts=k))
    held = mamba.num_state_blocks(group, n + 1 + drafts)
    required = mamba.num_state_blocks(group, n + 1 + 1)
    return Statement({"sizes": both(1 <= n, n <= block, 1 <= drafts, drafts <= k, k < block)}, {"not negative": required - held >= 0})


def _shrinking_run(clause: str) -> Callable[[Values], Scenario]:
    """The same as operations, which break the clause."""

    def make(values: Values) -> Scenario:
        drafts = values["drafts"]
        steps = (Start("A", (0,) * values["prompt"]), Execute(), Grow("A", 1 + drafts, drafts), Execute({"A": (0,)}), Grow("A"))
        return Scenario(_config(values["block"], values["k"], 1), steps, clause)

    return make


def _rejects_shrinking(profile: Profile) -> bool:
    return profile.mamba_align_shrink == "raises"


def _estimates_below_zero(profile: Profile) -> bool:
    return profile.mamba_align_shrink != "raises" and profile.estimate_floor == "raw"


THREE_STEPS = Unrolled(three_steps, three_steps_run)
SHRINKS = [
    Wrong("such a request is rejected", {}, _rejects_shrinking, _shrinking_run("BOOKS.ACCEPTED"), twin=shrinking),
    Wrong("such a request is estimated below zero", {}, _estimates_below_zero, _shrinking_run("BOOKS.ESTIMATE.FLOOR"), twin=shrinking),
]
