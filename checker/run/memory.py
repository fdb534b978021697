"""Memory: the use of this process, the limits of the machine, of control groups and of the process, and a watch."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from checker.errors import InputError

try:
    import resource
except ModuleNotFoundError:
    # Only POSIX systems have it. Elsewhere, as in a browser, nothing is known of this process and nothing is watched.
    resource = None  # type: ignore[assignment]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")

WATCH_SECONDS = 0.25
"""The least time between two readings of the system's available memory."""

_RESERVE_BYTES = 256 << 20
"""Available memory that a run leaves to the rest of the machine; less if the machine is small."""

_UNWATCHED_BYTES = 64 << 20
"""A run that takes less than this is not stopped because the machine's memory is short: another process took it."""


def bytes_from_text(text: str, option: str) -> int:
    """Return the number of bytes in a text such as `4GB`, `500M` or `2GiB`; raise InputError for another text."""
    match = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?I?)B?", text.strip().upper())
    size = int(float(match[1]) * _UNITS[match[2]]) if match is not None and match[2] in _UNITS else 0
    if not size:
        raise InputError(f"{option} {text!r} is not a size of memory; write a number and a unit, such as 500MB or 4GB")
    return size


def peak_memory() -> int:
    """Return the peak resident memory of this process in bytes; 0 if it is not known."""
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_memory() -> int:
    """Return the resident memory of this process in bytes; without /proc, its peak."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return peak_memory()
    return pages * os.sysconf("SC_PAGESIZE")


def memory_limit() -> int | None:
    """Return the memory in bytes that this process can take at most; None if it is not known.

    It is the least of the machine's memory and the limits of the control groups of this process.
    """
    kilobytes = _line(Path("/proc/meminfo"), "MemTotal:")
    limits = [limit for limit, _ in _group_limits()] + ([] if kilobytes is None else [kilobytes * 1024])
    return min(limits) if limits else None


def available_memory() -> int | None:
    """Return the memory in bytes that this process can still take without swapping; None if it is not known.

    It is the least of the machine's available memory and the rest of the limit of each control group of this process.
    """
    kilobytes = _line(Path("/proc/meminfo"), "MemAvailable:")
    known = [limit - used for limit, used in _group_limits()] + ([] if kilobytes is None else [kilobytes * 1024])
    return max(0, min(known)) if known else None


def available_address_space() -> int | None:
    """Return the bytes of address space that this process can still map (`ulimit -v`); None if it has no limit."""
    if resource is None or (limit := resource.getrlimit(resource.RLIMIT_AS)[0]) == resource.RLIM_INFINITY:
        return None
    kilobytes = _line(Path("/proc/self/status"), "VmSize:")
    return max(0, limit - (kilobytes or 0) * 1024)


class MemoryWatch:
    """Decides when a run has to stop because its memory does not suffice.

    `limit`: the bytes that the run may take (None: what the machine has). The system is asked a few times a second.
    """

    def __init__(self, limit: int | None = None):
        self.limit = limit
        self._asked = time.perf_counter()

    def is_short(self, taken: int, growth: Callable[[], int]) -> bool:
        """Return whether a run that has taken some bytes may not take as many more as `growth` returns.

        A run asks in every round, so `growth` is called only if the answer depends on it.
        """
        if self.limit is not None and taken + growth() > self.limit:
            return True
        now = time.perf_counter()
        if taken < _UNWATCHED_BYTES or now - self._asked < WATCH_SECONDS:
            return False
        self._asked = now
        available = available_memory()
        return available is not None and available < growth() + min(_RESERVE_BYTES, (memory_limit() or 0) // 16)


def _group_limits() -> Iterator[tuple[int, int]]:
    """Yield the limit and the use in bytes of each control group of this process that limits memory, of both versions.

    In a container the folder of the own group is often mounted as the root of the hierarchy: then its path is missing
    there, and the root is read.
    """
    for root, path, names in _own_groups():
        for depth in range(len(path), -1, -1):
            group = root.joinpath(*path[:depth])
            try:
                limit = (group / names[0]).read_text().strip()
                # Version 1 writes a number close to 2**63 if there is no limit.
                if limit == "max" or int(limit) >= 1 << 62:
                    continue
                # The use includes the cache of files, of which the system takes back the inactive part first.
                cache = _line(group / "memory.stat", names[2]) or 0
                yield int(limit), int((group / names[1]).read_text()) - cache
            except (OSError, ValueError):
                continue


def _own_groups() -> Iterator[tuple[Path, tuple[str, ...], tuple[str, str, str]]]:
    """Yield for each hierarchy with memory its root, the path of the own group, and the names of its files."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        parts = tuple(part for part in path.split("/") if part not in ("", ".."))
        if not controllers:
            yield _CONTROL_GROUPS, parts, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield _CONTROL_GROUPS / "memory", parts, names


def _line(path: Path, name: str) -> int | None:
    """Return the number in the line of a file that begins with a name; None if there is no such file or line."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), None)
