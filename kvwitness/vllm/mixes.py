"""Which mixes of groups a release cannot build, found by building them."""

import functools
import random
from collections.abc import Mapping

from kvwitness.properties.mixes import MIXES, random_mix
from kvwitness.vllm.build import NotOffered
from kvwitness.vllm.coordinator import build_coordinator
from kvwitness.vllm.generations import NEWEST, version_numbers
from kvwitness.vllm.loader import Release

FIRST_WITH_PROFILE = (0, 15)
"""The first release whose look-up of mixed groups is that of a profile."""

TRIES = 12
"""Configurations of a mix that are tried: block sizes and caching decide too."""


def reason_against(release: Release, mix: str) -> str:
    """Why no configuration of a mix can be built or judged, or "" if one can."""
    if (version_numbers(release.version) or NEWEST) < FIRST_WITH_PROFILE:
        return "mixed groups before 0.15 are looked up in a way that no profile has"
    rng, reason = random.Random(mix), ""
    for _ in range(TRIES):
        try:
            build_coordinator(release, random_mix(rng, mix))
        except NotOffered as refusal:
            reason = str(refusal)
        else:
            return ""
    return reason


@functools.cache
def missing_mixes(release: Release) -> Mapping[str, str]:
    """The mixes that cannot be built, with the reason.

    Raises:
        ReleaseError: The release's coordinator takes something that is not known here.
    """
    reasons = {mix: reason_against(release, mix) for mix in MIXES}
    return {mix: reason for mix, reason in reasons.items() if reason}


__all__ = ["missing_mixes", "reason_against"]
