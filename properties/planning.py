"""What can be asked of a real planner, as plain values that a trace file can hold, and how the planner is set.

A planner decides by itself who is planned, refused, preempted and resumed; from outside come requests, steps and their outputs.
`Execute`, `Arrive` and `Reset` are those of `kvwitness.properties.operations`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from attrs import field, frozen

from kvwitness.model.kinds import Config, ConfigError, Kind
from kvwitness.model.planning import (
    output_is_kept,
    planner_goes_on,
    planner_survives,
    stale_output_is_dropped,
    worker_is_told_the_table,
)
from kvwitness.properties.operations import Arrive, Execute, Reset
from kvwitness.properties.replay import Setting

Policy = Literal["fcfs", "priority"]

OWED = (planner_survives, worker_is_told_the_table, output_is_kept, stale_output_is_dropped, planner_goes_on)
"""What a planner owes besides what the oracles of any run judge."""

POLICIES: tuple[Policy, ...] = ("fcfs", "priority")


def _tokens(tokens: Iterable[int]) -> tuple[int, ...]:
    return tuple(tokens)


def _counts(drafts: Mapping[str, int]) -> dict[str, int]:
    return dict(drafts)


@frozen
class PlannerSettings:
    """How a planner is set, besides the sizes of its pool; steps planned ahead are the configuration's depth.

    Attributes:
        policy: Who goes first and who is preempted: by arrival or by priority.
        budget: Tokens that one step may compute.
        seats: Requests that may run at once.
        longest_chunk: Tokens of a prefill that one step may compute for one request; 0 for as many as the budget allows.
        reserve_full: Whether a request is admitted only if the pool has room for all its tokens.
        connector: Whether a connector can supply external tokens.
    """

    policy: Policy = "fcfs"
    budget: int = 64
    seats: int = 8
    longest_chunk: int = 0
    reserve_full: bool = False
    connector: bool = False

    def __attrs_post_init__(self) -> None:
        for name in ("budget", "seats"):
            if getattr(self, name) < 1:
                raise ConfigError(f"got {name} {getattr(self, name)}; allowed is 1 or more; enlarge it")


def least_blocks(config: Config, kind: Kind, group: int, tokens: int, budget: int) -> int:
    """Blocks that one request of so many tokens needs of a group, as a start-up check would reckon."""
    size = config.block_of(group)
    whole = -(-(tokens + config.drafts) // size)
    if kind.kind == "mamba":
        return 1 + kind.drafts if kind.mode == "none" else whole + 1 + kind.drafts if kind.mode == "all" else 2 + kind.drafts
    if kind.kind == "sliding":
        return min(whole, -(-(kind.window - 1 + budget + config.drafts) // size) + 1)
    return whole


def fitting_length(config: Config, budget: int) -> int:
    """The longest request, in tokens, that the pool can serve alone; vLLM does not start with a longer one."""
    for tokens in range(config.max_model_len, 0, -1):
        need = sum(least_blocks(config, kind, group, tokens, budget) for group, kind in enumerate(config.groups))
        if need <= config.blocks - 1:
            return tokens
    return 0


def most_blocks(config: Config, kind: Kind, group: int, tokens: int) -> int:
    """Blocks that one request of so many tokens needs of a group at most, whatever it skips."""
    return -(-tokens // config.block_of(group)) + 1 + kind.drafts


def check_planner(config: Config, planner: PlannerSettings) -> None:
    """Raise `ConfigError` for settings that no planner is started with on that pool."""
    step = 1 + config.drafts
    if planner.budget < step:
        raise ConfigError(f"got budget {planner.budget} with {config.drafts} drafts; allowed is {step} or more; enlarge the budget")
    sizes = [config.block_of(group) for group, kind in enumerate(config.groups) if kind.label == "mamba-align"]
    for name, tokens in (("budget", planner.budget), ("longest_chunk", planner.longest_chunk)):
        if sizes and 0 < tokens < max(sizes):
            raise ConfigError(f"got {name} {tokens} with mode align; allowed is a block of {max(sizes)} tokens or more; enlarge it")
    if fitting_length(config, planner.budget) < config.max_model_len:
        raise ConfigError(
            f"got max_model_len {config.max_model_len} with {config.blocks} blocks; allowed is what one request fills; shorten it"
        )


@frozen
class PlannerSetting(Setting):
    """Everything about a planner's run but its operations.

    Attributes:
        planner: How the planner is set.
    """

    planner: PlannerSettings = PlannerSettings()


@frozen
class Submit:
    """Give the planner a new request.

    Attributes:
        id: Its name, never used again.
        tokens: Its prompt.
        most: Outputs after which it ends.
        priority: The smaller, the earlier, where the policy goes by priority.
        external: How many leading tokens the connector can supply.
        delayed: Whether the external tokens are loaded asynchronously.
    """

    id: str
    tokens: tuple[int, ...] = field(converter=_tokens)
    most: int = 64
    priority: int = 0
    external: int = 0
    delayed: bool = False


@frozen
class Plan:
    """Let the planner plan one step.

    Attributes:
        drafts: For each request that has them, how many draft tokens were proposed since the last step;
            planned ahead, the planner counts on as many as there can be.
    """

    drafts: dict[str, int] = field(factory=dict, converter=_counts)


@frozen
class Abort:
    """End a request from outside, at any point."""

    id: str


PlannerOperation = Submit | Plan | Execute | Arrive | Abort | Reset

PLANNER_NAMES: dict[str, type[Any]] = {
    "submit": Submit,
    "plan": Plan,
    "execute": Execute,
    "arrive": Arrive,
    "abort": Abort,
    "reset": Reset,
}

__all__ = [
    "OWED",
    "PLANNER_NAMES",
    "POLICIES",
    "Abort",
    "Plan",
    "PlannerOperation",
    "PlannerSetting",
    "PlannerSettings",
    "Policy",
    "Submit",
    "check_planner",
    "fitting_length",
]
