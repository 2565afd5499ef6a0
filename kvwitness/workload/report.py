"""What a replay of a workload came to, as a table to read and as plain data for `--json`."""

from typing import Any

from attrs import asdict, frozen

from kvwitness.model.kinds import Config
from kvwitness.workload.drive import Served
from kvwitness.workload.serving import Limits


@frozen
class Report:
    """A replay with what it was asked to do.

    Attributes:
        file: The trace.
        port: The port's name as the user gave it.
        profile: The profile's name.
        limits: What one step may hold.
        served: How it went.
    """

    file: str
    port: str
    profile: str
    limits: Limits
    served: Served

    @property
    def verdict(self) -> str:
        """``held``, ``failed``, or ``undecided`` where the port hides what an oracle needs."""
        if self.served.violation is not None:
            return "failed"
        return "undecided" if self.served.hidden else "held"

    @property
    def steps_per_second(self) -> float:
        """Engine steps a second, judging included."""
        return self.served.tally.steps / self.served.seconds if self.served.seconds else 0.0

    def as_json(self) -> dict[str, Any]:
        """Plain data; all that depends on the clock stands in ``timing``."""
        served, broken = self.served, self.served.violation
        tally = served.tally
        return {
            "verdict": self.verdict,
            "violation": broken and {**broken._asdict(), "sentence": broken.sentence, "where": served.where},
            "trace": self.file,
            "port": self.port,
            "profile": self.profile,
            "config": asdict(served.config),
            "limits": asdict(self.limits),
            "requests": served.num_requests,
            "counts": {
                **{name: value for name, value in asdict(tally).items() if name != "total_blocks"},
                "operations": served.num_operations,
                "calls": served.num_calls,
                "looks": served.num_looks,
                "hit_rate": round(tally.hit_rate, 6),
                "mean_blocks": round(tally.mean_blocks, 2),
            },
            "judged_steps": served.judged,
            "refined_operations": served.refined_operations,
            "not_exercised": tally.not_exercised,
            "not_shown": served.hidden,
            "timing": {"seconds": round(served.seconds, 3), "steps_per_second": round(self.steps_per_second, 1)},
        }

    def as_text(self) -> str:
        """A table: one line a figure, the verdict last; a broken clause stands in front of it."""
        served, tally = self.served, self.served.tally
        rows = [
            ("requests", f"{tally.served:,} of {served.num_requests:,} served"),
            ("engine steps", f"{tally.steps:,}, {self.steps_per_second:,.0f} a second, {served.seconds:.1f} s in all"),
            ("operations", f"{served.num_operations:,}, {served.num_calls:,} calls"),
            ("tokens", f"{tally.computed_tokens:,} computed, {tally.prompt_tokens:,} of prompts asked for"),
            ("hit rate", _share(tally.hit_tokens, tally.prompt_tokens, "prompt tokens")),
            ("evictions", f"{tally.evictions:,} keys lost to reuse"),
            ("preemptions", _preemptions(self)),
            ("blocks in use", f"{tally.peak_blocks:,} at the peak, {tally.mean_blocks:,.0f} on average, of {served.config.blocks - 1:,}"),
            *(("judged by" if place == 0 else "", line) for place, line in enumerate(self._judged())),
            ("not exercised", ", ".join(tally.not_exercised)),
        ]
        if served.hidden:
            rows.append(("not shown", f"{', '.join(served.hidden)}: what they would show is not judged"))
        lines = [self._heading(), "", *(f"{name:<15}{value}" for name, value in rows), "", self._last_line()]
        return "\n".join([*self._failure(), *lines])

    def _heading(self) -> str:
        config = self.served.config
        limits = f"up to {self.limits.batch_tokens:,} tokens and {self.limits.max_running:,} requests a step"
        return f"{self.file} on {self.port}, profile {self.profile}: {_kind(config)}, {limits}"

    def _judged(self) -> list[str]:
        """Per oracle, on how many of the steps."""
        steps, operations = self.served.tally.steps, self.served.num_operations
        lines = []
        for name, judged in self.served.judged.items():
            of_operations = f", {self.served.refined_operations:,} of {operations:,} operations" if name == "refinement" else ""
            lines.append(f"{name}: {min(judged, steps):,} of {steps:,} steps{of_operations}")
        return lines

    def _failure(self) -> list[str]:
        """The clause, its sentence, the place and the reason."""
        broken = self.served.violation
        if broken is None:
            return []
        reason = f"because {broken.because}"
        return [f"{broken.clause}: {broken.sentence}", f"at {self.served.where}", reason, f"seen by {broken.oracle}", ""]

    def _last_line(self) -> str:
        broken = self.served.violation
        if broken is not None:
            return f"failed: {broken.clause}"
        if self.served.hidden:
            return f"undecided: no clause broke, and the port does not show {', '.join(self.served.hidden)}"
        return "held: no clause broke"


def _kind(config: Config) -> str:
    kind = config.kind
    size = {"sliding": f" window {kind.window:,}", "chunked": f" chunk {kind.chunk:,}"}.get(kind.kind, "")
    drafts = f", {config.drafts} drafts" if config.drafts else ""
    return f"{kind.label}{size}, {config.blocks:,} blocks of {config.block_size:,} tokens{drafts}"


def _share(part: int, whole: int, what: str) -> str:
    return f"{part / whole if whole else 0:.1%} of {whole:,} {what}"


def _preemptions(report: Report) -> str:
    tally = report.served.tally
    again = _share(tally.resumed_hit_tokens, tally.resumed_tokens, "tokens found again") if tally.resumptions else "nobody resumed"
    return f"{tally.preemptions:,}, {tally.resumptions:,} resumptions, {again}"
