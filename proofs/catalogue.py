"""All theorems, in the order of the model's files."""

import importlib

from kvwitness.model.clauses import REGISTRY
from kvwitness.proofs.theorem import THEOREMS, Theorem

SUBJECTS = ("need", "null_prefix", "hits", "table", "mamba", "pool", "queue", "caller", "liveness")
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


NO_THEOREM = {
    "BOOKS.COUNT": "it compares a count with the length of a list; every observation is held to it",
    "BOOKS.NULL.COUNT": "the rule compares one number with itself; the call that must not move it is a branch, run by the oracles",
    "BOOKS.UNCHANGED": "the model's look-ups and refusals return the state they were given; there is no arithmetic to prove",
    "CALLER.DEPTH": "a comparison with a configured number",
    "CALLER.EXTERNAL": "a list of kinds",
    "CALLER.PREEMPT.BEFORE-ADMISSION": "membership in a plan; what breaks without it is shown by closure and by runs",
    "CALLER.REQUEST.KNOWN": "membership in a table",
    "CALLER.REQUEST.NEW": "membership in a set",
    "CALLER.REQUEST.STATUS": "membership in a list",
    "CALLER.RESUME.JUDGED": "membership in a plan",
    "CALLER.STATE-ROW": "it is about a worker that copies no state in a step without drafts; shown on runs by the shadow memory",
    "CALLER.STEP.ONCE": "membership in a plan",
    "CALLER.STRICT.ADMISSION": "what a real planner does, not what managers need",
    "CALLER.STRICT.PREEMPTION": "what a real planner does, not what managers need",
    "CALLER.STRICT.RUNNING-FIRST": "what a real planner does, not what managers need",
    "CHUNKED.COMMON-PREFIX": "the rule is the constant 0",
    "CONTENTS.READ.OWN": "it follows from what is held, keyed and written alone; the whole is judged on runs by the shadow memory",
    "CROSS.ADOPT.NONE": "the rule rejects every hit",
    "CROSS.COMMON-PREFIX": "the rule is the constant 0",
    "CROSS.HIT.NONE": "the rule rejects every call",
    "CROSS.PUBLISH.NONE": "the rule rejects every call",
    "FULL.COMMON-PREFIX": "it counts leading blocks with as many references as there are requests; judged on runs against the tables",
    "LIVE.COMMON": "as FULL.COMMON-PREFIX",
    "LIVE.HIT.COVERED": "groups of one pool are of one kind and searched together, so there is one length; closure and runs compare it",
    "MAMBA.COMMON-PREFIX": "the rule is the constant 0",
    "MAMBA.HIT.COMPUTED": "it compares steps of different requests; refuted and shown on runs and by closure",
    "POOL.FOUND": "the order of copies in the index; closure and runs compare it",
    "SLIDING.COMMON-PREFIX": "the rule is the constant 0",
}
"""The clauses that no theorem bears out, each with the reason."""


__all__ = ["NO_THEOREM", "SUBJECTS", "all_theorems", "chosen_theorems"]
