import pickle

import pytest

from kvwitness import impl
from kvwitness.model import calls


def test_the_reasons_are_those_that_every_port_shares() -> None:
    assert impl.REASONS == calls.REASONS


@pytest.mark.parametrize(
    ("rejected", "what_the_seed_raises"),
    [
        (impl.RejectedAssertion, AssertionError),
        (impl.RejectedValue, ValueError),
        (impl.RejectedIndex, IndexError),
        (impl.RejectedKey, KeyError),
        (impl.RejectedNotImplemented, NotImplementedError),
    ],
)
def test_a_rejection_is_also_what_the_seed_raises(rejected: type[impl.Rejected], what_the_seed_raises: type[Exception]) -> None:
    rejection = rejected("pool_exhausted", "9 blocks", "at most 3", "release some")

    assert isinstance(rejection, impl.Rejected)
    assert isinstance(rejection, what_the_seed_raises)
    assert str(rejection) == "pool_exhausted: got 9 blocks; allowed is at most 3; release some"


def test_a_rejection_survives_the_way_to_another_process() -> None:
    rejection = impl.RejectedValue("pool_exhausted", "9 blocks", "at most 3", "release some")
    arrived = pickle.loads(pickle.dumps(rejection))  # noqa: S301 - our own bytes

    assert (type(arrived), arrived.reason, str(arrived)) == (impl.RejectedValue, "pool_exhausted", str(rejection))


def test_a_corrupt_state_is_no_rejection() -> None:
    assert issubclass(impl.CorruptState, AssertionError)
    assert not issubclass(impl.CorruptState, impl.Rejected)
