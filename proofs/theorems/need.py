"""Skip counts: a token is skipped exactly if no later token reads it."""

from typing import Any

from kvwitness.model import need
from kvwitness.model.kinds import Kind
from kvwitness.model.numbers import ceil_div, maximum
from kvwitness.proofs.domain import Domain, numbers
from kvwitness.proofs.logic import both, either, implies, negated
from kvwitness.proofs.theorem import Statement, Wrong, theorem

POSITIVE_WINDOW = "the window has 1 token or more"
POSITIVE_CHUNK = "the chunk has 1 token or more"
LATER = "the reader comes at n or later"
KNOWN = "n is 0 or more"
ORDER = "n comes no later than m"


def sliding(window: Any) -> Kind:
    """A sliding window of so many tokens."""
    return Kind("sliding", window=window)


def chunked(chunk: Any) -> Kind:
    """Chunks of so many tokens."""
    return Kind("chunked", chunk=chunk)


FULL, MAMBA = Kind("full"), Kind("mamba", mode="align")


def _with_itself(kind: Kind, n: Any) -> Any:
    return maximum(0, n - kind.window + 2)


def _window_alone(kind: Kind, n: Any) -> Any:
    return n - kind.window + 1


def _rounded_up(kind: Kind, n: Any) -> Any:
    return ceil_div(n, kind.chunk) * kind.chunk


def _state_itself(_kind: Kind, n: Any) -> Any:
    return n


def _one(_kind: Kind, n: Any) -> Any:
    return 1


def _falling(_kind: Kind, n: Any) -> Any:
    return maximum(0, 3 - n)


def _twice(_kind: Kind, n: Any) -> Any:
    return n + n


def exact(kind: Kind, rule: Any, n: Any, token: Any, reader: Any) -> dict[str, Any]:
    """Both directions of "skipped exactly if unread"."""
    return {
        "what is skipped is read by no later token": implies(token < rule(kind, n), negated(need.reads(kind, reader, token))),
        "what is not skipped is read by the next token": implies(both(rule(kind, n) <= token, token < n), need.reads(kind, n, token)),
    }


@theorem(
    "full-skips-nothing",
    clauses="NEED.FIRST",
    witness={"n": 5, "token": 2},
    kinds=("full", "sink", "cross"),
    wrong=[Wrong("the first token is skipped", {"rule": _one})],
)
def full_skips_nothing(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """Full attention, with a sink or without, and cross attention skip nothing: the next token reads every token before it."""
    n, token = numbers(domain, "n token")
    read = need.reads(FULL, n, token)
    hypotheses = {"the token is one before n": both(token >= 0, token < n)}
    return Statement(hypotheses, {"it is read": read, "it is not skipped": negated(token < rule(FULL, n))})


@theorem(
    "sliding-skips-exactly",
    clauses="NEED.FIRST",
    witness={"n": 5, "token": 2, "reader": 6, "window": 3},
    kinds=("sliding",),
    wrong=[Wrong("the window is a token shorter", {"rule": _with_itself}), Wrong("the window is empty", {"rule": _state_itself})],
)
def sliding_skips_exactly(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """A sliding window skips a token exactly if it lies outside the window of the next token and of every later one."""
    n, token, reader, window = numbers(domain, "n token reader window")
    hypotheses = {LATER: n <= reader, "the token is one that exists": token >= 0}
    return Statement(hypotheses, exact(sliding(window), rule, n, token, reader))


@theorem(
    "sliding-skip-grows",
    clauses="NEED.FIRST",
    witness={"n": 2, "m": 5, "window": 2},
    kinds=("sliding",),
    wrong=[Wrong("the skip shrinks as tokens come", {"rule": _falling})],
)
def sliding_skip_grows(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """What a sliding window has skipped stays skipped."""
    n, m, window = numbers(domain, "n m window")
    return Statement({ORDER: n <= m}, {"it does not shrink": rule(sliding(window), n) <= rule(sliding(window), m)})


@theorem(
    "sliding-skip-is-bounded",
    clauses="NEED.FIRST",
    witness={"n": 5, "window": 3},
    kinds=("sliding",),
    wrong=[Wrong("the skip is not kept from falling below 0", {"rule": _window_alone})],
)
def sliding_skip_is_bounded(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """A sliding window skips no more than the tokens before the next, and never less than none."""
    n, window = numbers(domain, "n window")
    skipped = rule(sliding(window), n)
    return Statement({KNOWN: n >= 0, POSITIVE_WINDOW: window >= 1}, {"at least 0": skipped >= 0, "at most n": skipped <= n})


@theorem(
    "chunked-skips-exactly",
    clauses="NEED.FIRST",
    witness={"n": 5, "token": 2, "reader": 6, "chunk": 3},
    kinds=("chunked",),
    sizes=("chunk",),
    wrong=[Wrong("the skip is rounded up", {"rule": _rounded_up})],
)
def chunked_skips_exactly(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """Chunked attention skips a token exactly if it lies in an earlier chunk than the next token."""
    n, token, reader = numbers(domain, "n token reader")
    chunk = domain.size("chunk")
    hypotheses = {POSITIVE_CHUNK: chunk >= 1, LATER: n <= reader}
    return Statement(hypotheses, exact(chunked(chunk), rule, n, token, reader))


@theorem(
    "chunked-skip-grows",
    clauses="NEED.FIRST",
    witness={"n": 2, "m": 5, "chunk": 2},
    kinds=("chunked",),
    sizes=("chunk",),
    wrong=[Wrong("the skip shrinks as tokens come", {"rule": _falling})],
)
def chunked_skip_grows(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """What chunked attention has skipped stays skipped."""
    n, m = numbers(domain, "n m")
    kind = chunked(domain.size("chunk"))
    return Statement({ORDER: n <= m, POSITIVE_CHUNK: kind.chunk >= 1}, {"it does not shrink": rule(kind, n) <= rule(kind, m)})


@theorem(
    "chunked-skip-is-bounded",
    clauses="NEED.FIRST",
    witness={"n": 5, "chunk": 3},
    kinds=("chunked",),
    sizes=("chunk",),
    wrong=[Wrong("the skip is rounded up", {"rule": _rounded_up})],
)
def chunked_skip_is_bounded(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """Chunked attention skips no more than the tokens before the next, never less than none, and less than a chunk is left."""
    n, chunk = domain.number("n"), domain.size("chunk")
    skipped = rule(chunked(chunk), n)
    goals = {"at least 0": skipped >= 0, "at most n": skipped <= n, "less than a chunk is left": n - skipped < chunk}
    return Statement({KNOWN: n >= 0, POSITIVE_CHUNK: chunk >= 1}, goals)


@theorem(
    "mamba-skips-exactly",
    clauses="NEED.FIRST",
    witness={"n": 5, "token": 2, "reader": 6},
    kinds=("mamba",),
    wrong=[Wrong("the state of the last token is skipped too", {"rule": _state_itself})],
)
def mamba_skips_exactly(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """Mamba skips every state but the one after the last computed token, which alone the next token continues."""
    n, token, reader = numbers(domain, "n token reader")
    return Statement({LATER: n <= reader}, exact(MAMBA, rule, n, token, reader))


@theorem(
    "mamba-skip-grows",
    clauses="NEED.FIRST",
    witness={"n": 2, "m": 5},
    kinds=("mamba",),
    wrong=[Wrong("the skip shrinks as tokens come", {"rule": _falling})],
)
def mamba_skip_grows(domain: Domain, rule: Any = need.first_needed) -> Statement:
    """What Mamba has skipped stays skipped, and of n tokens fewer than n are skipped."""
    n, m = numbers(domain, "n m")
    return Statement({ORDER: n <= m}, {"it does not shrink": rule(MAMBA, n) <= rule(MAMBA, m), "one is kept": rule(MAMBA, n) < n})


def _before_itself(kind: Kind, reader: Any, token: Any) -> Any:
    return both(need.reads(kind, reader, token), token < reader)


def _anything_near(kind: Kind, reader: Any, token: Any) -> Any:
    return either(need.reads(kind, reader, token), token == reader + 1)


@theorem(
    "a-token-reads-itself-and-none-behind",
    clauses="NEED.FIRST",
    witness={"reader": 5, "token": 6, "window": 3, "chunk": 4},
    kinds=("full", "sink", "sliding", "chunked"),
    sizes=("chunk",),
    wrong=[
        Wrong("only earlier tokens are read", {"reads": _before_itself}),
        Wrong("the token behind is read", {"reads": _anything_near}),
    ],
)
def a_token_reads_itself_and_none_behind(domain: Domain, reads: Any = need.reads) -> Statement:
    """A token that attends reads its own entry, and no entry of a token that comes after it."""
    reader, token, window = numbers(domain, "reader token window")
    kinds = {"full": FULL, "sliding": sliding(window), "chunked": chunked(domain.size("chunk"))}
    itself = {f"{name}: itself": reads(kind, reader, reader) for name, kind in kinds.items()}
    behind = {f"{name}: none behind": implies(token > reader, negated(reads(kind, reader, token))) for name, kind in kinds.items()}
    return Statement({POSITIVE_WINDOW: window >= 1}, {**itself, **behind})
