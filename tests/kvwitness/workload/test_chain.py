"""Keys of a workload are arithmetic, and say what a table of prefixes would say."""

import pytest

from kvwitness.model.request import extended, keys_of
from kvwitness.properties.prefixes import Prefixes
from kvwitness.workload.chain import NO_ID, Chain, Prompt, WorkloadKeys, output_key

FIRST = Prompt(0, (7, 8, 9), 1500)
SECOND = Prompt(1, (7, 8), 1024)
PREVIOUS = {7: NO_ID, 8: 7, 9: 8}


def outputs(number: int, count: int, first: int = 0) -> tuple[int, ...]:
    return tuple(output_key(number, first + place) for place in range(count))


def test_equal_ids_give_equal_keys_and_outputs_are_a_requests_own() -> None:
    one = extended(Chain(FIRST, 0), outputs(0, 2))
    other = extended(Chain(SECOND, 0), outputs(1, 2))

    assert one[:1024] == other[:1024]
    assert len({*one, *other}) == 1502 + 2


def test_a_chain_is_the_sequence_that_it_stands_for() -> None:
    chain = extended(Chain(FIRST, 0), outputs(0, 3))
    plain = tuple(chain)

    assert len(chain) == len(plain) == 1503
    assert (chain[0], chain[-1], chain[1499], chain[1500]) == (plain[0], plain[-1], plain[1499], plain[1500])
    assert keys_of(chain, 64) == plain[63::64]
    assert chain[3:9] == plain[3:9]


def test_an_index_outside_of_the_chain_is_refused() -> None:
    with pytest.raises(IndexError, match="got token 1024; allowed is 0 to 1023"):
        Chain(SECOND, 0)[1024]


def test_only_its_own_next_outputs_extend_a_chain() -> None:
    chain = Chain(FIRST, 0) + outputs(0, 2)

    with pytest.raises(ValueError, match="append a request's own outputs in order"):
        chain + outputs(0, 1, first=3)


def test_every_ancestor_of_every_token_is_the_key_that_stands_there() -> None:
    keys = WorkloadKeys((FIRST, SECOND), PREVIOUS)
    chain = extended(keys.chain((0,)), outputs(0, 40))

    for place in (0, 1, 511, 512, 1023, 1024, 1499, 1500, 1501, 1539):
        for steps in range(place + 1):
            assert keys.ancestor(chain[place], steps) == chain[place - steps]
        assert keys.ancestor(chain[place], place + 1) == 0


def test_a_tuple_is_extended_to_a_tuple() -> None:
    chain = Prefixes().chain((1, 2))

    assert extended(chain, [5]) == (*chain, 5)
