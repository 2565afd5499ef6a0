"""A failure of a machine becomes a small trace file that replays to the same clause."""

from pathlib import Path

from kvwitness import trace
from kvwitness.failure_file import write_failure
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import VLLM_0_16
from kvwitness.ports.impl import ImplPort
from kvwitness.properties.machine import ClauseBroken
from kvwitness.properties.operations import Execute, Operation, Probe, Start
from kvwitness.properties.replay import Setting, replay

SETTING = Setting(Config(8, 2, (Kind("mamba", mode="all"),), max_model_len=16), VLLM_0_16)
OPERATIONS: tuple[Operation, ...] = (Probe((1, 1, 1)), Start("A", (0, 0, 1)), Start("B", (0, 0, 1, 1)), Start("C", (1,)), Execute())


def test_a_failure_is_written_small_and_replays_to_its_clause(tmp_path: Path) -> None:
    violation = replay(ImplPort, SETTING, OPERATIONS).violation
    assert violation is not None
    path = write_failure(ClauseBroken(SETTING, OPERATIONS, violation), ImplPort, tmp_path, "impl")
    read = trace.read(path)

    assert path.name == "mamba.hit.computed-mamba-all.json"
    assert len(read.operations) == 3
    assert read.origin == trace.Origin("property", clause="MAMBA.HIT.COMPUTED", port="impl")
    again = replay(ImplPort, Setting(read.config, VLLM_0_16, read.strict), read.operations).violation
    assert again is not None
    assert again.clause == "MAMBA.HIT.COMPUTED"
