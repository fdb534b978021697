"""The number of workers of a run, if the user names none."""

from __future__ import annotations

import os


def default_workers() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
