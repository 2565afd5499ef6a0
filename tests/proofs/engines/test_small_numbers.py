"""Small plain numbers: all of them are tried, and what is wrong for some is told with them."""

from itertools import islice

from kvwitness.proofs.engines.paths import World, run_again
from kvwitness.proofs.engines.small_numbers import broken_by


def test_what_needs_a_plain_number_is_run_with_plain_numbers() -> None:
    def counted(world: World) -> str:
        first, second = world.integer("first"), world.integer("second", 1)
        world.assume(first > second)
        return "three" if len(list(islice(range(first), second))) == 3 else ""

    found = broken_by(counted)

    assert found == ("three", {"first": 4, "second": 3})
    assert run_again(counted, found[1]) == "three"


def test_what_holds_is_not_broken() -> None:
    assert broken_by(lambda world: "" if world.integer("n") * 2 != 7 and world.truth("t") in (True, False) else "odd") is None


def test_an_exception_is_told_with_its_numbers() -> None:
    found = broken_by(lambda world: str(1 // (world.integer("n") - 2))[:0])

    assert found is not None
    assert "ZeroDivisionError" in found[0]
    assert found[1] == {"n": 2}
