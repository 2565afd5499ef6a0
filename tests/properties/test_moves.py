"""The moves are legal, and none that the protocol allows is missing from them."""

from collections import Counter
from random import Random

import pytest

from kvwitness.model.profile import SOUND, VLLM_0_16, Profile
from kvwitness.ports.impl import ImplPort
from kvwitness.properties import moves
from kvwitness.properties.digits import Digits
from kvwitness.properties.operations import Close, Operation
from kvwitness.properties.run import Run
from kvwitness.properties.situations import LABELS, random_config


def possible(run: Run, digits: Digits, prompts: list[tuple[int, ...]], name: str) -> list[Operation]:
    """One operation of every way to go on."""
    caller = run.caller
    ways: list[Operation] = [Close()] if caller.open is not None else []
    ways += [moves.growth(caller, request, digits) for request in moves.growable(caller)]
    ways += [moves.resumption(caller, request, digits) for request in moves.resumable(caller)]
    ways += moves.interruptable(caller)
    if moves.executable(caller):
        ways += [moves.execution(caller, digits)] * 2
    if moves.startable(caller):
        prompts.append(moves.prompt(run.config, prompts[-4:], digits))
        ways += [moves.admission(caller, name, prompts[-1], digits)] * 2
    return ways


@pytest.mark.slow
@pytest.mark.parametrize("profile", [SOUND, VLLM_0_16], ids=["sound", "vllm-0.16"])
@pytest.mark.parametrize("label", LABELS)
def test_every_move_is_legal_and_every_kind_of_move_is_made(label: str, profile: Profile) -> None:
    made: Counter[str] = Counter()
    for seed in range(40):
        rng = Random(seed)
        run = Run(ImplPort(profile), random_config(rng, label), profile, oracles=(), strict=seed % 4 != 3)
        prompts: list[tuple[int, ...]] = []
        for number in range(40):
            ways = possible(run, Digits(rng.randrange(2**48)), prompts, f"r{number}")
            operation = rng.choice(ways)
            made[type(operation).__name__] += 1
            run.perform(operation)

    loads = {"Arrive"} if label in ("full", "sliding", "chunked", "sink") else set()
    assert set(made) == {"Close", "Execute", "Free", "Grow", "Preempt", "Resume", "Start"} | loads
