"""The rules that releases after the seed brought: the guard by key, the release past gaps, the cut of external tokens, clipping."""

from typing import Any

import pytest
from attrs import evolve

from kvwitness.model.calls import Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.managers import State, apply, initial_state, observe
from kvwitness.model.profile import PROFILES, RELEASES, SOUND, Profile

KEYS = (10, 11, 12, 13)
ALL, ALIGN, SLIDING = Kind("mamba", mode="all"), Kind("mamba", mode="align"), Kind("sliding", window=1)


def idle(kind: Kind, profile: Profile, **sizes: Any) -> State:
    return initial_state(Config(**{"blocks": 8, "block_size": 1, "groups": (kind,), "max_model_len": 16, **sizes}), profile)


def done(state: State, *calls: tuple[Any, ...]) -> tuple[State, Any]:
    """The state after the calls, and what the last one came to."""
    value = None
    for name, *arguments in calls:
        state, outcome = apply(state, Call(name, tuple(arguments)))
        value = outcome.value if outcome.status == "ok" else outcome.reason
    return state, value


def admitted(name: str, tokens: int) -> list[tuple[Any, ...]]:
    return [("allocate_new_blocks", name, tokens, tokens, 0), ("cache_blocks", name, KEYS, tokens)]


@pytest.mark.parametrize(("scope", "estimated"), [("block", 2), ("key", 9)])
def test_a_second_copy_puts_a_hit_on_the_first_off_only_by_key(scope: Any, estimated: int) -> None:
    state, _ = done(idle(ALL, evolve(SOUND, mamba_guard_scope=scope)), *admitted("A", 1), ("free", "A"), ("new_step_starts",))
    state, _ = done(state, *admitted("B", 1))

    assert done(state, ("get_num_blocks_to_allocate", "C", 2, ((1,),), 1, 2, 0))[1] == estimated


@pytest.mark.parametrize(("walk", "table"), [("to_first_null", (1, 0, 0, 3)), ("all", (0, 0, 0, 3))])
def test_states_left_of_a_null_are_released_where_the_profile_says_so(walk: Any, table: tuple[int, ...]) -> None:
    state = idle(ALIGN, evolve(SOUND, mamba_release_walk=walk))
    grown = [("allocate_new_blocks", "A", tokens, tokens, 0) for tokens in (1, 3, 4)]
    state, _ = done(state, *grown, ("remove_skipped_blocks", "A", 4))

    assert observe(state).tables == ({"A": table},)


@pytest.mark.parametrize(
    ("order", "after_skipping", "after_freeing"),
    [
        ("appended", (4, 5, 6, 7, 1), (4, 5, 6, 7, 1, 3, 2)),
        ("skipped_keyless_first", (1, 4, 5, 6, 7), (3, 2, 1, 4, 5, 6, 7)),
        ("keyless_first_if_caching", (4, 5, 6, 7, 1), (4, 5, 6, 7, 1, 3, 2)),
    ],
)
def test_blocks_that_left_a_window_may_be_reused_first(order: Any, after_skipping: object, after_freeing: object) -> None:
    state = idle(Kind("sliding", window=2), evolve(SOUND, free_order=order), caching=False)
    state, _ = done(state, ("allocate_new_blocks", "A", 3, 3, 0), ("remove_skipped_blocks", "A", 2))
    assert observe(state).free == after_skipping

    assert observe(done(state, ("free", "A"))[0]).free == after_freeing


def test_full_attention_s_blocks_are_appended_where_only_skipped_ones_are_reused_first() -> None:
    state = idle(Kind("full"), evolve(SOUND, free_order="skipped_keyless_first"), caching=False)

    assert observe(done(state, ("allocate_new_blocks", "A", 2, 2, 0), ("free", "A"))[0]).free == (3, 4, 5, 6, 7, 2, 1)


@pytest.mark.parametrize(("cut", "taken"), [("whole_blocks", ((1,),)), ("tokens", ((),))])
def test_external_tokens_that_nobody_reads_may_take_a_block(cut: Any, taken: object) -> None:
    state = idle(SLIDING, evolve(SOUND, external_cut=cut), block_size=2)

    assert done(state, ("allocate_new_computed_blocks", "A", ((),), 0, 1))[1] == taken


@pytest.mark.parametrize(
    ("rule", "told", "published"), [("raises", "not_enough_keys", {}), ("index_error", "not_enough_keys", {}), ("clipped", None, {"A": 4})]
)
def test_publishing_past_the_keys_is_rejected_or_clipped(rule: Any, told: str | None, published: dict[str, int]) -> None:
    state = idle(Kind("full"), evolve(SOUND, publish_past_hashed=rule))
    state, value = done(state, ("allocate_new_blocks", "A", 6, 6, 0), ("cache_blocks", "A", KEYS, 6))

    assert value == told
    assert observe(state).published == (published,)


def test_prefill_context_parallelism_widens_blocks_up_to_some_release() -> None:
    config = Config(8, 2, (Kind("full"),), dcp=2, pcp=2)

    assert config.under(PROFILES["vllm-0.24"]).tokens_per_block == 8
    assert config.under(PROFILES["vllm-0.26"]).tokens_per_block == 4
    assert config.under(PROFILES["vllm-0.26"]).hit_alignment == 4


def test_the_releases_stand_in_order_and_end_with_the_newest() -> None:
    numbers = [int(profile.name.rpartition(".")[2]) for profile in RELEASES]

    assert numbers == sorted(numbers)
    assert (RELEASES[0].name, RELEASES[-1].name) == ("vllm-0.15", "vllm-0.33")
