"""The worker of Mamba layers: which states a step reads, copies and writes."""

from collections.abc import Iterable, Iterator, Sequence

from kvwitness.model import contents
from kvwitness.model.calls import Blocks, Key
from kvwitness.model.kinds import Config, Kind
from kvwitness.model.request import Planned
from kvwitness.properties.shadow import Record, Shadow, Worker
from kvwitness.properties.violation import Violation

NAME = "contents"
Faults = Iterator[Violation]
Live = tuple[Planned, Worker, int]


class StateWorker:
    """Executes the Mamba part of a step on the shadow memory."""

    def __init__(self, config: Config, groups: Sequence[int], shadow: Shadow) -> None:
        """Work on this memory for these groups, which are of one kind and size."""
        self._kind = config.groups[groups[0]]
        self._block = config.block_of(groups[0])
        self._groups = groups
        self._first = groups[0]
        self._shadow = shadow

    def read_all(self, live: list[Live], record: Record, judged: set[str]) -> Faults:
        """All reads of all requests, and the copies that follow from them."""
        written = frozenset(self._written(live))
        copies: list[tuple[int, int, Key | None]] = []
        for planned, worker, _ in live:
            if worker.computed > 0:
                yield from self._read(planned, worker, record, copies, written if planned.request in judged else None)
        for block, group, prefix in copies:
            self._shadow.put_state(block, group, prefix)

    def write_all(self, live: list[Live], record: Record) -> Faults:
        """All writes of all requests."""
        for planned, worker, accepted in live:
            yield from self._write(planned, worker, accepted, record)

    def keep_all(self, live: list[Live], record: Record) -> Faults:
        """The copies after sampling, when the accepted drafts are known."""
        if self._kind.mode == "align":
            for planned, worker, accepted in live:
                yield from self._keep(planned, worker, accepted, record)
        elif self._kind.mode == "none":
            for _, worker, accepted in live:
                worker.accepted[self._first] = accepted

    def _written(self, live: list[Live]) -> Iterable[int]:
        """Every block that the step writes a state into."""
        for planned, worker, _ in live:
            for place, _ in contents.state_writes(self._kind, worker.computed, planned.new, planned.drafts, self._block):
                for table in [worker.tables[group] for group in self._groups]:
                    if place < len(table):
                        yield table[place]

    def _read(
        self, planned: Planned, worker: Worker, record: Record, copies: list[tuple[int, int, Key | None]], written: frozenset[int] | None
    ) -> Faults:
        """Read the state after ``n`` tokens where the last step left it; in mode align copy it to where this step runs."""
        n, accepted = worker.computed, worker.accepted[self._first]
        source = contents.source_state(self._kind, n, self._block, worker.remembered[self._first], accepted)
        running = contents.running_state(n, planned.new, self._block)
        moves = self._kind.mode == "align" and source - accepted != running
        for group in self._groups:
            table, held = worker.tables[group], _held(record, group, planned.request)
            block = table[source] if source < len(table) else None
            if n > len(worker.chain):
                continue
            prefix = worker.chain[n - 1]
            if written is not None:
                yield from self._judge_read(planned, source, block, group, prefix, held, written)
            if moves and block:
                target = table[running] if running < len(table) else None
                if target:
                    copies.append((target, group, prefix if self._shadow.holds_state(block, group, prefix) else None))
        if moves:
            worker.accepted[self._first] = 0

    def _judge_read(
        self, planned: Planned, place: int, block: int | None, group: int, prefix: Key, held: Blocks | None, written: frozenset[int]
    ) -> Faults:
        name = planned.request
        if not contents.is_present(block):
            yield Violation("CONTENTS.READ.PRESENT", f"{name} starts from the state at place {place}, which is null or missing", NAME)
            return
        assert block is not None
        intact = self._shadow.holds_state(block, group, prefix)
        still = held is not None and block in held
        if intact and still:
            return
        found = self._shadow.blocks[block]
        holds = "garbage" if found is None else f"the state of prefix {found[1]}"
        text = f"{name} starts from the state of prefix {prefix} at place {place} in block {block}, which holds {holds}"
        if not intact and planned.admitted and not contents.was_computed_before(block, written):
            yield Violation("MAMBA.HIT.COMPUTED", f"{text}: this same step computes it", NAME)
        elif not contents.is_held_or_intact(still, intact):
            yield Violation("CONTENTS.READ.FREED", f"{text} and which it no longer holds", NAME)
        elif not intact:
            yield Violation("CONTENTS.READ.OWN", text, NAME)
        else:
            yield Violation("CONTENTS.READ.LATENT", f"{text}, which it no longer holds", NAME)

    def _write(self, planned: Planned, worker: Worker, accepted: int, record: Record) -> Faults:
        """Write the states of the step; those behind the accepted drafts are garbage."""
        n, k, d = worker.computed, planned.new, planned.drafts
        verified = min(n + k - d + accepted, len(worker.chain))
        for place, tokens in contents.state_writes(self._kind, n, k, d, self._block):
            prefix = worker.chain[tokens - 1] if tokens <= verified else None
            yield from self._put(planned, worker, place, prefix, record)
        if self._kind.mode == "align":
            worker.remembered[self._first] = contents.running_state(n, k, self._block)
            worker.accepted[self._first] = accepted

    def _keep(self, planned: Planned, worker: Worker, accepted: int, record: Record) -> Faults:
        """After sampling, give the last whole block among the accepted tokens its state."""
        n, k, d = worker.computed, planned.new, planned.drafts
        kept = contents.state_kept(n, k, d, accepted, self._block)
        if kept is None:
            return
        source, destination = kept
        for group in self._groups:
            table = worker.tables[group]
            block = table[source] if source < len(table) else None
            found = self._shadow.blocks[block] if block else None
            prefix = found[1] if found is not None and found[0] == group else None
            yield from self._put(planned, worker, destination, prefix, record, groups=(group,))
        if destination == worker.remembered[self._first]:
            worker.accepted[self._first] = 0

    def _put(
        self, planned: Planned, worker: Worker, place: int, prefix: Key | None, record: Record, groups: Iterable[int] | None = None
    ) -> Faults:
        """Write one state into every group's block at a place, which must be there, held and not shared."""
        for group in self._groups if groups is None else groups:
            table, held = worker.tables[group], _held(record, group, planned.request)
            block = table[place] if place < len(table) else None
            if held is not None and not contents.is_writable(block, held[place] if place < len(held) else None):
                what = f"{planned.request} writes the state at place {place}: worker's block {block}, manager's table {list(held)}"
                yield Violation("CONTENTS.WRITE.PRESENT", what, NAME)
            if not block:
                continue
            if held is not None and not is_alone(record, block):
                yield Violation("CONTENTS.WRITE.ALONE", f"{planned.request} writes block {block}, which others hold too", NAME)
            self._shadow.put_state(block, group, prefix)


def _held(record: Record, group: int, name: str) -> Blocks | None:
    """The manager's table when the step was planned; None where the request had left by then."""
    return record.seen.tables[group].get(name) if record.seen.tables is not None else None


def is_alone(record: Record, block: int) -> bool:
    """Whether a written block has one holder, or a key that says what it must contain, as far as the port shows it."""
    seen = record.seen
    if seen.references is None or seen.keys is None:
        return True
    return contents.is_written_alone(seen.references[block], seen.keys[block] is not None)


def state_workers(config: Config, shadow: Shadow) -> list[StateWorker]:
    """A worker for the Mamba groups of each kind and size."""
    alike: dict[tuple[Kind, int], list[int]] = {}
    for group, kind in enumerate(config.groups):
        if kind.kind == "mamba":
            alike.setdefault((kind, config.block_of(group)), []).append(group)
    return [StateWorker(config, groups, shadow) for groups in alike.values()]
