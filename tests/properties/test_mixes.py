"""Configurations of mixed groups: every mix can be had, in sizes that differ, the same for the same chance."""

import random

import pytest

from kvwitness.model.kinds import Config, ConfigError, Kind
from kvwitness.properties.mixes import MIXES, edge_of, mixes_not_offered, random_groups, random_mix
from kvwitness.properties.situations import LABELS, random_config


@pytest.mark.parametrize("label", MIXES)
def test_every_mix_is_drawn_with_groups_that_differ(label: str) -> None:
    configs = [random_mix(random.Random(seed), label) for seed in range(20)]

    assert all(config.is_hybrid and config.label == label for config in configs)
    assert len({config.blocks for config in configs}) > 1
    assert configs == [random_config(random.Random(seed), label) for seed in range(20)]


def test_every_kind_is_part_of_a_mix() -> None:
    assert {part for mix in MIXES for part in mix.split("+")} == set(LABELS)
    assert {len(mix.split("+")) for mix in MIXES} == {2, 3, 4}


def test_blocks_of_several_sizes_draft_models_and_steps_planned_ahead_come_up() -> None:
    configs = [random_groups(random.Random(seed)) for seed in range(300)]
    times = {config.block_of(group) // config.block_size for config in configs for group in range(len(config.groups))}

    assert {1, 2, 3, 4} <= times
    assert any(config.draft_model for config in configs)
    assert {config.depth for config in configs} == {1, 2}
    assert {len(config.groups) for config in configs} == {2, 3, 4}
    assert any(config.hit_alignment > max(map(config.block_of, range(len(config.groups)))) for config in configs)


@pytest.mark.parametrize("label", ["mamba-none+mamba-none", "chunked+mamba-none"])
def test_groups_that_cannot_be_mixed_are_refused_in_the_end(label: str) -> None:
    with pytest.raises(ConfigError, match=rf"got groups {label.replace('+', '.')} that do not fit together; allowed is full\+sliding"):
        random_mix(random.Random(0), label)


def test_lengths_are_tried_where_the_blocks_of_all_groups_end() -> None:
    whole = Kind("mamba", mode="none", block_size=16)

    assert edge_of(Config(9, 2, (Kind("full", block_size=4), Kind("full", block_size=6)))) == 12
    assert edge_of(Config(9, 2, (Kind("full"), whole), caching=False, max_model_len=16)) == 2
    assert edge_of(Config(9, 2, (Kind("full"),) * 2, alignment=8)) == 2


def test_a_mix_with_a_kind_that_is_not_offered_is_not_offered() -> None:
    missing = mixes_not_offered({"sink": "it has none"})

    assert missing["full+sink"] == "sink: it has none"
    assert all("sink" in mix for mix in missing)
