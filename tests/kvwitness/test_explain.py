import pytest

from kvwitness import explain, trace
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import PROFILES
from kvwitness.ports.model import ModelPort
from kvwitness.properties.operations import Close, Execute, Free, Grow, Operation, Preempt, Probe, Reset, Resume, Start
from kvwitness.properties.replay import Setting, replay
from kvwitness.properties.violation import Violation


def told(config: Config, operations: list[Operation], *, profile: str = "sound", strict: bool = False) -> list[str]:
    steps: list[str] = []
    replay(ModelPort, Setting(config, PROFILES[profile], strict), operations, watch=lambda view: steps.append(explain.told(view)))
    return steps


def test_a_step_shows_only_what_it_changed() -> None:
    run: list[Operation] = [Start("A", (0, 0, 0)), Execute(), Grow("A"), Execute(), Grow("A"), Free("A"), Reset()]

    assert told(Config(5, 2, (Kind("full"),)), run) == [
        "start A [0 0 0] · plans tokens 0 to 2 · A [1 2] · free 4 → 2",
        "execute · A computes tokens 0 to 2",
        "grow A · plans token 3",
        "execute · A computes token 3",
        "grow A · plans token 4 · A [1 2] → [1 2 3] · free 2 → 1",
        "free A · A [1 2 3] → gone · free 1 → 4",
        "reset",
    ]


def test_null_blocks_and_groups_are_strips() -> None:
    run: list[Operation] = [Start("A", (0, 0, 0, 0)), Execute(), Grow("A"), Execute(), Grow("A")]

    assert told(Config(9, 2, (Kind("sliding", window=2),) * 2), run)[2:] == [
        "grow A · plans token 4 · A [1 2] [3 4] → [∅ 2 5] [∅ 4 6]",
        "execute · A computes token 4",
        "grow A · plans token 5 · A [∅ 2 5] [∅ 4 6] → [∅ ∅ 5] [∅ ∅ 6] · free 4 → 6",
    ]


def test_a_refusal_and_what_is_hit_are_told() -> None:
    run: list[Operation] = [Start("A", (0, 0, 0)), Execute(), Start("B", (0, 0, 1)), Start("C", (1,) * 9)]
    *_, hit, refused = told(Config(5, 2, (Kind("full"),)), run)

    assert hit == "start B [0 0 1] · hits [1] · plans token 2 · B [1 3] · free 2 → 1"
    assert refused == "start C [1 1 1 1 1 1 1 1 1] · refused"


def test_a_call_that_was_rejected_is_told() -> None:
    mamba = Config(9, 4, (Kind("mamba", mode="align", drafts=2),), drafts=2)
    decoded: list[Operation] = [Grow("A"), Execute()] * 2
    run = [Start("A", (0,) * 4), Execute(), *decoded, Grow("A", 3, 2), Execute(), Grow("A")]

    assert told(mamba, run, profile="vllm-0.16")[-1] == "grow A · allocate_new_blocks ended rejected: requirement_shrinks"


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (Start("A", (0, 1), new=1, external=2, delayed=True, encoder=3), "start A [0 1] new 1 external 2 delayed encoder 3"),
        (Resume("A"), "resume A"),
        (Grow("A", 3, 2), "grow A new 3 drafts 2"),
        (Close(), "close"),
        (Execute({"A": (1, 2), "B": ()}), "execute A yields [1 2] B yields []"),
        (Preempt("A"), "preempt A"),
        (Probe((1, 2)), "probe [1 2]"),
        (Reset(force=True), "reset force"),
    ],
)
def test_an_operation_is_told_without_its_defaults(operation: Operation, words: str) -> None:
    assert explain.asked(operation) == words


def test_a_failure_begins_with_the_clause_and_ends_with_a_command(sample: str) -> None:
    read = trace.from_text(sample)
    steps: list[str] = []
    setting = Setting(read.config, PROFILES[read.profile])
    violation = replay(ModelPort, setting, read.operations, watch=lambda view: steps.append(explain.told(view))).violation
    assert violation is not None
    first, *numbered, because, command = explain.explain(steps, violation, command=explain.replay_command("a b.json", "model")).split("\n")

    assert first == f"MAMBA.HIT.COMPUTED at step 3: {violation.sentence}"
    assert [line[:4] for line in numbered] == ["  1 ", "  2 ", "  3 "]
    assert because == f"because {violation.because}"
    assert command == "kvwitness replay 'a b.json' --port model"


def test_a_reason_of_several_lines_is_told_in_one() -> None:
    text = explain.explain(["reset"], Violation("BOOKS.REST", "it\nfailed", "accounting"), command="c", verdict="v")

    assert text.split("\n")[2:] == ["because it failed", "v", "c"]


def test_the_command_repeats_what_was_chosen() -> None:
    command = explain.replay_command("a.json", "impl", profile="sound", oracles=("contents", "liveness"))

    assert command == "kvwitness replay a.json --port impl --profile sound --oracles contents,liveness"
