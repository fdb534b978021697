"""The releases of Apache Kafka that advice supports; `specs.kafka_versions` has the rules that differ between them."""

from __future__ import annotations

from collections.abc import Mapping

from checker.errors import InputError
from kafka_tools.advise.configuration_keys import CLIENT_ROLES, TRANSACTION_VERSION, Client, Role
from specs.hazards import hazards
from specs.kafka_releases import OLDEST_SUPPORTED, RELEASES, find_release
from specs.kafka_versions import (
    CONSUMER_PROTOCOL_EARLY_ACCESS,
    EPOCH_PER_TRANSACTION,
    PRODUCER_EXPIRATION_SETTING,
    READS_FROM_FOLLOWERS,
    RETRIES_UNLIMITED_BY_DEFAULT,
    STATIC_MEMBERS,
    TWO_PHASE_COMMIT_SETTING,
    VERIFIES_TRANSACTIONS,
    Change,
    fixed_bugs,
)

OLDEST = OLDEST_SUPPORTED
LATEST = RELEASES[-1]

CLIENTS = ("producer", "consumer", "connect", "streams")
"""The parts of Kafka that a client of another project replaces."""

EXPLORED = frozenset({"C12", "C8", "KAFKA-4682", "P10", "R13"})
"""The entries that later releases fix and that a model of advice has with all their events."""

SINCE: Mapping[tuple[Role, str], Change] = {
    ("producer", "delivery.timeout.ms"): RETRIES_UNLIMITED_BY_DEFAULT,
    ("producer", "transaction.two.phase.commit.enable"): TWO_PHASE_COMMIT_SETTING,
    ("consumer", "group.instance.id"): STATIC_MEMBERS,
    ("consumer", "group.protocol"): CONSUMER_PROTOCOL_EARLY_ACCESS,
    ("consumer", "client.rack"): READS_FROM_FOLLOWERS,
    ("broker", "producer.id.expiration.ms"): PRODUCER_EXPIRATION_SETTING,
    ("broker", "transaction.partition.verification.enable"): VERIFIES_TRANSACTIONS,
    ("broker", TRANSACTION_VERSION): EPOCH_PER_TRANSACTION,
}
"""The change that brought a setting, for those that some supported release lacks."""


def lacks(version: str, client: Client, role: Role, name: str) -> str:
    """Return the release since which a setting exists if `version` lacks it, otherwise "".

    The release of another client than Kafka's own is not known.
    """
    change = SINCE.get((role, name))
    if change is None or change.applies_to(version) or (client != "java" and role in CLIENT_ROLES):
        return ""
    return change.since


def supported(version: str) -> str:
    """Return the full number of a release, such as 2.8.0 for 2.8; raise InputError if it is not supported."""
    try:
        return find_release(version, OLDEST)
    except ValueError as error:
        raise InputError(f"--kafka: {error}") from None


def unexplored_bugs(version: str, client: str, controller: str = "", *, is_transactional: bool) -> str:
    """Return a note on the bugs of a release that later ones fix and that the model leaves out, or "".

    `controller`: the controller mode, "" if it is not known. Bugs of Kafka's own clients do not concern a client such
    as librdkafka, and those of transactions no producer without them.
    """
    facts = {"client": client, "transactional": str(is_transactional).lower()}
    bugs = [
        entry
        for entry in fixed_bugs(version, controller)
        if entry.name not in EXPLORED
        and all(each.setting not in facts or each.holds(facts) for each in hazards()[entry.name].conditions)
        and (client == "java" or any(change.concerns not in CLIENTS for change in entry.closed_by))
    ]
    if not bugs:
        return ""
    fixes = "; ".join(f"{entry.name} (fixed in {entry.description_of_fixes})" for entry in bugs)
    return f"not explored: bugs of Kafka {version} that later releases fix: {fixes}"
