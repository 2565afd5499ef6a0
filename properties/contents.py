"""The contents oracle: when a token is computed, every place it reads holds exactly what its own prefix put there.

Steps execute in the order they were planned, each on the snapshot of its own planning; memory changes only then.
"""

from collections import deque
from collections.abc import Iterator, Sequence

from kvwitness.model import contents
from kvwitness.model.calls import Blocks, Key
from kvwitness.model.kinds import Config
from kvwitness.model.request import Planned
from kvwitness.properties.shadow import Ancestor, Record, Shadow, Worker
from kvwitness.properties.states import is_alone, state_workers
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

NAME = "contents"
Faults = Iterator[Violation]
Live = tuple[Planned, Worker, int]


class Contents:
    """Executes planned steps on the shadow memory and judges every read, every write and every key."""

    name = NAME

    def __init__(self, config: Config, ancestor: Ancestor) -> None:
        """Judge pools of this configuration; ``ancestor`` decodes keys."""
        self._config = config
        self._groups = range(len(config.groups))
        self._sizes = [config.block_of(group) for group in self._groups]
        self._shadow = Shadow(self._sizes, ancestor, [None] * config.blocks, [None] * config.blocks)
        self._told: dict[str, tuple[Blocks, ...]] = {}
        self._taken: set[int] = set()
        self._loading: set[str] = set()
        self._chains: dict[str, Sequence[Key]] = {}
        self._records: deque[Record] = deque()
        self._intact_keys: Sequence[tuple[int, Key] | None] = ()
        self._states = state_workers(config, self._shadow)
        self._encoder_groups = [group for group in self._groups if config.groups[group].kind == "cross"]
        self._token_groups = [group for group in self._groups if config.groups[group].kind not in ("mamba", "cross")]

    def judge(self, view: View) -> Violation | None:
        """The first broken clause, or None."""
        event = view.event
        if event.planned is not None:
            self._note_plan(view, event.planned)
        if view.closed is not None:
            seen = view.before if view.executed is not None or event.kind == "reset" else view.after
            self._records.append(Record(view.closed, self._told, self._taken, self._chains, seen))
            self._told, self._taken, self._chains = {}, set(), {}
        if view.executed is not None:
            return next(self._execute(view, self._records.popleft()), None)
        if event.kind == "arrived":
            return next(self._load(event.request, self._arrived_range(event.request), view.before.tables or ()), None)
        return None

    def _note_plan(self, view: View, planned: Planned) -> None:
        """Remember what the worker will be told, and which blocks were handed out for it."""
        held = tuple(tables.get(planned.request, ()) for tables in view.after.tables or ())
        self._chains[planned.request] = view.caller.requests[planned.request].chain
        if planned.admitted and not self._was_loaded(view, planned):
            self._told[planned.request] = held
            for group in self._groups:
                hits = view.event.hits[group] if view.event.hits else ()
                self._taken.update(block for block in held[group] if block and block not in hits)
            return
        for group, kind in enumerate(self._config.groups):
            kept = kind.drafts if kind.label == "mamba-align" else 0
            before = (view.before.tables or ())[group].get(planned.request, ())
            moved = before[len(before) - kept :] if kept else ()
            self._taken.update(block for block in planned.appended[group] if block and block not in moved)

    def _was_loaded(self, view: View, planned: Planned) -> bool:
        """Whether the worker knows the request already: its external tokens arrived before it was planned."""
        if view.event.kind == "loading":
            self._loading.add(planned.request)
            return False
        was_loaded = planned.request in self._loading
        self._loading.discard(planned.request)
        return was_loaded

    def _execute(self, view: View, record: Record) -> Faults:
        """The phases of a step: loads, Mamba reads and copies, writes, attention reads, sampling, cached contents."""
        requests = view.caller.requests
        chains = {name: requests[name].chain for name in [planned.request for planned in record.step] if name in requests}
        rows = self._shadow.begin(record, chains)
        tables, seen = record.seen.tables or (), record.seen
        for planned, _ in rows:
            if planned.external[1] > planned.external[0] and planned.new:
                yield from self._load(planned.request, planned.external, tables)
        live = [(planned, worker, self._accepted(planned, worker)) for planned, worker in rows if planned.new]
        judged = {name for name in chains if requests[name].status == "running"}
        yield from self._work(live, record, judged)
        for planned, worker, accepted in live:
            worker.computed += planned.new - planned.drafts + accepted
        for name in {planned.request for planned in record.step} - set(requests):
            self._forget(name)
        if seen.keys is not None:
            yield from self._judge_cached(seen.keys)

    def _work(self, live: list[Live], record: Record, judged: set[str]) -> Faults:
        """What all groups do in one step, phase by phase: nobody reads attention before everybody has written."""
        for states in self._states:
            yield from states.read_all(live, record, judged)
        yield from self._write_all(live, record)
        for states in self._states:
            yield from states.write_all(live, record)
        yield from self._read_all([row for row in live if row[0].request in judged], record)
        for states in self._states:
            yield from states.keep_all(live, record)

    def _write_all(self, live: list[Live], record: Record) -> Faults:
        for planned, worker, accepted in live if self._token_groups else ():
            yield from self._write(planned, worker, accepted, record)
        for planned, worker, _ in live if self._encoder_groups else ():
            yield from self._write_encoder(planned, worker, record)

    def _read_all(self, live: list[Live], record: Record) -> Faults:
        for planned, worker, accepted in live if self._token_groups else ():
            yield from self._read(planned, worker, accepted, record)
        for planned, worker, _ in live if self._encoder_groups else ():
            yield from self._read_encoder(planned, worker, record)

    def _forget(self, name: str) -> None:
        """A freed request is forgotten once no planned step names it any more."""
        if not any(planned.request == name for record in self._records for planned in record.step):
            self._shadow.workers.pop(name, None)

    def _accepted(self, planned: Planned, worker: Worker) -> int:
        """How many of the step's drafts turned out right: as many as became verified tokens."""
        if not planned.drafts:
            return 0
        verified = worker.computed + planned.new - planned.drafts
        return max(0, min(planned.drafts, len(worker.chain) - 1 - verified))

    def _arrived_range(self, name: str) -> tuple[int, int]:
        return 0, self._shadow.workers[name].computed

    def _load(self, name: str, external: tuple[int, int], tables: Sequence[dict[str, Blocks]]) -> Faults:
        """The connector fills every real block of the external tokens; what lies wholly outside the window may be null."""
        worker, (start, end) = self._shadow.workers[name], external
        for group in self._token_groups:
            size = self._sizes[group]
            first = contents.first_read_block(self._config.groups[group], end, size)
            table = worker.tables[group]
            held = tables[group].get(name, ())
            for place in range(start // size, -(-end // size)):
                block = table[place] if place < len(table) else None
                if place < first and not block:
                    continue
                if not contents.is_writable(block, held[place] if place < len(held) else None):
                    yield self._fault("CONTENTS.WRITE.PRESENT", f"{name} loads place {place} of its table {list(table)}, held {list(held)}")
                    return
                assert block is not None
                base = place * size
                if max(start, base) == base:
                    self._shadow.put_tokens(block, group, worker.chain, base, min(end, base + size), base)

    def _write(self, planned: Planned, worker: Worker, accepted: int, record: Record) -> Faults:
        """Every computed token writes its slot; slots of rejected drafts are garbage."""
        start, end = worker.computed, worker.computed + planned.new
        verified = min(end - planned.drafts + accepted, len(worker.chain))
        for group in self._token_groups:
            size = self._sizes[group]
            table, held = worker.tables[group], self._held(record, group, planned.request)
            for place in range(start // size, (end - 1) // size + 1):
                block = table[place] if place < len(table) else None
                manager = held[place] if held is not None and place < len(held) else None
                if held is not None and not contents.is_writable(block, manager):
                    what = f"{planned.request} writes place {place}: worker's block {block}, manager's {manager}"
                    yield self._fault("CONTENTS.WRITE.PRESENT", what)
                if not block:
                    continue
                if held is not None and not is_alone(record, block):
                    yield self._fault("CONTENTS.WRITE.ALONE", f"{planned.request} writes block {block}, which others hold too")
                base = place * size
                self._shadow.put_tokens(block, group, worker.chain, max(start, base), min(verified, base + size), base)

    def _held(self, record: Record, group: int, name: str) -> Blocks | None:
        """The manager's table when the step was planned; None where the request had left by then."""
        return record.seen.tables[group].get(name) if record.seen.tables is not None else None

    def _read(self, planned: Planned, worker: Worker, accepted: int, record: Record) -> Faults:
        """The tokens from the first needed one up to the last verified one are read through the worker's table."""
        shadow, chain = self._shadow, worker.chain
        end = min(worker.computed + planned.new - planned.drafts + accepted, len(chain))
        for group in self._token_groups:
            size = self._sizes[group]
            first = contents.first_read_block(self._config.groups[group], worker.computed, size)
            table, held = worker.tables[group], self._held(record, group, planned.request) or ()
            whole = max(first, end // size)
            intact_up_to = whole if shadow.holds_whole(worker, group, held, first, whole) else first
            for place in range(intact_up_to, -(-end // size)):
                block = table[place] if place < len(table) else None
                base = place * size
                if not block:
                    yield self._fault("CONTENTS.READ.PRESENT", f"{planned.request} reads place {place} of its table {list(table)}")
                    continue
                intact = shadow.holds(block, group, chain, min(end, base + size), base)
                still = place < len(held) and held[place] == block
                if not intact or not still:
                    yield self._explain_read(planned.request, place, block, intact=intact, still=still)

    def _explain_read(self, name: str, place: int, block: int, *, intact: bool, still: bool) -> Violation:
        found = self._shadow.blocks[block]
        holds = "garbage" if found is None else f"prefix {found[1]} of group {found[0]} up to slot {found[2]}"
        text = f"{name} reads place {place} in block {block}, which holds {holds}"
        if not contents.is_held_or_intact(still, intact):
            return self._fault("CONTENTS.READ.FREED", text + " and which it no longer holds")
        if not intact:
            return self._fault("CONTENTS.READ.OWN", text)
        return self._fault("CONTENTS.READ.LATENT", f"{name} reads place {place} in block {block}, which it no longer holds")

    def _write_encoder(self, planned: Planned, worker: Worker, record: Record) -> Faults:
        """The encoder's entries are written in the step that admits the request; entry i is the request's own."""
        for group in self._encoder_groups if planned.encoder else ():
            table = worker.tables[group]
            for place in range(-(-planned.encoder // self._sizes[group])):
                block = table[place] if place < len(table) else None
                if not contents.is_present(block):
                    yield self._fault("CONTENTS.WRITE.PRESENT", f"{planned.request} writes encoder place {place} of {list(table)}")
                    continue
                assert block is not None
                if not is_alone(record, block):
                    yield self._fault("CONTENTS.WRITE.ALONE", f"{planned.request} writes block {block}, which others hold too")
                self._shadow.put_state(block, group, _encoder_tag(planned.request, place))

    def _read_encoder(self, planned: Planned, worker: Worker, record: Record) -> Faults:
        for group in self._encoder_groups:
            table, held = worker.tables[group], self._held(record, group, planned.request) or ()
            for place in range(-(-worker.encoder // self._sizes[group])):
                block = table[place] if place < len(table) else None
                if not block:
                    yield self._fault("CONTENTS.READ.PRESENT", f"{planned.request} reads encoder place {place} of {list(table)}")
                    continue
                intact = self._shadow.holds_state(block, group, _encoder_tag(planned.request, place))
                still = place < len(held) and held[place] == block
                if not intact or not still:
                    yield self._explain_read(planned.request, place, block, intact=intact, still=still)

    def _judge_cached(self, keys: Sequence[tuple[int, Key] | None]) -> Faults:
        """Every key that was there when the step was planned says the truth now that it is executed."""
        full, rewritten = self._shadow.full, self._shadow.rewritten
        if keys is self._intact_keys and all([keys[block] is None or keys[block] == full[block] for block in rewritten]):
            rewritten.clear()
            return
        if all([key is None or key == known for key, known in zip(keys, full, strict=True)]):
            self._intact_keys = keys
            rewritten.clear()
            return
        for block, key in enumerate(keys):
            if not contents.holds_what_key_claims(key, full[block]):
                assert key is not None
                found = self._shadow.blocks[block]
                holds = "garbage" if found is None else f"prefix {found[1]} up to slot {found[2]}"
                yield self._fault("CONTENTS.CACHED", f"block {block} carries the key of prefix {key[1]} and holds {holds}")

    @staticmethod
    def _fault(clause: str, because: str) -> Violation:
        return Violation(clause, because, NAME)


def _encoder_tag(name: str, place: int) -> Key:
    """A tag for the encoder entries of one request's block: no other request has it."""
    return -1 - (hash_name(name) * 4096 + place)


def hash_name(name: str) -> int:
    """A number for a name, the same in every process."""
    return int.from_bytes(name.encode(), "big")
