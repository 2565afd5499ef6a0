"""Shrinking: the smallest run that still breaks the same clause.

Greedy delta debugging over the operations, then simpler operations, then a smaller configuration, until nothing helps any more.
An operation that its run no longer allows is skipped, so leaving out an admission leaves out all that hangs on it.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from string import ascii_uppercase
from typing import Any

from attrs import evolve, frozen

from kvwitness import simpler
from kvwitness.properties.operations import Execute, Operation, Raw
from kvwitness.properties.planning import Plan
from kvwitness.properties.port import NotOffered
from kvwitness.properties.replay import MakePort, Replayed, Setting, replay
from kvwitness.properties.violation import Violation

MOST_REPLAYS = 5000
"""Replays after which the best run so far is taken."""

Progress = Callable[[int, int], object]
"""Is told the operations left and the replays done, each time that a run got simpler."""

Trial = Callable[[Setting, Sequence[Operation]], Replayed]
"""Carries out a candidate, what its run does not allow left out, and says what it breaks."""

Also = Callable[[Setting, Sequence[Operation]], bool]
"""What a smaller run must satisfy besides breaking the clause."""


@frozen
class Shrunk:
    """A small run that breaks the clause.

    Attributes:
        setting: Its sizes and rules.
        operations: What is done; the last one breaks the clause.
        violation: What the oracle says.
        replays: How many runs it took to find.
        seconds: How long.
    """

    setting: Setting
    operations: tuple[Operation, ...]
    violation: Violation
    replays: int
    seconds: float


def shrink(
    make_port: MakePort,
    setting: Setting,
    operations: Sequence[Operation],
    clause: str,
    *,
    most_replays: int = MOST_REPLAYS,
    progress: Progress | None = None,
    also: Also | None = None,
) -> Shrunk:
    """Make a run small that breaks ``clause``.

    Args:
        make_port: What breaks it.
        setting: Sizes, rules and oracles.
        operations: The run.
        clause: What is broken.
        most_replays: When to be content.
        progress: Who is told.
        also: What a smaller run must satisfy besides.

    Raises:
        ValueError: The run does not break it.
    """

    def trial(candidate: Setting, tried: Sequence[Operation]) -> Replayed:
        try:
            return replay(make_port, candidate, tried, skip_illegal=True)
        except NotOffered:
            return Replayed((), None, 0)

    return shrink_by(trial, setting, operations, clause, most_replays=most_replays, progress=progress, also=also)


def shrink_by(
    trial: Trial,
    setting: Setting,
    operations: Sequence[Operation],
    clause: str,
    *,
    most_replays: int = MOST_REPLAYS,
    progress: Progress | None = None,
    also: Also | None = None,
) -> Shrunk:
    """Make a run small that breaks ``clause`` by what ``trial`` says; the rest is as in `shrink`.

    Raises:
        ValueError: The run does not break it.
    """
    started = time.perf_counter()
    search = _Search(trial, setting, clause, most_replays, progress or (lambda _operations, _replays: None), also)
    if not search.accepts(setting, tuple(operations)) or search.violation is None:
        raise ValueError(f"got a run that does not break {clause}; allowed is one that does; replay it first to see what it breaks")
    search.run()
    return Shrunk(search.setting, search.operations, search.violation, search.replays, time.perf_counter() - started)


class _Search:
    """The smallest run so far, and what was tried."""

    def __init__(self, trial: Trial, setting: Setting, clause: str, most_replays: int, progress: Progress, also: Also | None) -> None:
        self.setting = setting
        self.operations: tuple[Operation, ...] = ()
        self.violation: Violation | None = None
        self.replays = 0
        self._trial, self._clause, self._also = trial, clause, also
        # The run that was given is carried out in any case, so that there is a result.
        self._most, self._progress = max(1, most_replays), progress
        self._tried: set[Any] = set()

    def accepts(self, setting: Setting, operations: tuple[Operation, ...]) -> bool:
        """Whether the candidate breaks the clause; if so it becomes the smallest run, in the form in which it was carried out."""
        if self.replays >= self._most or not self._is_new(setting, operations):
            return False
        self.replays += 1
        replayed = self._trial(setting, operations)
        violation = replayed.violation
        if violation is None or violation.clause != self._clause:
            # What was skipped makes no difference: the executed form is as good as tried.
            self._is_new(setting, replayed.operations)
            return False
        if self._also is not None and not self._also(setting, replayed.operations):
            return False
        self.setting, self.operations, self.violation = setting, replayed.operations, violation
        self._progress(len(self.operations), self.replays)
        return True

    def _is_new(self, setting: Setting, operations: tuple[Operation, ...]) -> bool:
        """Whether the candidate was not tried before; from now on it was."""
        candidate = (setting, repr(operations))
        if candidate in self._tried:
            return False
        self._tried.add(candidate)
        return True

    def run(self) -> None:
        """Every kind of simplification until none helps; then names in order."""
        passes = (self._drop_chunks, self._fold_growth, self._simplify_tokens, self._simplify_operations, self._simplify_setting)
        while _all_made(passes) or self._drop_pairs() or self._drop_with_pool():
            pass
        self._turn("max_model_len")
        self._rename()

    def _any_accepted(self, candidates: Iterable[tuple[Operation, ...]]) -> bool:
        return any(self.accepts(self.setting, candidate) for candidate in candidates)

    def _drop_chunks(self) -> bool:
        """Leave out ranges of operations, large ones first; a success goes on from what is left."""
        helped, size = False, (len(self.operations) + 1) // 2
        while size:
            stop = len(self.operations)
            while stop > 0:
                helped |= self.accepts(self.setting, self.operations[: max(0, stop - size)] + self.operations[stop:])
                stop = min(stop - size, len(self.operations))
            size //= 2
        return helped

    def _drop_pairs(self) -> bool:
        return self._any_accepted(simpler.pairs_dropped(self.operations))

    def _drop_with_pool(self) -> bool:
        """Leave out single operations together with blocks of the pool."""
        helped, place = False, len(self.operations) - 1
        while place >= 0:
            candidates = simpler.with_smaller_pool(self.operations, self.setting.config, place)
            if any(self.accepts(evolve(self.setting, config=config), operations) for config, operations in candidates):
                helped = True
                place = min(place, len(self.operations) - 1)
            else:
                place -= 1
        return helped

    def _fold_growth(self) -> bool:
        return self._repeated(lambda: self._any_accepted(simpler.with_longer_prompt(self.operations)))

    def _simplify_tokens(self) -> bool:
        return self._repeated(lambda: self._any_accepted(simpler.with_simpler_tokens(self.operations)))

    def _simplify_operations(self) -> bool:
        """Each operation as simple as it can be, from the last on: later ones hang on earlier ones."""
        helped, place = False, len(self.operations) - 1
        while place >= 0:
            if place < len(self.operations) and self._any_accepted(simpler.with_simpler_operation(self.operations, place)):
                helped = True
            else:
                place -= 1
        return helped

    def _simplify_setting(self) -> bool:
        """Smaller sizes, the strict caller, and steps that are not planned ahead."""
        setting = self.setting
        helped = not setting.strict and self.accepts(evolve(setting, strict=True), self.operations)
        if setting.config.depth > 1:
            config = evolve(setting.config, depth=1)
            helped |= self.accepts(evolve(self.setting, config=config), simpler.synchronous(self.operations))
        helped |= any([self.accepts(plainer, self.operations) for plainer in simpler.plainer_settings(self.setting)])
        return _all_made(partial(self._turn, knob) for knob in simpler.KNOBS) or helped

    def _turn(self, knob: str) -> bool:
        """Make one thing about the configuration as small as it can be."""

        def attempt() -> bool:
            configs = simpler.simpler_configs(self.setting.config, knob)
            return any(self.accepts(evolve(self.setting, config=config), self.operations) for config in configs)

        return self._repeated(attempt)

    @staticmethod
    def _repeated(attempt: Callable[[], bool]) -> bool:
        """Whether the attempt succeeded at least once; it is made until it fails."""
        helped = False
        while attempt():
            helped = True
        return helped

    def _rename(self) -> None:
        self._most = self.replays + 1
        self.accepts(self.setting, renamed(self.operations))


def _all_made(attempts: Iterable[Callable[[], bool]]) -> bool:
    """Whether any attempt succeeded; all are made."""
    helped = False
    for attempt in attempts:
        helped |= attempt()
    return helped


def renamed(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    """The operations with their requests called A, B, C and so on in the order in which they appear."""
    names: dict[str, str] = {}
    for operation in operations:
        old = _request_of(operation)
        if old is not None:
            names.setdefault(old, _nth_name(len(names)))
    return tuple(_renamed(operation, names) for operation in operations)


def _request_of(operation: Operation) -> str | None:
    """The request that an operation names, if any."""
    if isinstance(operation, Raw):
        return next((argument for argument in operation.arguments if isinstance(argument, str)), None)
    return getattr(operation, "id", None)


def _renamed(operation: Any, names: dict[str, str]) -> Operation:
    if isinstance(operation, Raw):
        return Raw(operation.name, tuple(names.get(each, each) if isinstance(each, str) else each for each in operation.arguments))
    if isinstance(operation, Execute):
        return Execute({names[name]: tokens for name, tokens in sorted(operation.outputs.items()) if name in names})
    if isinstance(operation, Plan):
        return Plan({names[name]: drafts for name, drafts in sorted(operation.drafts.items()) if name in names})  # type: ignore[return-value]
    changed: Operation = evolve(operation, id=names[operation.id]) if hasattr(operation, "id") else operation
    return changed


def _nth_name(number: int) -> str:
    """A to Z, then A1, B1 and so on."""
    round_number, letter = divmod(number, len(ascii_uppercase))
    return ascii_uppercase[letter] + (str(round_number) if round_number else "")
