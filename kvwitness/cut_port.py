"""A port's own source with its loops cut: look-ups, and the release of skipped blocks, proved without any bound.

A claim that is not proved is no refutation yet: that takes a run of the same source on plain numbers, which `paths` looks for.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from kvwitness.model.kinds import Kind
from kvwitness.proofs.cuts import our_look_ups, release_look_ups
from kvwitness.proofs.cuts.changed import ChangedSources
from kvwitness.proofs.cuts.look_ups import LookUpCut
from kvwitness.proofs.cuts.skipped import SkippedCut
from kvwitness.proofs.engines.cut_numbers import CannotCut
from kvwitness.proofs.engines.cut_source import Change
from kvwitness.proofs.engines.cut_ways import Proofs, all_ways
from kvwitness.proofs.engines.managers_on_paths import LookUp, Sources
from kvwitness.proofs.engines.paths import Scenario
from kvwitness.proofs.engines.skipped_on_paths import Skipping
from kvwitness.symbolic_port import ImplSources, Result, counterexample

TWIN_BLOCKS = 3
"""How long the runs are in which a counterexample is looked for, in blocks."""


@frozen
class CutTheorem:
    """A claim about a port's source, for all sizes and lengths.

    Attributes:
        id: Its name.
        claim: What is claimed, in words.
        cut: The source, cut at its loops.
        twins: The same claim about short runs; what breaks it there is a counterexample.
    """

    id: str
    claim: str
    cut: LookUpCut | SkippedCut
    twins: Callable[[Sources], Sequence[Scenario]]

    def prove(self, change: Change | None = None) -> Result:
        """Prove it, or look for a run that breaks it; with a change, of a wrong variant of the source."""
        started = time.perf_counter()

        def result(verdict: str, because: str = "", ways: int = 0, **found: Any) -> Result:
            facts = {"counterexample": {}, "scenario": None, **found}
            seconds = time.perf_counter() - started
            return Result(self.id, self.claim, verdict, "none", seconds, because=because, paths=ways, engine="cut", **facts)

        try:
            proofs = all_ways(evolve(self.cut, change=change))
        except CannotCut as reason:
            return self._refuted(result, change) or result("not cut", str(reason))
        unreached = [place for place, reached in proofs.reached.items() if not reached]
        if proofs.open:
            return self._refuted(result, change) or result("unknown", _told(proofs), proofs.ways)
        if unreached or not proofs.reached:
            return result("vacuous", f"no way gets to {', '.join(unreached) or 'the end'}", proofs.ways)
        return result("proved", ways=proofs.ways)

    def _refuted(self, result: Callable[..., Result], change: Change | None) -> Result | None:
        """The refutation by a short run, confirmed on plain numbers without any solver."""
        sources: Any = self.cut.classes if change is None else ChangedSources(self.cut.classes, change)  # type: ignore[arg-type]
        for scenario in self.twins(sources):
            found = counterexample(scenario, TWIN_BLOCKS + 1)
            if found is not None:
                return result("refuted", found[0], counterexample=found[1], scenario=scenario)
        return None


def _told(proofs: Proofs) -> str:
    goals = list(dict.fromkeys(each.goal for each in proofs.open))
    return f"not proved, and no short run breaks it: {'; '.join(goals)}"


def cut_theorems(sources: Sources) -> Iterator[CutTheorem]:
    """The look-ups of every kind that caches, and the release of skipped blocks."""
    loops: Any = our_look_ups if isinstance(sources, ImplSources) else release_look_ups
    for kind in (Kind("full"), Kind("sliding"), Kind("chunked"), Kind("mamba", mode="all")):
        for drop in (False, True) if kind.kind != "chunked" else (False,):
            yield _look_up_theorem(LookUpCut(kind, sources, getattr(loops, kind.kind), drop))
    for kind in (Kind("sliding"), Kind("chunked")):
        claim = f"what {kind.label} releases is exactly what no later token reads, the last block first, for any sizes and any table"
        yield CutTheorem(f"CUT.SKIPPED.{kind.label}".upper(), claim, SkippedCut(kind, sources), _skippings(kind))


def _look_up_theorem(cut: LookUpCut) -> CutTheorem:
    kind = cut.kind
    sizes = ["any sizes", "any length", "any alignment" if cut.any_alignment else "the block as alignment", "any pattern of cached blocks"]
    if cut.needs_wide_window:
        sizes[0] = "any window of 2 tokens or more"
    rule = " with the draft drop" if cut.drop else ""
    claim = f"the look-up of {kind.label} finds the longest hit{rule}, for {', '.join(sizes)}"
    name = f"CUT.HIT.{kind.label}{'.draft' if cut.drop else ''}".upper()
    return CutTheorem(name, claim, cut, _look_ups(cut))


def _look_ups(cut: LookUpCut) -> Callable[[Sources], Sequence[Scenario]]:
    alignments = (1, 2) if cut.any_alignment else (1,)
    return lambda sources: [LookUp(cut.kind, sources, TWIN_BLOCKS, draft_drop=cut.drop, alignment=each) for each in alignments]


def _skippings(kind: Kind) -> Callable[[Sources], Sequence[Scenario]]:
    return lambda sources: [Skipping(kind, sources, TWIN_BLOCKS)]


__all__ = ["CutTheorem", "cut_theorems"]
