"""The releases of Kafka of which experiments run brokers."""

from __future__ import annotations

import re

from checker.errors import InputError

OLDEST = (3, 9)
"""The oldest release that is run: before it, no broker of this format starts with KRaft on Java 17 as it is here."""

_MAJORS = (3, 4)
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})\.\d{1,3}")


def build_text(version: str, lib: str) -> str:
    """Return what runs, for messages: a release, or the local build in a folder that is treated as one."""
    return f"in {lib} (like {version})" if lib else version


def release(version: str) -> tuple[int, int]:
    """Return the major and minor release of a version; raise InputError if it cannot be run."""
    found = _VERSION.fullmatch(version)
    if not found:
        raise InputError(f"the Kafka version {version} is not like 4.3.1")
    numbers = int(found[1]), int(found[2])
    if numbers < OLDEST or numbers[0] not in _MAJORS:
        oldest, newest = f"{OLDEST[0]}.{OLDEST[1]}", f"{_MAJORS[-1]}.x"
        raise InputError(f"Kafka {version} is not run here: the oldest is {oldest}, the newest {newest}")
    return numbers
