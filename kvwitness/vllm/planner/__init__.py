"""A release's real planner, ``Scheduler`` or ``AsyncScheduler``, as a driver of the same checks."""
