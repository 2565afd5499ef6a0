"""Which rules a release follows: the profile of each step in which releases drifted."""

import re

Version = tuple[int, int]

STEPS: tuple[tuple[Version, str], ...] = (
    ((0, 14), "vllm-0.15"),
    ((0, 16), "vllm-0.16"),
    ((0, 17), "vllm-0.17"),
    ((0, 19), "vllm-0.19"),
    ((0, 20), "vllm-0.20"),
    ((0, 22), "vllm-0.22"),
    ((0, 23), "vllm-0.23"),
    ((0, 24), "vllm-0.24"),
    ((0, 26), "vllm-0.26"),
    ((0, 27), "vllm-0.27"),
    ((0, 28), "vllm-0.28"),
    ((0, 29), "vllm-0.29"),
    ((0, 30), "vllm-0.30"),
    ((0, 32), "vllm-0.32"),
    ((0, 33), "vllm-0.33"),
)
"""The first release of each step, oldest first, and the profile that holds from it on."""

OLDEST: Version = (0, 14)
NEWEST: Version = (0, 33)
"""The releases between which the adapter was measured."""


def version_numbers(version: str) -> Version | None:
    """The first two numbers of a version, or None where it has none.

    >>> version_numbers("0.16.0"), version_numbers("0.33.1rc2"), version_numbers("dev")
    ((0, 16), (0, 33), None)
    """
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else None


def profile_name_for(version: str) -> str:
    """The profile that a release of this version follows; without a version the newest, unless somebody looks closer.

    >>> profile_name_for("0.15.1"), profile_name_for("0.29.0"), profile_name_for("")
    ('vllm-0.15', 'vllm-0.29', 'vllm-0.33')
    """
    numbers = version_numbers(version) or NEWEST
    names = [name for first, name in STEPS if first <= numbers]
    return names[-1] if names else STEPS[0][1]


def remark_on(version: str) -> str:
    """What a report must say of a version that was not measured, or "".

    >>> remark_on("0.40.0")
    'newer than 0.33, driven as 0.33'
    """
    numbers = version_numbers(version)
    if numbers is None:
        return "version unknown"
    if numbers > NEWEST:
        return f"newer than 0.{NEWEST[1]}, driven as 0.{NEWEST[1]}"
    return f"older than 0.{OLDEST[1]}, driven as 0.{OLDEST[1]}" if numbers < OLDEST else ""


__all__ = ["NEWEST", "OLDEST", "STEPS", "profile_name_for", "remark_on", "version_numbers"]
