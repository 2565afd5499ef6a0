"""What may happen to a planner next; everything else is refused before it is carried out."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kvwitness.model.caller import require
from kvwitness.properties.operations import Arrive, Execute, Reset
from kvwitness.properties.planning import Abort, Plan, PlannerOperation, Submit

if TYPE_CHECKING:
    from kvwitness.vllm.planner.driver import PlannerRun


def _submit(run: "PlannerRun", operation: Submit) -> None:
    """A request is new and fits."""
    require(run.is_new(operation.id), "CALLER.REQUEST.NEW", operation.id)
    require(1 <= len(operation.tokens) < run.config.max_model_len, "CALLER.LENGTH", len(operation.tokens), "tokens")
    require(operation.most >= 1, "CALLER.OUTPUTS", operation.most, "outputs of", operation.id)
    require(not operation.external or run.connector is not None, "CALLER.EXTERNAL", operation.external, "external tokens")


def _plan(run: "PlannerRun", operation: Plan) -> None:
    """A further step may be planned, and drafts are for requests that decode."""
    require(len(run.ahead) < run.config.depth, "CALLER.DEPTH", len(run.ahead), "steps in flight")
    running = {request.request_id for request in run.scheduler.running}
    for name, drafts in operation.drafts.items():
        require(name in running, "CALLER.REQUEST.KNOWN", name)
        require(1 <= drafts <= run.config.drafts and run.config.depth == 1, "CALLER.DRAFTS", drafts, "drafts")


def _execute(run: "PlannerRun", operation: Execute) -> None:
    """A plan waits, and the outputs are as many as its rows can have."""
    require(bool(run.ahead), "CALLER.EXECUTE", "no planned step")
    most = run.sampling()
    for name, tokens in operation.outputs.items():
        require(1 <= len(tokens) <= most.get(name, 0), "CALLER.OUTPUTS", len(tokens), "outputs of", name)


def _arrive(run: "PlannerRun", operation: Arrive) -> None:
    """A load was begun and is not complete."""
    require(operation.id in run.loading(), "CALLER.REQUEST.KNOWN", operation.id)
    require(operation.id in run.arrivable(), "CALLER.REQUEST.STATUS", operation.id, "which is loading")


def _abort(run: "PlannerRun", operation: Abort) -> None:
    """The request has not ended."""
    require(operation.id in run.alive(), "CALLER.REQUEST.KNOWN", operation.id)


def _reset(run: "PlannerRun", operation: Reset) -> None:
    """A forced reset is refused by design while requests that do not run hold blocks that were loaded."""
    others = run.holding_without_running()
    require(not (operation.force and others), "CALLER.REQUEST.STATUS", ", ".join(others), "which is loading")


_RULES: dict[type[Any], Callable[..., None]] = {
    Submit: _submit,
    Plan: _plan,
    Execute: _execute,
    Arrive: _arrive,
    Abort: _abort,
    Reset: _reset,
}


def require_allowed(run: "PlannerRun", operation: PlannerOperation) -> None:
    """Raise `Illegal` for an operation that cannot occur now."""
    _RULES[type(operation)](run, operation)


__all__ = ["require_allowed"]
