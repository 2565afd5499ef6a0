"""From a refuted claim about a port's source to a trace file: a run of the port with the sizes of the counterexample.

First the run that the counterexample stands for is made: a prefix is cached, released and looked up again, or a request grows.
Where that shows nothing, as for patterns that only pressure on the pool brings about, seeded runs are made with these sizes.
What is kept breaks a clause of the claim on the port, and does not break it on our implementation under the same rules.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve

from kvwitness.campaign import investigate, one_run, setting_of, shows
from kvwitness.model.caller import Illegal
from kvwitness.model.kinds import Config, ConfigError, Kind
from kvwitness.model.profile import Profile
from kvwitness.ports.resolve import resolve
from kvwitness.properties.operations import Execute, Free, Grow, Operation, Probe, Start
from kvwitness.properties.replay import Setting, replay
from kvwitness.properties.run import ORACLES
from kvwitness.symbolic_port import Result
from kvwitness.trace import Origin, Trace, failure_trace
from kvwitness.traced import Unreproduced
from kvwitness.vllm.loader import ReleaseError

CLAUSES = {
    "HIT": ("HIT", "LIVE", "ACCEPTED", "PREFIX"),
    "ESTIMATE": ("ESTIMATE", "ACCEPTED", "GROW", "REFUSAL", "FREE", "TAKE", "MAMBA.ALLOCATE", "ONCE"),
    "SKIPPED": ("SKIPPED", "NEED", "READ", "RELEASE", "ACCEPTED", "REFERENCES", "EXCLUSIVE", "LIVE"),
}
"""Parts of the names of clauses that a claim is about, by the claim's subject."""

MOST_RUNS = 400
MOST_SECONDS = 20.0
SPARE_BLOCKS = 6
MOST_REPLAYS = 600


def trace_of(result: Result, port: str, profile: Profile) -> Trace:
    """The trace of a refutation, which breaks a clause of the claim when it is replayed on the port.

    Raises:
        Unreproduced: No run does.
    """
    kind, config = _sizes(result)
    for setting, operations in _candidates(result, port, kind, config, profile):
        found = _made(result, port, setting, operations)
        if found is not None:
            return found
    raise Unreproduced(f"the counterexample does not replay: no run of {port} with its sizes breaks a clause of the claim")


def _is_about(result: Result, clause: str) -> bool:
    subject = result.id.split(".")[1]
    return any(part in clause for part in CLAUSES[subject])


def _made(result: Result, port: str, setting: Setting, operations: Sequence[Operation]) -> Trace | None:
    """The trace of these operations, if they break a clause of the claim on the port, and not on ours."""
    try:
        done = replay(resolve(port), setting, operations)
        if done.violation is None or not _is_about(result, done.violation.clause):
            return None
        if port != "impl" and shows(resolve("impl"), setting, done.operations, done.violation.clause):
            return None
    except (Illegal, ConfigError, ReleaseError):
        return None
    return failure_trace(setting, done.operations, done.violation, Origin("proof", clause=done.violation.clause, port=port))


def _sizes(result: Result) -> tuple[Kind, Config | None]:
    """The kind and the configuration that the counterexample has; None where no manager can have it."""
    scenario: Any = result.scenario
    values = result.counterexample
    block = values.get("block size", 1)
    kind = evolve(scenario.kind, **{name: values[name] for name in ("window", "chunk") if name in values})
    if kind.kind == "sink":
        kind = evolve(kind, sink_tokens=block)
    drops = getattr(scenario, "draft_drop", False) and kind.kind != "mamba"
    drafts = kind.drafts if kind.kind == "mamba" and kind.mode != "all" else 1 if drops else 0
    longest = _longest(values, scenario.most_blocks * block) + drafts + 2
    if kind.kind == "mamba" and kind.mode == "none":
        block = max(block, longest)
    facts = {"caching": kind.caches, "drafts": drafts, "draft_model": drops, "alignment": block * getattr(scenario, "alignment", 1)}
    try:
        blocks = 2 * scenario.most_blocks + SPARE_BLOCKS
        return kind, Config(blocks=blocks, block_size=block, groups=(kind,), max_model_len=longest + 4 * block, **facts)
    except ConfigError:
        return kind, None


def _longest(values: Mapping[str, int], most_tokens: int) -> int:
    """Tokens that the longest request of a counterexample has."""
    return max(most_tokens, *(value for name, value in values.items() if "tokens" in name or "length" in name), 1)


Candidates = Iterator[tuple[Setting, Sequence[Operation]]]


def _candidates(result: Result, port: str, kind: Kind, config: Config | None, profile: Profile) -> Candidates:
    """Runs that may show the counterexample: those that it stands for, and then seeded ones."""
    if config is not None:
        setting = Setting(config, profile)
        for operations in _stood_for(result.counterexample, config):
            yield setting, operations
    yield from _seeded(result, port, kind, config, profile)


def _stood_for(values: Mapping[str, int], config: Config) -> Iterator[Sequence[Operation]]:
    """The runs that a counterexample stands for."""
    if "max length" in values:
        yield from _looked_up(values, config)
    first = values.get("hit blocks", 0) * config.block_size
    new = values.get("new tokens", values.get("tokens of step 0", 1))
    sampled = Execute()
    if first:
        yield (Start("A", (0,) * first), sampled, Free("A"), Start("B", (0,) * first + (1,) * new), sampled)
    prompt = (0,) * (new + sum(value for name, value in values.items() if name.startswith("tokens of step") and name[-1] != "0"))
    grows = [step for number in range(1, 4) for step in _grown(values, number)]
    yield (Start("A", prompt, new=new), sampled, *grows)


def _grown(values: Mapping[str, int], number: int) -> tuple[Operation, ...]:
    new = values.get(f"tokens of step {number}", 0)
    return (Grow("A", new), Execute()) if new else ()


def _looked_up(values: Mapping[str, int], config: Config) -> Iterator[Sequence[Operation]]:
    """A prefix is computed and released, as far as it is cached from the first block on, and looked up."""
    block, length = config.block_size, values["max length"]
    cached = 0
    while values.get(f"cached {cached}", 0):
        cached += 1
    for blocks in range(cached, length // block + 2):
        again = Probe((0,) * min(blocks * block, length + 1) + (1,) * max(0, length + 1 - blocks * block))
        yield ((Start("A", (0,) * (blocks * block)), Execute(), Free("A"), again) if blocks else (again,))


def _seeded(result: Result, port: str, kind: Kind, config: Config | None, profile: Profile) -> Candidates:
    """Seeded runs with the counterexample's sizes, and every other one with those that campaigns choose; each that breaks something."""
    make, reference = resolve(port), resolve("impl")
    until, ours = time.monotonic() + MOST_SECONDS, make(profile)
    for number in range(MOST_RUNS):
        if time.monotonic() > until:
            return
        setting, rng = setting_of(kind.label, profile, 0, number, ORACLES)
        if config is not None and number % 2 == 0:
            blocks = rng.choice((4, 5, 6, 8, config.blocks))
            setting = evolve(setting, config=evolve(config, blocks=max(blocks, 3)))
        try:
            run, violation = one_run(ours, setting, random.Random(number), Counter())
        except (ConfigError, Illegal):
            continue
        except ReleaseError:
            # The release does not offer this kind: its source is there, and no run gets to it.
            return
        if violation is None or not _is_about(result, violation.clause):
            continue
        if port != "impl" and shows(reference, setting, run.operations, violation.clause):
            continue
        shrunk = investigate(make, setting, run, number, reference if port != "impl" else None, MOST_REPLAYS).shrunk
        yield shrunk.setting, shrunk.operations


__all__ = ["trace_of"]
