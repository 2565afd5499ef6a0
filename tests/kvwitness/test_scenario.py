"""Scenarios are told as they happen, on implementation and model alike, and their commands are the words of a replay."""

from pathlib import Path

import pytest

from kvwitness.campaign import planned_operations, setting_of
from kvwitness.cli.main import run
from kvwitness.explain import asked
from kvwitness.model.profile import SOUND
from kvwitness.ports.impl import ImplPort
from kvwitness.ports.model import ModelPort
from kvwitness.properties.run import Run
from kvwitness.properties.situations import LABELS
from kvwitness.reading import TraceError
from kvwitness.scenario import operation_called, retold

STORIES = sorted((Path(__file__).parents[2] / "docs" / "scenarios").glob("*.txt"))

SHORT = """# One request.

config sound blocks=3 block_size=2 groups=full
----
free 1 2

start A [0 0 0] new 2
----
plans tokens 0 to 1 · A [1] · free 2 → 1
"""


@pytest.mark.parametrize("port", [ImplPort, ModelPort])
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.stem)
def test_a_story_happens_as_it_is_told(story: Path, port: type[ImplPort] | type[ModelPort]) -> None:
    content = story.read_text(encoding="utf-8")

    assert retold(content, port, story.name) == content


def test_the_well_known_stories_are_there() -> None:
    assert {story.stem for story in STORIES} >= {
        "a-b-a",
        "draft-rejected-across-a-block",
        "external-hit-on-a-full-pool",
        "preempted-in-its-own-step",
        "resume",
        "same-step-state",
    }


@pytest.mark.parametrize("label", LABELS)
def test_a_command_is_the_operation_that_prints_it(label: str) -> None:
    setting, rng = setting_of(label, SOUND, 7, 0, ())
    run_of_it = Run(ModelPort(SOUND), setting.config, SOUND, oracles=(), strict=setting.strict)
    for operation in planned_operations(run_of_it, rng):
        assert operation_called(asked(operation), "here") == operation
        run_of_it.perform(operation)


def test_what_is_observed_otherwise_is_shown_and_rewritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "short.txt"
    file.write_text(SHORT.replace("A [1] · ", "A [2] · "), encoding="utf-8")

    assert run(["scenario", str(file)]) == 1
    assert "+plans tokens 0 to 1 · A [1] · free 2 → 1" in capsys.readouterr().out
    assert run(["scenario", str(file), "--rewrite"]) == 0
    assert file.read_text(encoding="utf-8") == SHORT
    assert run(["scenario", str(file)]) == 0


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ("start A [0]\n----\n", "here:1: got 'start' before any config"),
        (f"{SHORT}\nstart B [0]\n", "here:11: got 'start B [0]' without '----'"),
        (f"{SHORT}\njump A\n----\n", "here:11: got 'jump'"),
        (f"{SHORT}\nstart B [0] colour 3\n----\n", "here:11: steps[0].colour"),
        ("config loud blocks=3 block_size=2\n----\n", "here:1: profile: got"),
        ("config sound blocks=1 block_size=2\n----\n", "here:1: config: got blocks 1"),
        ("config sound blocks=3 block_size=2 groups=linear\n----\n", "here:1: config.groups[0].kind"),
    ],
)
def test_what_cannot_be_carried_out_is_refused_in_one_line(content: str, got: str) -> None:
    with pytest.raises(TraceError) as refused:
        retold(content, ImplPort, "here")

    assert got in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_the_protocol_does_not_allow_is_told() -> None:
    told = retold(f"{SHORT}\nresume A\n----\n", ImplPort, "here")

    assert "not allowed: CALLER.REQUEST.STATUS" in told


def test_a_run_that_broke_a_clause_is_over() -> None:
    story = next(story for story in STORIES if story.stem == "same-step-state").read_text(encoding="utf-8")
    broken = story.split("# Under sound")[0] + "execute\n----\n"

    assert retold(broken, ImplPort, "here").endswith("not run: a clause broke before\n")


def test_the_same_commands_are_the_same_story() -> None:
    assert retold(SHORT, ImplPort, "here") == SHORT
