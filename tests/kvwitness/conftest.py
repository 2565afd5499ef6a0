"""What the tests of the tool have in common: the sample of the trace format."""

from pathlib import Path

import pytest

SAMPLE = """
    {"kvwitness": 1, "profile": "vllm-0.16",
     "config": {"blocks": 4, "block_size": 2, "groups": [{"kind": "mamba", "mode": "align", "drafts": 0}]},
     "origin": {"from": "property", "clause": "MAMBA.HIT.COMPUTED", "seed": 17},
     "steps": [{"op": "start", "id": "A", "tokens": [0, 0]}, {"op": "start", "id": "B", "tokens": [0, 0, 1]},
               {"op": "execute", "expect": {"violates": "MAMBA.HIT.COMPUTED",
                "because": "B reads the state after 2 tokens, which A computes in this same step"}}]}
"""


@pytest.fixture
def sample() -> str:
    return SAMPLE


@pytest.fixture
def sample_file(tmp_path: Path) -> Path:
    path = tmp_path / "sample.json"
    path.write_text(SAMPLE, encoding="utf-8")
    return path
