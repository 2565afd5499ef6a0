"""Configurations worth running: small pools under pressure, block edges, windows and chunks around the block size."""

import random
from collections.abc import Callable

from kvwitness.model.kinds import Config, Kind
from kvwitness.model.profile import Profile
from kvwitness.properties.mixes import random_mix

LABELS = ("full", "sliding", "chunked", "mamba-none", "mamba-all", "mamba-align", "cross", "sink")
"""Every kind, and every mode of Mamba, in the order of reports."""


def not_offered(profile: Profile) -> dict[str, str]:
    """The kinds that a profile has no use for, by label, with the reason."""
    if profile.mamba_caching == "align_only":
        return {"mamba-all": "Mamba caches in mode align only"}
    return {}


def reason_against(profile: Profile, label: str) -> str:
    """Why a profile has no use for a kind or for a mix with it, or "" if it has."""
    missing = not_offered(profile)
    return next((missing[part] for part in label.split("+") if part in missing), "")


def kind_label(config: Config) -> str:
    """The label of a configuration's kind, or of its mixed kinds."""
    return config.label


def random_config(rng: random.Random, label: str) -> Config:
    """A configuration of a kind, or of mixed kinds; the same generator state gives the same one."""
    return random_mix(rng, label) if "+" in label else _MAKERS[label](rng)


def _pool(rng: random.Random) -> int:
    return rng.choice((4, 5, 6, 7, 8, 10, 12, 16))


def _groups(rng: random.Random, kind: Kind) -> tuple[Kind, ...]:
    """Mostly one group, sometimes two on one pool."""
    return (kind,) * rng.choice((1, 1, 1, 1, 2))


def _depth(rng: random.Random) -> int:
    return rng.choice((1, 1, 2))


def _full(rng: random.Random) -> Config:
    size, drafts = rng.choice((1, 2, 2, 3, 4)), rng.choice((0, 0, 1, 2, 3))
    spread = rng.choice((1, 1, 1, 1, 2))
    # Over which devices follows from the size, so that no further chance is drawn.
    dcp, pcp = {1: (1, 2), 3: (2, 2)}.get(size, (2, 1)) if spread > 1 else (1, 1)
    unit = size * dcp * pcp
    return Config(
        blocks=_pool(rng),
        block_size=size,
        groups=_groups(rng, Kind("full")),
        caching=rng.random() < 0.95,
        drafts=drafts,
        draft_model=drafts > 0 and rng.random() < 0.5,
        alignment=rng.choice((0, 0, 0, unit * 2)),
        depth=_depth(rng),
        max_model_len=rng.choice((16, 24, 32)),
        dcp=dcp,
        pcp=pcp,
    )


def _sliding(rng: random.Random) -> Config:
    size, drafts = rng.choice((1, 2, 2, 3, 4)), rng.choice((0, 0, 1, 2, 3))
    return Config(
        blocks=_pool(rng),
        block_size=size,
        groups=_groups(rng, Kind("sliding", window=rng.randint(1, 3 * size + 2))),
        caching=rng.random() < 0.95,
        drafts=drafts,
        draft_model=drafts > 0 and rng.random() < 0.5,
        alignment=rng.choice((0, 0, 0, size * (2 + drafts % 2))),
        depth=_depth(rng),
        max_model_len=rng.choice((16, 24, 32)),
    )


def _chunked(rng: random.Random) -> Config:
    size = rng.choice((1, 2, 2, 3, 4))
    chunk = size * rng.choice((1, 2, 2, 3, 4))
    if size in (2, 4) and rng.random() < 0.1:
        chunk = size // 2
    return Config(
        blocks=_pool(rng),
        block_size=size,
        groups=_groups(rng, Kind("chunked", chunk=chunk)),
        caching=rng.random() < 0.95,
        drafts=rng.choice((0, 0, 1, 2)),
        depth=_depth(rng),
        max_model_len=rng.choice((16, 24, 32)),
    )


def _mamba_none(rng: random.Random) -> Config:
    drafts = rng.choice((0, 1, 2, 3))
    length = rng.choice((12, 16, 24))
    return Config(
        blocks=_pool(rng),
        block_size=length,
        groups=_groups(rng, Kind("mamba", mode="none", drafts=drafts)),
        caching=False,
        drafts=drafts,
        depth=_depth(rng),
        max_model_len=length,
    )


def _mamba_all(rng: random.Random) -> Config:
    size = rng.choice((1, 2, 2, 3, 4))
    return Config(
        blocks=_pool(rng),
        block_size=size,
        groups=_groups(rng, Kind("mamba", mode="all", drafts=rng.choice((0, 0, 1)))),
        alignment=rng.choice((0, 0, 0, size * 2)),
        depth=_depth(rng),
        max_model_len=rng.choice((16, 24, 32)),
    )


def _mamba_align(rng: random.Random) -> Config:
    size = rng.choice((1, 2, 2, 3, 4))
    drafts = rng.randint(0, min(size - 1, 3))
    return Config(
        blocks=_pool(rng),
        block_size=size,
        groups=_groups(rng, Kind("mamba", mode="align", drafts=drafts)),
        drafts=drafts,
        draft_model=drafts > 0 and rng.random() < 0.3,
        alignment=rng.choice((0, 0, 0, size * 2)),
        depth=_depth(rng),
        max_model_len=rng.choice((16, 24, 32)),
    )


def _cross(rng: random.Random) -> Config:
    return Config(
        blocks=_pool(rng),
        block_size=rng.choice((1, 2, 3, 4)),
        groups=_groups(rng, Kind("cross")),
        caching=False,
        drafts=rng.choice((0, 0, 1)),
        depth=_depth(rng),
        max_model_len=24,
    )


def _sink(rng: random.Random) -> Config:
    size, drafts = rng.choice((1, 2, 2, 4)), rng.choice((0, 0, 1, 2))
    sinks = rng.choice((1, 1, 2))
    groups = _groups(rng, Kind("sink", sink_tokens=size * sinks))
    return Config(
        blocks=_pool(rng) + sinks * len(groups),
        block_size=size,
        groups=groups,
        drafts=drafts,
        draft_model=drafts > 0 and rng.random() < 0.5,
        depth=_depth(rng),
        max_model_len=rng.choice((16, 24, 32)),
    )


_MAKERS: dict[str, Callable[[random.Random], Config]] = {
    "full": _full,
    "sliding": _sliding,
    "chunked": _chunked,
    "mamba-none": _mamba_none,
    "mamba-all": _mamba_all,
    "mamba-align": _mamba_align,
    "cross": _cross,
    "sink": _sink,
}
