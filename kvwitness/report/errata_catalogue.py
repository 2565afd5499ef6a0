"""The errata of vLLM's releases that are kept as trace files: what each is called, what it breaks, and what a user sees."""

from attrs import frozen


@frozen
class Entry:
    """An erratum with its file, ``docs/errata/NAME.json``.

    Attributes:
        name: The file's name without its ending.
        found_on: The newest release that we know to show it; the file follows its profile.
        label: The kind of manager.
        clause: What it breaks.
        erratum: The erratum of `kvwitness.properties.errata` that it is counted under; "" for a misuse that nothing stops.
        known_as: Its entry in the catalogue of public defects, if it has one.
        user_sees: What somebody sees whom it happens to.
    """

    name: str
    found_on: str
    label: str
    clause: str
    erratum: str
    known_as: str
    user_sees: str


MISUSE = ""

ENTRIES = (
    Entry(
        "same-step-state",
        "0.16.0",
        "mamba-align",
        "MAMBA.HIT.COMPUTED",
        "same-step-state",
        "K36",
        "Two requests with a common prefix arrive together: the second continues from memory not yet written, and answers nonsense.",
    ),
    Entry(
        "guard-by-key",
        "0.33.0",
        "mamba-align",
        "LIVE.REFUSAL",
        "guard-by-key",
        "",
        "A request waits a step, or for as long as others with its prefix keep coming, although what it needs was computed long ago.",
    ),
    Entry(
        "states-kept-by-drafts",
        "0.24.0",
        "mamba-align",
        "LIVE.RELEASED",
        "states-kept-by-drafts",
        "",
        "With speculative decoding a Mamba model holds more state blocks than it needs, so fewer requests run at once.",
    ),
    Entry(
        "states-stranded",
        "0.28.0",
        "mamba-align",
        "LIVE.RELEASED",
        "states-stranded",
        "",
        "With asynchronous scheduling and drafts, Mamba state blocks stay taken until their request ends: the cache fills up.",
    ),
    Entry(
        "resumed-chunk-unaligned",
        "0.16.0",
        "mamba-align",
        "CONTENTS.CACHED",
        "resumed-chunk-unaligned",
        "",
        "After a preemption under load, a later request with the same prefix continues from an earlier state and answers nonsense.",
    ),
    Entry(
        "tail-chunk-unaligned",
        "0.24.0",
        "mamba-align",
        "CONTENTS.CACHED",
        "tail-chunk-unaligned",
        "",
        "With a draft model and chunked prefill, a cached state is that of fewer tokens than its key says: later answers are wrong.",
    ),
    Entry(
        "optimistic-release-window",
        "0.24.0",
        "sliding",
        "CONTENTS.READ.LATENT",
        "optimistic-release",
        "K43",
        "With drafts, blocks inside the window are given away before the drafts are judged; after a rejection tokens read foreign data.",
    ),
    Entry(
        "optimistic-release-state",
        "0.16.0",
        "mamba-align",
        "CONTENTS.WRITE.PRESENT",
        "optimistic-release",
        "K55",
        "With two or more drafts, the state that a rejection falls back to is already released: the request continues from nothing.",
    ),
    Entry(
        "preempted-plan-keyed",
        "0.33.0",
        "full",
        "CONTENTS.CACHED",
        "preempted-plan-keyed",
        "",
        "A request preempted in the very step that planned it leaves cache entries that nobody computed; who hits them reads garbage.",
    ),
    Entry(
        "external-evicts-hit",
        "0.22.1",
        "full",
        "BOOKS.ESTIMATE",
        "external-evicts-hit",
        "K05",
        "With a KV connector and several groups, one block serves two groups of a request: each overwrites the other's entries.",
    ),
    Entry(
        "drop-alignment-raises",
        "0.17.1",
        "sliding",
        "BOOKS.ACCEPTED",
        "drop-alignment",
        "K21",
        "With a draft model and a windowed group whose block size is not the common alignment, the engine dies at the first look-up.",
    ),
    Entry(
        "drop-alignment-misses",
        "0.33.0",
        "sliding",
        "LIVE.HIT.FOUND",
        "drop-alignment",
        "",
        "With a draft model and such an alignment, prompts that are in the cache are computed again.",
    ),
    Entry(
        "draft-block-unpublished",
        "0.22.1",
        "sliding",
        "LIVE.PUBLISHED",
        "draft-block-unpublished",
        "K24",
        "With a draft model, prefix caching of a model with windowed layers never hits.",
    ),
    Entry(
        "window-one",
        "0.33.0",
        "sliding",
        "LIVE.HIT.FOUND",
        "window-one",
        "",
        "A layer whose window is one token prevents every prefix hit until a block of its own is cached.",
    ),
    Entry(
        "sink-blocks-reset",
        "0.28.0",
        "sink",
        "LIVE.RESET",
        "sink-blocks-reset",
        "K08",
        "With attention sinks the prefix cache cannot be reset, as after a change of weights, and an idle cache reports use.",
    ),
    Entry(
        "align-shrink-raises",
        "0.16.0",
        "mamba-align",
        "BOOKS.ACCEPTED",
        "align-shrink",
        "K57",
        "The engine dies when a draft is shorter than the one before it across the edge of a block.",
    ),
    Entry(
        "align-shrink-estimate",
        "0.33.0",
        "mamba-align",
        "BOOKS.ESTIMATE.FLOOR",
        "align-shrink",
        "K07",
        "After a shorter draft a Mamba group asks for -1 blocks, which hides that another group needs one.",
    ),
    Entry(
        "copy-removed",
        "0.33.0",
        "full",
        "EVENTS.PLAIN",
        "copy-removed",
        "",
        "A router takes a prefix for evicted that a worker still has, and sends the request to one that has to compute it again.",
    ),
    Entry(
        "run-over-gaps",
        "0.33.0",
        "mamba-align",
        "EVENTS.RANGE",
        "run-over-gaps",
        "",
        "A consumer that hashes an event's tokens comes to other keys than the event names, or to keys for an event that names none.",
    ),
    Entry(
        "group-untold",
        "0.19.1",
        "full",
        "EVENTS.GROUP.NAMED",
        "group-untold",
        "",
        "With two groups every block is stored and removed twice under one key: nobody can tell which half of it is left.",
    ),
    Entry(
        "external-evicts-hit-mixed",
        "0.22.1",
        "full+sliding",
        "HYBRID.ADOPT.KEPT",
        "external-evicts-hit",
        "K05",
        "With a connector one block ends up in two groups of one request, which overwrite each other: the answer is nonsense.",
    ),
    Entry(
        "drop-in-every-pass-three",
        "0.19.1",
        "full+sliding+sliding",
        "HYBRID.HIT.LONGEST",
        "drop-in-every-pass",
        "K19",
        "With a draft model and three or more groups nothing is ever hit: every prompt is computed in full.",
    ),
    Entry(
        "drop-in-every-pass-two",
        "0.19.1",
        "full+sliding",
        "HYBRID.HIT.LONGEST",
        "drop-in-every-pass",
        "K20",
        "With a draft model and two groups a hit is a block shorter than it need be, and a short one is lost.",
    ),
    Entry(
        "drop-alignment-raises-mixed",
        "0.18.1",
        "full+sliding",
        "BOOKS.ACCEPTED",
        "drop-alignment",
        "K21",
        "With a draft model and groups of different block sizes the engine dies on the first hit.",
    ),
    Entry(
        "drop-alignment-null-mixed",
        "0.19.1",
        "full+sliding",
        "LIVE.HIT.NULLS",
        "drop-alignment",
        "",
        "With a draft model and groups of different block sizes a hit shows null where its window lies: attention reads garbage.",
    ),
    Entry(
        "draft-block-unpublished-mixed",
        "0.22.1",
        "full+sliding",
        "LIVE.PUBLISHED",
        "draft-block-unpublished",
        "K24",
        "With a draft model and a window in smaller blocks nothing is hit: the block that the look-up asks for is never findable.",
    ),
    Entry(
        "second-full-uncut",
        "0.28.0",
        "full+full+sliding",
        "HYBRID.HIT.SOUND",
        "second-full-uncut",
        "",
        "With two sizes of full attention the second is given more blocks than tokens count as computed: tables and books disagree.",
    ),
    Entry(
        "mamba-lengthens-hit",
        "0.24.0",
        "full+mamba-align",
        "HYBRID.HIT.SOUND",
        "mamba-lengthens-hit",
        "",
        "With a draft model and Mamba layers a request skips tokens that full attention has no entries of, and answers nonsense.",
    ),
    Entry(
        "drop-not-renewed",
        "0.33.0",
        "sliding+sliding",
        "HYBRID.HIT.DROP-ONCE",
        "drop-not-renewed",
        "",
        "With a draft model a hit may leave one group no block to recompute: its drafts are poor behind such a hit.",
    ),
    Entry(
        "external-state-uncounted",
        "0.33.0",
        "mamba-align",
        "BOOKS.ESTIMATE",
        "external-state-uncounted",
        "K58",
        "With a connector, which planners let Mamba align have from 0.24 on, an admission takes a block more than was estimated.",
    ),
    Entry(
        "released-twice-in-one-list",
        "0.22.1",
        "full",
        "BOOKS.COUNT",
        MISUSE,
        "K01",
        "A list that names a shared block twice puts it on the free queue twice; much later an allocation runs past the queue's end.",
    ),
    Entry(
        "released-twice",
        "0.33.0",
        "full",
        "BOOKS.REFERENCES",
        MISUSE,
        "K02",
        "A second release of a free block goes unnoticed; a much later allocation finds a broken queue.",
    ),
    Entry(
        "negative-take",
        "0.33.0",
        "full",
        "BOOKS.COUNT",
        MISUSE,
        "K03",
        "Asked for a negative number of blocks, the pool counts more free blocks than there are, and admits what it cannot serve.",
    ),
    Entry(
        "null-count-drifts",
        "0.32.0",
        "sliding",
        "BOOKS.NULL.COUNT",
        MISUSE,
        "K10",
        "The reference count of the null block falls with every request that releases null entries; tools that audit counts raise alarms.",
    ),
    Entry(
        "published-when-gone",
        "0.33.0",
        "full",
        "BOOKS.PUBLISHED",
        MISUSE,
        "K18",
        "Publishing for a request that is gone leaves a ghost entry; the request's name cannot be used again.",
    ),
)
"""In the order of the page: errata of the rules, then misuse that nothing stops."""

WAITING = (
    (
        "K09",
        "The sink manager cannot be built by the coordinator, from 0.23.0 on.",
        "`kvwitness conform` drives the manager built directly, and with `--groups` tells under *not offered* that no mix has a sink",
    ),
)
"""What is known and has no file, with the reason."""

PRECONDITIONS = (
    ("chunked, a chunk that neither divides nor is divided by the block size", "a configuration that is refused"),
    ("Mamba align, as many drafts as tokens in a block", "a configuration that is refused"),
    ("fewer keys than the cap asks for", "`not_enough_keys`: sliding and Mamba raise IndexError, full attention tolerates it"),
)
"""Where the seed departs and a precondition of ours excludes it."""


__all__ = ["ENTRIES", "MISUSE", "PRECONDITIONS", "WAITING", "Entry"]
