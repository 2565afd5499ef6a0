"""The same seed gives the same operations and the same observations, whatever the hash seed."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import random
from kvwitness.model.profile import SOUND
from kvwitness.ports.impl import ImplPort
from kvwitness.properties.generator import Planner
from kvwitness.properties.mixes import MIXES
from kvwitness.properties.run import Run
from kvwitness.properties.situations import LABELS, random_config

for label in (*LABELS, *MIXES[:4]):
    for seed in range(3):
        rng = random.Random(f"{label} {seed}")
        run = Run(ImplPort(SOUND), random_config(rng, label), SOUND, strict=seed < 2)
        for operation in Planner(rng, run).operations():
            print(operation, run.apply(operation), run.seen)
            if run.steps >= 60:
                break
"""


def said(hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True).stdout


@pytest.mark.slow
def test_two_processes_with_different_hash_seeds_do_and_see_the_same() -> None:
    first, second = said("0"), said("4711")

    assert first.count(b"\n") == 12 * 3 * 60
    assert first == second
