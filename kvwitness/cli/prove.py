"""``kvwitness prove``: prove the theorems, and refute those that a profile's rules break."""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import click

from kvwitness import trace
from kvwitness.cli.errors import FAILED, HELD, UNDECIDED
from kvwitness.cli.options import kind_option, kinds_called
from kvwitness.model.profile import PROFILES, Profile
from kvwitness.proofs.catalogue import chosen_theorems
from kvwitness.proofs.engines import prove as engine
from kvwitness.proofs.theorem import Theorem
from kvwitness.proofs.verdicts import Verdict, judged
from kvwitness.report import proof_report
from kvwitness.traced import Unreproduced, traced

SIGN_EVERY = 10
"""Theorems after which a run shows that it goes on."""


@click.command()
@click.argument("names", nargs=-1, metavar="[ID]...")
@kind_option
@click.option("--profile", type=click.Choice(list(PROFILES)), help="The rules in force; sound if left out, for a release its own.")
@click.option("--port", metavar="PORT", help="Prove the source of impl, vllm==X or vllm:PATH instead: every path, on symbolic integers.")
@click.option("--quick", is_flag=True, help="Leave out the wrong variants, which must be refuted.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("kvwitness-failures"), show_default=True, help="Folder for traces.")
@click.option("--smt2", type=click.Path(path_type=Path), help="Folder to write every goal into as SMT-LIB.")
@click.option("--cvc5", "lane", flag_value="cvc5", help="Ask cvc5 about the goals instead; told apart, no part of a verdict.")
@click.option(
    "--crosshair", "lane", flag_value="crosshair", help="Ask CrossHair about small rules instead; told apart, no part of a verdict."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def prove(
    names: tuple[str, ...],
    kind: str | None,
    profile: str | None,
    port: str | None,
    quick: bool,
    out: Path,
    smt2: Path | None,
    lane: str | None,
    as_json: bool,
) -> int:
    """Prove the theorems, all or those with this ID: their own, or that of a clause.

    A theorem that the profile's rules break is refuted by an example; where a run corresponds to it, a trace file shows it.
    Exits with 0 where all are proved, with 1 where one is refuted, with 3 where one is vacuous or unknown.
    """
    if port is not None:
        from kvwitness.cli.prove_port import prove_port

        return prove_port(port, names, kind, profile, out, as_json=as_json)
    theorems, rules = _chosen(names, kind), PROFILES[profile or "sound"]
    if lane is not None:
        from kvwitness.cli.prove_lanes import ask_lane

        return ask_lane(lane, theorems, as_json=as_json)
    started = time.monotonic()
    verdicts = [_told(theorem, rules, quick, f"{number}/{len(theorems)}") for number, theorem in enumerate(theorems, start=1)]
    verdicts, files = _with_traces(verdicts, rules, out)
    if smt2 is not None:
        _write_goals(theorems, rules, smt2)
    facts = {"profile": rules.name, "seconds": time.monotonic() - started}
    if as_json:
        click.echo(json.dumps(proof_report.as_data(verdicts, files, **facts), ensure_ascii=False))  # type: ignore[arg-type]
    else:
        click.echo(proof_report.as_text(verdicts, files, **facts))  # type: ignore[arg-type]
    statuses = {verdict.status for verdict in verdicts}
    if "refuted" in statuses:
        return FAILED
    return UNDECIDED if statuses & {"vacuous", "unknown"} else HELD


def _chosen(names: tuple[str, ...], kind: str | None) -> list[Theorem]:
    try:
        labels = kinds_called(kind) if kind else ("",)
        theorems = {theorem.id: theorem for label in labels for theorem in chosen_theorems(names, label)}
    except KeyError as error:
        raise click.BadParameter(f"got {error.args[0]!r}; allowed is the id of a theorem or of a clause; see docs/proofs.md") from error
    if not theorems:
        raise click.BadParameter("no theorem has these ids and this kind; leave one of them out")
    return list(theorems.values())


def _told(theorem: Theorem, rules: Profile, quick: bool, count: str) -> Verdict:
    verdict = judged(theorem, rules, quick=quick)
    number, _, total = count.partition("/")
    if int(number) % SIGN_EVERY == 0 or number == total or verdict.status != "proved":
        click.echo(f"kvwitness: {count} {theorem.id}: {verdict.words}, {verdict.seconds:.2f} s", err=True)
    return verdict


def _with_traces(verdicts: Sequence[Verdict], rules: Profile, out: Path) -> tuple[list[Verdict], dict[str, Path]]:
    """The verdicts, and a trace file for each refutation that is a run; one that does not reproduce is no refutation."""
    judged_again, files = [], {}
    for verdict in verdicts:
        if verdict.scenario is None:
            judged_again.append(verdict)
            continue
        try:
            found = traced(verdict, rules)
        except Unreproduced as error:
            judged_again.append(Verdict(verdict.theorem, "unknown", str(error), verdict.example, None, verdict.engine, verdict.seconds))
            continue
        out.mkdir(parents=True, exist_ok=True)
        files[verdict.theorem.id] = out / f"{rules.name}-{verdict.theorem.id}.json"
        trace.write(found, files[verdict.theorem.id])
        judged_again.append(verdict)
    return judged_again, files


def _write_goals(theorems: Sequence[Theorem], rules: Profile, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for theorem in theorems:
        statement = engine.stated(theorem, rules)
        for number, goal in enumerate(statement.goals, start=1):
            text = f"; {theorem.id}: {goal}\n; {theorem.claim}\n{engine.smt_text(statement, goal)}"
            (folder / f"{theorem.id}-{number}.smt2").write_text(text, encoding="utf-8")


__all__ = ["prove"]
