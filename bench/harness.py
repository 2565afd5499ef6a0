"""How fast the harness drives our implementation, and what each oracle costs, as ratios within one run.

    python bench/harness.py [SECONDS_PER_MEASUREMENT]

Each line is one kind: operations and calls a second with no oracle, with accounting and refinement, and with all four.
A call is compared with the model as it returns; the state is compared after every operation that may have changed it.
"""

import sys
import time
from collections import Counter

from kvwitness.campaign import one_run, setting_of
from kvwitness.model.profile import SOUND
from kvwitness.ports.impl import ImplPort
from kvwitness.properties.run import ORACLES
from kvwitness.properties.situations import LABELS

SETS: dict[str, tuple[str, ...]] = {"none": (), "accounting+refinement": ("accounting", "refinement"), "all four": ORACLES}
ROUNDS = 3


def measure(label: str, oracles: tuple[str, ...], seconds: float) -> tuple[float, float]:
    """Operations and calls a second of processor time; the same runs for every set of oracles."""
    operations, calls, number, started = 0, 0, 0, time.process_time()
    while time.process_time() - started < seconds:
        setting, rng = setting_of(label, SOUND, 0, number, oracles)
        run, violation = one_run(ImplPort(SOUND), setting, rng, Counter())
        if violation is not None:
            raise SystemExit(f"{label}, run {number}: {violation}")
        operations, calls, number = operations + run.steps, calls + run.num_calls, number + 1
    elapsed = time.process_time() - started
    return operations / elapsed, calls / elapsed


def main() -> None:
    """Print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{'kind':12}" + "".join(f"{name + ' op/s':>28}{'calls/s':>10}{'ratio':>7}" for name in SETS))
    for label in LABELS:
        cells, bare = "", 0.0
        for oracles in SETS.values():
            rate, calls = max(measure(label, oracles, seconds) for _ in range(ROUNDS))
            bare = bare or rate
            cells += f"{rate:28,.0f}{calls:10,.0f}{rate / bare:7.2f}"
        print(f"{label:12}{cells}", flush=True)


if __name__ == "__main__":
    main()
