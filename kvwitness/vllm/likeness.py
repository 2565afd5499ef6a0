"""Which profile a checkout follows that does not say its version: the one that it agrees with in most of a few runs."""

import functools
from collections import Counter

from kvwitness.campaign import one_run, setting_of
from kvwitness.model.profile import RELEASES, Profile
from kvwitness.properties.situations import not_offered
from kvwitness.vllm.adapter import VllmPort
from kvwitness.vllm.generations import profile_name_for, version_numbers
from kvwitness.vllm.opening import open_release

TOLD_APART_BY = ("full", "sliding", "mamba-none", "mamba-all", "mamba-align", "sink")
"""The kinds whose rules drifted; mode none runs without caching, where the free order may be another."""

RUNS_PER_KIND = 5
"""Enough to tell the profiles of any two releases apart, few enough to take a few seconds."""


def agreeing_runs(port: VllmPort, profile: Profile, labels: tuple[str, ...]) -> int:
    """In how many runs the port does, call by call, what the profile says."""
    agreeing = 0
    for label in labels:
        for number in range(RUNS_PER_KIND):
            setting, rng = setting_of(label, profile, 0, number, ("refinement",))
            agreeing += one_run(port, setting, rng, Counter())[1] is None
    return agreeing


@functools.cache
def nearest_profile(name: str) -> tuple[str, int, int]:
    """The profile that the port of that name is most like, in how many runs it agrees, and of how many.

    A fork with a defect differs from every profile now and then, and least often from its own; of equals the newest is named.

    Raises:
        ReleaseError: It cannot be driven.
    """
    best: tuple[int, str] = (-1, "")
    release = open_release(name)
    labels: tuple[str, ...] = ()
    for profile in RELEASES:
        port = VllmPort(profile, release)
        missing = {line.split(": ", 1)[0] for line in port.hello().missing}
        labels = labels or tuple(label for label in TOLD_APART_BY if label not in missing)
        shared = tuple(label for label in labels if label not in not_offered(profile))
        agreeing = agreeing_runs(port, profile, shared)
        if agreeing >= best[0]:
            best = (agreeing, profile.name)
    return best[1], best[0], len(labels) * RUNS_PER_KIND


def profile_of(name: str) -> str:
    """The profile of a release: by its version, or by its likeness where it does not say one."""
    version = open_release(name).version
    return profile_name_for(version) if version_numbers(version) else nearest_profile(name)[0]


def remark_of(name: str) -> str:
    """How the profile was found where a release does not say its version; "" where it does."""
    if version_numbers(open_release(name).version):
        return ""
    profile, agreeing, runs = nearest_profile(name)
    likeness = f"it is most like {profile}, with which it agrees in {agreeing} of {runs} runs"
    return f"the checkout does not say its version; {likeness}; --profile names another"


__all__ = ["nearest_profile", "profile_of", "remark_of"]
