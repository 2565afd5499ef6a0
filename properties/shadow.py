"""The shadow memory: what every physical block would contain after what the worker did, and the worker's own tables.

A block of attention holds one prefix up to some slot, so its contents are ``(group, prefix of its last slot, slots)``.
A block of Mamba holds a state, ``(group, prefix, 0)``.
None stands for garbage: never written, handed out anew, or overwritten out of order.
"""

from collections.abc import Callable, Sequence

from attrs import define, field

from kvwitness.model.calls import Blocks, Key, Observation
from kvwitness.model.request import Planned, Step

Contents = tuple[int, Key, int]
Ancestor = Callable[[Key, int], Key]
"""The prefix that lacks the last so many tokens of another."""


@define
class Worker:
    """A request as the worker sees it.

    Attributes:
        tables: Per group, the blocks it was told of; it never learns what the manager nulls.
        computed: Tokens computed, rejected drafts not counted.
        chain: One key per verified token.
        encoder: Encoder tokens.
        remembered: Mamba align, per group: the index where the state of the last step ran.
        accepted: Mamba, per group: drafts that the last step had accepted and that no copy has made good.
        claims: Per group, what each full block must hold, as far as it was asked for: the chain only grows.
    """

    tables: list[Blocks]
    computed: int
    chain: Sequence[Key]
    encoder: int = 0
    remembered: list[int | None] = field(init=False, factory=list)
    accepted: list[int] = field(init=False, factory=list)
    claims: list[list[tuple[int, Key]]] = field(init=False, repr=False, factory=list)

    def __attrs_post_init__(self) -> None:
        self.claims = [[] for _ in self.tables]
        self.remembered, self.accepted = [None] * len(self.tables), [0] * len(self.tables)


@define
class Record:
    """A planned step with a snapshot of the manager's state, taken when planning it ended.

    Attributes:
        step: What it computes.
        told: For admitted requests, the full tables they were told.
        taken: Blocks that were handed out while it was planned.
        chains: The verified tokens of each planned request when it was planned, for those that are gone when it executes.
        seen: The state right after planning.
    """

    step: Step
    told: dict[str, tuple[Blocks, ...]]
    taken: set[int]
    chains: dict[str, Sequence[Key]]
    seen: Observation


@define
class Shadow:
    """The memory.

    Attributes:
        sizes: Tokens a block, per group.
        ancestor: Decodes keys.
        blocks: The contents of every block, by id.
        full: The ``(group, prefix)`` that a block is known by once it is full or holds a state, by id.
        workers: The requests that the worker knows.
        rewritten: The blocks whose contents changed since the cached ones were judged.
    """

    sizes: list[int]
    ancestor: Ancestor
    blocks: list[Contents | None]
    full: list[tuple[int, Key] | None]
    workers: dict[str, Worker] = field(factory=dict)
    rewritten: set[int] = field(factory=set)

    def spoil(self, block: int) -> None:
        """Make a block garbage."""
        self.rewritten.add(block)
        self.blocks[block] = None
        self.full[block] = None

    def put_state(self, block: int, group: int, prefix: Key | None) -> None:
        """Write a Mamba state; None for one that belongs to rejected drafts."""
        if prefix is None:
            self.spoil(block)
        else:
            self.rewritten.add(block)
            self.blocks[block] = (group, prefix, 0)
            self.full[block] = (group, prefix)

    def put_tokens(self, block: int, group: int, chain: Sequence[Key], start: int, end: int, base: int) -> None:
        """Write tokens ``[start, end)`` into a block whose first slot is token ``base``; O(block) only where a rewrite must be decoded."""
        before, slot = self.blocks[block], start - base
        if end <= start and slot == 0:
            self.spoil(block)
            return
        if slot and not self.holds(block, group, chain, start, base):
            self.spoil(block)
            return
        if end <= start and before is not None and before[2] == slot:
            return
        self.rewritten.add(block)
        self.blocks[block] = (group, chain[end - 1], end - base)
        self.full[block] = (group, chain[end - 1]) if end - base == self.sizes[group] else None

    def holds(self, block: int, group: int, chain: Sequence[Key], end: int, base: int) -> bool:
        """Whether the slots of tokens ``[base, end)`` hold the prefix of ``chain``."""
        contents = self.blocks[block]
        if contents is None or contents[0] != group:
            return False
        spare = contents[2] - (end - base)
        if spare < 0:
            return False
        prefix = contents[1] if spare == 0 else self.ancestor(contents[1], spare)
        return bool(prefix == chain[end - 1])

    def holds_whole(self, worker: Worker, group: int, held: Blocks, first: int, end: int) -> bool:
        """Whether the full blocks at places ``[first, end)`` are held and all intact: a fast pass that does not say which is not."""
        told = worker.tables[group][first:end]
        if told != held[first:end] or len(told) < end - first:
            return False
        claims = worker.claims[group]
        if len(claims) < end:
            chain, size = worker.chain, self.sizes[group]
            claims.extend([(group, chain[(place + 1) * size - 1]) for place in range(len(claims), end)])
        full = self.full
        return [full[block] for block in told] == claims[first:end]

    def holds_state(self, block: int, group: int, prefix: Key) -> bool:
        """Whether the block holds the state after a prefix."""
        return self.blocks[block] == (group, prefix, 0)

    def begin(self, record: Record, chains: dict[str, Sequence[Key]]) -> list[tuple[Planned, Worker]]:
        """Step in: what was handed out becomes garbage, and the worker learns tables and verified tokens."""
        for block in record.taken:
            self.spoil(block)
        rows = []
        for planned in record.step:
            if planned.request in record.told:
                worker = Worker(list(record.told[planned.request]), planned.computed, (), encoder=planned.encoder)
                self.workers[planned.request] = worker
            else:
                worker = self.workers[planned.request]
                worker.tables = [table + tuple(blocks) for table, blocks in zip(worker.tables, planned.appended, strict=True)]
            worker.chain = chains.get(planned.request) or max(worker.chain, record.chains[planned.request], key=len)
            rows.append((planned, worker))
        return rows
