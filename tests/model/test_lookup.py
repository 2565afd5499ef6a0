"""The look-up of mixed groups on a pool: what sound finds, and what releases made of it."""

import random
from typing import Any

import pytest
from attrs import evolve

from kvwitness.model.calls import Blocks, Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.managers import State, apply, initial_state
from kvwitness.model.pool import without_keys
from kvwitness.model.profile import PROFILES, SOUND, VLLM_0_16, VLLM_0_19, VLLM_0_20, VLLM_0_26, VLLM_0_32, Profile
from kvwitness.properties.mixes import MIXES, random_mix

FULL, WINDOW = Kind("full"), Kind("sliding", window=8)


def holding(config: Config, profile: Profile, tokens: int, name: str = "A") -> State:
    """A pool on which one request has computed and published so many tokens."""
    state, keys = initial_state(config, profile), tuple(range(1, tokens // config.block_size + 1))
    for call in (Call("allocate_new_blocks", (name, tokens, tokens, 0)), Call("cache_blocks", (name, keys, tokens))):
        state, outcome = apply(state, call)
        assert outcome.status == "ok", outcome
    return state


def looked_up(state: State, tokens: int) -> Any:
    keys = tuple(range(1, tokens // state.config.block_size + 1))
    _, outcome = apply(state, Call("find_longest_cache_hit", (keys, tokens - 1)))
    return outcome.value if outcome.status == "ok" else outcome.reason


def lengths(config: Config, hits: tuple[Blocks, ...]) -> list[int]:
    return [len(hit) * config.block_of(group) for group, hit in enumerate(hits)]


def test_each_group_shows_the_common_length_in_its_own_blocks() -> None:
    config = Config(20, 2, (FULL, Kind("sliding", window=3, block_size=4)), max_model_len=32)

    assert looked_up(holding(config, SOUND, 8), 9) == ((1, 2, 3, 4), (0, 6))


def test_a_block_that_one_group_lost_shortens_the_hit_of_all() -> None:
    config = Config(20, 2, (FULL, Kind("full", block_size=4)), max_model_len=32)
    state = holding(config, SOUND, 8)
    without_last = evolve(state, pool=without_keys(state.pool, (6,)))

    assert looked_up(state, 9) == ((1, 2, 3, 4), (5, 6))
    assert looked_up(without_last, 9) == ((1, 2), (5,))


def drafting(*groups: Kind, block_size: int = 4) -> Config:
    return Config(80, block_size, groups, drafts=1, draft_model=True, max_model_len=80)


@pytest.mark.parametrize(
    ("config", "profile", "expected"),
    [
        (drafting(FULL, WINDOW), VLLM_0_16, [56, 56]),
        (drafting(FULL, WINDOW), VLLM_0_19, [56, 56]),
        (drafting(FULL, WINDOW), VLLM_0_20, [60, 60]),
        (drafting(FULL, WINDOW), SOUND, [60, 60]),
        (drafting(FULL, WINDOW, Kind("sliding", window=12)), VLLM_0_16, [0, 0, 0]),
        (drafting(FULL, WINDOW, Kind("sliding", window=12)), VLLM_0_20, [60, 60, 60]),
        (drafting(FULL, WINDOW, Kind("sliding", window=12)), SOUND, [60, 60, 60]),
    ],
)
def test_a_draft_models_block_is_dropped_as_often_as_the_profile_says(config: Config, profile: Profile, expected: list[int]) -> None:
    assert lengths(config, looked_up(holding(config, profile, 64), 65)) == expected


def test_a_window_with_smaller_blocks_than_the_alignment_is_rejected_under_a_draft_model() -> None:
    config = drafting(Kind("full", block_size=8), WINDOW)

    assert looked_up(holding(config, VLLM_0_16, 64), 65) == "draft_drop_alignment"
    assert lengths(config, looked_up(holding(config, SOUND, 64), 65)) == [56, 56]


def test_too_few_keys_are_rejected_where_a_group_looks_from_the_right() -> None:
    config = Config(20, 2, (FULL, Kind("sliding", window=3, block_size=4)), max_model_len=32)
    _, outcome = apply(holding(config, SOUND, 8), Call("find_longest_cache_hit", ((1, 2), 8)))
    _, full_only = apply(holding(Config(20, 2, (FULL, Kind("full", block_size=4))), SOUND, 8), Call("find_longest_cache_hit", ((1, 2), 8)))

    assert outcome.reason == "not_enough_keys"
    assert full_only.value == ((1, 2), (5,))


@pytest.mark.parametrize("name", PROFILES)
def test_without_a_draft_model_the_passes_of_every_release_come_to_the_longest_length(name: str) -> None:
    profile = evolve(PROFILES[name], sliding_window_one="needs_nothing", hybrid_trim="every_full", hybrid_publish="all")
    for seed in range(60):
        rng = random.Random(seed)
        config = evolve(random_mix(rng, rng.choice([mix for mix in MIXES if "none" not in mix and "cross" not in mix])), draft_model=False)
        if not config.caching:
            continue
        state = some_published(evolve(config, blocks=200), profile, rng)
        expected = evolve(state, groups=tuple(evolve(group, profile=evolve(profile, hybrid_hit="longest")) for group in state.groups))

        assert looked_up(state, config.max_model_len) == looked_up(expected, config.max_model_len)


@pytest.mark.parametrize("profile", [VLLM_0_20, VLLM_0_26, VLLM_0_32])
def test_a_kind_that_dropped_once_keeps_no_block_back_when_another_shortens_the_hit(profile: Profile) -> None:
    config = drafting(Kind("sliding", window=5), Kind("mamba", mode="align", drafts=1))
    state = findable(initial_state(config, profile), {(0, 1): 1, (0, 3): 2, (0, 4): 3, (1, 1): 4})
    sound = findable(initial_state(config, SOUND), {(0, 1): 1, (0, 3): 2, (0, 4): 3, (1, 1): 4})

    assert looked_up(state, 20) == ((1,), (4,))
    assert looked_up(sound, 20) == ((), ())


def findable(state: State, blocks: dict[tuple[int, int], int]) -> State:
    """The state in which these blocks carry these keys of groups."""
    keyed = {block: entry for entry, block in blocks.items()}
    keys = tuple(keyed.get(block) for block in range(len(state.pool.keys)))
    return evolve(state, pool=evolve(state.pool, keys=keys, index={entry: (block,) for entry, block in blocks.items()}))


def some_published(config: Config, profile: Profile, rng: random.Random) -> State:
    """A pool on which all groups hold a long prefix, of which most blocks are findable."""
    state = initial_state(config, profile)
    places = [(group, place) for group in state.groups for place in range(config.max_model_len // group.block)]
    entries = [(group.number, (place + 1) * group.block // config.tokens_per_block) for group, place in places]
    return findable(state, {entry: block for block, entry in enumerate(entries, start=1) if rng.random() < 0.85})
