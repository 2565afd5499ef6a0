"""All theorems, in the order of the model's files."""

import importlib

from kvwitness.model.clauses import REGISTRY
from kvwitness.proofs.theorem import THEOREMS, Theorem

SUBJECTS = (
    "need",
    "null_prefix",
    "hits",
    "table",
    "mamba",
    "contents",
    "pool",
    "queue",
    "index",
    "prefix",
    "refusals",
    "caller",
    "protocol",
    "liveness",
    "judges",
    "hybrid",
    "events",
)
"""The files of theorems, in order."""


def all_theorems() -> list[Theorem]:
    """Every theorem; all files are loaded for it."""
    for subject in SUBJECTS:
        importlib.import_module(f"kvwitness.proofs.theorems.{subject}")
    return sorted((each for each in THEOREMS.values() if each.subject in SUBJECTS), key=lambda each: SUBJECTS.index(each.subject))


def chosen_theorems(names: tuple[str, ...], kind: str = "") -> list[Theorem]:
    """The theorems that are named, by their own id or by a clause's, and that are about the kind.

    Raises:
        KeyError: A name is neither.
    """
    theorems = all_theorems()
    known = {each.id for each in theorems} | set(REGISTRY)
    for name in names:
        if name not in known:
            raise KeyError(name)
    wanted = [each for each in theorems if not names or each.id in names or not set(names).isdisjoint(each.clauses)]
    return [each for each in wanted if not kind or not each.kinds or kind.split("-", maxsplit=1)[0] in each.kinds]


def covering_theorems() -> list[Theorem]:
    """A few theorems that together bear out every clause that has one: for each clause in turn the first, if none before does."""
    theorems, covered, chosen = all_theorems(), set[str](), list[Theorem]()
    for clause in REGISTRY:
        bearing = [each for each in theorems if clause in each.clauses]
        if clause not in covered and bearing:
            # Of several, the one that bears out most.
            best = max(bearing, key=lambda each: len(set(each.clauses) - covered))
            chosen.append(best)
            covered |= set(best.clauses)
    return [each for each in theorems if each in chosen]


PLANNER = "the planners of real releases, in runs and with orders that may occur, by `kvwitness conform --planner`"
STRICT = "a strict run is a free run with more asked of it: what is proved of every legal order holds of it"

NO_THEOREM = {
    "CALLER.STRICT.ADMISSION": ("what a real planner does, not what managers need", STRICT),
    "CALLER.STRICT.PREEMPTION": ("what a real planner does, not what managers need", STRICT),
    "CALLER.STRICT.RUNNING-FIRST": ("what a real planner does, not what managers need", STRICT),
    "PLAN.OUTPUT.KEPT": ("it judges another's planner, of which this spec has no rule", PLANNER),
    "PLAN.OUTPUT.STALE": ("it judges another's planner, of which this spec has no rule", PLANNER),
    "PLAN.PROGRESS": ("it judges another's planner, of which this spec has no rule", PLANNER),
    "PLAN.SURVIVES": ("it judges another's planner, of which this spec has no rule", PLANNER),
    "PLAN.TOLD": ("it judges another's planner, of which this spec has no rule", PLANNER),
}
"""The clauses that no theorem bears out, each with the reason, and with what holds all the same."""


__all__ = ["NO_THEOREM", "SUBJECTS", "all_theorems", "chosen_theorems", "covering_theorems"]
