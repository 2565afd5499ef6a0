import pytest
from attrs import evolve

from kvwitness import impl
from kvwitness.model.profile import SOUND, VLLM_0_16, Profile


def build(pool: impl.BlockPool, sink_len: int | None, dcp: int = 1) -> impl.SinkFullAttentionManager:
    spec = impl.SinkFullAttentionSpec(block_size=4, sink_len=sink_len)
    return impl.SinkFullAttentionManager(spec, pool, enable_caching=True, kv_cache_group_id=0, dcp_world_size=dcp)


def pool_of(blocks: int, profile: Profile = VLLM_0_16) -> impl.BlockPool:
    return impl.BlockPool(blocks, enable_caching=True, hash_block_size=4, profile=profile)


@pytest.mark.parametrize(
    ("profile", "sink", "is_reset"),
    [(VLLM_0_16, [1, 2], False), (SOUND, [1, 2], True), (evolve(SOUND, sink_reservation="none"), [], True)],
    ids=["taken", "reserved", "none"],
)
def test_the_sink_is_set_apart_as_the_profile_says(profile: Profile, sink: list[int], is_reset: bool) -> None:
    pool = pool_of(6, profile)
    manager = build(pool, 8)

    assert [block.block_id for block in manager.sink_blocks] == sink
    assert pool.get_num_free_blocks() == 5 - len(sink)
    assert pool.reset_prefix_cache() is is_reset
    pool.check([manager])


def test_requests_get_other_blocks_than_the_sinks_and_give_them_back() -> None:
    pool = pool_of(6)
    manager = build(pool, 8)
    manager.allocate_new_blocks("a", 12, 12)
    assert manager.snapshot()[0] == {"a": (3, 4, 5)}
    manager.free("a")

    assert pool.snapshot()[0] == (5, 4, 3)


def test_context_parallelism_widens_the_sinks_blocks_too() -> None:
    assert len(build(pool_of(6), 16, dcp=2).sink_blocks) == 2


@pytest.mark.parametrize(("sink_len", "dcp"), [(None, 1), (6, 1), (12, 2)])
def test_a_sink_that_does_not_fill_blocks_is_rejected(sink_len: int | None, dcp: int) -> None:
    pool = pool_of(6)
    with pytest.raises(impl.RejectedAssertion, match="invalid_configuration"):
        build(pool, sink_len, dcp)

    assert pool.get_num_free_blocks() == 5


def test_a_sink_that_does_not_fit_is_rejected() -> None:
    pool = pool_of(3)
    with pytest.raises(impl.RejectedAssertion, match="pool_exhausted"):
        build(pool, 12)

    assert pool.get_num_free_blocks() == 2
