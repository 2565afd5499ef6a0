"""What the commands that drive a real release need."""

import pytest

from kvwitness.ports.resolve import PortError
from kvwitness.vllm.loader import ReleaseError
from kvwitness.vllm.sources import Sources, locate


@pytest.fixture(scope="session")
def seed_sources() -> Sources:
    """The seed's sources, from the cache or the index."""
    try:
        return locate("vllm==0.16.0")
    except (PortError, ReleaseError) as reason:
        pytest.skip(f"the sources of vllm 0.16.0 cannot be had: {reason}")
