"""The preconditions of the call protocol: what a caller may ask, each a clause of its own.

A generator that broke them would find nonsense; illegal calls are tested apart, by their outcome.
"""

from math import lcm

from kvwitness.model.clauses import clause
from kvwitness.model.kinds import Config
from kvwitness.model.profile import Profile
from kvwitness.model.request import Request, Step, in_flight_of


@clause("CALLER.REQUEST.KNOWN", level="caller")
def is_known(requests: dict[str, Request], request: str) -> bool:
    """A request is planned, preempted or freed only while it exists."""
    return request in requests


@clause("CALLER.REQUEST.NEW", level="caller")
def is_new(used: frozenset[str], request: str) -> bool:
    """A request's id is never used again."""
    return request not in used


@clause("CALLER.REQUEST.STATUS", level="caller")
def has_status(request: Request, *allowed: str) -> bool:
    """Only running or loaded requests grow, only running ones are asked about, only preempted ones resume, only loading ones are loaded."""
    return request.status in allowed


@clause("CALLER.LENGTH", level="caller", source="get_num_blocks_to_allocate, allocate_new_blocks")
def fits_length(config: Config, num_tokens: int) -> bool:
    """A request has one token or more and stays within the longest length."""
    return 1 <= num_tokens <= config.max_model_len


@clause("CALLER.CHUNK", level="caller", source="allocate_new_blocks")
def chunk_is_known(request: Request, new: int, drafts: int) -> bool:
    """A step computes one token or more, none beyond what is known, and drafts only behind all that is known."""
    known = request.num_tokens + request.placeholders - request.computed
    return drafts < new and (new == known + drafts if drafts else 1 <= new <= known)


@clause("CALLER.DRAFTS", level="caller", source="MambaManager.allocate_new_blocks")
def drafts_fit(config: Config, drafts: int) -> bool:
    """A step carries at most as many drafts as are configured."""
    return 0 <= drafts <= config.drafts


@clause("CALLER.STATE-ROW", level="caller", source="MambaManager.allocate_new_blocks")
def state_row_keeps_drafts(config: Config, request: Request, drafts: int, steps: tuple[Step, ...]) -> bool:
    """A Mamba request that may just have had drafts accepted is planned with a draft again: the state it continues from
    lies in a speculative block.
    """
    if not config.has("mamba") or drafts:
        return True
    return request.accepted == 0 and not any(planned.drafts for planned in in_flight_of(request.id, steps))


@clause("CALLER.EXTERNAL", level="caller", source="allocate_new_computed_blocks")
def external_is_supported(config: Config, external: int) -> bool:
    """External tokens are loaded only where prefix caching is on and the entries of all groups are a token's own: not
    for Mamba, not for cross attention.
    """
    return external == 0 or (config.caching and not config.has("mamba", "cross"))


@clause("CALLER.ENCODER", level="caller", source="CrossAttentionManager.allocate_new_computed_blocks")
def encoder_fits_kind(config: Config, encoder: int) -> bool:
    """Encoder tokens come at admission, and only with cross attention."""
    return (encoder > 0) == config.has("cross")


@clause("CALLER.RESUME.JUDGED", level="caller")
def nothing_in_flight(request: Request, steps: tuple[Step, ...]) -> bool:
    """A preempted request is readmitted, and a loading one receives its load, once the steps that name it are executed."""
    return not in_flight_of(request.id, steps)


@clause("CALLER.DEPTH", level="caller", source="new_step_starts")
def depth_allows(config: Config, steps: tuple[Step, ...]) -> bool:
    """At most so many steps are planned before the oldest of them is executed and judged."""
    return len(steps) < config.depth


@clause("CALLER.EXECUTE", level="caller")
def has_planned(steps: tuple[Step, ...]) -> bool:
    """A step is executed only after it was planned, the oldest first."""
    return bool(steps)


@clause("CALLER.OUTPUTS", level="caller")
def outputs_fit(drafts: int, outputs: int) -> bool:
    """A step that samples yields the tokens of the drafts it had accepted, and one more."""
    return 1 <= outputs <= drafts + 1


@clause("CALLER.STEP.ONCE", level="caller")
def planned_once(open_step: Step, request: str) -> bool:
    """A step plans a request once."""
    return request not in [planned.request for planned in open_step]


@clause("CALLER.PREEMPT.BEFORE-ADMISSION", level="caller")
def may_leave_plan(open_step: Step, request: str) -> bool:
    """A request planned in the open step leaves it only while the step admits nobody: an admitted one may have hit its blocks."""
    return all(planned.request != request for planned in open_step) or not any(planned.admitted for planned in open_step)


@clause("CALLER.STRICT.RUNNING-FIRST", level="caller")
def running_first(open_step: Step) -> bool:
    """Strict: running requests are planned before waiting ones."""
    return not any([planned.admitted for planned in open_step])


@clause("CALLER.STRICT.ADMISSION", level="caller")
def may_admit(preempted: bool) -> bool:
    """Strict: a step that preempted a request admits none."""
    return not preempted


@clause("CALLER.STRICT.PREEMPTION", level="caller")
def may_preempt(refused: bool) -> bool:
    """Strict: a request is preempted because one that runs was refused."""
    return refused


@clause("CALLER.ALIGN.SPLIT", level="caller", source="MambaManager.find_longest_cache_hit")
def split_keeps_blocks(config: Config, profile: Profile, request: Request, new: int) -> bool:
    """A Mamba align chunk ends on a block boundary, but for the one that starts at or behind the last position worth
    keeping a state for.
    """
    return aligned_chunk(config, profile, request, new) == new


def align_blocks(config: Config) -> tuple[int, ...]:
    """The blocks, in tokens, of the groups in Mamba's mode align."""
    return tuple([config.block_of(number) for number, kind in enumerate(config.groups) if kind.label == "mamba-align"])


def aligned_chunk(config: Config, profile: Profile, request: Request, new: int) -> int:
    """The tokens of a planned chunk that mode align lets through; 0 puts the request off."""
    blocks = align_blocks(config)
    return let_through(blocks, profile, request, new, draft_model=config.draft_model) if blocks else new


def let_through(blocks: tuple[int, ...], profile: Profile, request: Request, new: int, *, draft_model: bool) -> int:
    """The tokens of a chunk that align groups with such blocks let through.

    The last position worth keeping is the last whole block of the prefill, one lower under a draft model, whose hits drop a block.
    Up to there chunks end where every group has whole blocks; behind it a chunk stays in each block that it starts inside of.
    """
    if (request.outputs > 0 and profile.resumed_split == "unsplit") or request.computed >= request.prefill:
        return new
    block = blocks[0] if len(blocks) == 1 else lcm(*blocks)
    last = request.prefill // block * block
    if draft_model:
        last = max(last - block, 0)
    if request.computed >= last and profile.tail_chunks == "end_at_blocks":
        for own in blocks:
            inside = request.computed % own
            new = min(new, own - inside) if inside else new
        return new
    after = request.computed + new
    if after < last:
        return after // block * block - request.computed if after // block * block > request.computed else 0
    return last - request.computed if request.computed < last < after else new
