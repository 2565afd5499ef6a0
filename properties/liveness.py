"""The liveness oracle: what is published is found, a refusal has a reason, an idle cache can be reset."""

from kvwitness.model import liveness
from kvwitness.model.calls import Blocks, Call
from kvwitness.model.hits import hit_table, longest_hit, serves_a_hit
from kvwitness.model.kinds import Config
from kvwitness.model.need import num_skipped_blocks
from kvwitness.model.profile import SOUND
from kvwitness.properties.operations import Reset, Share
from kvwitness.properties.view import View
from kvwitness.properties.violation import Violation

NAME = "liveness"


class Liveness:
    """Judges look-ups, refusals and resets by the clauses of `kvwitness.model.liveness`, from what the port itself shows."""

    name = NAME

    def __init__(self, config: Config, *, sees_each_operation: bool = True) -> None:
        """Judge pools of this configuration; what a release or a publishing left is judged only where each operation is looked at."""
        self._sees_each_operation = sees_each_operation
        self._config = config

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
        drops = config.draft_model and config.kind.kind != "mamba"
        for group, (counts, table) in enumerate(zip(after, [tables.get(request, ()) for tables in view.after.tables or ()], strict=True)):
            first = before[group].get(request, 0) if before else 0
            for place in range(first, min(counts.get(request, 0), len(table))):
                keyed = not table[place] or (view.after.keys or ())[table[place]] is not None
                if keyed or liveness.needed_is_published(
                    keyed, serves_a_hit(config.kind, place, config.tokens_per_block, alignment=config.hit_alignment, draft_drop=drops)
                ):
                    continue
                return Violation("LIVE.PUBLISHED", f"block {table[place]} at place {place} of {request} is full and carries no key", NAME)
        return None

    def _judge_released(self, tables: tuple[dict[str, Blocks], ...], request: str, num_computed_tokens: int) -> Violation | None:
        end = num_skipped_blocks(self._config.kind, num_computed_tokens, self._config.tokens_per_block)
        for table in [group.get(request, ())[:end] for group in tables]:
            if not liveness.skipped_is_released(table):
                because = f"after a release at {num_computed_tokens} tokens {request} holds {[block for block in table if block]}"
                return Violation("LIVE.RELEASED", f"{because} before the first token still needed", NAME)
        return None

    def _judge_hit(self, view: View, call: Call, hits: tuple[Blocks, ...]) -> Violation | None:
        """Cap, alignment, coverage, keys, and that nothing longer was there to be found."""
        config, (keys, max_length) = self._config, call.arguments
        block, index = config.tokens_per_block, view.before.index or {}
        lengths = tuple(len(hit) for hit in hits)
        if not liveness.every_group_covers(lengths):
            return Violation("LIVE.HIT.COVERED", f"the groups' hits have {lengths} blocks", NAME)
        length = lengths[0] * block
        if not liveness.hit_keeps_cap(length, max_length, config.hit_alignment):
            return Violation("LIVE.HIT.CAP", f"the hit is {length} tokens, cap {max_length}, alignment {config.hit_alignment}", NAME)
        nulls, _ = hit_table(config.kind, SOUND, block, length)
        for group, hit in enumerate(hits):
            for place, found in enumerate(hit):
                if found == 0 and not liveness.null_only_where_skipped(place, nulls):
                    return Violation("LIVE.HIT.NULLS", f"place {place} of the hit {list(hit)} is null and will be read", NAME)
                if found and not liveness.hit_is_published(found, index.get((group, keys[place]), ())):
                    return Violation("LIVE.HIT.KEYED", f"place {place} of the hit is block {found}, which does not carry its key", NAME)
        return self._judge_length(keys, max_length, length, index)

    def _judge_length(self, keys: Blocks, max_length: int, length: int, index: dict[tuple[int, int], Blocks]) -> Violation | None:
        config, groups = self._config, range(len(self._config.groups))
        required = longest_hit(
            config.kind,
            SOUND,
            config.tokens_per_block,
            max_length=max_length,
            alignment=config.hit_alignment,
            draft_drop=config.draft_model,
            is_cached=lambda place: all((group, keys[place]) in index for group in groups),
        )
        if liveness.required_hit_is_found(length, required):
            return None
        return Violation("LIVE.HIT.FOUND", f"the hit is {length} tokens and {required} are published and usable", NAME)

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
            worst += max(liveness.worst_need(self._config, slots, main, encoder, held), hit_blocks)
        if liveness.refusal_is_justified(worst, free[0], self._put_off(view, hits)):
            return None
        return Violation("LIVE.REFUSAL", f"{request} needs at most {worst} blocks, {free[0]} are free, and it was refused", NAME)

    def _put_off(self, view: View, hits: tuple[Blocks, ...]) -> bool:
        """Whether a hit is a Mamba state that the step being planned has yet to compute."""
        if self._config.kind.kind != "mamba" or not view.caller.open:
            return False
        ours = {planned.request for planned in view.caller.open}
        for tables, hit in zip(view.before.tables or (), hits, strict=False):
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
