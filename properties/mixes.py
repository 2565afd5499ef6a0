"""Configurations whose groups are mixed: several kinds, or several sizes of one, on one pool under pressure."""

import random
from collections.abc import Callable, Mapping
from math import lcm

from kvwitness.model.kinds import Config, ConfigError, Kind

MIXES = (
    "full+sliding",
    "sliding+full",
    "full+full",
    "full+chunked",
    "full+sink",
    "full+mamba-align",
    "full+mamba-all",
    "full+mamba-none",
    "full+cross",
    "sliding+sliding",
    "sliding+chunked",
    "sliding+mamba-align",
    "mamba-align+mamba-align",
    "mamba-all+mamba-align",
    "sink+sliding",
    "full+sliding+sliding",
    "full+full+sliding",
    "full+sliding+mamba-align",
    "full+sliding+chunked",
    "full+mamba-all+mamba-align",
    "full+sliding+cross",
    "full+mamba-none+cross",
    "sink+sliding+chunked+mamba-all",
    "full+sliding+sliding+mamba-align",
)
"""The mixes of reports: every pair that models have, full attention in front or not, and some of three and four groups."""

MOST_ATTEMPTS = 500
"""Configurations that are drawn before a mix is given up."""

ALIKE, CACHING, DRAFT_MODEL = 0.4, 0.97, 0.6
"""How often all groups have blocks of one size, how often caching is on, and how often drafts come from a draft model."""


def mixes_not_offered(missing: Mapping[str, str]) -> dict[str, str]:
    """The mixes that contain a kind that is not offered, with its reason."""
    parts = {mix: [label for label in mix.split("+") if label in missing] for mix in MIXES}
    return {mix: f"{labels[0]}: {missing[labels[0]]}" for mix, labels in parts.items() if labels}


def edge_of(config: Config) -> int:
    """The tokens around whose multiples lengths are worth trying: a block, or where blocks of mixed groups end together."""
    if not config.is_hybrid:
        return config.tokens_per_block
    blocks = [config.block_of(group) for group in range(len(config.groups))]
    return lcm(*[block for block in blocks if block < config.max_model_len] or [config.tokens_per_block])


def random_groups(rng: random.Random) -> Config:
    """A configuration of any mix; the same generator state gives the same one."""
    return random_mix(rng, rng.choice(MIXES))


def random_mix(rng: random.Random, label: str) -> Config:
    """A configuration of one mix, whose groups differ in kind or sizes."""
    names = label.split("+")
    for _ in range(MOST_ATTEMPTS):
        try:
            config = _drawn(rng, names)
        except ConfigError:
            continue
        if config.is_hybrid:
            return config
    raise ConfigError(f"got groups {label} that do not fit together; allowed is {', '.join(MIXES)}; choose one of them")


def _drawn(rng: random.Random, names: list[str]) -> Config:
    """One attempt: its sizes may not fit together, or its groups may come out alike."""
    size, length = rng.choice((1, 1, 2, 2, 3)), rng.choice((16, 24, 32))
    uncached = "cross" in names or "mamba-none" in names
    drafts = 0 if "mamba-all" in names else rng.choice((0, 0, 1, 2))
    alike = "chunked" in names or rng.random() < ALIKE
    groups = tuple(_MAKERS[name](rng, size, 1 if alike else rng.choice((1, 1, 2, 2, 3, 4)), drafts, length) for name in names)
    sinks = sum(kind.sink_tokens // (kind.block_size or size) for kind in groups)
    return Config(
        blocks=_pool(rng, len(groups)) + sinks,
        block_size=size,
        groups=groups,
        caching=not uncached and ("mamba-align" in names or rng.random() < CACHING),
        drafts=drafts,
        draft_model=drafts > 0 and "chunked" not in names and rng.random() < DRAFT_MODEL,
        depth=rng.choice((1, 1, 2)),
        max_model_len=length,
    )


def _pool(rng: random.Random, num_groups: int) -> int:
    """Small pools: a few requests at most fit in."""
    return 1 + num_groups * rng.choice((3, 4, 5, 6, 8, 10))


def _block(size: int, times: int) -> int:
    """A group's own block; 0 where it is the configuration's."""
    return size * times if times > 1 else 0


Maker = Callable[[random.Random, int, int, int, int], Kind]


def _full(_rng: random.Random, size: int, times: int, _drafts: int, _length: int) -> Kind:
    return Kind("full", block_size=_block(size, times))


def _sliding(rng: random.Random, size: int, times: int, _drafts: int, _length: int) -> Kind:
    return Kind("sliding", window=rng.randint(1, 3 * size * times + 2), block_size=_block(size, times))


def _chunked(rng: random.Random, size: int, _times: int, _drafts: int, _length: int) -> Kind:
    return Kind("chunked", chunk=size * rng.choice((1, 2, 2, 3, 4)))


def _sink(rng: random.Random, size: int, times: int, _drafts: int, _length: int) -> Kind:
    return Kind("sink", sink_tokens=size * times * rng.choice((1, 1, 2)), block_size=_block(size, times))


def _cross(_rng: random.Random, size: int, times: int, _drafts: int, _length: int) -> Kind:
    return Kind("cross", block_size=_block(size, times))


def _mamba_all(rng: random.Random, size: int, times: int, _drafts: int, _length: int) -> Kind:
    return Kind("mamba", mode="all", drafts=rng.choice((0, 0, 1)), block_size=_block(size, times))


def _mamba_align(_rng: random.Random, size: int, times: int, drafts: int, _length: int) -> Kind:
    return Kind("mamba", mode="align", drafts=drafts, block_size=_block(size, times))


def _mamba_none(_rng: random.Random, size: int, _times: int, drafts: int, length: int) -> Kind:
    return Kind("mamba", mode="none", drafts=drafts, block_size=-(-length // size) * size)


_MAKERS: dict[str, Maker] = {
    "full": _full,
    "sliding": _sliding,
    "chunked": _chunked,
    "sink": _sink,
    "cross": _cross,
    "mamba-all": _mamba_all,
    "mamba-align": _mamba_align,
    "mamba-none": _mamba_none,
}
