"""Remedies that the model does not explore, with the argument for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafka_tools.advise.advice import GuaranteeAnswer
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import ROLES
from kafka_tools.advise.effective_config import DEFAULT_DELIVERY_TIMEOUT, EffectiveConfig
from kafka_tools.advise.facts import facts_of
from kafka_tools.advise.outcome_phrases import entries_with_answers, outcomes
from kafka_tools.advise.questions import FailureMode
from kafka_tools.advise.remedies import Suggestion
from kafka_tools.advise.versions import lacks
from kafka_tools.advise.written_settings import Framework
from specs.hazards import Hazard
from specs.kafka_versions import ELIGIBLE_LEADER_REPLICAS, LAST_KNOWN_LEADER_MUST_LIVE


def suggestions_for(
    answers: Sequence[GuaranteeAnswer], cluster: ClusterConfig, config: EffectiveConfig
) -> Iterator[Suggestion]:
    """Yield the suggestions against the answers that are yes."""
    yes = {(answer.question.name, answer.failure.slug) for answer in answers if answer.verdict == "yes"}
    if yes & {("duplicates", "producer-restart"), ("reorder", "producer-restart")} and not config.is_transactional:
        yield Suggestion(
            f"transactional.id{_join(_needs_of_idempotence(config))} (producer), "
            "isolation.level=read_committed (consumers)",
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
            f"broker.rack (brokers){_join(_needs_of_two_copies(config))}",
            "power loss of all brokers",
            "Kafka spreads the replicas of a new topic over the racks. With a rack for each replica, and racks that do "
            "not lose power together, at least one replica keeps every acknowledged record. The model has no racks",
        )
    is_unclean = config["unclean.leader.election.enable"] == "true"
    if any(failure == "power-loss" for _, failure in losses) and not LAST_KNOWN_LEADER_MUST_LIVE.applies_to(
        cluster.version
    ):
        has_feature = ELIGIBLE_LEADER_REPLICAS.applies_to(cluster.version)
        lacks = "may elect the wrong last leader (KAFKA-19522)" if has_feature else "does not have them (KIP-966)"
        needed = [*_needs_of_two_copies(config), *(["unclean.leader.election.enable=false"] if is_unclean else [])]
        name = "min.insync.replicas"
        if int(config[name]) > 1 and not any((role, name) in cluster.written for role in ("topic", "controller")):
            # With eligible leader replicas, that of a broker's file does not count.
            needed.append(f"{name}={config[name]} (topic)")
        yield Suggestion(
            f"Kafka 4.1 or later with eligible.leader.replicas.version=1{_join(needed)}",
            "power loss of the last in-sync replica",
            f"with eligible leader replicas, another replica with every acknowledged record leads. Kafka "
            f"{cluster.version} {lacks}: ask again with --kafka 4.1 and --set eligible.leader.replicas.version=1",
        )
    yield from _against_entries(answers, cluster, config)
    is_exactly_once = Framework.STREAMS in cluster.frameworks and config.is_transactional
    if ("reprocessing", "consumer-crash") in yes and not is_exactly_once:
        yield Suggestion(
            "idempotent processing, or offsets that are committed in one transaction with the results",
            "records that a consumer processes again",
            "no consumer setting prevents both skipped and repeated records. docs/transactions.md explores "
            "the transactions",
        )


def _against_entries(
    answers: Sequence[GuaranteeAnswer], cluster: ClusterConfig, config: EffectiveConfig
) -> Iterator[Suggestion]:
    """Yield the settings that prevent the entries which say yes where no exploration does."""
    for hazard, denied in entries_with_answers(answers):
        prevented: dict[str, list[GuaranteeAnswer]] = {}
        for answer in denied:
            changes = remedies_in(hazard, cluster, config, answer.failure)
            texts = [" with ".join(f"{name}={value}" for name, value in each.items()) for each in changes]
            prevented.setdefault(" or ".join(texts), []).append(answer)
        for text, helped in prevented.items():
            if text:
                yield Suggestion(
                    text,
                    f"records that are {outcomes(helped)}",
                    f"{hazard.name} needs another value: {hazard.remedy}".rstrip("."),
                )


def remedies_in(
    hazard: Hazard, cluster: ClusterConfig, config: EffectiveConfig, failure: FailureMode
) -> list[dict[str, str]]:
    """Return the smallest changes of settings after which an entry needs another one to happen with a failure."""
    facts = facts_of(cluster, config)
    facts_to_change = []
    for condition in hazard.conditions:
        other = condition.only_with
        companion = {other.setting: str((other.above or 0) + 1)} if other is not None else {}
        for changes in ({condition.setting: condition.remedy}, {condition.setting: condition.remedy, **companion}):
            exists = not any(lacks(cluster.version, cluster.client, role, condition.setting) for role in ROLES)
            if (
                condition.remedy
                and exists
                and not {failure.slug, "none"}.intersection(hazard.events_with({**facts, **changes}))
            ):
                facts_to_change.append({name: value for name, value in changes.items() if facts.get(name) != value})
                break
    return facts_to_change


def _needs_of_two_copies(config: EffectiveConfig) -> list[str]:
    """Return the settings without which an acknowledged record may have one copy only."""
    return [
        *(["acks=all"] if config["acks"] not in ("all", "-1") else []),
        *(["replication.factor=3"] if int(config["replication.factor"]) < 3 else []),
        *(["min.insync.replicas=2"] if int(config["min.insync.replicas"]) < 2 else []),
    ]


def _needs_of_idempotence(config: EffectiveConfig) -> list[str]:
    """Return the settings that a producer with a transactional.id needs. Source: ProducerConfig."""
    return [
        *(["enable.idempotence=true"] if config["enable.idempotence"] == "false" else []),
        *(["acks=all"] if config["acks"] not in ("all", "-1") else []),
        *(["retries above 0"] if config["retries"] == "0" else []),
        *(["at most 5 in flight"] if int(config["max.in.flight.requests.per.connection"]) > 5 else []),
    ]


def _join(settings: Sequence[str]) -> str:
    return "".join(f", {setting}" for setting in settings)
