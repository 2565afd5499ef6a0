"""Cut: loops of real source are proved for any size, wrong variants are refuted by runs, and nothing is proved of nothing."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from kvwitness.cut_port import CutTheorem, cut_theorems
from kvwitness.impl.lookup import aligned_step
from kvwitness.model.profile import SOUND
from kvwitness.proofs.cuts import wrong
from kvwitness.proofs.engines.cut import Carrier, Loop, View
from kvwitness.proofs.engines.cut_numbers import Alignment, CannotCut, Number
from kvwitness.proofs.engines.cut_source import Cutting, compiled
from kvwitness.proofs.engines.cut_ways import Proofs, Ways, all_ways
from kvwitness.proofs.engines.managers_on_paths import ProbedPool
from kvwitness.proofs.engines.paths import Paths, World, run_again
from kvwitness.proofs.engines.small_numbers import broken_by
from kvwitness.symbolic_port import ImplSources


def counted(most: Any) -> Any:
    """A loop to practise on: it counts up to a number."""
    count = 0
    while count < most:
        count += 1
    return count


def proved(loop: Loop, goal: str = "the same") -> Proofs:
    """What becomes of the claim that `counted` returns its number, with this invariant."""

    def run(ways: Ways) -> None:
        most = ways.number("most")
        ways.facts.append(most.term >= 0)
        loops = {"counted": {0: loop}}
        result = compiled(counted, Cutting({"counted": {0: loop.values}}, {}, Carrier(ways, loops)))(most)
        ways.note_reached("the end")
        ways.claim({goal: result.term == most.term})

    return all_ways(run)


def never_more(now: Any, _before: Any) -> dict[str, Any]:
    return {"no more than the number": now.count <= now.most}


def test_a_loop_is_proved_for_every_number_by_its_invariant() -> None:
    proofs = proved(Loop(["count"], never_more))

    assert proofs.open == []
    assert set(proofs.reached.values()) == {True}


def test_an_invariant_that_says_too_little_proves_nothing() -> None:
    open_goals = [each.goal for each in proved(Loop(["count"], lambda _now, _before: {})).open]

    assert open_goals == ["the same"]


def test_an_invariant_that_a_round_does_not_keep_is_told_by_name() -> None:
    def stays_none(now: Any, _before: Any) -> dict[str, Any]:
        return {"nothing is counted": now.count == 0}

    assert [each.goal for each in proved(Loop(["count"], stays_none)).open] == ["loop 0 of counted: after a round, nothing is counted"]


def test_a_measure_that_does_not_fall_is_open() -> None:
    open_goals = [each.goal for each in proved(Loop(["count"], never_more, measure=lambda now: now.count)).open]

    assert open_goals == ["loop 0 of counted: after a round, it comes to an end"]


def test_a_contradiction_reaches_nothing() -> None:
    def impossible(now: Any, _before: Any) -> dict[str, Any]:
        return {"never": now.count < now.count}

    assert False in proved(Loop(["count"], impossible)).reached.values()


def test_a_loop_without_invariant_is_told_not_run() -> None:
    with pytest.raises(CannotCut, match="loop 0 of counted has no invariant"):
        all_ways(lambda ways: compiled(counted, Cutting({}, {}, Carrier(ways, {})))(ways.number("most")))


def test_an_invariant_about_a_name_that_is_not_there_is_told() -> None:
    with pytest.raises(CannotCut, match="speaks of total"):
        View({"count": 0}).total  # noqa: B018 - looking is what fails


def test_a_number_without_value_gives_none_away() -> None:
    with pytest.raises(CannotCut, match="a plain number is needed"):
        range(Number(Ways(Proofs(), ()), "n"))


def test_an_alignment_that_is_computed_with_is_told() -> None:
    ways = Ways(Proofs(), ())
    with pytest.raises(CannotCut, match="computes with the alignment"):
        ways.number("block") > Alignment(ways, lambda _: True, True)  # noqa: B015 - comparing is what fails


def test_what_a_stand_in_does_not_have_is_no_fault_of_the_source() -> None:
    def asks(world: World) -> str:
        return str(ProbedPool(SOUND, lambda place: world.truth(f"cached {place}")).size)

    assert Paths().run(asks).verdict == "unknown"
    assert run_again(asks, {}) == ""
    assert broken_by(asks) is None


def theorems() -> Iterator[CutTheorem]:
    return cut_theorems(ImplSources(SOUND))


@pytest.mark.parametrize("name", ["CUT.HIT.FULL", "CUT.HIT.FULL.DRAFT", "CUT.HIT.MAMBA-ALL"])
def test_our_own_source_is_proved_without_a_bound(name: str) -> None:
    result = next(each for each in theorems() if each.id == name).prove()

    assert (result.verdict, result.bound, result.engine) == ("proved", "none", "cut")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["CUT.HIT.SLIDING", "CUT.HIT.SLIDING.DRAFT", "CUT.HIT.CHUNKED", "CUT.SKIPPED.SLIDING", "CUT.SKIPPED.CHUNKED"]
)
def test_searches_with_quotients_are_proved_without_a_bound(name: str) -> None:
    assert next(each for each in theorems() if each.id == name).prove().verdict == "proved"


def test_every_cut_has_a_wrong_variant() -> None:
    assert {each.id for each in theorems()} == set(wrong.OURS) == set(wrong.RELEASES)


@pytest.mark.slow
@pytest.mark.parametrize("theorem", list(theorems()), ids=lambda theorem: str(theorem.id))
def test_a_wrong_variant_is_refuted_by_a_run_on_plain_numbers(theorem: CutTheorem) -> None:
    for change in wrong.OURS[theorem.id]:
        result = theorem.prove(change)

        assert result.verdict == "refuted"
        assert result.scenario is not None
        assert run_again(result.scenario, result.counterexample) == result.because


def test_the_step_keeps_the_promise_that_cuts_rely_on() -> None:
    for block, alignment in product(range(1, 9), range(1, 13)):
        step = aligned_step(block, alignment)

        assert step >= 1
        assert [n * block % alignment == 0 for n in range(40)] == [n % step == 0 for n in range(40)]
