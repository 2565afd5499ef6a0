"""All groups together: what each call makes of a state, and that a rejected one makes nothing."""

from typing import Any

import pytest
from attrs import evolve

from kvwitness.model.calls import REASONS, Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.managers import TRANSITIONS, State, apply, initial_state, observe
from kvwitness.model.pool import without_keys
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile

KEYS = (10, 11, 12, 13, 14)
FULL, ALL = Kind("full"), Kind("mamba", mode="all")


def idle(kind: Kind = FULL, groups: int = 1, profile: Profile = SOUND, **sizes: Any) -> State:
    settings = {"blocks": 8, "block_size": 2, "max_model_len": 16, "caching": kind.caches, **sizes}
    return initial_state(Config(groups=(kind,) * groups, **settings), profile)


def done(state: State, *calls: tuple[Any, ...]) -> tuple[State, Any]:
    """The state after the calls, all of which succeed, and what the last one returned."""
    value = None
    for name, *arguments in calls:
        state, outcome = apply(state, Call(name, tuple(arguments)))
        assert outcome.status == "ok", outcome
        value = outcome.value
    return state, value


def admitted(name: str, tokens: int) -> list[tuple[Any, ...]]:
    return [("allocate_new_blocks", name, tokens, tokens, 0), ("cache_blocks", name, KEYS, tokens)]


def test_every_transition_has_the_name_of_a_call_and_its_docstring() -> None:
    assert all(function.__name__ == name and function.__doc__ for name, function in TRANSITIONS.items())


def test_blocks_of_all_groups_come_from_one_pool() -> None:
    state, appended = done(idle(groups=2), ("allocate_new_blocks", "A", 4, 4, 0))

    assert appended == ((1, 2), (3, 4))
    assert observe(state).free == (5, 6, 7)
    assert observe(state).tables == ({"A": (1, 2)}, {"A": (3, 4)})


def test_a_hit_needs_its_key_in_every_group() -> None:
    state, _ = done(idle(groups=2), *admitted("A", 4))
    _, hits = done(state, ("find_longest_cache_hit", KEYS, 5))
    without_one = evolve(state, pool=without_keys(state.pool, (4,)))
    _, fewer = done(without_one, ("find_longest_cache_hit", KEYS, 5))

    assert hits == ((1, 2), (3, 4))
    assert fewer == ((1,), (3,))


def test_the_estimate_sums_over_the_groups() -> None:
    _, blocks = done(idle(groups=2), ("get_num_blocks_to_allocate", "A", 5, (), 0, 5, 0))

    assert blocks == 6


@pytest.mark.parametrize(
    ("adoption", "tables"),
    [("two_phase", ({"C": (1, 4)}, {"C": (2, 3)})), ("one_phase", ({"C": (1, 2)}, {"C": (2, 4)}))],
)
def test_in_one_phase_a_group_takes_the_hit_that_the_next_has_not_adopted_yet(adoption: Any, tables: object) -> None:
    profile = evolve(VLLM_0_16, adoption=adoption)
    state, _ = done(idle(groups=2, profile=profile, blocks=7), *admitted("A", 2), ("allocate_new_blocks", "B", 4, 4, 0))
    state, _ = done(state, ("free", "A"), ("free", "B"), ("allocate_new_computed_blocks", "C", ((1,), (2,)), 2, 2))

    assert observe(state).tables == tables


def test_a_state_published_in_this_step_is_put_off_until_the_next() -> None:
    state, _ = done(idle(ALL), ("new_step_starts",), *admitted("A", 4))
    _, hits = done(state, ("find_longest_cache_hit", KEYS, 5))
    asked = ("get_num_blocks_to_allocate", "B", 5, hits, 4, 5, 0)

    assert done(state, asked)[1] == 9
    assert done(state, ("new_step_starts",), asked)[1] == 1


def test_the_seed_puts_no_state_off() -> None:
    state, _ = done(idle(ALL, profile=VLLM_0_16), *admitted("A", 4))
    _, hits = done(state, ("find_longest_cache_hit", KEYS, 5))

    assert done(state, ("get_num_blocks_to_allocate", "B", 5, hits, 4, 5, 0))[1] == 1


def test_what_was_published_in_this_step_can_be_withdrawn() -> None:
    before, _ = done(idle(), *admitted("A", 2), ("new_step_starts",))
    state, _ = done(before, ("allocate_new_blocks", "A", 6, 6, 0), ("cache_blocks", "A", KEYS, 6))
    state, _ = done(state, ("withdraw_blocks", "A"))

    assert set(observe(state).index or ()) == {(0, 10)}
    assert observe(state).published == ({"A": 1},)
    assert observe(state).tables == ({"A": (1, 2, 3)},)


def test_what_was_published_before_the_step_stays_when_withdrawing() -> None:
    state, _ = done(idle(), *admitted("A", 4), ("new_step_starts",))

    assert observe(done(state, ("withdraw_blocks", "A"))[0]) == observe(state)


def test_a_freed_request_leaves_no_books() -> None:
    state, _ = done(idle(groups=2), *admitted("A", 4), ("free", "A"))

    assert observe(state).tables == ({}, {})
    assert observe(state).published == ({}, {})
    assert sorted(observe(state).free or ()) == [1, 2, 3, 4, 5, 6, 7]


def test_freeing_somebody_unknown_changes_nothing() -> None:
    state = idle()

    assert done(state, ("free", "A"))[0] == state


def test_the_common_prefix_is_what_all_tables_hold() -> None:
    state, _ = done(idle(), *admitted("A", 4))
    _, hits = done(state, ("find_longest_cache_hit", KEYS, 3))
    state, _ = done(state, ("allocate_new_computed_blocks", "B", hits, 2, 0), ("allocate_new_blocks", "B", 4, 4, 0))

    assert done(state, ("get_num_common_prefix_blocks", "A"))[1] == (1,)
    assert done(state, ("get_num_common_prefix_blocks", "nobody"))[1] == (0,)


@pytest.mark.parametrize("kind", [Kind("sliding", window=3), Kind("chunked", chunk=4), ALL, Kind("cross")], ids=lambda kind: kind.label)
def test_no_other_kind_has_a_common_prefix(kind: Kind) -> None:
    state, _ = done(idle(kind), ("allocate_new_blocks", "A", 4, 4, 4))

    assert done(state, ("get_num_common_prefix_blocks", "A"))[1] == (0,)


def test_cross_attention_grows_by_encoder_tokens() -> None:
    state, appended = done(idle(Kind("cross")), ("allocate_new_blocks", "A", 2, 2, 5))

    assert appended == ((1, 2, 3),)
    assert done(state, ("get_num_blocks_to_allocate", "A", 9, (), 2, 9, 0))[1] == 0


def test_a_sink_is_set_apart_for_every_group() -> None:
    state = idle(Kind("sink", sink_tokens=4), groups=2)

    assert observe(state).reserved == (1, 2, 3, 4)
    assert done(state, ("get_num_free_blocks",))[1] == 3


def test_what_is_skipped_is_told_for_every_group() -> None:
    assert done(idle(Kind("sliding", window=3), groups=2), ("get_num_skipped_tokens", 7))[1] == (5, 5)


REJECTED: dict[str, tuple[State, tuple[Any, ...], str]] = {
    "more than there is": (idle(), ("allocate_new_blocks", "A", 16, 16, 0), "pool_exhausted"),
    "more than there is for the second group": (idle(groups=2), ("allocate_new_blocks", "A", 10, 10, 0), "pool_exhausted"),
    "publishing for nobody": (idle(), ("cache_blocks", "A", KEYS, 2), "unknown_request"),
    "publishing past the table": (done(idle(), *admitted("A", 2))[0], ("cache_blocks", "A", KEYS, 4), "publish_unallocated"),
    "publishing past the keys": (
        done(idle(), ("allocate_new_blocks", "A", 4, 4, 0))[0],
        ("cache_blocks", "A", KEYS[:1], 4),
        "not_enough_keys",
    ),
    "a look-up past the keys": (idle(Kind("sliding", window=3)), ("find_longest_cache_hit", KEYS[:1], 4), "not_enough_keys"),
    "a look-up of cross attention": (idle(Kind("cross")), ("find_longest_cache_hit", KEYS, 4), "caching_unsupported"),
    "publishing cross attention": (idle(Kind("cross")), ("cache_blocks", "A", KEYS, 4), "caching_unsupported"),
    "hits of cross attention": (idle(Kind("cross")), ("allocate_new_computed_blocks", "A", ((1,),), 2, 0), "caching_unsupported"),
    "a draft drop that the seed cannot align": (
        done(idle(Kind("sliding", window=3), profile=VLLM_0_16, drafts=1, draft_model=True, alignment=4), *admitted("A", 8), ("free", "A"))[
            0
        ],
        ("find_longest_cache_hit", KEYS, 9),
        "draft_drop_alignment",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_rejected_call_leaves_the_very_same_state(name: str) -> None:
    state, (call, *arguments), reason = REJECTED[name]
    after, outcome = apply(state, Call(call, tuple(arguments)))

    assert after is state
    assert (outcome.status, outcome.value, outcome.reason) == ("rejected", None, reason)
    assert reason in REASONS
