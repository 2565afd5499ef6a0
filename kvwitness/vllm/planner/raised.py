"""What a planner raised, in words, told apart from what only our surroundings lack."""

import traceback
from pathlib import Path

from kvwitness.vllm.loader import Release, ReleaseError
from kvwitness.vllm.planner import answers, connector, outputs, settings
from kvwitness.vllm.planner.loading import SCHEDULER

OURS = {module.__file__ for module in (answers, connector, outputs, settings)}

OUR_NAMES = tuple(
    name for module in (answers, connector, outputs, settings) for name, value in vars(module).items() if isinstance(value, type)
)
"""The names of the classes that surround a planner; an error that names one is ours."""


def told_error(release: Release, error: Exception) -> str:
    """What was raised and in which function of the planner.

    Raises:
        ReleaseError: A planner asked its surroundings for something that they do not have.
    """
    frames = traceback.extract_tb(error.__traceback__)
    text = " ".join(str(error).split())
    if frames[-1].filename in OURS or (isinstance(error, AttributeError | TypeError) and any(name in text for name in OUR_NAMES)):
        raise ReleaseError(f"{release.label} asks for more than its planner is given here ({type(error).__name__}: {text})") from error
    core = Path(release[SCHEDULER].__file__ or "").parents[1]
    last = next((frame for frame in reversed(frames) if core in Path(frame.filename).parents), frames[-1])
    line = f" at `{last.line}`" if last.line else ""
    return f"{last.name} raises {type(error).__name__}{': ' + text if text else ''}{line}"


__all__ = ["told_error"]
