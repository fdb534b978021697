"""The questions about a configuration, the failures, and both as constants and states of the pipeline spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checker.language.interpreter import State
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.configuration_keys import BY_DURATION
from kafka_tools.advise.effective_config import EffectiveConfig
from specs.kafka_versions import BUMPS_EPOCH_ON_LOST_STATE, HIGH_WATERMARK_WAITS_FOR_MIN_ISR, MIN_ISR_CAPPED

PIPELINE = "pipeline/pipeline"
"""The spec that answers the questions."""

Constants = Mapping[str, int | bool | str]
"""Constants of the pipeline spec, by name."""

Left = tuple[tuple[str, int], ...]
"""How often each failure may still occur, by the pipeline variable that counts it."""


@dataclass(frozen=True)
class GuaranteeQuestion:
    """A question: can something bad happen? The answer is yes if one of some properties of the pipeline is violated.

    `name`: the name in `--require no-NAME`. `verb` completes "a record may be VERB". `heading`: the two lines at the
    head of its column. `of_consumer`: the question needs a consumer.
    """

    name: str
    properties: tuple[str, ...]
    verb: str
    heading: tuple[str, str]
    of_consumer: bool = False


QUESTIONS = (
    GuaranteeQuestion("loss", ("no_acked_loss",), "lost", ("", "lost")),
    GuaranteeQuestion("duplicates", ("no_duplicate",), "written twice", ("", "twice")),
    GuaranteeQuestion("reorder", ("no_reorder",), "written out of order", ("out of", "order")),
    GuaranteeQuestion(
        "stuck", ("no_missing_earlier", "no_endless_retry"), "left out or retried without end", ("", "stuck")
    ),
    GuaranteeQuestion("vanishing-reads", ("reads_are_stable",), "read and later missing", ("read,", "gone"), True),
    GuaranteeQuestion("gaps", ("no_gap",), "skipped by the consumer", ("", "skipped"), True),
    GuaranteeQuestion(
        "reprocessing", ("no_reprocessing",), "processed twice by the consumer", ("processed", "twice"), True
    ),
)
"""The guarantees LOSS, DUP, REORDER, STUCK, UNSTABLE and GAP, and DUP as a consumer causes it.

Stuck: an earlier record is never written although a later one is, or the leader refuses each retry of a record.
"""


@dataclass(frozen=True)
class FailureMode:
    """A kind of failure. `left` says how often it occurs, by the pipeline variable that counts it.

    `slug`: the name in `--failure`. `is_unclean`: the failure needs unclean elections, which then may follow every
    failure.
    """

    slug: str
    name: str
    left: Left = ()
    is_unclean: bool = False

    @property
    def phrase(self) -> str:
        """The failure at the end of a sentence: "a record may be lost PHRASE"."""
        return f"after {self.name}" if self.left else f"with {self.name}"

    def happens_to(self, who: str) -> bool:
        """Return whether the failure affects the `producer`, the `consumer` or a `broker`."""
        return any(_VICTIMS[variable] == who for variable, _ in self.left)


_VICTIMS = {
    "leader_moves_left": "broker",
    "broker_crashes_left": "broker",
    "power_failures_left": "broker",
    "blackouts_left": "broker",
    "lost_responses_left": "producer",
    "delivery_timeouts_left": "producer",
    "producer_restarts_left": "producer",
    "consumer_crashes_left": "consumer",
}

_CRASH, _POWER_LOSS = ("broker_crashes_left", 1), ("power_failures_left", 1)
_TWO_CRASHES = ("broker_crashes_left", 2)

TIMEOUT = FailureMode("delivery-timeout", "a delivery timeout", (("delivery_timeouts_left", 1),))
RESTART = FailureMode("producer-restart", "a producer restart", (("producer_restarts_left", 1),))

FAILURES = (
    FailureMode("slow-follower", "a slow follower"),
    FailureMode("leader-change", "a planned leader change", (("leader_moves_left", 1),)),
    FailureMode("crash", "a broker crash", (_CRASH,)),
    FailureMode("two-crashes", "two broker crashes", (_TWO_CRASHES,)),
    FailureMode("unclean-election", "an unclean election", (_TWO_CRASHES,), is_unclean=True),
    FailureMode("power-loss", "power loss of one broker", (_POWER_LOSS,)),
    FailureMode("crash-and-power-loss", "a crash and a power loss", (_CRASH, _POWER_LOSS)),
    FailureMode("blackout", "power loss of all brokers", (("blackouts_left", 1),)),
    FailureMode("lost-response", "a lost response", (("lost_responses_left", 1),)),
    TIMEOUT,
    RESTART,
    FailureMode("consumer-crash", "a consumer crash", (("consumer_crashes_left", 1),)),
)
"""Each failure is explored at every moment, with followers that may fall behind."""

RECORDS, RECORDS_WITH_CONSUMER = 3, 2
"""The number of records sent: enough for every counterexample of the catalogue, and few enough to end in seconds."""


def is_possible(failure: FailureMode, config: EffectiveConfig) -> bool:
    """Return whether a failure can happen with these settings and can be explored.

    An unclean election must be allowed. A delivery timeout of two minutes or more is not explored, nor is the effect of
    transactions on a producer that restarts.
    """
    if failure.is_unclean:
        return config["unclean.leader.election.enable"] == "true"
    if failure == TIMEOUT:
        return config.has_short_delivery_timeout
    return not (config.is_transactional and failure == RESTART)


def is_relevant(question: GuaranteeQuestion, failure: FailureMode) -> bool:
    """Return whether a failure can affect the answer: producer failures do not concern the consumer, and vice versa."""
    if failure.happens_to("consumer"):
        return question.name in ("gaps", "reprocessing")
    return not (question.of_consumer and failure.happens_to("producer"))


def is_decidable(question: GuaranteeQuestion, cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    """Return whether a complete exploration without a counterexample is a no.

    The model has the idempotent client of 2.5 and later. An earlier client resets its sequences when a broker has lost
    them, and numbers batches in the order of a heap (entries I4 and I5 of docs/idempotence.md). If the leader refuses
    every record because min.insync.replicas is above the replication factor, each is retried until it expires.
    """
    if question.name == "stuck" and refuses_every_write(cluster, config):
        return False
    has_earlier_client = not BUMPS_EPOCH_ON_LOST_STATE.applies_to(cluster.version)
    return not (has_earlier_client and config["enable.idempotence"] == "true" and question.name in OF_PRODUCER_STATE)


def refuses_every_write(cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    """Return whether acks=all never succeeds: min.insync.replicas above the replication factor (KAFKA-15583)."""
    is_above = int(config["min.insync.replicas"]) > int(config["replication.factor"])
    return is_above and config["acks"] == "all" and not MIN_ISR_CAPPED.applies_to(cluster.version)


OF_PRODUCER_STATE = ("duplicates", "reorder", "stuck")
"""The questions whose answers depend on what brokers remember of a producer."""


REMEMBERING: Constants = {"no_state": "never_held", "snapshot_batches": 5}
"""Constants of brokers that do not forget a producer's batches: without I2 and I7 of docs/idempotence.md.

No released broker is like that. They separate what the settings cause from what the brokers cause.
"""


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
        # All followers: the leader may remain alone in the ISR, for any replication factor.
        "slow_followers": replicas - 1,
        "acks": config["acks"],
        "idempotent": config["enable.idempotence"] == "true",
        "retries": config["retries"] != "0",
        "transactional": config.hides_aborted_records,
        "no_state": "any" if BUMPS_EPOCH_ON_LOST_STATE.applies_to(cluster.version) else "unknown_producer_id",
        "implicit_acks": acknowledges_implicitly(cluster, config),
        "consumer": _CONSUMERS[config["commits"]] if with_consumer else "none",
        "auto_offset_reset": _reset(config["auto.offset.reset"]),
        "late_requests": True,
        "leader_moves": 1,
        "delivery_timeouts": 1 if times_out else 0,
        "resends": times_out and resends,
        "broker_crashes": 2,
        "power_failures": 1,
        "blackouts": 1,
        "lost_responses": 1,
        "producer_restarts": 1,
        "consumer_crashes": 1,
    }


_CONSUMERS = {"auto": "auto_commit", "first": "commits_first", "last": "commits_last", "background": "background"}


def _reset(value: str) -> str:
    """Return the pipeline's auto_offset_reset. By duration is explored as `latest`: a long absence skips records."""
    return "latest" if value.startswith(BY_DURATION) else value


def includes(left: Left, other: Left) -> bool:
    """Return whether each failure of `other` may occur at least as often in `left`."""
    counts, others = _counts(left), _counts(other)
    return all(counts[variable] >= others[variable] for variable in counts)


def constants_with_failures(constants: Constants, left: Left) -> Constants:
    """Return the constants of a pipeline in which only these failures occur; see `state_with_failures`."""
    return {**constants, **{variable.removesuffix("_left"): number for variable, number in _counts(left).items()}}


def state_with_failures(initial: State, left: Left) -> State:
    """Return the initial state of a pipeline in which only these failures may occur."""
    return State({**initial.values, **_counts(left)})


def _counts(left: Left) -> dict[str, int]:
    return dict.fromkeys(_VICTIMS, 0) | dict(left)
