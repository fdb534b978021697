"""The models that answer the questions: a spec with the constants that settings and a failure give it.

The pipeline answers most questions. Its failures are a part of the initial state, so that explorations can share code
and results. The specs of the consumer answer the questions about its application, its group and retention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checker.language.interpreter import State
from checker.language.spec import Spec
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import BY_DURATION, TRANSACTION_VERSION
from kafka_tools.advise.effective_config import EffectiveConfig
from kafka_tools.advise.facts import facts_of
from specs.consumer.background import BackgroundCommits
from specs.consumer.commits import PollLoop
from specs.consumer.consumer_protocol import ConsumerProtocol
from specs.consumer.group import ConsumerGroup
from specs.consumer.offsets import OffsetExpiry, RecordDeletion
from specs.hazards import hazards
from specs.kafka_versions import (
    BUMPS_EPOCH_ON_LOST_STATE,
    EMPTY_STATE_NEEDS_SEQUENCE_0,
    EPOCH_STAYS_BETWEEN_REVOCATIONS,
    HIGH_WATERMARK_WAITS_FOR_MIN_ISR,
    MEMBER_MAY_REJOIN,
    OFFSETS_EXPIRE_WITH_GROUP,
    PARTITION_EPOCHS_SURVIVE,
    POLL_SKIPS_WAIT,
    POLL_WAITS_FOR_COMMIT,
    REPORT_FREES_PARTITIONS,
    RETRIES_WITH_LATEST_POSITION,
)
from specs.pipeline.pipeline import Pipeline
from specs.producer.idempotent.producer import IdempotentProducer

if TYPE_CHECKING:
    from kafka_tools.advise.questions import FailureMode, GuaranteeQuestion

Constants = Mapping[str, int | bool | str]
"""Constants of a spec, by name."""

Left = tuple[tuple[str, int], ...]
"""How often each failure may still occur, by the pipeline variable that counts it."""

RECORDS, RECORDS_WITH_CONSUMER = 3, 2
"""The number of records sent: enough for every counterexample of the catalogue, and few enough to end in seconds."""

SLOW_FOLLOWERS = "slow_followers_left"
"""The pipeline variable that counts the followers that may still lag. A `Left` without it has no limit."""

VICTIMS = {
    "leader_moves_left": "broker",
    "broker_crashes_left": "broker",
    "power_failures_left": "broker",
    "blackouts_left": "broker",
    "lost_responses_left": "producer",
    "delivery_timeouts_left": "producer",
    "producer_restarts_left": "producer",
    "consumer_crashes_left": "consumer",
}
"""Whom each failure of the pipeline affects."""

_READ_AFTER = {"flushes": ("power_failures_left", "blackouts_left"), "auto_offset_reset": ("consumer_crashes_left",)}
"""By constant that only failures of the pipeline read, these failures."""

UNLIMITED_RETRIES = 2**31 - 1


@dataclass(frozen=True)
class Model:
    """A spec and its constants, as a value that can be compared and hashed."""

    spec: type[Spec]
    constants: tuple[tuple[str, int | bool | str], ...]

    @property
    def is_pipeline(self) -> bool:
        """Whether the model is the pipeline, of which the failures are a part of the initial state."""
        return self.spec is Pipeline

    def behaves_as(self, other: Model, left: Left) -> bool:
        """Return whether both are one model but for constants that only other failures than those in `left` read."""
        if self == other or not self.is_pipeline:
            return self == other
        counts = counts_of(left)
        read = {name for name, failures in _READ_AFTER.items() if any(counts[failure] for failure in failures)}
        unequal = {name for name, _ in {*self.constants} ^ {*other.constants}}
        return self.spec is other.spec and unequal <= {*_READ_AFTER} - read

    def property_of(self, name: str) -> str:
        """Return the property of the spec that answers for one of the questions.

        The spec of the consumer protocol has no records: two owners of a partition process a record twice.
        """
        return "one_owner" if self.spec is ConsumerProtocol and name == "no_duplicate" else name


def model_of(
    cluster: ClusterConfig, config: EffectiveConfig, question: GuaranteeQuestion, failure: FailureMode
) -> Model:
    """Return the model that answers a question for a failure."""
    if failure.slug == "rebalance" and has_consumer_protocol(config):
        return _rebalance_of_consumer_protocol(cluster, config, question)
    if failure.of_consumer_group:
        return _CONSUMER_MODELS[failure.slug](cluster, config)
    is_of_retry = (question.name, failure.slug) == ("duplicates", "lost-response")
    if is_of_retry and hazards()["I13"].can_happen(cluster.version, facts_of(cluster, config)):
        return _RETRY_AFTER_EXPIRY
    # An application that sends an expired record again may write it twice; one that does not leaves it out.
    resends = question.name != "stuck"
    constants = constants_of(cluster, config, with_consumer=question.of_consumer, resends=resends)
    return Model(Pipeline, tuple({**constants, **dict(failure.overrides)}.items()))


def _model(spec: type[Spec], **constants: int | bool | str) -> Model:
    return Model(spec, tuple(constants.items()))


_RETRY_AFTER_EXPIRY = _model(
    IdempotentProducer,
    batches=1,
    max_in_flight=1,
    log_size=2,
    max_state_expiries=1,
    max_disconnects=1,
    expiry_waits=False,
)
"""A retry may arrive after the broker has removed the producer's state, for which the pipeline has no event."""


def acknowledges_implicitly(cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    """Return whether a success also acknowledges earlier records. Source: rd_kafka_handle_idempotent_Produce_success.

    See `implicit_acks` of `specs.pipeline.producer`.
    """
    return cluster.client == "librdkafka" and config["enable.idempotence"] == "true"


def constants_of(
    cluster: ClusterConfig, config: EffectiveConfig, *, with_consumer: bool, resends: bool = True
) -> Constants:
    """Return the pipeline's constants for the settings in effect; `state_with_failures` selects the failures.

    `resends`: the application sends a record again after a delivery timeout.
    """
    replicas = int(config["replication.factor"])
    times_out = config.has_short_delivery_timeout and not with_consumer
    return {
        "records": RECORDS_WITH_CONSUMER if with_consumer else RECORDS,
        "replication_factor": replicas,
        # All values above the number of replicas have the same effect.
        "min_insync_replicas": min(int(config["min.insync.replicas"]), replicas + 1),
        "unclean_elections": config["unclean.leader.election.enable"] == "true",
        "strict_min_isr": HIGH_WATERMARK_WAITS_FOR_MIN_ISR.applies_to(cluster.version),
        "eligible_leader_replicas": config["eligible.leader.replicas.version"] == "1",
        "flushes": config["flush.messages"] == "1",
        "max_in_flight": min(int(config["max.in.flight.requests.per.connection"]), 3),
        # All followers, so that the leader may remain alone in the ISR, and one of them again after that.
        "slow_followers": replicas,
        "other_records": not _keeps_lowest_sequence(config),
        "acks": config["acks"],
        "idempotent": config["enable.idempotence"] == "true",
        "retries": config["retries"] != "0",
        "transactional": config.is_transactional,
        "repeats_aborted": config.is_transactional and not config.hides_aborted_records,
        "no_state": _acceptance_without_state(cluster, config),
        "implicit_acks": acknowledges_implicitly(cluster, config),
        "consumer": _CONSUMERS[config["commits"]] if with_consumer else "none",
        "auto_offset_reset": _reset(config["auto.offset.reset"]),
        "late_requests": True,
        "leader_moves": 2,
        "delivery_timeouts": 1 if times_out else 0,
        "resends": times_out and resends,
        "broker_crashes": 2,
        "power_failures": 1,
        "blackouts": 1,
        "lost_responses": 1,
        "producer_restarts": 1,
        "consumer_crashes": 1,
    }


def _keeps_lowest_sequence(config: EffectiveConfig) -> bool:
    """Return whether a leader that has refused a producer's first record refuses later ones: it verified the first.

    Then records of other producers change no answer: a leader with state of the producer refuses later records too.
    Source: KAFKA-14920 (3.6, the release of the verification).
    """
    verification = "transaction.partition.verification.enable"
    return config.is_transactional and verification in config.choices and config[verification] == "true"


def _acceptance_without_state(cluster: ClusterConfig, config: EffectiveConfig) -> str:
    """Return which sequences a leader without state of the producer accepts; see `specs.broker.sequence_rules`.

    A transaction version that no file names may be 1: it counts as the one that accepts more.
    """
    if not BUMPS_EPOCH_ON_LOST_STATE.applies_to(cluster.version):
        return "unknown_producer_id"
    has_epochs = config.is_transactional and cluster.get("broker", TRANSACTION_VERSION) == "2"
    return "full" if has_epochs and EMPTY_STATE_NEEDS_SEQUENCE_0.applies_to(cluster.version) else "any"


_CONSUMERS = {"auto": "auto_commit", "first": "commits_first", "last": "commits_last", "background": "background"}


def _reset(value: str) -> str:
    """Return the pipeline's auto_offset_reset. By duration is explored as `latest`: a long absence skips records."""
    return "latest" if value.startswith(BY_DURATION) else value


# The consumer, its application and its group.

_POLICIES = {"auto": "auto", "background": "auto", "first": "before", "last": "after"}


def _model_of_an_exception(cluster: ClusterConfig, config: EffectiveConfig) -> Model:
    return _model(
        PollLoop,
        commit=_POLICIES[config["commits"]],
        auto_offset_reset=_reset(config["auto.offset.reset"]),
        records=2,
        crashes=0,
        failures=1,
    )


def _group(config: EffectiveConfig, **failures: int) -> Model:
    return _model(
        ConsumerGroup,
        records=2,
        max_generation=2,
        commit="before" if config["commits"] == "first" else "after",
        commits_when_revoked=config["commits"] == "auto",
        **failures,
    )


def has_consumer_protocol(config: EffectiveConfig) -> bool:
    """Return whether the consumer is a member of a group with the protocol of KIP-848."""
    return "group.protocol" in config.choices and config["group.protocol"] == "consumer"


def _rebalance_of_consumer_protocol(
    cluster: ClusterConfig, config: EffectiveConfig, question: GuaranteeQuestion
) -> Model:
    """Return the model of a rebalance with the protocol of KIP-848.

    Committed after processing, a rebalance suffices for a record that is processed twice. With the other commits, two
    owners of the partition process a record twice. An automatic commit skips records if the consumer also dies.
    """
    commits = _POLICIES[config["commits"]]
    if question.name == "reprocessing" and commits != "after":
        return _consumer_protocol(cluster)
    if commits == "auto":
        return _background_commits(cluster)
    return _model(PollLoop, commit=commits, records=2, crashes=0, rebalances=2)


def _consumer_protocol(cluster: ClusterConfig) -> Model:
    """Return the group protocol of a release, without lost heartbeats; one of two members may leave."""
    has_current_rules = EPOCH_STAYS_BETWEEN_REVOCATIONS.applies_to(cluster.version)
    survives = PARTITION_EPOCHS_SURVIVE.applies_to(cluster.version)
    return _model(
        ConsumerProtocol,
        partitions=2,
        max_epoch=4,
        reconciliation="4.2" if has_current_rules else "4.0" if survives else "3.7",
        bookkeeping="owned" if survives else "compared",
        accepts_rejoin=MEMBER_MAY_REJOIN.applies_to(cluster.version),
        skips_revocation=REPORT_FREES_PARTITIONS.applies_to(cluster.version),
    )


def _background_commits(cluster: ClusterConfig) -> Model:
    """Return the automatic commits of a release, of which one before a rebalance may fail and is retried."""
    waits = "while_polling" if POLL_SKIPS_WAIT.applies_to(cluster.version) else "before_fetching"
    return _model(
        BackgroundCommits,
        commits=waits if POLL_WAITS_FOR_COMMIT.applies_to(cluster.version) else "any_time",
        retries=1,
        retries_with="latest" if RETRIES_WITH_LATEST_POSITION.applies_to(cluster.version) else "same",
        rebalances=1,
    )


def _offsets_expire(cluster: ClusterConfig, config: EffectiveConfig) -> Model:
    return _model(
        OffsetExpiry,
        records=2,
        auto_offset_reset=_reset(config["auto.offset.reset"]),
        commits_at_start=True,
        operator_seeks=False,
        longest_outage=2,
        expiry="since_empty" if OFFSETS_EXPIRE_WITH_GROUP.applies_to(cluster.version) else "since_commit",
    )


def _records_expire(cluster: ClusterConfig, config: EffectiveConfig) -> Model:
    return _model(
        RecordDeletion, records=2, auto_offset_reset=_reset(config["auto.offset.reset"]), crashes=0, deletions=1
    )


_CONSUMER_MODELS = {
    "application-exception": _model_of_an_exception,
    "rebalance": lambda cluster, config: _group(config, members=3, evictions=0),
    "eviction": lambda cluster, config: _group(config, members=2, evictions=1),
    "offsets-expire": _offsets_expire,
    "records-expire": _records_expire,
}
"""By failure, the model of a consumer with settings. Sources: see the specs."""


# The failures of the pipeline.


def includes(left: Left, other: Left) -> bool:
    """Return whether each failure of `other` may occur at least as often in `left`."""
    counts, others = counts_of(left), counts_of(other)
    is_as_slow = SLOW_FOLLOWERS not in counts or counts[SLOW_FOLLOWERS] >= others.get(SLOW_FOLLOWERS, UNLIMITED_RETRIES)
    return is_as_slow and all(counts[variable] >= others[variable] for variable in VICTIMS)


def constants_with_failures(constants: Constants, left: Left) -> Constants:
    """Return the constants of a pipeline in which only these failures occur; see `state_with_failures`."""
    counts = _counts_within(left, int(constants["slow_followers"]))
    return {**constants, **{variable.removesuffix("_left"): number for variable, number in counts.items()}}


def state_with_failures(initial: State, left: Left) -> State:
    """Return the initial state of a pipeline in which only these failures may occur."""
    return State({**initial.values, **_counts_within(left, initial.values[SLOW_FOLLOWERS])})


def _counts_within(left: Left, most_slow: int) -> dict[str, int]:
    """Return how often each failure may occur. With another failure, each follower may lag once: it saves states."""
    counts = counts_of(left)
    return {SLOW_FOLLOWERS: most_slow - 1 if any(counts.values()) else most_slow} | counts


def counts_of(left: Left) -> dict[str, int]:
    """Return how often each failure of the pipeline may occur, by the variable that counts it."""
    return dict.fromkeys(VICTIMS, 0) | dict(left)
