"""What happened on a workload, counted from the operations and their outcomes."""

from attrs import define

from kvwitness.model.request import Planned, Step
from kvwitness.properties.operations import Execute, Free, Preempt, Resume, Start
from kvwitness.properties.view import View
from kvwitness.workload.judging import StepRun


@define
class Tally:
    """Counts of one replay.

    Attributes:
        steps: Engine steps executed.
        served: Requests that finished.
        admitted: Requests admitted, each once.
        prompt_tokens: Their prompt tokens.
        hit_tokens: How many of them a look-up found.
        resumptions: Times a preempted request was admitted again.
        resumed_tokens: Tokens that these had to have again.
        resumed_hit_tokens: How many of them a look-up found.
        computed_tokens: Tokens computed, drafts included.
        output_tokens: Tokens sampled, accepted drafts included.
        evictions: Keys lost because their block was handed out again.
        preemptions: Requests preempted.
        refused_admissions: Admissions refused, each attempt counted.
        later_chunks: Chunks of prefills behind the first.
        drafts: Draft tokens computed.
        released: Whether a running request gave blocks back.
        peak_blocks: Most blocks held when a step's planning had ended.
        total_blocks: Sum over all steps of the blocks held, for the mean.
    """

    steps: int = 0
    served: int = 0
    admitted: int = 0
    prompt_tokens: int = 0
    hit_tokens: int = 0
    resumptions: int = 0
    resumed_tokens: int = 0
    resumed_hit_tokens: int = 0
    computed_tokens: int = 0
    output_tokens: int = 0
    evictions: int = 0
    preemptions: int = 0
    refused_admissions: int = 0
    later_chunks: int = 0
    drafts: int = 0
    released: bool = False
    peak_blocks: int = 0
    total_blocks: int = 0

    def note(self, run: StepRun, view: View) -> None:
        """Count an operation that was carried out."""
        operation, event = view.operation, view.event
        if isinstance(operation, Execute) and view.executed is not None:
            self.output_tokens += sum(map(len, operation.outputs.values()))
            self._note_step(run, view, view.executed)
        elif isinstance(operation, Start | Resume):
            if event.planned is None:
                self.refused_admissions += 1
            else:
                self._note_admission(event.planned, view.caller.requests[event.request].num_tokens, again=isinstance(operation, Resume))
        elif isinstance(operation, Preempt):
            self.preemptions += 1
        elif isinstance(operation, Free):
            self.served += 1

    def _note_admission(self, planned: Planned, num_tokens: int, *, again: bool) -> None:
        """Tokens that are computed already when a request is admitted are its hit: nothing is loaded from outside."""
        if again:
            self.resumptions += 1
            self.resumed_tokens += num_tokens
            self.resumed_hit_tokens += planned.computed
        else:
            self.admitted += 1
            self.prompt_tokens += num_tokens
            self.hit_tokens += planned.computed

    def _note_step(self, run: StepRun, view: View, step: Step) -> None:
        self.steps += 1
        self.evictions = run.num_evicted
        for planned in step:
            self.computed_tokens += planned.new
            self.drafts += planned.drafts
            if not planned.admitted and planned.new > 1 + planned.drafts:
                self.later_chunks += 1
        seen = view.before
        if seen.free is not None:
            held = run.config.blocks - 1 - len(seen.free) - len(seen.reserved or ())
            self.total_blocks += held
            self.peak_blocks = max(self.peak_blocks, held)
        if not self.released and run.config.kind.kind != "full":
            self.released = any(0 in table for tables in seen.tables or () for table in tables.values())

    @property
    def mean_blocks(self) -> float:
        """Blocks held when a step's planning had ended, on average."""
        return self.total_blocks / self.steps if self.steps else 0.0

    @property
    def hit_rate(self) -> float:
        """The share of prompt tokens that a look-up found."""
        return self.hit_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def not_exercised(self) -> tuple[str, ...]:
        """What of the protocol this replay did not reach, and what a trace of this format never does."""
        reached = {
            "hits": self.hit_tokens,
            "evictions": self.evictions,
            "preemptions": self.preemptions,
            "hits of resumed requests": self.resumed_hit_tokens,
            "refused admissions": self.refused_admissions,
            "prefills in several chunks": self.later_chunks,
            "release of skipped blocks": self.released,
            "drafts": self.drafts,
        }
        return (*(name for name, times in reached.items() if not times), *BEYOND)


BEYOND = (
    "external tokens",
    "steps planned ahead",
    "requests preempted in the step that planned them",
    "several groups",
    "aborts",
    "cache resets",
)
"""What this serving loop never does."""
