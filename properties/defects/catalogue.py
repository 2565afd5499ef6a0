"""All seeded defects, by name."""

from difflib import get_close_matches

from kvwitness.properties.defects import cross, events, groups, lookup, mamba, pool, rules, step, tables
from kvwitness.properties.defects.defect import Defect

DEFECTS: tuple[Defect, ...] = (
    *lookup.DEFECTS,
    *tables.DEFECTS,
    *pool.DEFECTS,
    *events.DEFECTS,
    *mamba.DEFECTS,
    *cross.DEFECTS,
    *step.DEFECTS,
    *groups.DEFECTS,
    *rules.DEFECTS,
)
"""Every seeded defect, in the order of reports."""

BY_NAME = {defect.name: defect for defect in DEFECTS}


def defect_named(name: str) -> Defect:
    """The defect of that name.

    Raises:
        ValueError: There is none; the message names the closest ones.
    """
    found = BY_NAME.get(name)
    if found is None:
        close = get_close_matches(name, BY_NAME, n=3, cutoff=0.3) or list(BY_NAME)[:3]
        raise ValueError(f"got the defect {name!r}; allowed is one of {len(DEFECTS)}, such as {', '.join(close)}; correct the name")
    return found
