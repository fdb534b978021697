"""Versions of Apache Kafka, as far as what they do differs."""

from __future__ import annotations

from checker.errors import InputError

VERSIONS = ("2.8", "3.0", "3.0.1", "3.2", "3.7", "4.0", "4.1")
LATEST = VERSIONS[-1]


def checked(version: str) -> str:
    """Return a version; raise UserError for one that is not known."""
    if version not in VERSIONS:
        raise InputError(f"Kafka {version} is not a version that is known here: choose from {', '.join(VERSIONS)}")
    return version


def at_least(version: str, other: str) -> bool:
    """Return whether a version is another one or a later one."""
    return VERSIONS.index(version) >= VERSIONS.index(other)


def default_acks(version: str) -> str:
    """Return the default of acks: `all` since KIP-679."""
    return "all" if at_least(version, "3.0") else "1"


def is_idempotent_by_default(version: str) -> bool:
    """Return whether a producer that sets nothing is idempotent: 3.0.0 declares it and does not do it (KAFKA-13598)."""
    return at_least(version, "3.0.1")


def refuses_default_in_conflict(version: str) -> bool:
    """Return whether more than five requests in flight are refused, not idempotence turned off (KAFKA-17927)."""
    return at_least(version, "4.0")


def holds_high_watermark_below_min_isr(version: str) -> bool:
    """Return whether the high watermark waits for min.insync.replicas (KAFKA-15583)."""
    return at_least(version, "3.7")


def has_eligible_leader_replicas(version: str) -> bool:
    """Return whether a new cluster has eligible leader replicas (KIP-966)."""
    return at_least(version, "4.1")


def needs_kraft(version: str) -> bool:
    """Return whether a broker no longer starts with ZooKeeper."""
    return at_least(version, "4.0")
