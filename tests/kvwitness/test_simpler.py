import pytest
from attrs import evolve

from kvwitness import simpler
from kvwitness.model.kinds import Config, Kind
from kvwitness.properties.operations import Close, Execute, Free, Grow, Operation, Preempt, Probe, Reset, Share, Start


def test_smaller_values_come_smallest_first_and_then_nearer() -> None:
    assert list(simpler.smaller(8)) == [0, 4, 6, 7]
    assert list(simpler.smaller(3, 1)) == [1, 2]
    assert list(simpler.smaller(1, 1)) == []


def test_every_pair_is_left_out_once() -> None:
    run: tuple[Operation, ...] = (Share("A"), Share("B"), Share("C"), Execute())

    assert list(simpler.pairs_dropped(run)) == [(run[2], run[3]), (run[1], run[3]), (run[0], run[3])]


def test_a_long_run_loses_only_neighbouring_pairs() -> None:
    run = tuple(Share(str(number)) for number in range(40))

    assert len(list(simpler.pairs_dropped(run))) == 38 + 37 + 36


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Start("A", (0,), delayed=True), Start("A", (0,))),
        (Start("A", (0,), external=5), Start("A", (0,))),
        (Start("A", (0, 1), new=2), Start("A", (0, 1))),
        (Start("A", (0, 1)), Start("A", (0,))),
        (Start("A", (1, 1)), Start("A", (0, 1))),
        (Start("A", (0,), encoder=5), Start("A", (0,), encoder=1)),
        (Grow("A", 3, 2), Grow("A", 1, 0)),
        (Grow("A", 5), Grow("A", 1)),
        (Probe((1,)), Probe(())),
        (Execute({"A": (1, 2)}), Execute()),
        (Execute({"A": (0, 0), "B": (0,)}), Execute({"A": (0,), "B": (0,)})),
        (Reset(force=True), Reset()),
    ],
)
def test_one_thing_about_an_operation_becomes_smaller(operation: Operation, expected: Operation) -> None:
    assert expected in list(simpler.simpler_operations(operation))


@pytest.mark.parametrize("operation", [Start("A", (0,), encoder=1), Grow("A"), Execute(), Free("A"), Close(), Probe(()), Reset()])
def test_the_simplest_operations_have_nothing_simpler_but_no_tokens(operation: Operation) -> None:
    left = [other for other in simpler.simpler_operations(operation) if getattr(other, "tokens", True)]

    assert left == []


def test_a_shorter_prompt_shortens_its_later_chunk_with_it() -> None:
    run: tuple[Operation, ...] = (Start("A", (0,) * 6, new=2), Execute(), Grow("A", 4))

    assert (Start("A", (0,) * 3, new=2), Execute(), Grow("A", 1)) in list(simpler.with_simpler_operation(run, 0))


def test_a_token_becomes_smaller_wherever_it_stands() -> None:
    run: tuple[Operation, ...] = (Start("A", (7, 1)), Execute({"A": (7,)}), Probe((7,)), Free("A"))

    assert next(simpler.with_simpler_tokens(run)) == (Start("A", (0, 1)), Execute({"A": (0,)}), Probe((0,)), Free("A"))


def test_all_prompts_are_cut_in_front_alike() -> None:
    run: tuple[Operation, ...] = (Start("A", (0,) * 4), Start("B", (0,) * 5))

    assert (Start("A", (0,) * 2), Start("B", (0,) * 3)) in list(simpler.with_simpler_tokens(run))


def test_a_growth_goes_into_the_prompt() -> None:
    run: tuple[Operation, ...] = (Start("A", (5,)), Execute(), Grow("A"), Execute(), Preempt("A"))

    assert next(simpler.with_longer_prompt(run)) == (Start("A", (5, 0)), Execute(), Preempt("A"))


def test_an_operation_is_left_out_with_the_blocks_it_may_have_taken() -> None:
    run: tuple[Operation, ...] = (Start("A", (0,) * 5), Start("B", (0,)))
    config = Config(6, 2, (Kind("full"),))
    candidates = list(simpler.with_smaller_pool(run, config, 0))

    assert (evolve(config, blocks=5), (Start("B", (0,)),)) in candidates
    assert (evolve(config, blocks=4), (Start("A", (0,)), Start("B", (0,)))) in candidates
    assert all(pool.blocks >= 2 for pool, _ in candidates)


def test_steps_planned_ahead_are_executed_at_once() -> None:
    assert simpler.synchronous((Start("A", (0,)), Close(), Grow("A"), Execute())) == (Start("A", (0,)), Execute(), Grow("A"), Execute())


FULL, WIDE = Kind("full"), (Kind("full", block_size=8), Kind("sliding", window=4, block_size=8))


@pytest.mark.parametrize(
    ("knob", "config", "expected"),
    [
        ("groups", Config(9, 4, (Kind("full"),) * 3), Config(9, 4, (Kind("full"),))),
        ("draft_model", Config(9, 4, (Kind("full"),), draft_model=True), Config(9, 4, (Kind("full"),))),
        ("depth", Config(9, 4, (Kind("full"),), depth=3), Config(9, 4, (Kind("full"),))),
        ("dcp", Config(9, 4, (Kind("full"),), dcp=2), Config(9, 4, (Kind("full"),))),
        ("alignment", Config(9, 4, (Kind("full"),), alignment=8), Config(9, 4, (Kind("full"),))),
        ("blocks", Config(9, 4, (Kind("full"),)), Config(2, 4, (Kind("full"),))),
        ("window", Config(9, 4, (Kind("sliding", window=8),)), Config(9, 4, (Kind("sliding", window=1),))),
        ("block_size", Config(9, 4, (Kind("chunked", chunk=8),)), Config(9, 1, (Kind("chunked", chunk=2),))),
        ("max_model_len", Config(9, 4, (Kind("full"),)), Config(9, 4, (Kind("full"),), max_model_len=1)),
        (
            "drafts",
            Config(9, 4, (Kind("mamba", mode="align", drafts=2),), drafts=2),
            Config(9, 4, (Kind("mamba", mode="align", drafts=1),), drafts=1),
        ),
        (
            "block_size",
            Config(9, 8, (Kind("mamba", mode="none"),), caching=False, max_model_len=8),
            Config(9, 4, (Kind("mamba", mode="none"),), caching=False, max_model_len=4),
        ),
        ("groups", Config(9, 4, (FULL, *WIDE)), Config(9, 4, WIDE)),
        ("groups", Config(9, 4, (FULL, *WIDE)), Config(9, 4, (FULL, WIDE[1]))),
        ("block_size", Config(9, 4, (FULL, *WIDE)), Config(9, 4, (FULL, FULL, WIDE[1]))),
        ("block_size", Config(9, 4, WIDE), Config(9, 2, (Kind("full", block_size=4), Kind("sliding", window=2, block_size=4)))),
        ("window", Config(9, 4, (FULL, *WIDE)), Config(9, 4, (FULL, WIDE[0], Kind("sliding", window=1, block_size=8)))),
        (
            "drafts",
            Config(9, 4, (FULL, Kind("mamba", mode="align", drafts=2)), drafts=2),
            Config(9, 4, (FULL, Kind("mamba", mode="align", drafts=1)), drafts=1),
        ),
    ],
)
def test_one_thing_about_a_configuration_becomes_smaller(knob: str, config: Config, expected: Config) -> None:
    assert expected in list(simpler.simpler_configs(config, knob))


@pytest.mark.parametrize("knob", [*simpler.KNOBS, "max_model_len"])
def test_the_smallest_configuration_has_nothing_smaller(knob: str) -> None:
    assert list(simpler.simpler_configs(Config(2, 1, (Kind("full"),), max_model_len=1), knob)) == []
