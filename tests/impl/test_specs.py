from collections.abc import Callable

import pytest

from kvwitness import impl


def test_a_spec_needs_only_its_token_sizes() -> None:
    spec = impl.FullAttentionSpec(block_size=4)

    assert (spec.block_size, spec.num_kv_heads, spec.head_size, spec.head_size_v) == (4, 1, 1, 1)
    assert impl.MambaSpec(4).mamba_cache_mode == "none"


def test_the_value_head_is_as_large_as_the_other_unless_given() -> None:
    assert impl.FullAttentionSpec(block_size=4, head_size=64).head_size_v == 64
    assert impl.MLAAttentionSpec(block_size=4, head_size=64, head_size_v=8).head_size_v == 8


def test_a_spec_with_other_blocks_is_otherwise_the_same() -> None:
    spec = impl.SlidingWindowSpec(block_size=4, sliding_window=9, head_size=2)

    assert spec.copy_with_new_block_size(8) == impl.SlidingWindowSpec(block_size=8, sliding_window=9, head_size=2)


IMPOSSIBLE: dict[str, Callable[[], object]] = {
    "block_size 0": lambda: impl.FullAttentionSpec(block_size=0),
    "block_size -1": lambda: impl.MambaSpec(-1),
    "sliding_window 0": lambda: impl.SlidingWindowSpec(block_size=4, sliding_window=0),
    "attention_chunk_size 0": lambda: impl.ChunkedLocalAttentionSpec(block_size=4, attention_chunk_size=0),
    "num_speculative_blocks -1": lambda: impl.MambaSpec(4, num_speculative_blocks=-1),
    "mamba_cache_mode 'some'": lambda: impl.MambaSpec(4, mamba_cache_mode="some"),  # type: ignore[arg-type]
    "sink_len 0": lambda: impl.SinkFullAttentionSpec(block_size=4, sink_len=0),
}


@pytest.mark.parametrize("got", IMPOSSIBLE)
def test_an_impossible_size_is_rejected(got: str) -> None:
    with pytest.raises(impl.Rejected, match=got) as rejected:
        IMPOSSIBLE[got]()

    assert rejected.value.reason == "invalid_configuration"
