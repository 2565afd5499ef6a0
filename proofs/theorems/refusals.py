"""Calls that change nothing: those that are turned away, those that only ask, and those on the null block.

The model's own functions are run, every way through them, on unknown numbers: a pool of few blocks, but any counts and lengths.
"""

from collections.abc import Callable
from typing import Any

from kvwitness.model import cross, managers, misuse
from kvwitness.model.calls import REASONS
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.pool import NULL, Pool, Rejection, release, touch
from kvwitness.model.profile import Profile
from kvwitness.model.table import Held
from kvwitness.proofs.branches import merged
from kvwitness.proofs.domain import Domain
from kvwitness.proofs.theorem import Statement, Wrong, theorem

ANY: Any = None
"""What a rule does not look at."""
NEW = "new"


def _refusal(rule: Callable[..., Any], *numbers_given: Any) -> Any:
    """The place of the reason that a rule rejects with, in the closed list; -1 where it goes through."""
    try:
        rule(*numbers_given)
    except Rejection as rejected:
        return REASONS.index(rejected.reason)
    return -1


def _look_up(keys: Any, most: Any, cached: Any) -> Any:
    return cross.look_up(ANY, ANY, num_keys=keys, max_length=most, is_cached=lambda _index: cached)


def _adopt(local: Any, external: Any, _cached: Any) -> Any:
    return cross.adopt_hits(ANY, ANY, Held(), hits=(1,), num_local_tokens=local, num_external_tokens=external)


def _publish(tokens: Any, _most: Any, _cached: Any) -> Any:
    return cross.publish_full(ANY, ANY, Held(), keys=(1,), num_tokens=tokens)


def _lets_through(_one: Any, _other: Any, _truth: Any) -> Any:
    return ANY


@theorem(
    "cross-attention-caches-nothing",
    clauses="CROSS.HIT.NONE, CROSS.ADOPT.NONE, CROSS.PUBLISH.NONE",
    witness={"one": 2, "other": 3, "truth": True},
    kinds=("cross",),
    wrong=[Wrong("publishing goes through", {"publish": _lets_through}), Wrong("a hit is adopted", {"adopt": _lets_through})],
)
def cross_attention_caches_nothing(domain: Domain, adopt: Callable[..., Any] = _adopt, publish: Callable[..., Any] = _publish) -> Statement:
    """Whatever its arguments are, each call that would cache an encoder's entry, find one or adopt one is rejected for one reason."""
    one, other, truth = domain.number("one"), domain.number("other"), domain.truth("truth")
    reason = REASONS.index("caching_unsupported")
    rules = {"a look-up": _look_up, "adopting a hit": adopt, "publishing": publish}
    goals = {
        f"{name} is rejected": merged(lambda *at, of=rule: _refusal(of, *at), one, other, truth) == reason for name, rule in rules.items()
    }
    return Statement({}, goals)


def _as_told(references: Any, profile: Profile) -> Any:
    """The null block's references after a table of two nulls was adopted and released."""
    idle = Pool((), (references,), (None,), {})
    return release(touch(idle, (NULL, NULL), profile), (NULL, NULL), profile).references[NULL]


def _released_alone(references: Any, profile: Profile) -> Any:
    """The same where the nulls were put there without a touch, as a released prefix is."""
    return release(Pool((), (references,), (None,), {}), (NULL,), profile).references[NULL]


def _drifts(profile: Profile) -> bool:
    return profile.null_references == "drift"


def _drifting(references: Any, _profile: Profile) -> Any:
    return references - 1


@theorem(
    "null-is-not-counted",
    clauses="BOOKS.NULL.COUNT, POOL.TOUCH, POOL.RELEASE",
    witness={"references": 0},
    wrong=[Wrong("a released null entry counts one off", {"releases": _drifting}, found_in=_drifts)],
)
def null_is_not_counted(domain: Domain, releases: Callable[..., Any] = _released_alone) -> Statement:
    """Touching and releasing null entries leaves the null block's reference count as it was, whatever it was."""
    references = domain.number("references")

    def same(calls: Callable[..., Any]) -> Any:
        after = merged(lambda count: calls(count, domain.profile), references)
        return misuse.null_is_not_counted(references, after)

    return Statement({}, {"adopted and released": same(_as_told), "released alone": same(releases)})


KINDS = {
    "full": Kind("full"),
    "sliding": Kind("sliding", window=3),
    "chunked": Kind("chunked", chunk=4),
    "mamba all": Kind("mamba", mode="all"),
    "mamba align": Kind("mamba", mode="align"),
    "sink": Kind("sink", sink_tokens=2),
}
KEYS = (7, 8, 9)


def _asked(state: Any, kind: str, tokens: Any) -> list[Any]:
    """The states after each call that an admission makes before it is refused."""
    looked, hits = managers.find_longest_cache_hit(state, KEYS, 5)
    released, _ = managers.remove_skipped_blocks(looked, NEW, tokens)
    needed, _ = managers.get_num_blocks_to_allocate(released, NEW, tokens, hits, 0, tokens, 0)
    counted, _ = managers.get_num_free_blocks(needed)
    return [looked, released, needed, counted]


def _taking(state: Any, kind: str, tokens: Any) -> list[Any]:
    after, _ = managers.allocate_new_blocks(state, NEW, 2, 2, 0)
    return [after]


@theorem(
    "a-refused-admission-changes-nothing",
    clauses="BOOKS.UNCHANGED",
    witness={"tokens": 5},
    bound="2 published blocks and a pool of 6: the state that comes back is the one that was given, whatever is in it",
    kinds=("full", "sliding", "chunked", "mamba", "sink"),
    wrong=[Wrong("blocks are taken before it is known whether there are enough", {"calls": _taking})],
)
def a_refused_admission_changes_nothing(domain: Domain, calls: Callable[..., Any] = _asked) -> Statement:
    """An admission that looks up, asks for the estimate and the free count, and gives up, and a look-up that is abandoned, leave the
    very state they were given, for a request of any length.
    """
    tokens = domain.number("tokens")

    def unchanged(kind: str) -> Any:
        config = Config(blocks=6, block_size=2, groups=(KINDS[kind],))
        fresh = managers.initial_state(config, domain.profile)
        pool = Pool(fresh.pool.free, fresh.pool.references, (None, (0, 7), (0, 8), None, None, None), {(0, 7): (1,), (0, 8): (2,)})
        state = managers.State(config, fresh.groups, pool, fresh.tables, fresh.published_this_step)
        return merged(lambda length: all(after is state for after in calls(state, kind, length)), tokens)

    return Statement({}, {kind: unchanged(kind) for kind in KINDS})
