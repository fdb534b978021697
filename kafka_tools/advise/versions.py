"""The releases of Apache Kafka that advice supports; `specs.kafka_versions` has the rules that differ between them."""

from __future__ import annotations

from checker.errors import InputError
from specs.kafka_releases import OLDEST_SUPPORTED, RELEASES, find_release
from specs.kafka_versions import fixed_bugs

OLDEST = OLDEST_SUPPORTED
LATEST = RELEASES[-1]

CLIENTS = ("producer", "consumer", "connect", "streams")
"""The parts of Kafka that a client of another project replaces."""

EXPLORED = frozenset({"C12", "KAFKA-13673", "P10", "R13"})
"""Entries of the catalogue that depend on the release and that the model of advice contains."""


def supported(version: str) -> str:
    """Return the full number of a release, such as 2.8.0 for 2.8; raise InputError if it is not supported."""
    try:
        return find_release(version, OLDEST)
    except ValueError as error:
        raise InputError(f"--kafka: {error}") from None


def unexplored_bugs(version: str, client: str, *, is_transactional: bool) -> str:
    """Return a note on the bugs of a release that later ones fix and that the model leaves out, or "".

    Bugs of Kafka's own clients do not concern a client such as librdkafka, and those of transactions (T1 to T11) no
    producer without them.
    """
    bugs = [
        entry
        for entry in fixed_bugs(version)
        if entry.name not in EXPLORED
        and (is_transactional or not entry.name.startswith("T"))
        and (client == "java" or any(change.concerns not in CLIENTS for change in entry.closed_by))
    ]
    if not bugs:
        return ""
    fixes = "; ".join(f"{entry.name} (fixed in {entry.description_of_fixes})" for entry in bugs)
    return f"not explored: bugs of Kafka {version} that later releases fix (docs/versions.md): {fixes}"
