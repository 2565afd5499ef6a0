from typing import Any

import pytest

from kvwitness.vllm.by_name import ByName
from kvwitness.vllm.loader import ReleaseError


class Base:
    def __init__(self, spec: str, pool: int, caching: bool = False) -> None:
        self.seen = (spec, pool, caching)


class Derived(Base):
    def __init__(self, spec: str, **keywords: Any) -> None:
        super().__init__(spec, **keywords)


def test_a_function_gets_what_it_takes_and_no_more() -> None:
    def estimate(request_id: str, total: int = 0) -> tuple[str, int]:
        return request_id, total

    assert ByName("a release", estimate, {"request_id", "total", "further"})(request_id="A", total=3, further=4) == ("A", 3)


def test_a_later_name_gets_the_seeds_argument() -> None:
    def look_up(drop_eagle_block: bool) -> bool:
        return drop_eagle_block

    assert ByName("a release", look_up, {"use_eagle"})(use_eagle=True)


def test_keywords_are_matched_through_the_constructors_that_pass_them_on() -> None:
    built = ByName("a release", Derived, {"spec", "pool", "caching", "further"})(spec="s", pool=1, caching=True, further=0)

    assert built.seen == ("s", 1, True)


def test_an_unknown_requirement_is_told_with_the_release() -> None:
    def publish(request: str, *, quantum_state: int) -> None: ...

    with pytest.raises(ReleaseError, match=r"a release requires quantum_state in .*publish"):
        ByName("a release", publish, {"request"})
