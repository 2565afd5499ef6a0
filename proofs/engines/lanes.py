"""Optional second opinions: cvc5 on the goals as they are written out, CrossHair on small rules as Python runs them.

Neither has a part in a verdict. Each is imported when it is asked for, and says so where it is not installed.
"""

import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from attrs import frozen

from kvwitness.proofs.engines.prove import smt_text, stated
from kvwitness.proofs.second_opinions import CLAIMS
from kvwitness.proofs.theorem import Theorem

PACKAGES = {"cvc5": "cvc5", "crosshair": "crosshair-tool"}
"""The lanes, each with the package that it needs."""

MOST_SECONDS = {"cvc5": 5.0, "crosshair": 20.0}
"""How long each may look at a goal or a claim: what it does not answer by then is unknown, and no verdict hangs on it."""


class NotInstalled(Exception):
    """A lane's package is missing."""


@frozen
class Opinion:
    """What a lane says of one goal or claim.

    Attributes:
        name: The theorem, or the claim.
        goal: The goal, or the claim's sentence.
        answer: ``proved``, ``unknown`` or ``disagreement``.
        because: What the tool said, where it did not prove it.
        seconds: How long it took.
    """

    name: str
    goal: str
    answer: str
    because: str
    seconds: float


def tool(lane: str) -> str:
    """The tool with its version.

    Raises:
        NotInstalled: It is missing.
    """
    try:
        __import__(lane)
    except ImportError as error:
        raise NotInstalled(
            f"got no {PACKAGES[lane]}; it is optional and not part of a verdict; install kvwitness[{lane}] to ask it"
        ) from error
    return f"{PACKAGES[lane]} {version(PACKAGES[lane])}"


def by_cvc5(theorems: Sequence[Theorem]) -> Iterator[Opinion]:
    """Every goal of the theorems, proved again by cvc5."""
    for theorem in theorems:
        statement = stated(theorem)
        for goal in statement.goals:
            started = time.perf_counter()
            said = cvc5_says(smt_text(statement, goal))
            answer = {"unsat": "proved", "sat": "disagreement"}.get(said, "unknown")
            yield Opinion(theorem.id, goal, answer, "" if answer == "proved" else said, time.perf_counter() - started)


def cvc5_says(text: str) -> str:
    """What cvc5 answers to a goal."""
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", str(round(1000 * MOST_SECONDS["cvc5"])))
    solver.setLogic("ALL")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "goal")
    symbols, said = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        said += str(command.invoke(solver, symbols))
    return said.strip()


def by_crosshair(names: Sequence[str] = ()) -> Iterator[Opinion]:
    """Every claim, or those that are named, run on symbolic integers by CrossHair."""
    for states in CLAIMS:
        if names and states.__name__ not in names:
            continue
        started = time.perf_counter()
        said = crosshair_says(states)
        answer = {"CONFIRMED": "proved", "CANNOT_CONFIRM": "unknown"}.get(said.partition(":")[0], "disagreement")
        sentence = (states.__doc__ or "").strip()
        yield Opinion(states.__name__, sentence, answer, "" if answer == "proved" else said, time.perf_counter() - started)


def crosshair_says(states: object) -> str:
    """What CrossHair answers to a claim: its worst word, and what goes with it."""
    from crosshair.core_and_libs import analyze_function, run_checkables
    from crosshair.options import AnalysisKind, AnalysisOptionSet

    options = AnalysisOptionSet(analysis_kind=[AnalysisKind.asserts], per_condition_timeout=MOST_SECONDS["crosshair"], report_all=True)
    words = [f"{message.state.name}: {message.message}" for message in run_checkables(analyze_function(states, options))]
    worst = [word for word in words if not word.startswith("CONFIRMED")]
    return (worst or words or ["CANNOT_CONFIRM: nothing was said"])[0]


__all__ = ["PACKAGES", "NotInstalled", "Opinion", "by_crosshair", "by_cvc5", "tool"]
