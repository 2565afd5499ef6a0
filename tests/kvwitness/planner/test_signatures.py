"""What only a planner's own order shows is told by a signature, and not under rules that do not have the fault."""

from typing import Any, NamedTuple

import pytest
from attrs import evolve

from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import PROFILES, SOUND
from kvwitness.properties.operations import Close, Grow, Operation, Start
from kvwitness.properties.planning import PlannerOperation, PlannerSetting, PlannerSettings, Submit
from kvwitness.properties.violation import Violation
from kvwitness.vllm.planner.errata import Seen, planner_erratum_of

FULL, LARGE, SLIDING, ALIGN = Kind("full"), Kind("full", block_size=4), Kind("sliding", window=3), Kind("mamba", mode="align", drafts=1)
PLAN: tuple[Operation, ...] = (Grow("A"), Start("B", (0, 0)), Close())


class Told(NamedTuple):
    """A finding that is an erratum by its signature.

    Attributes:
        release: Where.
        groups: The groups of the pool.
        clause: What broke.
        because: The reason that was given.
    """

    release: str
    groups: tuple[Kind, ...]
    clause: str
    because: str = "made up"


CASES = {
    "drop-alignment": Told("0.16", (FULL, SLIDING), "BOOKS.ACCEPTED", "find_longest_cache_hit ended rejected (draft_drop_alignment)"),
    "drop-not-renewed": Told("0.33", (FULL, SLIDING), "HYBRID.HIT.DROP-ONCE"),
    "second-full-uncut": Told("0.16", (FULL, LARGE), "HYBRID.HIT.SOUND"),
    "guard-by-key": Told("0.28", (ALIGN,), "LIVE.REFUSAL"),
    "external-evicts-hit": Told("0.16", (FULL, SLIDING), "HYBRID.ADOPT.KEPT"),
}


def seen(told: Told) -> Seen:
    config = Config(blocks=8, block_size=2, groups=told.groups, drafts=1, draft_model=True)
    setting = PlannerSetting(config, PROFILES[f"vllm-{told.release}"], planner=PlannerSettings(connector=True))
    happened: tuple[PlannerOperation, ...] = (Submit("A", (0, 0, 0), external=2),)
    return Seen(setting, happened, PLAN, Violation(told.clause, told.because, "liveness"))


@pytest.mark.parametrize("name", CASES)
def test_a_signature_tells_its_erratum_and_only_under_its_rules(name: str) -> None:
    told = CASES[name]
    found = planner_erratum_of(f"{told.release}.0", seen(told))
    mended = evolve(seen(told), setting=evolve(seen(told).setting, profile=SOUND))

    assert found is not None
    assert found.id == name
    assert planner_erratum_of(f"{told.release}.0", mended) is None


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("drop-alignment", {"violation": Violation("BOOKS.ACCEPTED", "free ended failed: KeyError", "accounting")}),
        ("guard-by-key", {"theirs": (Start("B", (0, 0)), Close())}),
        ("external-evicts-hit", {"operations": (Submit("A", (0, 0, 0)),)}),
    ],
)
def test_what_lacks_what_the_erratum_needs_is_new(name: str, changes: dict[str, Any]) -> None:
    assert planner_erratum_of(f"{CASES[name].release}.0", evolve(seen(CASES[name]), **changes)) is None


def test_groups_of_one_size_have_no_second_full_attention() -> None:
    alike = seen(CASES["second-full-uncut"]._replace(groups=(FULL, SLIDING)))

    assert planner_erratum_of("0.16.0", alike) is None
