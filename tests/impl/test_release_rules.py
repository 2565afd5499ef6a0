"""The rules that releases after the seed brought, in the implementation."""

from typing import Any, NamedTuple

import pytest
from attrs import evolve

from kvwitness import impl
from kvwitness.impl.step_book import StepBook
from kvwitness.model.profile import SOUND, Profile

KEYS = [f"k{number}" for number in range(16)]


class Request(NamedTuple):
    request_id: str
    block_hashes: list[str]


def build(spec: impl.KVCacheSpec, **rules: Any) -> Any:
    profile: Profile = evolve(SOUND, **rules)
    pool = impl.BlockPool(20, enable_caching=True, hash_block_size=spec.block_size, profile=profile)
    return impl.get_manager_for_kv_cache_spec(spec, block_pool=pool, enable_caching=True, kv_cache_group_id=0)


def run(manager: Any, request_id: str, num_tokens: int) -> None:
    manager.allocate_new_blocks(request_id, num_tokens, num_tokens)
    manager.cache_blocks(Request(request_id, KEYS), num_tokens)


def keyed(manager: Any, places: int) -> str:
    return "".join(str(int(manager.block_pool.blocks[1 + place].block_hash is not None)) for place in range(places))


@pytest.mark.parametrize(
    ("rule", "window", "alignment", "draft", "places"),
    [
        ("all", 2, 4, False, "11111111"),
        ("segment_tails", 2, 4, False, "00010001"),
        ("segment_tails", 2, 4, True, "00010001"),
        ("segment_tails", 5, 4, False, "11111111"),
        ("segment_tails_with_draft", 2, 4, True, "00011001"),
        ("segment_tails_with_draft", 1, 1, False, "00000000"),
        ("segment_tails_with_draft", 4, 4, True, "11111111"),
    ],
)
def test_a_sliding_window_gives_a_key_to_what_hits_can_need(rule: str, window: int, alignment: int, draft: bool, places: str) -> None:
    manager = build(impl.SlidingWindowSpec(1, sliding_window=window), sliding_publish=rule)
    manager.expect_look_ups(alignment, draft)
    run(manager, "a", 5)
    run(manager, "a", 8)

    assert keyed(manager, 8) == places
    assert manager.snapshot()[1] == {"a": 8}


@pytest.mark.parametrize(("scope", "estimated"), [("block", 2), ("key", 21)])
def test_a_second_copy_puts_a_hit_on_the_first_off_only_by_key(scope: str, estimated: int) -> None:
    manager = build(impl.MambaSpec(1, mamba_cache_mode="all"), mamba_guard_scope=scope)
    run(manager, "a", 1)
    manager.free("a")
    manager.new_step_starts()
    run(manager, "b", 1)
    hits = impl.MambaManager.find_longest_cache_hit(KEYS, 1, [0], manager.block_pool, manager.kv_cache_spec, False, 1)[0]

    assert manager.get_num_blocks_to_allocate("c", 2, hits, 1, 2) == estimated


def test_the_keys_of_a_step_are_forgotten_when_the_next_begins() -> None:
    book, block = StepBook(), impl.KVCacheBlock(3)
    block.block_hash = "k"
    book.record("a", None, [block])
    assert book.has_published_key(block)
    book.clear()

    assert not book.has_published_key(block)


@pytest.mark.parametrize(("walk", "table"), [("to_first_null", (1, 0, 0, 3)), ("all", (0, 0, 0, 3))])
def test_states_left_of_a_null_are_released_where_the_profile_says_so(walk: str, table: tuple[int, ...]) -> None:
    manager = build(impl.MambaSpec(1, mamba_cache_mode="align"), mamba_release_walk=walk)
    for num_tokens in (1, 3, 4):
        manager.allocate_new_blocks("a", num_tokens, num_tokens)
    manager.remove_skipped_blocks("a", 4)
    manager.remove_skipped_blocks("nobody", 4)

    assert manager.snapshot()[0] == {"a": table}


@pytest.mark.parametrize(("cut", "blocks"), [("whole_blocks", 1), ("tokens", 0)])
def test_external_tokens_that_nobody_reads_may_take_a_block(cut: str, blocks: int) -> None:
    manager = build(impl.SlidingWindowSpec(2, sliding_window=1), external_cut=cut)
    manager.allocate_new_computed_blocks("a", [], 0, 1)

    assert len(manager.req_to_blocks.get("a", ())) == blocks


@pytest.mark.parametrize(("rule", "kind"), [("raises", impl.RejectedAssertion), ("index_error", impl.RejectedIndex)])
def test_publishing_past_the_keys_is_rejected_as_the_release_does(rule: str, kind: type[Exception]) -> None:
    manager = build(impl.FullAttentionSpec(1), publish_past_hashed=rule)
    with pytest.raises(kind, match="not_enough_keys"):
        run(manager, "a", 17)


def test_publishing_past_the_keys_may_be_clipped() -> None:
    manager = build(impl.FullAttentionSpec(1), publish_past_hashed="clipped")
    run(manager, "a", 17)

    assert manager.snapshot()[1] == {"a": 16}
