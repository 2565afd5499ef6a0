"""Serving a workload on a port to its end, or to the first clause that breaks."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from attrs import frozen

from kvwitness.model.kinds import Config, Kind
from kvwitness.model.numbers import ceil_div
from kvwitness.model.profile import Profile
from kvwitness.ports.resolve import PortError
from kvwitness.properties.port import Port
from kvwitness.properties.violation import Violation
from kvwitness.workload.chain import WorkloadKeys
from kvwitness.workload.judging import StepRun
from kvwitness.workload.serving import Limits, Serving, refuse_oversized
from kvwitness.workload.tally import Tally
from kvwitness.workload.trace_file import Workload

Say = Callable[[str], None]
"""Is told how far a replay is."""

SECONDS_BETWEEN_SIGNS = 5.0
"""Time after which a long replay shows that it goes on."""


@frozen
class Served:
    """How a replay went.

    Attributes:
        config: Sizes.
        num_requests: Requests that the workload has.
        tally: What happened.
        num_operations: Operations carried out.
        num_calls: Calls they made.
        num_looks: Times the whole state was looked at.
        judged: Per oracle, the steps that it judged.
        refined_operations: Operations that the model took part in.
        seconds: Time it took.
        violation: The clause that broke in the step behind the last executed one, or None.
        where: The operation that broke it, in words; empty if none did.
        hidden: Parts of its state that the port does not show.
    """

    config: Config
    num_requests: int
    tally: Tally
    num_operations: int
    num_calls: int
    num_looks: int
    judged: dict[str, int]
    refined_operations: int
    seconds: float
    violation: Violation | None
    where: str
    hidden: tuple[str, ...]


def config_for(workload: Workload, kind: Kind, *, blocks: int, block_size: int, drafts: int) -> Config:
    """A pool for the workload, as long as its longest request with one step's drafts.

    Raises:
        ConfigError: The sizes do not go together.
        TraceError: A request can never fit the pool.
    """
    longest = max(arrival.total_tokens for arrival in workload.arrivals) + drafts + 1
    config = Config(blocks, block_size, (kind,), caching=kind.caches, drafts=drafts, max_model_len=longest)
    if kind.kind == "full":
        for arrival in workload.arrivals:
            # The last output is sampled and never computed, so it needs no slot.
            computed = arrival.prompt.length + max(arrival.output_tokens - 1, 0)
            if ceil_div(computed, block_size) > blocks - 1:
                refuse_oversized(workload.file, arrival, blocks)
    return config


def serve(
    port: Port,
    config: Config,
    profile: Profile,
    workload: Workload,
    limits: Limits,
    *,
    refined_steps: int,
    level: str = "L3",
    say: Say | None = None,
) -> Served:
    """Serve the workload; ``say`` is told now and then how far it is.

    Raises:
        TraceError: A request can never fit the pool.
    """
    with no_garbage_collection():
        return _serve(port, config, profile, workload, limits, refined_steps, level, say)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Let nobody look for cycles: every look at a large pool makes thousands of values, and none of them is in one."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _serve(
    port: Port, config: Config, profile: Profile, workload: Workload, limits: Limits, refined_steps: int, level: str, say: Say | None
) -> Served:
    keys = WorkloadKeys([arrival.prompt for arrival in workload.arrivals], workload.previous)
    run = StepRun(port, config, profile, keys, refined_steps=refined_steps, level=level)
    if run.seen.tables is None:
        raise PortError("got a port that shows no tables; allowed is one whose tables can be judged; offer them in observe()")
    serving, tally = Serving(run, workload, limits), Tally()
    started = told = time.perf_counter()
    violation: Violation | None = None
    for operation in serving.operations():
        violation = run.apply(operation)
        tally.note(run, run.view)
        if violation is not None:
            break
        if say is not None and run.view.executed is not None and time.perf_counter() - told > SECONDS_BETWEEN_SIGNS:
            told = time.perf_counter()
            say(f"step {tally.steps:,}: {tally.served:,} of {len(workload.arrivals):,} requests served, {told - started:.0f} s")
    violation = violation or run.settle()
    where = _told(run, serving, tally) if violation is not None else ""
    hidden = tuple(part for part, shown in run.seen._asdict().items() if shown is None)
    seconds = time.perf_counter() - started
    return Served(
        config, len(workload.arrivals), tally, run.num_operations, run.num_calls, run.num_looks,
        run.judged, run.refined_operations, seconds, violation, where, hidden,
    )  # fmt: skip


def _told(run: StepRun, serving: Serving, tally: Tally) -> str:
    """The engine step that broke a clause, the operation, and the line of the trace that its request comes from."""
    operation = run.view.operation
    step = tally.steps + (run.view.executed is None)
    name = getattr(operation, "id", "")
    line = f" of {name}, line {serving.line_of(name)} of the trace," if name else ""
    return f"engine step {step}, operation {run.num_operations}: {type(operation).__name__.lower()}{line}"
