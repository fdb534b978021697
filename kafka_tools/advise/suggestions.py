"""Remedies that the model does not explore, with the argument for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_tools.advise.advice import GuaranteeAnswer
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import DEFAULT_DELIVERY_TIMEOUT, EffectiveConfig
from kafka_tools.advise.remedies import Suggestion
from kafka_tools.advise.written_settings import Framework
from specs.kafka_versions import ELIGIBLE_LEADER_REPLICAS, LAST_KNOWN_LEADER_MUST_LIVE


def suggestions_for(
    answers: Sequence[GuaranteeAnswer], cluster: ClusterConfig, config: EffectiveConfig
) -> Iterator[Suggestion]:
    """Yield the suggestions against the answers that are yes."""
    yes = {(answer.question.name, answer.failure.slug) for answer in answers if answer.verdict == "yes"}
    if yes & {("duplicates", "producer-restart"), ("reorder", "producer-restart")} and not config.is_transactional:
        yield Suggestion(
            "transactional.id (producer), isolation.level=read_committed (consumers)",
            "records that a restarted producer sends again",
            "the restarted producer fences the old one, and its unfinished transaction is aborted, so that readers do "
            "not see its records. The application has to send again from the start of that transaction (KIP-98). "
            "With a transactional.id, advise explores the specs of transactions",
        )
    if yes & {("duplicates", "delivery-timeout"), ("reorder", "delivery-timeout")}:
        yield Suggestion(
            f"delivery.timeout.ms={DEFAULT_DELIVERY_TIMEOUT} or more (producer)",
            "records that time out and are sent again",
            "the timeout then outlasts an election and the restart of a broker. When it passes, the record may be "
            "written already, or later: the application should read the partition before it sends the record again. "
            "The model has no clock",
        )
    losses = {(question, failure) for question, failure in yes if question in ("loss", "vanishing-reads")}
    if any(failure == "blackout" for _, failure in losses):
        yield Suggestion(
            "broker.rack (brokers)",
            "power loss of all brokers",
            "Kafka spreads the replicas of a new topic over the racks. With racks that do not lose power together, at "
            "least one replica keeps every acknowledged record. The model has no racks",
        )
    if any("power-loss" in failure for _, failure in losses) and not LAST_KNOWN_LEADER_MUST_LIVE.applies_to(
        cluster.version
    ):
        has_feature = ELIGIBLE_LEADER_REPLICAS.applies_to(cluster.version)
        lacks = "may elect the wrong last leader (KAFKA-19522)" if has_feature else "does not have them (KIP-966)"
        yield Suggestion(
            "Kafka 4.1 or later with eligible.leader.replicas.version=1",
            "power loss of the last in-sync replica",
            f"with eligible leader replicas, another replica with every acknowledged record leads. Kafka "
            f"{cluster.version} {lacks}: ask again with --kafka 4.1 and --set eligible.leader.replicas.version=1",
        )
    known = {
        hazard.name: (hazard, answer) for answer in answers if answer.verdict == "known" for hazard in answer.hazards
    }
    for hazard, answer in known.values():
        if any(hazard.remedies):
            yield Suggestion(
                " or ".join(f"{name}={value}" for name, value in hazard.remedies),
                f"records that are {answer.question.verb} {answer.failure.phrase}",
                f"{hazard.name} needs another value: {hazard.remedy}".rstrip("."),
            )
    is_exactly_once = Framework.STREAMS in cluster.frameworks and config.is_transactional
    if ("reprocessing", "consumer-crash") in yes and not is_exactly_once:
        yield Suggestion(
            "idempotent processing, or offsets that are committed in one transaction with the results",
            "records that a consumer processes again",
            "no consumer setting prevents both skipped and repeated records. docs/exactly-once.md explores "
            "the transactions",
        )
