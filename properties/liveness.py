"""The liveness oracle: what is published is found, a refusal has a reason, an idle cache can be reset."""

from collections.abc import Sequence

from kvwitness.model import hybrid, liveness
from kvwitness.model.calls import Blocks, Call, Key
from kvwitness.model.hits import hit_table, serves_a_hit
from kvwitness.model.hybrid import Part
from kvwitness.model.kinds import Config
from kvwitness.model.need import num_skipped_blocks
from kvwitness.model.profile import SOUND
from kvwitness.properties.operations import Reset, Share
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

NAME = "liveness"
Index = dict[tuple[int, Key], Blocks]


class Liveness:
    """Judges look-ups, refusals and resets by the clauses of `kvwitness.model.liveness`, from what the port itself shows."""

    name = NAME

    def __init__(self, config: Config, *, sees_each_operation: bool = True) -> None:
        """Judge pools of this configuration; what a release or a publishing left is judged only where each operation is looked at."""
        self._sees_each_operation = sees_each_operation
        self._config = config
        self._blocks = [config.block_of(group) for group in range(len(config.groups))]

    def judge(self, view: View) -> Violation | None:
        """The first broken clause, or None."""
        first = view.calls[0][0].name if view.calls else ""
        if view.before.index is not None and (first in ("find_longest_cache_hit", "new_step_starts")):
            for call, outcome in view.calls[:2]:
                if call.name == "find_longest_cache_hit" and outcome.status == "ok":
                    broken = self._judge_hit(view, call, outcome.value)
                    if broken:
                        return broken
        broken = self._judge_kept(view) if self._sees_each_operation else None
        if broken:
            return broken
        if view.event.kind == "refused":
            return self._judge_refusal(view)
        if isinstance(view.operation, Reset) and view.event.kind == "reset":
            idle = not any(any(table) for tables in view.after.tables or () for table in tables.values())
            if not liveness.idle_reset_succeeds(idle, view.event.done):
                state = "no request holds a block" if idle else "requests hold blocks"
                return Violation("LIVE.RESET", f"{state} and the reset returned {view.event.done}", NAME)
        if isinstance(view.operation, Share) and view.event.kind == "probed":
            return self._judge_common(view)
        return None

    def _judge_kept(self, view: View) -> Violation | None:
        """Nothing that is needed goes without a key, and nothing is held that is not needed."""
        for call, outcome in view.calls:
            if outcome.status != "ok" or view.after.tables is None:
                continue
            if call.name == "cache_blocks" and view.after.published and view.after.keys:
                broken = self._judge_published(view, call.arguments[0])
            elif call.name == "remove_skipped_blocks":
                broken = self._judge_released(view.after.tables, *call.arguments)
            else:
                continue
            if broken:
                return broken
        return None

    def _judge_published(self, view: View, request: str) -> Violation | None:
        """Of the blocks that have just begun to count as published, those that a hit can need carry a key."""
        config, before, after = self._config, view.before.published or (), view.after.published or ()
        for group, (counts, table) in enumerate(zip(after, [tables.get(request, ()) for tables in view.after.tables or ()], strict=True)):
            first, kind = before[group].get(request, 0) if before else 0, config.groups[group]
            for place in range(first, min(counts.get(request, 0), len(table))):
                keyed = not table[place] or (view.after.keys or ())[table[place]] is not None
                drops = hybrid.drops(kind, config.draft_model)
                if keyed or liveness.needed_is_published(
                    keyed, serves_a_hit(kind, place, self._blocks[group], alignment=config.hit_alignment, draft_drop=drops)
                ):
                    continue
                return Violation("LIVE.PUBLISHED", f"block {table[place]} at place {place} of {request} is full and carries no key", NAME)
        return None

    def _judge_released(self, tables: tuple[dict[str, Blocks], ...], request: str, num_computed_tokens: int) -> Violation | None:
        for kind, block, group in zip(self._config.groups, self._blocks, tables, strict=True):
            table = group.get(request, ())[: num_skipped_blocks(kind, num_computed_tokens, block)]
            if not liveness.skipped_is_released(table):
                because = f"after a release at {num_computed_tokens} tokens {request} holds {[block for block in table if block]}"
                return Violation("LIVE.RELEASED", f"{because} before the first token still needed", NAME)
        return None

    def _judge_hit(self, view: View, call: Call, hits: tuple[Blocks, ...]) -> Violation | None:
        """Cap, alignment, coverage, keys, and that nothing longer was there to be found."""
        config, (keys, max_length), index = self._config, call.arguments, view.before.index or {}
        lengths = tuple(len(hit) * block for hit, block in zip(hits, self._blocks, strict=True))
        if not liveness.every_group_covers(lengths):
            return Violation("LIVE.HIT.COVERED", f"the groups' hits have {lengths} tokens", NAME)
        length = lengths[0]
        if not liveness.hit_keeps_cap(length, max_length, config.hit_alignment):
            return Violation("LIVE.HIT.CAP", f"the hit is {length} tokens, cap {max_length}, alignment {config.hit_alignment}", NAME)
        parts = []
        for group, hit in enumerate(hits):
            mine = hybrid.keys_of_group(keys, self._blocks[group], config.tokens_per_block)
            broken = self._judge_blocks(group, hit, length, mine, index)
            if broken:
                return broken
            parts.append(self._part(group, mine, index))
        return self._judge_length(parts, max_length, length)

    def _judge_blocks(self, group: int, hit: Blocks, length: int, keys: Sequence[Key], index: Index) -> Violation | None:
        """A group's part of a hit has null only where nothing is read, and else blocks that carry their keys."""
        nulls, _ = hit_table(self._config.groups[group], SOUND, self._blocks[group], length)
        for place, found in enumerate(hit):
            if found == 0 and not liveness.null_only_where_skipped(place, nulls):
                return Violation("LIVE.HIT.NULLS", f"place {place} of the hit {list(hit)} is null and will be read", NAME)
            if found and not liveness.hit_is_published(found, index.get((group, keys[place]), ())):
                return Violation("LIVE.HIT.KEYED", f"place {place} of the hit is block {found}, which does not carry its key", NAME)
        return None

    def _part(self, group: int, keys: Sequence[Key], index: Index) -> Part:
        """A group with what of it is published."""
        return Part(self._config.groups[group], self._blocks[group], lambda place: place < len(keys) and (group, keys[place]) in index)

    def _judge_length(self, parts: Sequence[Part], max_length: int, length: int) -> Violation | None:
        """Nothing longer was there to be found, and mixed groups leave a draft model its block."""
        config = self._config
        required = hybrid.longest_common(
            parts, SOUND, max_length=max_length, alignment=config.hit_alignment, draft_model=config.draft_model
        )
        if not liveness.required_hit_is_found(length, required):
            clause = "HYBRID.HIT.LONGEST" if config.is_hybrid else "LIVE.HIT.FOUND"
            return Violation(clause, f"the hit is {length} tokens and {required} are published and usable", NAME)
        for part in parts if config.is_hybrid else ():
            if not hybrid.leaves_a_block(part, length, config.draft_model):
                because = f"the hit is {length} tokens, and the {part.kind.label} group has no block behind it"
                return Violation("HYBRID.HIT.DROP-ONCE", because, NAME)
        return None

    def _judge_refusal(self, view: View) -> Violation | None:
        """A refusal must have had a reason; a planner that put off an unaligned chunk asked for no blocks."""
        arguments = [call.arguments for call, _ in view.calls if call.name == "get_num_blocks_to_allocate"]
        free = [outcome.value for call, outcome in view.calls if call.name == "get_num_free_blocks"]
        if not arguments or view.before.tables is None:
            return None
        request, slots, hits, _, main, encoder = arguments[0]
        worst = 0
        for group, tables in enumerate(view.before.tables):
            held = len(tables.get(request, ()))
            hit_blocks = sum(map(bool, hits[group])) if hits else 0
            kind, block = self._config.groups[group], self._blocks[group]
            worst += max(liveness.worst_need(kind, block, slots, main, encoder, held), hit_blocks)
        if liveness.refusal_is_justified(worst, free[0], self._put_off(view, hits)):
            return None
        return Violation("LIVE.REFUSAL", f"{request} needs at most {worst} blocks, {free[0]} are free, and it was refused", NAME)

    def _put_off(self, view: View, hits: tuple[Blocks, ...]) -> bool:
        """Whether a hit is a Mamba state that the step being planned has yet to compute."""
        if not self._config.has("mamba") or not view.caller.open:
            return False
        ours = {planned.request for planned in view.caller.open}
        for kind, tables, hit in zip(self._config.groups, view.before.tables or (), hits, strict=False):
            if kind.kind != "mamba":
                continue
            mine = {block for request, table in tables.items() if request in ours for block in table}
            if not mine.isdisjoint(block for block in hit if block):
                return True
        return False

    def _judge_common(self, view: View) -> Violation | None:
        for tables, common in zip(view.after.tables or (), view.calls[-1][1].value, strict=False):
            prefixes = frozenset(table[:common] for table in tables.values())
            if not liveness.common_prefix_is_common(prefixes):
                return Violation("LIVE.COMMON", f"{common} blocks are called common to {sorted(prefixes)}", NAME)
        return None
