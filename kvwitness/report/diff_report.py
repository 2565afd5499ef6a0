"""How two ports differ, as text and as data."""

from collections.abc import Sequence
from typing import Any

from kvwitness.differing import Differences, Found, profiles_told
from kvwitness.explain import asked, numbered
from kvwitness.model.profile import Profile


def as_text(differences: Differences, names: tuple[str, str], profiles: tuple[Profile, Profile], *, seed: int) -> str:
    """The whole report: by axis, each with its kinds of difference and the smallest run; then what no axis explains."""
    left, right = names
    counted = f"{differences.runs:,} runs, {differences.steps:,} steps on both in {differences.seconds:.1f} s"
    lines = [f"kvwitness diff: {left} ({profiles[0].name}) and {right} ({profiles[1].name}), seed {seed}, {counted}"]
    if differences.skipped:
        lines.append(f"{differences.skipped} runs left out: one of the two does not offer the configuration")
    met = [axes for found in differences.found if (axes := found.axes)]
    for axes in dict.fromkeys(met):
        lines += ["", *_axes_told(axes, profiles), *_group([found for found in differences.found if found.axes == axes])]
    unexplained = [found for found in differences.found if not found.axes]
    if unexplained:
        lines += ["", "no axis explains:", *_group(unexplained)]
    silent = [row for row in profiles_told(*profiles) if all(row[0] not in axes for axes in met)]
    if silent:
        lines += ["", "axes that differ and did not show:", *(f"  {axis}: {mine} → {theirs}" for axis, mine, theirs in silent)]
    return "\n".join([*lines, "", _verdict(differences)])


def _axes_told(axes: Sequence[str], profiles: tuple[Profile, Profile]) -> list[str]:
    return [f"{axis}: {getattr(profiles[0], axis)} → {getattr(profiles[1], axis)}" for axis in axes]


def _group(group: Sequence[Found]) -> list[str]:
    """A line for each kind of difference, then the smallest run of all."""
    lines = [
        f"  {found.label}: {found.key}, met {found.times} times, first in run {found.run} at step {found.step}, "
        f"smallest {len(found.shrunk.operations)} steps"
        for found in group
    ]
    smallest = min(group, key=lambda found: len(found.shrunk.operations))
    config = smallest.shrunk.setting.config
    steps = [asked(operation) for operation in smallest.shrunk.operations]
    sizes = f"{smallest.label}, {config.blocks} blocks of {config.block_size}"
    because = smallest.shrunk.violation.because
    return [*lines, f"  smallest of them ({sizes}):", *(f"  {step}" for step in numbered(steps)), f"    {because}"]


def _verdict(differences: Differences) -> str:
    if not differences.found:
        return "no difference"
    unexplained = sum(not found.axes for found in differences.found)
    explained = f"{unexplained} of them unexplained" if unexplained else "all explained"
    return f"{len(differences.found)} kinds of difference, {explained}"


def as_data(differences: Differences, names: tuple[str, str], profiles: tuple[Profile, Profile], *, seed: int) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "left": names[0],
        "right": names[1],
        "profiles": [profile.name for profile in profiles],
        "seed": seed,
        "runs": differences.runs,
        "steps": differences.steps,
        "skipped": differences.skipped,
        "seconds": round(differences.seconds, 3),
        "axes": {axis: [mine, theirs] for axis, mine, theirs in profiles_told(*profiles)},
        "found": [_found_data(found) for found in differences.found],
    }


def _found_data(found: Found) -> dict[str, Any]:
    return {
        "kind": found.label,
        "difference": found.key,
        "axes": list(found.axes),
        "times": found.times,
        "run": found.run,
        "step": found.step,
        "because": found.shrunk.violation.because,
        "steps": [asked(operation) for operation in found.shrunk.operations],
    }


__all__ = ["as_data", "as_text"]
