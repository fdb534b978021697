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
    kilobytes = _line(Path("/proc/meminfo"), "MemAvailable:")
    found = [None if kilobytes is None else kilobytes * 1024]
    try:
        group = Path("/sys/fs/cgroup")
        limit = (group / "memory.max").read_text().strip()
        if limit != "max":
            # The group's use includes the cache of files, of which the system takes back the inactive part first.
            cache = _line(group / "memory.stat", "inactive_file") or 0
            found.append(int(limit) - int((group / "memory.current").read_text()) + cache)
    except (OSError, ValueError):
        pass
    known = [size for size in found if size is not None]
    return max(0, min(known)) if known else None


def _line(path: Path, name: str) -> int | None:
    """Return the number in the line of a file that begins with a name; None if there is no such file or line."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), None)
