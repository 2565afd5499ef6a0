"""Releasing skipped blocks, as a scenario for `paths`: exactly what no later token reads becomes null."""

from typing import Any

from attrs import frozen

from kvwitness.model.kinds import Kind
from kvwitness.model.need import num_skipped_blocks
from kvwitness.proofs.engines.managers_on_paths import Sources, sized
from kvwitness.proofs.engines.paths import World


@frozen
class Skipping:
    """A request that computes in two steps: what is skipped after each is released, and nothing else.

    Attributes:
        kind: The kind's name; its sizes are unknown.
        sources: Whose manager.
        most_blocks: Blocks that the request may need.
    """

    kind: Kind
    sources: Sources
    most_blocks: int

    def __call__(self, world: World) -> str:
        """What is wrong with the table, or nothing."""
        block = world.integer("block size", 1)
        sizes = [world.integer(f"tokens of step {step}", 1) for step in range(2)]
        world.assume(sizes[0] + sizes[1] <= self.most_blocks * block)
        kind = sized(world, self.kind, block, sizes[0] + sizes[1])
        manager = self.sources.manager(kind, block, self.most_blocks + 2, caching=True)
        total = sizes[0] + sizes[1]
        manager.allocate_new_blocks("r", total, total)
        for computed in (sizes[0], total):
            wrong = self._after(manager, kind, block, computed)
            if wrong:
                return wrong
        return ""

    def _after(self, manager: Any, kind: Kind, block: Any, computed: Any) -> str:
        """What is wrong with the table after so many computed tokens."""
        pool, before = manager.block_pool, list(manager.req_to_blocks["r"])
        free = pool.get_num_free_blocks()
        manager.remove_skipped_blocks("r", computed)
        skipped = num_skipped_blocks(kind, computed, block)
        expected = [pool.null_block if place < skipped else each for place, each in enumerate(before)]
        after = list(manager.req_to_blocks["r"])
        if len(after) != len(expected) or any(one is not other for one, other in zip(after, expected, strict=True)):
            return f"{self._nulls(after, pool)} of {len(after)} blocks are null, and {self._nulls(expected, pool)} are skipped"
        released = pool.get_num_free_blocks() - free
        given = self._nulls(after, pool) - self._nulls(before, pool)
        return "" if released == given else f"{released} blocks are released, and {given} left the table"

    @staticmethod
    def _nulls(table: list[Any], pool: Any) -> int:
        return sum(each is pool.null_block for each in table)


__all__ = ["Skipping"]
