"""A release with its planner: the core as the adapter loads it, and the scheduler with what it leans on."""

import functools
import re

from kvwitness.vllm.loader import MANAGERS, NEEDED, POOL, REAL, SPECS, Release
from kvwitness.vllm.planner.answers import answering_module
from kvwitness.vllm.sources import complete, locate

SCHEDULER = "vllm.v1.core.sched.scheduler"
ASYNC_SCHEDULER = "vllm.v1.core.sched.async_scheduler"
OUTPUT = "vllm.v1.core.sched.output"
REQUEST = "vllm.v1.request"
CACHE_MANAGER = "vllm.v1.core.kv_cache_manager"

PLANNER_NEEDED = {
    MANAGERS: NEEDED[MANAGERS],
    POOL: NEEDED[POOL],
    SPECS: (*NEEDED[SPECS], "KVCacheConfig", "KVCacheGroupSpec"),
    CACHE_MANAGER: ("KVCacheManager",),
    SCHEDULER: ("Scheduler",),
    ASYNC_SCHEDULER: ("AsyncScheduler",),
    OUTPUT: ("SchedulerOutput", "CachedRequestData", "NewRequestData"),
    REQUEST: ("Request", "RequestStatus"),
}
"""The modules that the planner's driver uses, and the names it needs of them."""

PLANNER_REAL = re.compile(rf"{REAL.pattern}|vllm\.v1\.(core\.sched\.\w+|request)")
"""The modules that are loaded as they are: the core, the planner, and its requests."""


@functools.cache
def open_planner(name: str) -> Release:
    """The release of that name with its planner, loaded once in a process.

    Raises:
        PortError: There is no such path or release.
        ReleaseError: It cannot be fetched or loaded.
    """
    sources = locate(name)
    if name.startswith("vllm=="):
        complete(name.removeprefix("vllm=="), [f"{module.replace('.', '/')}.py" for module in PLANNER_NEEDED])
    return Release(sources.label, sources.version, sources.root, PLANNER_NEEDED, real=PLANNER_REAL, stand_in=answering_module)


__all__ = ["ASYNC_SCHEDULER", "CACHE_MANAGER", "OUTPUT", "REQUEST", "SCHEDULER", "open_planner"]
