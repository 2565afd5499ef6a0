"""A finding is explained by the rules that cause it, also where mending them shows another."""

from collections.abc import Sequence

import pytest

from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND, VLLM_0_16, VLLM_0_20, Profile, with_axis_of
from kvwitness.ports.model import ModelPort
from kvwitness.properties.errata import ERRATA, attribute, errata_of
from kvwitness.properties.operations import Execute, Free, Operation, Probe, Start
from kvwitness.properties.replay import Setting, replay
from kvwitness.properties.violation import Violation

FULL, WINDOW = Kind("full"), Kind("sliding", window=5)
CACHED: tuple[Operation, ...] = (Start("A", (0,) * 8), Execute(), Free("A"), Probe((0,) * 9))
EVICTING: tuple[Operation, ...] = (
    *CACHED[:3],
    Start("B", (1,) * 4),
    Execute(),
    Free("B"),
    Start("C", (0,) * 11, external=10),
)


def mixed(*groups: Kind, blocks: int = 20, drafting: bool = True) -> Config:
    return Config(blocks, 2, groups, drafts=int(drafting), draft_model=drafting, max_model_len=16)


CASES: dict[str, tuple[Profile, Config, Sequence[Operation], str]] = {
    "drop-in-every-pass": (VLLM_0_16, mixed(FULL, WINDOW), CACHED, "HYBRID.HIT.LONGEST"),
    "external-evicts-hit": (
        VLLM_0_16,
        mixed(FULL, Kind("sliding", window=20), blocks=13, drafting=False),
        EVICTING,
        "HYBRID.ADOPT.KEPT",
    ),
    "drop-alignment": (VLLM_0_16, mixed(Kind("full", block_size=4), WINDOW), CACHED, "BOOKS.ACCEPTED"),
}


def found(profile: Profile, config: Config, operations: Sequence[Operation]) -> Violation | None:
    return replay(ModelPort, Setting(config, profile), operations).violation


@pytest.mark.parametrize("name", CASES)
def test_a_finding_on_mixed_groups_is_explained_by_its_erratum(name: str) -> None:
    profile, config, operations, clause = CASES[name]
    violation = found(profile, config, operations)

    assert violation is not None
    assert violation.clause == clause
    explained = attribute(ModelPort, Setting(config, profile), operations, violation)
    assert explained is not None
    assert explained.id == name
    assert found(SOUND, config, operations) is None


def test_a_finding_is_explained_though_mending_it_shows_another() -> None:
    profile, config, operations, _ = CASES["drop-alignment"]
    mended = next(erratum for erratum in ERRATA if erratum.id == "drop-alignment")
    alone = found(with_sound(profile, *mended.axes), config, operations)

    assert alone is not None
    assert alone.clause == "HYBRID.HIT.LONGEST"


def with_sound(profile: Profile, *axes: str) -> Profile:
    for axis in axes:
        profile = with_axis_of(profile, axis, SOUND)
    return profile


def test_what_no_erratum_explains_is_new() -> None:
    profile, config, operations, _ = CASES["drop-in-every-pass"]

    assert attribute(ModelPort, Setting(config, profile), operations, Violation("BOOKS.REST", "made up", "accounting")) is None


def test_only_mixed_groups_show_what_depends_on_a_common_hit() -> None:
    names = [erratum.id for erratum in ERRATA if erratum.is_of_mixes]

    assert names == ["drop-in-every-pass", "second-full-uncut", "mamba-lengthens-hit", "drop-not-renewed"]


def test_a_release_has_the_errata_of_its_own_way_to_a_common_hit() -> None:
    old, later = ({erratum.id for erratum in errata_of(profile) if erratum.is_of_mixes} for profile in (VLLM_0_16, VLLM_0_20))

    assert old == {"drop-in-every-pass", "second-full-uncut"}
    assert later == {"second-full-uncut", "mamba-lengthens-hit", "drop-not-renewed"}
    assert not errata_of(SOUND)
