"""The effective settings as `specs/catalogue.toml` names them in the conditions of its entries."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import ELIGIBLE_LEADER_REPLICAS_VERSION, MOST
from kafka_tools.advise.effective_config import DROPPED_DEFAULT, EffectiveConfig
from specs.kafka_versions import MIN_ISR_CAPPED


def facts_of(cluster: ClusterConfig, config: EffectiveConfig) -> Mapping[str, str]:
    """Return the effective settings by name, with the pseudo settings of `specs/catalogue.toml`."""
    # A feature level that no file names is unknown, whatever is assumed for the exploration: conditions on it are met.
    facts = {
        name: choice.value
        for name, choice in config.choices.items()
        if not (name == ELIGIBLE_LEADER_REPLICAS_VERSION and choice.origin.startswith("assumed"))
    }
    if MIN_ISR_CAPPED.applies_to(cluster.version):
        facts["min.insync.replicas"] = str(min(int(facts["min.insync.replicas"]), int(facts["replication.factor"])))
    # A consumer without a rack reads from the leader.
    facts.setdefault("client.rack", "none")
    if cluster.client == "librdkafka" and facts["delivery.timeout.ms"] == "0":
        # In librdkafka 0 is no timeout.
        facts["delivery.timeout.ms"] = str(MOST)
    if cluster.client == "librdkafka":
        # No model has its members: it commits automatically in the same way with both protocols.
        facts["group.protocol"] = cluster.get("consumer", "group.protocol") or "classic"
    facts["idempotence"] = _reason_of_idempotence(cluster, config)
    given = cluster.get("broker", "transaction.version")
    facts |= {"client": cluster.client, "transactional": str(config.is_transactional).lower()}
    return facts | ({"transaction.version": given} if given is not None else {})


def _reason_of_idempotence(cluster: ClusterConfig, config: EffectiveConfig) -> str:
    """Return why idempotence is on or off: a `conflict`, a `default`, or `set`."""
    if config.is_transactional or ("producer", "enable.idempotence") in cluster.written:
        return "set"
    return "conflict" if config.choices["enable.idempotence"].origin.endswith(DROPPED_DEFAULT) else "default"
