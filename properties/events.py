"""The events oracle: a consumer that sees KV events only must know what look-ups may find."""

from collections import Counter
from collections.abc import Collection, Mapping

from kvwitness.model import index_told
from kvwitness.model.calls import Blocks, Key
from kvwitness.model.events import Cleared, KVEvent, Removed, Stored
from kvwitness.model.index_told import Ancestor, Entry
from kvwitness.model.kinds import Config
from kvwitness.model.profile import SOUND, Profile
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

NAME, PLAIN = "events", "plain-events"

CHAINED = ("full", "sink")
"""The kinds whose hits need the whole prefix, so that a consumer hangs each run on its parent."""


class Events:
    """Builds an index from events alone and holds it against the state after every operation.

    What a plain consumer relies on is judged where the profile promises it, or always if asked for.
    """

    def __init__(self, config: Config, profile: Profile, ancestor: Ancestor, *, plain: bool = False) -> None:
        """Judge events of this configuration, as promised by ``profile`` or, with ``plain``, as a plain consumer takes them."""
        self.name = PLAIN if plain else NAME
        self._config, self._ancestor = config, ancestor
        self._is_told_by_runs = plain or profile.event_runs == SOUND.event_runs
        self._is_told_by_keys = plain or profile.event_copies == SOUND.event_copies
        self._is_told_by_groups = plain or profile.event_groups == SOUND.event_groups
        self._names_groups = len(config.groups) == 1 or profile.event_groups == SOUND.event_groups
        self._counted: Counter[Entry] = Counter()
        self._kept: set[Entry] = set()
        self._tokens: dict[Entry, int] = {}

    def judge(self, view: View) -> Violation | None:
        """The first broken clause, or None."""
        told, was_reset = view.told, view.event.kind == "reset" and view.event.done
        if told is None:
            return None
        if told.status != "ok":
            return self._broken("EVENTS.INDEX", f"take_events ended {told.status} ({told.reason})")
        events: tuple[KVEvent, ...] = told.value
        if not events and not was_reset and view.after is view.before:
            return None
        cleared = [type(event) for event in events].count(Cleared)
        if not index_told.clears_when_reset(cleared, int(was_reset)):
            return self._broken("EVENTS.CLEARED.RESET", f"{int(was_reset)} resets and {cleared} events that tell of one")
        for event in events:
            violation = self._hear(event)
            if violation is not None:
                return violation
        return self._judge_index(view, events)

    def _hear(self, event: KVEvent) -> Violation | None:
        """Take in one event."""
        if self._is_told_by_groups and not index_told.names_its_group(event, len(self._config.groups)):
            return self._broken("EVENTS.GROUP.NAMED", f"{event} with {len(self._config.groups)} groups")
        if isinstance(event, Stored):
            try:
                return self._hear_stored(event)
            except (IndexError, TypeError):
                return self._broken("EVENTS.ORDER", f"{event}, with keys of no prefix that was asked about")
        if isinstance(event, Removed):
            return self._hear_removed(event)
        self._counted.clear()
        self._kept.clear()
        self._tokens.clear()
        return None

    def _hear_stored(self, run: Stored) -> Violation | None:
        """Take in one run, if it fits its tokens and its parent."""
        # Where a group is not named, all that is known is that its blocks are no smaller than a key.
        config, group = self._config, run.group or 0
        block = config.block_of(group) if self._names_groups else config.tokens_per_block
        steps = index_told.steps_between(run, block, self._ancestor)
        parent = self._entry(run.group, run.parent or 0)
        known = self._tokens.get(parent)
        tokens = index_told.tokens_of(parent[1], self._ancestor) if known is None else known
        if not index_told.follows_its_parent(run, tokens, steps):
            return self._broken("EVENTS.PARENT", f"{run} with blocks of {block} tokens")
        if self._names_groups and config.groups[group].kind in CHAINED and not index_told.parent_is_known(run, known is not None):
            return self._broken("EVENTS.KNOWN", f"{run}, and nobody was told of its parent")
        if not index_told.stands_in_its_tokens(run, block, steps):
            return self._broken("EVENTS.ORDER", f"{run} with blocks of {block} tokens")
        if self._is_told_by_runs and not index_told.has_a_key_a_block(run, block):
            return self._broken("EVENTS.RANGE", f"{len(run.keys)} keys for tokens {run.start} to {run.end}, in blocks of {block}")
        for key, step in zip(run.keys, steps, strict=True):
            tokens += step * block
            entry = self._entry(run.group, key)
            self._counted[entry] += 1
            self._kept.add(entry)
            self._tokens[entry] = tokens
        return None

    def _hear_removed(self, event: Removed) -> Violation | None:
        entry = self._entry(event.group, event.key)
        count = self._counted[entry]
        if not index_told.removes_what_is_known(count):
            return self._broken("EVENTS.REMOVED.KNOWN", f"{event}, which is not known")
        if count == 1:
            del self._counted[entry]
        else:
            self._counted[entry] = count - 1
        self._kept.discard(entry)
        return None

    def _entry(self, group: int | None, key: Key) -> Entry:
        """A key as the consumer files it: under its group, under the only one, or under none."""
        return (group or 0) if self._names_groups else None, key

    def _judge_index(self, view: View, events: tuple[KVEvent, ...]) -> Violation | None:
        """Hold what the consumer knows against the index."""
        index = view.after.index
        if index is None:
            return None
        carriers: Mapping[Entry, Blocks] = index if self._names_groups else _merged(index)  # type: ignore[assignment]
        if not index_told.knows_what_is_found(self._counted.keys(), carriers.keys()):
            return self._broken("EVENTS.INDEX", _difference(self._counted.keys(), carriers.keys()))
        for entry in [self._entry(event.group, key) for event in events if isinstance(event, Stored) for key in event.keys]:
            if not index_told.is_stored_once(self._counted[entry], len(carriers.get(entry, ()))):
                return self._broken("EVENTS.ONCE", f"{entry} is stored {self._counted[entry]} times, blocks {carriers[entry]} carry it")
        if self._is_told_by_keys and not index_told.needs_no_count(self._kept, carriers.keys()):
            return self._broken("EVENTS.PLAIN", _difference(self._kept, carriers.keys()))
        return None

    def _broken(self, clause: str, because: str) -> Violation:
        return Violation(clause, because, self.name)


def _merged(index: dict[tuple[int, Key], Blocks]) -> dict[Entry, Blocks]:
    """The blocks behind each key, of whatever group."""
    merged: dict[Entry, Blocks] = {}
    for (_, key), blocks in index.items():
        merged[None, key] = (*merged.get((None, key), ()), *blocks)
    return merged


def _difference(known: Collection[Entry], found: Collection[Entry]) -> str:
    """What is known and cannot be found, and what can be found and is not known."""
    return f"known and not findable: {sorted(set(known) - set(found))}; findable and not known: {sorted(set(found) - set(known))}"
