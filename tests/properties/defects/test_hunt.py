import pytest
from attrs import evolve

from kvwitness.hunt import HUNTERS, Budget, hunt, hunt_all
from kvwitness.model.profile import SOUND, VLLM_0_16
from kvwitness.ports.mutant import MutantPort, make_mutant
from kvwitness.ports.resolve import PortError, resolve
from kvwitness.properties.defects.catalogue import DEFECTS, defect_named
from kvwitness.properties.defects.defect import Defect
from kvwitness.properties.mixes import MIXES
from kvwitness.properties.situations import LABELS

UNTIL_KILLED = Budget(runs_alone=0, replays=0)
HEALTHY = Defect("healthy", "Nothing goes wrong.", (*LABELS, *MIXES), ())

ONLY_CONTENTS = ("rule-same-step-state-hit", "rule-preempted-plan-kept", "rule-optimistic-release", "rule-tail-chunks-cut")


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_every_defect_is_killed_by_a_clause_that_must_catch_it(defect: Defect) -> None:
    hunted = hunt(defect, UNTIL_KILLED)

    assert hunted.first is not None
    assert hunted.first.clause in defect.clauses
    assert hunted.is_caught


@pytest.mark.slow
@pytest.mark.parametrize("name", ["skip-one-more", "touch-forgotten", "unverified-published", "null-prefix-missing", "estimate-long"])
def test_a_defect_is_killed_on_each_of_its_kinds(name: str) -> None:
    defect = defect_named(name)

    assert [kind for kind in defect.kinds if not hunt(defect, UNTIL_KILLED, [kind]).is_caught] == []


@pytest.mark.slow
@pytest.mark.parametrize("label", LABELS)
def test_the_right_implementation_survives_the_same_hunt(label: str) -> None:
    assert hunt(HEALTHY, Budget(runs=25), [label]).first is None


@pytest.mark.slow
@pytest.mark.parametrize("mix", ["full+sliding", "sliding+mamba-align", "full+cross"])
def test_the_right_coordinator_survives_the_same_hunt(mix: str) -> None:
    assert hunt(HEALTHY, Budget(runs=15), [mix]).first is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ONLY_CONTENTS)
def test_some_wrong_rules_are_seen_by_the_contents_alone(name: str) -> None:
    assert set(hunt(defect_named(name), Budget(runs_alone=40, replays=0)).alone) == {"contents"}


@pytest.mark.slow
def test_each_oracle_is_the_first_to_kill_something() -> None:
    names = ("touch-forgotten", "rule-same-step-state-hit", "sliding-run-short", "eviction-untold", "released-forward")
    firsts = [hunt(defect_named(name), UNTIL_KILLED).first for name in names]

    assert tuple(kill.oracle for kill in firsts if kill is not None) == HUNTERS


@pytest.mark.slow
def test_the_same_seed_gives_the_same_result_in_whatever_process() -> None:
    defects = [defect_named("touch-forgotten"), defect_named("null-queued")]
    budget = Budget(runs_alone=3, replays=50)
    here, there = (hunt_all(defects, budget, (), jobs, lambda hunted: None) for jobs in (1, 2))

    assert [evolve(hunted, seconds=0.0) for hunted in here] == [evolve(hunted, seconds=0.0) for hunted in there]


def test_a_kill_is_made_small() -> None:
    hunted = hunt(defect_named("estimate-short"), Budget(runs_alone=1))

    assert hunted.shrunk_steps == 1


def test_a_clause_that_is_not_the_defect_s_is_no_catch() -> None:
    hunted = hunt(evolve(defect_named("estimate-short"), clauses=("BOOKS.NULL",)), UNTIL_KILLED)

    assert hunted.first is not None
    assert not hunted.is_caught


def test_a_mutant_is_a_port_by_name() -> None:
    port = resolve("mutant:touch-forgotten")(SOUND)

    assert isinstance(port, MutantPort)
    assert port.hello().name == "mutant:touch-forgotten"


def test_a_mutant_of_a_rule_follows_its_own_rule() -> None:
    port = make_mutant("rule-same-step-state-hit")(SOUND)

    assert port.hello().profile == "sound+vllm-0.16.mamba_same_step_guard"
    assert make_mutant("touch-forgotten")(VLLM_0_16).hello().profile == "vllm-0.16"


def test_an_unknown_mutant_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="touch-forgotten"):
        make_mutant("touch-forgot")
    with pytest.raises(PortError, match="touch-forgotten") as refusal:
        resolve("mutant:touch-forgot")

    assert "\n" not in str(refusal.value)
