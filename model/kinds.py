"""The kinds of manager and the configuration of a pool with its groups, checked when built."""

from collections.abc import Iterable
from math import lcm
from typing import Literal

from attrs import field, fields, frozen

from kvwitness.model.profile import Profile

Name = Literal["full", "sliding", "chunked", "mamba", "cross", "sink"]
MambaMode = Literal["none", "all", "align"]

KIND_NAMES: tuple[Name, ...] = ("full", "sliding", "chunked", "mamba", "cross", "sink")
MAMBA_MODES: tuple[MambaMode, ...] = ("none", "all", "align")


class ConfigError(ValueError):
    """A configuration that no manager can have: what was got, what is allowed, what to do."""


@frozen
class Kind:
    """One kind of manager with its sizes.

    Attributes:
        kind: Which manager.
        window: Sliding window in tokens, the current token included.
        chunk: Attention chunk in tokens.
        mode: Mamba's cache mode.
        drafts: Mamba's speculative blocks, as many as draft tokens a step may carry.
        sink_tokens: Length of the attention sink in tokens.
        block_size: Tokens a block of this group; 0 for the configuration's block size.
    """

    kind: Name
    window: int = 0
    chunk: int = 0
    mode: MambaMode = "align"
    drafts: int = 0
    sink_tokens: int = 0
    block_size: int = 0

    @property
    def label(self) -> str:
        """What reports call it: the kind, and for Mamba its mode."""
        return f"mamba-{self.mode}" if self.kind == "mamba" else self.kind

    @property
    def caches(self) -> bool:
        """Whether prefix caching is possible at all."""
        return self.kind != "cross" and not (self.kind == "mamba" and self.mode == "none")


def _groups(groups: Iterable[Kind]) -> tuple[Kind, ...]:
    return tuple(groups)


@frozen
class Config:
    """A pool, its groups and how they are driven.

    Attributes:
        blocks: Blocks in the pool, the null block included.
        block_size: Tokens a block, and tokens that one key adds; a group with blocks of its own merges keys.
        groups: The groups on the pool, each one kind of manager.
        caching: Whether prefix caching is on.
        drafts: Most draft tokens a step may carry for one request.
        draft_model: Whether a draft model shares the cache: hits drop their last block, running requests look ahead by ``drafts`` tokens.
        alignment: Hit lengths are multiples of this many tokens; 0 means the least common multiple of the groups' blocks.
        depth: Most steps that may be planned before the first of them is executed and judged.
        max_model_len: Longest request in tokens.
        dcp: Decode context parallel size.
        pcp: Prefill context parallel size.
    """

    blocks: int
    block_size: int
    groups: tuple[Kind, ...] = field(converter=_groups)
    caching: bool = True
    drafts: int = 0
    draft_model: bool = False
    alignment: int = 0
    depth: int = 1
    max_model_len: int = 64
    dcp: int = 1
    pcp: int = 1

    def __attrs_post_init__(self) -> None:
        check_config(self)

    @property
    def kind(self) -> Kind:
        """The first group's kind: the one kind of all groups unless they are mixed."""
        return self.groups[0]

    @property
    def is_hybrid(self) -> bool:
        """Whether the groups differ in kind or sizes."""
        return len(self.groups) > 1 and any([kind != self.groups[0] for kind in self.groups])

    @property
    def label(self) -> str:
        """What reports call it: the kind, or the kinds of mixed groups in their order."""
        return "+".join(kind.label for kind in self.groups) if self.is_hybrid else self.kind.label

    def has(self, *names: Name) -> bool:
        """Whether a group is of one of these kinds."""
        return any([kind.kind in names for kind in self.groups])

    @property
    def tokens_per_block(self) -> int:
        """Tokens that one key adds: a block of a group without a size of its own; context parallelism spreads it over several devices."""
        return self.block_size * self.dcp * self.pcp

    def block_of(self, group: int) -> int:
        """Tokens that one block of a group stands for."""
        own = self.groups[group].block_size
        return self.tokens_per_block * own // self.block_size if own else self.tokens_per_block

    @property
    def hit_alignment(self) -> int:
        """What hit lengths are multiples of, in tokens."""
        return self.alignment or lcm(*map(self.block_of, range(len(self.groups))))

    def under(self, profile: Profile) -> "Config":
        """The same configuration with blocks as wide as the profile makes them."""
        if profile.context_parallel == "dcp_pcp" or self.pcp == 1:
            return self
        return WidenedByDcp(**{attribute.name: getattr(self, attribute.name) for attribute in fields(Config)})


@frozen
class WidenedByDcp(Config):
    """A configuration whose blocks only decode context parallelism spreads."""

    @property
    def tokens_per_block(self) -> int:
        """Tokens that one block stands for."""
        return self.block_size * self.dcp


def _demand(holds: bool, got: str, allowed: str, remedy: str) -> None:
    """Raise the one-line error of a configuration that breaks a rule."""
    if not holds:
        raise ConfigError(f"got {got}; allowed is {allowed}; {remedy}")


def check_config(config: Config) -> None:
    """Raise `ConfigError` for sizes that cannot work together."""
    _demand(config.block_size >= 1, f"block_size {config.block_size}", "1 or more tokens", "give a positive block_size")
    _demand(config.blocks >= 2, f"blocks {config.blocks}", "2 or more (one is the null block)", "enlarge the pool")
    _demand(len(config.groups) >= 1, "no groups", "one or more groups", "name at least one kind")
    _demand(config.depth >= 1, f"depth {config.depth}", "1 or more steps", "use 1 for synchronous planning")
    _demand(config.max_model_len >= 1, f"max_model_len {config.max_model_len}", "1 or more tokens", "enlarge max_model_len")
    _demand(config.drafts >= 0, f"drafts {config.drafts}", "0 or more tokens", "give a count of draft tokens")
    _demand(min(config.dcp, config.pcp) >= 1, f"dcp {config.dcp}, pcp {config.pcp}", "1 or more", "use 1 for no context parallelism")
    for kind in config.groups:
        _demand(kind.kind in KIND_NAMES, f"kind {kind.kind!r}", ", ".join(KIND_NAMES), "choose one of them")
        _check_block_size(config, kind)
        _CHECKS.get(kind.kind, _check_nothing)(config, kind)
        _demand(kind.caches or not config.caching, f"caching with {kind.label}", "caching off for it", "set caching to false")
    _check_alignment(config)


def _size_of(config: Config, kind: Kind) -> int:
    """Tokens a block of a group, before context parallelism."""
    return kind.block_size or config.block_size


def _check_block_size(config: Config, kind: Kind) -> None:
    size = config.block_size
    _demand(
        kind.block_size >= 0 and kind.block_size % size == 0,
        f"{kind.label} with block_size {kind.block_size} and keys of {size} tokens",
        "a multiple of the configuration's block_size",
        f"use {size} or a multiple",
    )


def _check_alignment(config: Config) -> None:
    unit = lcm(*map(config.block_of, range(len(config.groups))))
    _demand(
        config.alignment >= 0 and config.alignment % unit == 0,
        f"alignment {config.alignment} with {unit} tokens a block",
        "a multiple of the block",
        f"use {unit} or a multiple",
    )
    spread = config.dcp * config.pcp > 1
    _demand(
        not spread or config.kind.kind in ("full", "sink"),
        f"context parallelism with {config.kind.label}",
        "dcp = pcp = 1 for this kind",
        "use full attention or sizes of 1",
    )
    _demand(not spread or not config.is_hybrid, "context parallelism with mixed groups", "dcp = pcp = 1", "use sizes of 1")


def _check_nothing(config: Config, kind: Kind) -> None:
    """Full and cross attention have no sizes of their own."""


def _check_sliding(config: Config, kind: Kind) -> None:
    _demand(kind.window >= 1, f"window {kind.window}", "1 or more tokens", "give the window the current token is counted in")


def _check_chunked(config: Config, kind: Kind) -> None:
    size, chunk = _size_of(config, kind), kind.chunk
    fits = chunk >= 1 and (chunk % size == 0 or size % chunk == 0)
    _demand(
        fits,
        f"chunk {chunk} with block_size {size}",
        "a chunk that is a multiple or a divisor of the block size",
        f"use {max(size, chunk - chunk % size)}",
    )
    _demand(not config.draft_model, "a draft model with chunked", "no draft model", "set draft_model to false")
    _demand(
        config.hit_alignment == size,
        f"alignment {config.alignment} with chunked",
        "alignment equal to the block size",
        "leave the alignment out",
    )


def _check_mamba(config: Config, kind: Kind) -> None:
    _demand(kind.mode in MAMBA_MODES, f"mode {kind.mode!r}", ", ".join(MAMBA_MODES), "choose one of them")
    _demand(kind.drafts >= 0, f"mamba drafts {kind.drafts}", "0 or more blocks", "give a count of speculative blocks")
    _demand(
        config.drafts <= kind.drafts,
        f"{config.drafts} draft tokens with {kind.drafts} speculative blocks",
        "a speculative block for every draft token",
        f"raise the group's drafts to {config.drafts}",
    )
    _MODE_CHECKS[kind.mode](config, kind)


def _check_align(config: Config, kind: Kind) -> None:
    size = _size_of(config, kind)
    _demand(
        1 + kind.drafts <= size,
        f"{kind.drafts} drafts with block_size {size} in mode align",
        "fewer drafts than the block size",
        f"use at most {size - 1} drafts",
    )
    _demand(config.caching, "mode align without caching", "caching on", "use mode none")


def _check_none(config: Config, kind: Kind) -> None:
    size = _size_of(config, kind)
    _demand(
        size >= config.max_model_len,
        f"block_size {size} with max_model_len {config.max_model_len} in mode none",
        "one block for the longest request",
        "raise block_size to max_model_len",
    )


def _check_all(config: Config, kind: Kind) -> None:
    _demand(config.drafts == 0, f"{config.drafts} draft tokens in mode all", "none: mode all keeps no state a draft", "use mode align")


_MODE_CHECKS = {"align": _check_align, "none": _check_none, "all": _check_all}


def _check_sink(config: Config, kind: Kind) -> None:
    unit, sink = _size_of(config, kind) * config.dcp * config.pcp, kind.sink_tokens
    _demand(
        sink >= unit and sink % unit == 0,
        f"sink_tokens {sink} with {unit} tokens a block",
        "a positive multiple of the block",
        f"use {max(unit, sink - sink % unit)}",
    )
    reserved = sum(other.sink_tokens // _size_of(config, other) for other in config.groups) // (config.dcp * config.pcp)
    _demand(
        config.blocks >= 2 + reserved,
        f"{config.blocks} blocks for {reserved} sink blocks",
        "the null block, the sinks and one more",
        "enlarge the pool",
    )


_CHECKS = {"sliding": _check_sliding, "chunked": _check_chunked, "mamba": _check_mamba, "sink": _check_sink}
