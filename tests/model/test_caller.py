"""The call protocols: which calls an operation makes, in which order, with which arguments."""

from collections.abc import Sequence

import pytest

from kvwitness.model.calls import Call
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import Arrive, Close, Execute, Free, Grow, Operation, Preempt, Probe, Reset, Resume, Share, Start
from kvwitness.properties.run import Run
from kvwitness.properties.view import View

FULL = Config(8, 2, (Kind("full"),), max_model_len=16)
AHEAD = Config(8, 2, (Kind("full"),), max_model_len=16, depth=2, drafts=1)
FIVE = (0, 0, 0, 0, 0)

LOOK_UP = "find_longest_cache_hit"
RELEASE = "remove_skipped_blocks"
ESTIMATE = ["get_num_blocks_to_allocate", "get_num_free_blocks"]
ADOPT = "allocate_new_computed_blocks"
GROW = "allocate_new_blocks"
PUBLISH = "cache_blocks"
CACHED_FIVE: tuple[Operation, ...] = (Start("A", FIVE), Execute(), Free("A"))


def last_of(operations: Sequence[Operation], config: Config = FULL, profile: Profile = SOUND, *, strict: bool = True) -> View:
    """The last of the operations as it was carried out."""
    run = Run(ModelPort(profile), config, profile, strict=strict)
    for operation in operations[:-1]:
        assert run.apply(operation) is None
    return run.perform(operations[-1])


def names(view: View) -> list[str]:
    return [call.name for call, _ in view.calls]


def call_of(view: View, name: str) -> Call:
    (call,) = (call for call, _ in view.calls if call.name == name)
    return call


def test_an_admission_looks_up_asks_allocates_and_publishes() -> None:
    view = last_of([Start("A", FIVE)])

    assert names(view) == ["new_step_starts", LOOK_UP, RELEASE, *ESTIMATE, GROW, PUBLISH]
    assert call_of(view, LOOK_UP).arguments[1] == 4
    assert call_of(view, PUBLISH).arguments[2] == 5
    assert view.event.kind == "planned"
    assert view.event.planned is not None
    assert view.event.planned.samples


def test_the_seed_is_not_told_that_a_step_starts() -> None:
    assert names(last_of([Start("A", FIVE)], profile=VLLM_0_16)) == [LOOK_UP, RELEASE, *ESTIMATE, GROW, PUBLISH]


def test_only_the_first_of_a_step_is_told_that_it_starts() -> None:
    assert "new_step_starts" not in names(last_of([Start("A", FIVE), Start("B", (1,))]))


def test_a_hit_is_adopted_between_the_estimate_and_the_growth() -> None:
    view = last_of([*CACHED_FIVE, Start("B", (*FIVE, 1))])

    assert names(view)[-5:] == [*ESTIMATE, ADOPT, GROW, PUBLISH]
    _, hits, num_local, num_external = call_of(view, ADOPT).arguments
    assert (list(map(len, hits)), num_local, num_external) == ([2], 4, 0)
    assert call_of(view, RELEASE).arguments == ("B", 4)
    assert call_of(view, "get_num_blocks_to_allocate").arguments == ("B", 6, hits, 4, 6, 0)


def test_a_hit_leaves_the_last_token_to_compute() -> None:
    view = last_of([Start("A", (0,) * 4), Execute(), Free("A"), Start("B", (0,) * 4)])

    assert view.event.planned is not None
    assert (view.event.planned.computed, view.event.planned.new) == (2, 2)


def test_external_tokens_come_behind_the_hit_and_leave_the_last_token() -> None:
    view = last_of([*CACHED_FIVE, Start("B", (*FIVE, 1, 1), external=7)])

    assert call_of(view, ADOPT).arguments[2:] == (4, 2)
    assert view.event.planned is not None
    assert view.event.planned.external == (4, 6)
    assert view.event.planned.new == 1


def test_external_tokens_that_the_hit_has_are_not_loaded() -> None:
    view = last_of([*CACHED_FIVE, Start("B", (*FIVE, 1), external=3)])

    assert call_of(view, ADOPT).arguments[2:] == (4, 0)


def test_a_delayed_load_allocates_and_publishes_only_on_arrival() -> None:
    loading: list[Operation] = [Start("A", FIVE, external=4, delayed=True)]
    admitted, arrived = last_of(loading), last_of([*loading, Execute(), Arrive("A")])

    assert names(admitted)[-4:] == [*ESTIMATE, ADOPT, GROW]
    assert admitted.event.kind == "loading"
    assert names(arrived) == [PUBLISH]
    assert call_of(arrived, PUBLISH).arguments[2] == 4
    assert arrived.caller.requests["A"].status == "loaded"


def test_a_request_whose_load_arrived_grows_without_a_look_up() -> None:
    view = last_of([Start("A", FIVE, external=4, delayed=True), Execute(), Arrive("A"), Grow("A", 1)])

    assert names(view) == ["new_step_starts", RELEASE, *ESTIMATE, GROW, PUBLISH]
    assert view.event.planned is not None
    assert view.event.planned.admitted


def test_without_caching_nothing_is_looked_up_or_published() -> None:
    view = last_of([Start("A", FIVE)], Config(8, 2, (Kind("full"),), caching=False, max_model_len=16))

    assert names(view) == ["new_step_starts", RELEASE, *ESTIMATE, GROW]


def test_a_refused_request_stops_after_the_free_count() -> None:
    view = last_of([Start("A", (0,) * 4), Start("B", (1,) * 4)], Config(4, 2, (Kind("full"),), max_model_len=16))

    assert names(view) == [LOOK_UP, RELEASE, *ESTIMATE]
    assert view.event.kind == "refused"
    assert "B" not in view.caller.requests


def test_a_decode_publishes_no_draft_and_looks_ahead_for_the_draft_model() -> None:
    config = Config(8, 2, (Kind("full"),), max_model_len=16, drafts=2, draft_model=True)
    view = last_of([Start("A", FIVE), Execute(), Grow("A", 3, 2)], config)

    assert call_of(view, PUBLISH).arguments[2] == 6
    assert call_of(view, GROW).arguments == ("A", 10, 8, 0)


@pytest.mark.parametrize(("profile", "released"), [(SOUND, 5), (VLLM_0_16, 7)], ids=["settled", "optimistic"])
def test_release_goes_by_the_length_that_the_profile_says(profile: Profile, released: int) -> None:
    operations: list[Operation] = [Start("A", FIVE), Execute(), Grow("A", 2, 1), Close(), Grow("A", 2, 1)]
    view = last_of(operations, AHEAD, profile)

    assert call_of(view, RELEASE).arguments == ("A", released)


def test_a_step_that_is_executed_publishes_what_is_settled_when_planned_ahead() -> None:
    view = last_of([Start("A", FIVE), Execute(), Grow("A", 2, 1), Execute({"A": (1, 1)})], AHEAD)

    assert names(view) == [PUBLISH]
    assert call_of(view, PUBLISH).arguments[2] == 7
    assert names(last_of([Start("A", FIVE), Execute()])) == []


def test_rejected_drafts_no_longer_count_as_computed() -> None:
    view = last_of([Start("A", FIVE), Execute(), Grow("A", 2, 1), Execute({"A": (1,)})], AHEAD)

    request = view.caller.requests["A"]
    assert (request.computed, request.num_tokens, request.accepted, request.placeholders) == (6, 7, 0, 0)


PRESSED: list[Operation] = [Start("A", (0, 0)), Start("B", (1,)), Execute(), Grow("B", 1), Grow("A", 1), Preempt("B")]
TIGHT = Config(3, 2, (Kind("full"),), max_model_len=16)


def test_what_a_request_published_in_the_step_that_preempts_it_is_withdrawn_first() -> None:
    assert names(last_of(PRESSED, TIGHT)) == ["withdraw_blocks", "free"]


def test_the_seed_keeps_the_keys_of_a_request_that_leaves_the_plan() -> None:
    assert names(last_of(PRESSED, TIGHT, VLLM_0_16)) == ["free"]


def test_a_request_that_leaves_the_plan_is_not_in_the_step() -> None:
    view = last_of(PRESSED, TIGHT)

    assert view.caller.open == ()
    assert view.caller.preempted
    assert view.caller.requests["B"].computed == 0


def test_a_request_outside_the_plan_is_only_freed() -> None:
    assert names(last_of([Start("A", FIVE), Execute(), Preempt("A")], strict=False)) == ["free"]
    assert names(last_of([Start("A", FIVE), Execute(), Free("A")])) == ["free"]


def test_a_preempted_request_is_resumed_like_a_new_one_with_all_that_it_knows() -> None:
    view = last_of([Start("A", FIVE), Execute(), Preempt("A"), Resume("A")], strict=False)

    assert names(view) == ["new_step_starts", LOOK_UP, RELEASE, *ESTIMATE, ADOPT, GROW, PUBLISH]
    assert call_of(view, LOOK_UP).arguments[1] == 5
    assert view.caller.requests["A"].prefill == 6


def test_a_forced_reset_frees_every_running_request_first() -> None:
    planned: list[Operation] = [Start("A", FIVE), Start("B", (1,)), Execute()]
    plain, forced = last_of([*planned, Reset()]), last_of([*planned, Reset(force=True)])

    assert names(plain) == ["reset_prefix_cache"]
    assert not plain.event.done
    assert names(forced) == ["free", "free", "reset_prefix_cache"]
    assert forced.event.done


def test_a_probe_looks_up_and_asks_what_is_skipped() -> None:
    view = last_of([*CACHED_FIVE, Probe((0, 0, 1))])

    assert names(view) == [LOOK_UP, "get_num_skipped_tokens"]
    assert view.event.hits == ((view.calls[0][1].value[0][0],),)


def test_sharing_asks_for_the_common_prefix() -> None:
    view = last_of([Start("A", FIVE), Share("A")])

    assert names(view) == ["get_num_common_prefix_blocks"]
    assert view.calls[0][1].value == (3,)


def test_encoder_tokens_count_at_admission_only() -> None:
    config = Config(8, 2, (Kind("cross"),), caching=False, max_model_len=16)
    admitted = last_of([Start("A", (0,), encoder=5)], config)
    grown = last_of([Start("A", (0,), encoder=5), Execute(), Grow("A")], config)

    assert call_of(admitted, GROW).arguments == ("A", 1, 1, 5)
    assert call_of(grown, GROW).arguments == ("A", 2, 2, 0)
