"""The pages of mixed groups and planners say what was compared, and hide nothing new."""

from kvwitness.campaign import Finding, Tally
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import VLLM_0_16
from kvwitness.properties.errata import ERRATA
from kvwitness.properties.operations import Reset
from kvwitness.properties.replay import Setting
from kvwitness.properties.violation import Violation
from kvwitness.report.release_grid import Column, as_grid
from kvwitness.shrink import Shrunk


def finding(*, known: bool) -> Finding:
    setting = Setting(Config(blocks=2, block_size=1, groups=(Kind("full"),)), VLLM_0_16)
    shrunk = Shrunk(setting, (Reset(),), Violation("LIVE.RESET", "it returned False", "liveness"), 1, 0.0)
    return Finding(0, 1, shrunk, ERRATA[0] if known else None)


def test_a_cell_counts_operations_of_managers_and_steps_of_planners() -> None:
    columns = [Column("0.16.0", (Tally("full+sliding", "vllm-0.16", operations=1234, calls=77),), {})]

    assert "| full+sliding | 1,234 |" in as_grid(columns, seed=0, planner=False)
    assert "| in all | 77 |" in as_grid(columns, seed=0, planner=True)


def test_a_new_finding_stands_in_its_cell_and_below() -> None:
    tally = Tally("full+full", "vllm-0.16", operations=5, findings=[finding(known=False)])
    page = as_grid([Column("0.33.0", (tally,), {})], seed=0, planner=False)

    assert "| full+full | 5, **new 1** |" in page
    assert "- 0.33.0, full+full: LIVE.RESET, 1 steps" in page
    assert "No difference is left unexplained." not in page


def test_known_errata_and_what_is_not_offered_are_told_by_release() -> None:
    tally = Tally("full+full", "vllm-0.16", operations=5, errata={"window-one": (3, finding(known=True))})
    columns = [Column("0.16.0", (tally,), {}), Column("0.33.0", (), {"full+full": "there is none"})]
    page = as_grid(columns, seed=0, planner=False)

    assert "| full+full | 5, known 3 | not offered |" in page
    assert "| `window-one` | 3 | · |" in page
    assert "- 0.33.0: full+full: there is none" in page


def test_what_was_not_run_is_told_as_that() -> None:
    columns = [Column("0.16.0", (Tally("full+full", "vllm-0.16", operations=5),), {}), Column("0.33.0", (), {})]

    assert "| full+full | 5 | not run |" in as_grid(columns, seed=0, planner=False)
