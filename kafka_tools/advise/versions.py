"""The versions of Apache Kafka that advice supports; `specs.kafka_versions` has the rules that differ between them."""

from __future__ import annotations

from checker.errors import InputError

VERSIONS = ("2.8", "3.0", "3.0.1", "3.2", "3.7", "4.0", "4.1")
LATEST = VERSIONS[-1]


def supported(version: str) -> str:
    """Return a version; raise InputError if it is not supported."""
    if version not in VERSIONS:
        raise InputError(f"Kafka {version} is not a supported version: choose from {', '.join(VERSIONS)}")
    return version
