"""The page of releases says what was compared, and hides nothing new."""

import pytest

from kvwitness.campaign import Finding, Tally
from kvwitness.conforming import Aim, aim_at
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import VLLM_0_16
from kvwitness.properties.errata import ERRATA
from kvwitness.properties.operations import Reset
from kvwitness.properties.replay import Setting
from kvwitness.properties.violation import Violation
from kvwitness.report.release_docs import RELEASES, SEED_RELEASE, Held, as_markdown, level_held, steps_for
from kvwitness.shrink import Shrunk


@pytest.fixture
def aim() -> Aim:
    return aim_at("impl", labels=("full", "sink"))


def finding(level: str, *, known: bool = False) -> Finding:
    setting = Setting(Config(blocks=2, block_size=1, groups=(Kind("full"),)), VLLM_0_16)
    shrunk = Shrunk(setting, (Reset(),), Violation("LIVE.RESET", "it returned False", "liveness"), 1, 0.0)
    return Finding(0, 1, shrunk, ERRATA[0] if known else None, level)


@pytest.mark.parametrize(("levels", "held"), [((), "L3"), (("L3",), "L2"), (("L3", "L1"), "L0"), (("L0",), "none")])
def test_a_level_holds_below_the_weakest_that_is_broken(aim: Aim, levels: tuple[str, ...], held: str) -> None:
    assert level_held(Tally("full", "vllm-0.16", findings=[finding(level) for level in levels]), aim) == held


def test_a_new_finding_stands_in_the_table_and_below_it(aim: Aim) -> None:
    tally = Tally("full", "vllm-0.16", operations=1234, findings=[finding("L1")])
    page = as_markdown([Held("0.16.0", aim, (tally,))], seed=0)

    assert "| L0, 1,234, **new 1** |" in page
    assert "- 0.16.0, full: LIVE.RESET, 1 steps" in page
    assert "No difference is left unexplained." not in page


def test_known_errata_are_counted_by_release(aim: Aim) -> None:
    tally = Tally("sink", "vllm-0.16", operations=10, errata={"same-step-state": (7, finding("L1", known=True))})
    page = as_markdown([Held("0.16.0", aim, (tally,)), Held("0.17.1", aim, ())], seed=0)

    assert "| L3, 10, known 7 |" in page
    assert "| `same-step-state` | 7 | · |" in page
    assert "No difference is left unexplained." in page


def test_the_seed_gets_a_million_steps_and_the_others_two_hundred_thousand(aim: Aim) -> None:
    assert {version: 2 * steps_for(version, aim, 0) for version in RELEASES} == {
        version: 1_000_000 if version == SEED_RELEASE else 200_000 for version in RELEASES
    }
    assert steps_for("0.33.0", aim, 100) == 50
