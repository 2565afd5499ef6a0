"""What becomes of a theorem: proved, refuted by an example, vacuous, or unknown; the last two are failures as well."""

import time

from attrs import evolve, frozen

from kvwitness.model.profile import SOUND, Profile
from kvwitness.proofs.engines import prove, refute
from kvwitness.proofs.engines.refute import Example
from kvwitness.proofs.theorem import NO_BOUND, Scenario, Theorem, Wrong

STATUSES = ("proved", "refuted", "vacuous", "unknown")


@frozen
class Verdict:
    """How a theorem came out.

    Attributes:
        theorem: The theorem.
        status: One of `STATUSES`.
        because: Why it is not proved, in words.
        example: The counterexample of a refuted theorem.
        scenario: The same as a run, where one corresponds to it.
        engine: What decided it.
        seconds: How long it took.
        unshown: The hypotheses that the proof uses and that no example shows to be needed; None if none was looked for.
    """

    theorem: Theorem
    status: str
    because: str = ""
    example: Example | None = None
    scenario: Scenario | None = None
    engine: str = "prove"
    seconds: float = 0.0
    unshown: tuple[str, ...] | None = None

    @property
    def words(self) -> str:
        """The status with its bound."""
        if self.status != "proved":
            return self.status
        return "proved, unbounded" if self.theorem.bound == NO_BOUND else f"proved up to {self.theorem.bound}"


def judged(theorem: Theorem, profile: Profile = SOUND, *, quick: bool = False) -> Verdict:
    """Decide a theorem under a profile's rules; quick leaves the wrong variants alone, and does not ask which hypotheses are needed."""
    started = time.perf_counter()
    found = _departure(theorem, profile) or _proof(theorem, profile)
    if found.status == "proved" and not quick:
        spared = unrefuted(theorem)
        if spared:
            found = Verdict(theorem, "unknown", f"no counterexample to the wrong variant: {spared[0].words}", engine="refute")
        else:
            found = evolve(found, unshown=not_shown_needed(theorem))
    return evolve(found, seconds=time.perf_counter() - started)


def unrefuted(theorem: Theorem) -> list[Wrong]:
    """The wrong variants to which no counterexample is found."""
    return [wrong for wrong in theorem.wrong if example_of(theorem, wrong) is None]


def example_of(theorem: Theorem, wrong: Wrong, profile: Profile = SOUND) -> Example | None:
    """A counterexample to a wrong variant."""
    return refute.counterexample(theorem, rules=wrong.rules, twin=wrong.twin, high=wrong.high, profile=profile)


def _departure(theorem: Theorem, profile: Profile) -> Verdict | None:
    """The refutation of a theorem by a rule that the profile has, if it has one."""
    for wrong in theorem.wrong:
        if not wrong.found_in(profile):
            continue
        example = example_of(theorem, wrong, profile)
        if example is None:
            return Verdict(theorem, "unknown", f"{profile.name}: {wrong.words}, but no counterexample is found", engine="refute")
        run = wrong.scenario(example.values) if wrong.scenario else None
        return Verdict(theorem, "refuted", f"{profile.name}: {wrong.words}", example, run, "refute")
    return None


def _proof(theorem: Theorem, profile: Profile) -> Verdict:
    witness = refute.evaluate(theorem.states, theorem.witness, profile=profile, high=theorem.reach)
    unsatisfied = [name for name, holds in witness.hypotheses.items() if not holds]
    if unsatisfied:
        return Verdict(theorem, "vacuous", f"the witness does not satisfy: {unsatisfied[0]}", witness)
    if witness.broken:
        return Verdict(theorem, "refuted", f"by its own witness: {witness.broken[0]}", witness, engine="evaluation")
    statement = prove.stated(theorem, profile)
    decisions = [prove.decide(statement, goal) for goal in statement.goals]
    open_goals = [decision.goal for decision in decisions if decision.outcome != "proved"]
    if open_goals:
        example = refute.counterexample(theorem, profile=profile)
        status = "unknown" if example is None else "refuted"
        return Verdict(theorem, status, open_goals[0], example, engine="prove" if example is None else "refute")
    if prove.proves_false(statement):
        return Verdict(theorem, "vacuous", "the hypotheses contradict each other")
    spare = prove.unused(statement, decisions)
    if spare:
        return Verdict(theorem, "unknown", f"no goal needs the hypothesis: {spare[0]}")
    return Verdict(theorem, "proved")


def shown_needed(theorem: Theorem) -> dict[str, bool]:
    """Of each hypothesis, whether a counterexample shows that the theorem needs it."""
    names = prove.stated(theorem).hypotheses
    return {name: refute.counterexample(theorem, without=name) is not None for name in names}


def not_shown_needed(theorem: Theorem) -> tuple[str, ...]:
    """The hypotheses without such a counterexample: the proof uses them, and may do without."""
    return tuple(name for name, shown in shown_needed(theorem).items() if not shown)


__all__ = ["STATUSES", "Verdict", "example_of", "judged", "not_shown_needed", "shown_needed", "unrefuted"]
