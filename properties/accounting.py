"""The accounting oracle: after every operation the pool's books agree with its tables."""

from collections.abc import Sequence

from kvwitness.model import books, hybrid
from kvwitness.model.calls import Blocks, Key, Observation
from kvwitness.model.kinds import Config
from kvwitness.properties.books_told import difference, explain_state
from kvwitness.properties.operations import Probe, Raw, Share
from kvwitness.properties.raw_books import RawBooks
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

NAME = "accounting"


class Accounting:
    """Judges observations by the clauses of `kvwitness.model.books`; a fast pass finds that something is wrong, a slow one says what."""

    name = NAME

    def __init__(self, config: Config) -> None:
        """Judge pools of this configuration."""
        self._num_blocks = config.blocks
        self._is_hybrid = config.is_hybrid
        self._blocks = [config.block_of(group) for group in range(len(config.groups))]
        self._raw: RawBooks | None = None

    def judge(self, view: View) -> Violation | None:
        """The first broken clause, or None."""
        if self._raw is None and isinstance(view.operation, Raw):
            self._raw = RawBooks(self._num_blocks)
        if self._raw is not None:
            return self._raw.judge(view)
        # A hit of several lengths breaks whatever is done with it, in ways that differ from port to port: it is told first.
        uneven = _explain_uneven_hit(view, self._blocks) if self._is_hybrid else None
        if uneven is not None:
            return uneven
        if view.event.kind == "broken":
            return _broken_call(view)
        unchanged = view.before is view.after or view.before == view.after
        if self._is_hybrid and not unchanged:
            mixed = _explain_mixed(view.after)
            if mixed is not None:
                return mixed
        if not unchanged and not _is_sound(view.after, self._num_blocks):
            return explain_state(view.after, self._num_blocks)
        if not view.caller.requests and not books.is_at_rest(view.after):
            return _explain_rest(view.after)
        if not unchanged and _must_not_change(view):
            return Violation("BOOKS.UNCHANGED", f"{view.event.kind}, and still {difference(view.before, view.after)}", NAME)
        return _judge_estimate(view, None if view.after.free is None else len(view.after.free))

    def judge_calls(self, view: View, free_after: int) -> Violation | None:
        """What the calls of an operation break, told without a look at the state but for the number of free blocks after it."""
        return _broken_call(view) if view.event.kind == "broken" else _judge_estimate(view, free_after)


def _broken_call(view: View) -> Violation:
    call, outcome = view.calls[-1]
    reason = f"{call.name} ended {outcome.status}" + (f" ({outcome.reason})" if outcome.reason else "")
    return Violation(books.legal_call_is_accepted.clause_id, reason, NAME)  # type: ignore[attr-defined]


def _explain_uneven_hit(view: View, blocks: Sequence[int]) -> Violation | None:
    """The lengths of a hit that mixed groups do not have in common, if it is one."""
    for call, outcome in view.calls:
        if call[0] == "find_longest_cache_hit" and outcome[0] == "ok":
            lengths = tuple([len(hit) * block for hit, block in zip(outcome[1], blocks, strict=True)])
            if not hybrid.is_one_length(lengths):
                return Violation("HYBRID.HIT.SOUND", f"the groups' hits have {lengths} tokens", NAME)
    return None


def _explain_mixed(seen: Observation) -> Violation | None:
    """The first block that two groups hold, if any."""
    holding: dict[int, int] = {}
    for group, tables in enumerate(seen.tables or ()):
        for request, table in tables.items():
            for block in table:
                groups = tuple(sorted({holding.setdefault(block, group), group}))
                if block and not hybrid.holds_in_one_group(groups):
                    because = f"block {block} of {request} is in the tables of groups {groups[0]} and {groups[1]}"
                    return Violation("HYBRID.ADOPT.KEPT", because, NAME)
    return None


def _must_not_change(view: View) -> bool:
    """Whether the operation was one that leaves the state alone: a look-up, or a refusal of somebody who holds nothing."""
    if isinstance(view.operation, Probe | Share):
        return True
    if view.event.kind != "refused" or view.before.tables is None:
        return False
    return all(view.event.request not in tables for tables in view.before.tables)


def _judge_estimate(view: View, free_after: int | None) -> Violation | None:
    """Compare the estimate with what the free queue lost from there on."""
    estimated, free_before = None, 0
    for call, outcome in view.calls:
        if call.name == "get_num_blocks_to_allocate":
            estimated = outcome.value
        elif call.name == "get_num_free_blocks":
            free_before = outcome.value
    if estimated is None:
        return None
    if not books.estimate_is_natural(estimated):
        return Violation("BOOKS.ESTIMATE.FLOOR", f"the estimate for {view.event.request} is {estimated}", NAME)
    if view.event.kind == "refused" or free_after is None:
        return None
    if not books.estimate_is_taken(estimated, free_before, free_after):
        taken = free_before - free_after
        return Violation("BOOKS.ESTIMATE", f"the estimate for {view.event.request} is {estimated}, and {taken} blocks are taken", NAME)
    return None


def _is_sound(seen: Observation, num_blocks: int) -> bool:
    """The fast pass over the parts that the port shows: True only if every clause of the books holds."""
    if seen.tables is None or seen.free is None or seen.references is None or seen.keys is None or seen.index is None:
        return explain_state(seen, num_blocks) is None
    holders, keys = [0] * num_blocks, seen.keys
    for tables in seen.tables:
        for table in tables.values():
            for block in table:
                holders[block] += 1
            if len(table) - table.count(0) + (0 in table) != len(set(table)):
                return False
    unheld = holders.count(0) - (holders[0] == 0)
    holders[0] = seen.references[0]
    if tuple(holders) != seen.references or 0 in seen.free or keys[0] is not None:
        return False
    free = set(seen.free)
    reserved = seen.reserved or ()
    if len(free) != len(seen.free) or unheld - len(reserved) != len(free) or not free.isdisjoint(reserved):
        return False
    holders[0] = 1
    if any([holders[block] for block in free]) or any([count > 1 and key is None for count, key in zip(holders, keys, strict=True)]):
        return False
    return _index_fits(keys, seen.index) and _published_fits(seen)


def _index_fits(keys: Sequence[tuple[int, Key] | None], index: dict[tuple[int, Key], Blocks]) -> bool:
    listed = 0
    for key, blocks in index.items():
        listed += len(blocks)
        for block in blocks:
            if keys[block] != key:
                return False
    return listed == len(keys) - keys.count(None)


def _published_fits(seen: Observation) -> bool:
    for tables, published in zip(seen.tables or (), seen.published or (), strict=False):
        for request, count in published.items():
            if not books.counts_what_is_held(count, tables.get(request)):
                return False
    return True


def _explain_rest(seen: Observation) -> Violation:
    left = [request for tables in seen.tables or () for request in tables] + [name for counts in seen.published or () for name in counts]
    free = len(seen.free or ())
    return Violation("BOOKS.REST", f"no request exists, {free} blocks are free, left over: {', '.join(left) or 'no books'}", NAME)
