"""What a group of layers caches: sizes in tokens, under the seed's field names.

The managers read only the token sizes; the shape fields are carried for the worker that lays out the memory.
"""

from typing import Any, Literal, Self, get_args

from attrs import evolve, field, frozen

from kvwitness.impl.errors import RejectedAssertion, RejectedValue

MambaCacheMode = Literal["none", "all", "align"]


def _demand_at_least(name: str, value: int, least: int, unit: str) -> None:
    if value < least:
        raise RejectedValue("invalid_configuration", f"{name} {value}", f"{least} or more {unit}", f"raise {name}")


@frozen
class KVCacheSpec:
    """What every kind has.

    Attributes:
        block_size: Tokens a block.
    """

    block_size: int

    def __attrs_post_init__(self) -> None:
        """Raise `RejectedValue` for sizes that no cache can have."""
        self._check_sizes()

    def _check_sizes(self) -> None:
        _demand_at_least("block_size", self.block_size, 1, "tokens")

    def copy_with_new_block_size(self, block_size: int) -> Self:
        """The same spec with other blocks."""
        return evolve(self, block_size=block_size)


@frozen(kw_only=True)
class AttentionSpec(KVCacheSpec):
    """A cache of keys and values a token.

    Attributes:
        num_kv_heads: Heads a layer.
        head_size: Elements a head.
        dtype: The element type, as the worker names it.
        page_size_padded: Bytes a block is padded to, or None.
    """

    num_kv_heads: int = 1
    head_size: int = 1
    dtype: Any = None
    page_size_padded: int | None = None


@frozen(kw_only=True)
class FullAttentionSpec(AttentionSpec):
    """Every token reads all before it; window and chunk are carried when such layers are cached as full ones.

    Attributes:
        head_size_v: Elements a value head, `head_size` unless given.
        sliding_window: The window that the layers compute with, if any.
        attention_chunk_size: The chunk that the layers compute with, if any.
    """

    head_size_v: int = field()
    sliding_window: int | None = None
    attention_chunk_size: int | None = None

    @head_size_v.default
    def _head_size_unless_given(self) -> int:
        return self.head_size


@frozen(kw_only=True)
class MLAAttentionSpec(FullAttentionSpec):
    """Full attention over one latent vector a token.

    Attributes:
        cache_dtype_str: The layout of the latent vector, if it is not plain.
    """

    cache_dtype_str: str | None = None


@frozen(kw_only=True)
class ChunkedLocalAttentionSpec(AttentionSpec):
    """A token reads its own chunk only.

    Attributes:
        attention_chunk_size: Tokens a chunk.
    """

    attention_chunk_size: int

    def _check_sizes(self) -> None:
        super()._check_sizes()
        _demand_at_least("attention_chunk_size", self.attention_chunk_size, 1, "tokens")


@frozen(kw_only=True)
class SlidingWindowSpec(AttentionSpec):
    """A token reads the last ones only.

    Attributes:
        sliding_window: Tokens that a token reads, itself included.
    """

    sliding_window: int

    def _check_sizes(self) -> None:
        super()._check_sizes()
        _demand_at_least("sliding_window", self.sliding_window, 1, "tokens")


@frozen
class MambaSpec(KVCacheSpec):
    """A state after so many tokens instead of an entry a token.

    Attributes:
        shapes: Shapes of the state tensors.
        dtypes: Their element types.
        page_size_padded: Bytes a block is padded to, or None.
        mamba_type: The kernel family.
        mamba_cache_mode: Which states stay: the running one, one a block, or one at each aligned boundary.
        num_speculative_blocks: Blocks for the states after draft tokens.
    """

    shapes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[Any, ...] = ()
    page_size_padded: int | None = None
    mamba_type: str = "mamba2"
    mamba_cache_mode: MambaCacheMode = "none"
    num_speculative_blocks: int = 0

    def _check_sizes(self) -> None:
        super()._check_sizes()
        _demand_at_least("num_speculative_blocks", self.num_speculative_blocks, 0, "blocks")
        modes = get_args(MambaCacheMode)
        if self.mamba_cache_mode not in modes:
            raise RejectedValue(
                "invalid_configuration", f"mamba_cache_mode {self.mamba_cache_mode!r}", ", ".join(modes), "choose one of them"
            )


@frozen(kw_only=True)
class CrossAttentionSpec(AttentionSpec):
    """Every token reads all encoder tokens of its request."""


@frozen(kw_only=True)
class SinkFullAttentionSpec(FullAttentionSpec):
    """Full attention with tokens at the front that every request shares.

    Attributes:
        sink_len: Length of the sink in tokens; the manager wants it to fill whole blocks.
    """

    sink_len: int | None = None

    def _check_sizes(self) -> None:
        super()._check_sizes()
        if self.sink_len is not None and self.sink_len < 1:
            raise RejectedAssertion(
                "invalid_configuration",
                f"sink_len {self.sink_len}",
                "a positive multiple of the block size",
                "use full attention for no sink",
            )
