"""Memory use of this process."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def available_memory() -> int | None:
    """Return the memory in bytes that this process can still take without swapping; None if the system does not tell.

    It is the least of the machine's available memory and the rest of the limit of a control group.
    """
    found = [_meminfo("MemAvailable:")]
    try:
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            found.append(int(limit) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        pass
    known = [size for size in found if size is not None]
    return max(0, min(known)) if known else None


def _meminfo(name: str) -> int | None:
    """Return a line of Linux's /proc/meminfo in bytes; None on other systems."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
