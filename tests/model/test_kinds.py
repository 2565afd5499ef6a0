"""Configurations that cannot work are refused when they are built, in one line."""

from typing import Any

import pytest

from kvwitness.model.kinds import Config, ConfigError, Kind

FULL, CROSS = Kind("full"), Kind("cross")
SLIDING, CHUNKED = Kind("sliding", window=3), Kind("chunked", chunk=4)
ALIGN, ALL, NONE = (Kind("mamba", mode=mode) for mode in ("align", "all", "none"))
SINK = Kind("sink", sink_tokens=2)


def config(kind: Kind = FULL, **sizes: Any) -> Config:
    return Config(**{"blocks": 6, "block_size": 2, "groups": (kind,), "max_model_len": 16, **sizes})


IMPOSSIBLE: dict[str, tuple[Kind, dict[str, Any], str]] = {
    "no tokens a block": (FULL, {"block_size": 0}, "got block_size 0"),
    "only the null block": (FULL, {"blocks": 1}, "got blocks 1"),
    "no groups": (FULL, {"groups": ()}, "got no groups"),
    "a block that is no multiple of the keys": (FULL, {"groups": (FULL, Kind("full", block_size=3))}, "got full with block_size 3"),
    "an alignment inside the largest block": (FULL, {"groups": (FULL, Kind("full", block_size=6)), "alignment": 4}, "got alignment 4"),
    "mixed groups on several devices": (FULL, {"groups": (FULL, SLIDING), "dcp": 2}, "got context parallelism with mixed groups"),
    "a chunk with larger blocks beside it": (FULL, {"groups": (CHUNKED, Kind("full", block_size=8))}, "got alignment 0 with chunked"),
    "no step in flight": (FULL, {"depth": 0}, "got depth 0"),
    "no length": (FULL, {"max_model_len": 0}, "got max_model_len 0"),
    "fewer than no drafts": (FULL, {"drafts": -1}, "got drafts -1"),
    "no device": (FULL, {"dcp": 0}, "got dcp 0, pcp 1"),
    "no device for the prefill": (FULL, {"pcp": 0}, "got dcp 1, pcp 0"),
    "an unknown kind": (Kind("linear"), {}, "got kind 'linear'"),  # type: ignore[arg-type]
    "an alignment inside a block": (FULL, {"alignment": 3}, "got alignment 3 with 2 tokens a block"),
    "a negative alignment": (FULL, {"alignment": -2}, "got alignment -2"),
    "an alignment of half a spread block": (FULL, {"alignment": 2, "dcp": 2}, "got alignment 2 with 4 tokens a block"),
    "a spread sliding window": (SLIDING, {"dcp": 2}, "got context parallelism with sliding"),
    "a spread chunk": (CHUNKED, {"dcp": 2, "alignment": 4}, "got alignment 4 with chunked"),
    "a spread state": (ALL, {"pcp": 2}, "got context parallelism with mamba-all"),
    "no window": (Kind("sliding"), {}, "got window 0"),
    "no chunk": (Kind("chunked"), {}, "got chunk 0 with block_size 2"),
    "a chunk across blocks": (Kind("chunked", chunk=3), {}, "got chunk 3 with block_size 2"),
    "a chunk with a draft model": (CHUNKED, {"drafts": 1, "draft_model": True}, "got a draft model with chunked"),
    "a chunk with an alignment": (CHUNKED, {"alignment": 4}, "got alignment 4 with chunked"),
    "an unknown mode": (Kind("mamba", mode="some"), {}, "got mode 'some'"),  # type: ignore[arg-type]
    "fewer than no speculative blocks": (Kind("mamba", drafts=-1), {}, "got mamba drafts -1"),
    "more drafts than speculative blocks": (ALIGN, {"drafts": 1}, "got 1 draft tokens with 0 speculative blocks"),
    "speculative blocks beyond a block": (Kind("mamba", drafts=2), {}, "got 2 drafts with block_size 2 in mode align"),
    "mode align without caching": (ALIGN, {"caching": False}, "got mode align without caching"),
    "mode none in small blocks": (NONE, {"caching": False}, "got block_size 2 with max_model_len 16 in mode none"),
    "mode none with caching": (NONE, {"block_size": 16}, "got caching with mamba-none"),
    "drafts in mode all": (Kind("mamba", mode="all", drafts=1), {"drafts": 1}, "got 1 draft tokens in mode all"),
    "cross attention with caching": (CROSS, {}, "got caching with cross"),
    "no sink": (Kind("sink"), {}, "got sink_tokens 0 with 2 tokens a block"),
    "half a block of sink": (Kind("sink", sink_tokens=3), {}, "got sink_tokens 3"),
    "nothing but sinks": (Kind("sink", sink_tokens=10), {}, "got 6 blocks for 5 sink blocks"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_an_impossible_configuration_is_refused_in_one_line(name: str) -> None:
    kind, sizes, got = IMPOSSIBLE[name]

    with pytest.raises(ConfigError) as refused:
        config(kind, **sizes)
    message = str(refused.value)
    first, allowed, mend = message.split("; ")

    assert first.startswith(got)
    assert allowed.startswith("allowed is ")
    assert mend
    assert "\n" not in message


POSSIBLE: dict[str, tuple[Kind, dict[str, Any]]] = {
    "full": (FULL, {}),
    "a spread block": (FULL, {"dcp": 2, "pcp": 2, "alignment": 8}),
    "sliding with a draft model and an alignment": (SLIDING, {"drafts": 1, "draft_model": True, "alignment": 4}),
    "a chunk in blocks": (CHUNKED, {}),
    "chunks in a block": (Kind("chunked", chunk=1), {}),
    "align with a draft": (Kind("mamba", drafts=1), {"drafts": 1}),
    "all with a speculative block": (Kind("mamba", mode="all", drafts=1), {}),
    "none": (NONE, {"caching": False, "block_size": 16}),
    "cross": (CROSS, {"caching": False}),
    "sink": (SINK, {}),
}


@pytest.mark.parametrize("name", POSSIBLE)
def test_a_possible_configuration_is_built(name: str) -> None:
    kind, sizes = POSSIBLE[name]

    assert config(kind, **sizes).kind == kind


def test_what_a_block_stands_for_grows_with_the_devices() -> None:
    spread = config(dcp=2, pcp=3)

    assert (spread.tokens_per_block, spread.hit_alignment) == (12, 12)
    assert config(alignment=4).hit_alignment == 4


def test_only_mambas_label_names_its_mode() -> None:
    assert [kind.label for kind in (FULL, SINK, ALIGN, NONE)] == ["full", "sink", "mamba-align", "mamba-none"]


def test_cross_attention_and_a_running_state_alone_cannot_be_cached() -> None:
    assert [kind.caches for kind in (FULL, SLIDING, CHUNKED, SINK, ALIGN, ALL)] == [True] * 6
    assert [kind.caches for kind in (CROSS, NONE)] == [False, False]
