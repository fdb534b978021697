"""The questions about a configuration, and the failures after which they are asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from checker.run.result import TraceStep
from kafka_tools.advise.cluster import ClusterConfig
from kafka_tools.advise.effective_config import EffectiveConfig
from kafka_tools.advise.frameworks import clients_of
from kafka_tools.advise.models import UNLIMITED_RETRIES, VICTIMS, Left, Model, has_consumer_protocol
from specs.kafka_versions import BUMPS_EPOCH_ON_LOST_STATE, MIN_ISR_CAPPED


@dataclass(frozen=True)
class GuaranteeQuestion:
    """A question: can something bad happen? The answer is yes if one of some properties of the pipeline is violated.

    `name`: the name in `--require no-NAME`, and the outcome in `specs.hazards`. `verb` completes "a record may be
    VERB". `heading`: the two lines at the head of its column. `of_consumer`: the question needs a consumer.
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
    """A kind of failure, and the model that answers the questions about it.

    `slug`: the name in `--failure`, and the event in `specs.hazards`. `left` says how often the failures of the
    pipeline occur, by the variable that counts each. `is_unclean`: the failure needs unclean elections, which then may
    follow every failure. `overrides`: the pipeline's constants that the failure sets. `asked`: the questions that the
    failure can affect, with the properties that answer them (None: all questions that `left` can affect).
    `of_consumer_group`: a spec of the consumer answers. `meaning`: what the name leaves open, as sentences.
    """

    slug: str
    name: str
    left: Left = ()
    is_unclean: bool = False
    overrides: tuple[tuple[str, bool], ...] = ()
    asked: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    of_consumer_group: bool = False
    meaning: str = ""

    @property
    def phrase(self) -> str:
        """The failure at the end of a sentence: "a record may be lost PHRASE"."""
        return f"{self.preposition} {self.name}"

    @property
    def preposition(self) -> str:
        """The word before the failure in a sentence."""
        return "with" if self.slug in ("slow-follower", "unclean-election") else "after"

    def happens_to(self, who: str) -> bool:
        """Return whether the failure affects the `producer`, the `consumer` or a `broker`."""
        return any(VICTIMS[variable] == who for variable, _ in self.left)


_CRASH, _POWER_LOSS = ("broker_crashes_left", 1), ("power_failures_left", 1)
_TWO_CRASHES = ("broker_crashes_left", 2)
_PROCESSED = {"gaps": ("no_gap",), "reprocessing": ("no_duplicate",)}

TIMEOUT = FailureMode("delivery-timeout", "a delivery timeout", (("delivery_timeouts_left", 1),))
RESTART = FailureMode("producer-restart", "a producer restart", (("producer_restarts_left", 1),))
EXHAUSTED = FailureMode(
    "retries-exhausted",
    "exhausted retries",
    (("lost_responses_left", 1),),
    # Each attempt of a record fails: the model has one attempt for all of them, and a lost response fails it.
    overrides=(("retries", False),),
    asked={"stuck": ("no_missing_earlier",)},
)
EMPTY_DISK = FailureMode("empty-disk", "an empty disk at restart", (_POWER_LOSS,), overrides=(("empties_disks", True),))
DISK_LOST = FailureMode("disk-lost", "the loss of one disk", asked={"loss": ("acknowledged_on_two_disks",)})
EXCEPTION = FailureMode(
    "application-exception",
    "an application exception",
    asked=_PROCESSED,
    of_consumer_group=True,
    meaning="one after which the application closes its clients: close() commits if commits are automatic, and sends "
    "what the producer still has. An exception that ends the process or its thread without close() is a consumer crash "
    "or a producer restart: read that row.",
)
REBALANCE = FailureMode("rebalance", "a rebalance", asked=_PROCESSED, of_consumer_group=True)
EVICTION = FailureMode("eviction", "a consumer's eviction", asked=_PROCESSED, of_consumer_group=True)
OFFSETS_EXPIRE = FailureMode(
    "offsets-expire",
    "expired offsets",
    # What the reset repeats, and not what a crash repeats that comes before it.
    asked={"gaps": ("no_gap",), "reprocessing": ("no_step_back",)},
    of_consumer_group=True,
)
RECORDS_EXPIRE = FailureMode(
    "records-expire", "expired records", asked={"gaps": ("no_gap", "deleted_records_were_read")}, of_consumer_group=True
)

FAILURES = (
    FailureMode("slow-follower", "a slow follower"),
    FailureMode("leader-change", "a planned leader change", (("leader_moves_left", 1),)),
    FailureMode("leader-changes", "two planned leader changes", (("leader_moves_left", 2),)),
    FailureMode("crash", "a broker crash", (_CRASH,)),
    FailureMode("two-crashes", "two broker crashes", (_TWO_CRASHES,)),
    FailureMode("unclean-election", "an unclean election", (_TWO_CRASHES,), is_unclean=True),
    FailureMode("power-loss", "power loss of one broker", (_POWER_LOSS,)),
    EMPTY_DISK,
    DISK_LOST,
    FailureMode("crash-and-power-loss", "a crash and a power loss", (_CRASH, _POWER_LOSS)),
    FailureMode("blackout", "power loss of all brokers", (("blackouts_left", 1),)),
    FailureMode("lost-response", "a lost response", (("lost_responses_left", 1),)),
    EXHAUSTED,
    TIMEOUT,
    RESTART,
    FailureMode("consumer-crash", "a consumer crash", (("consumer_crashes_left", 1),)),
    EXCEPTION,
    REBALANCE,
    EVICTION,
    OFFSETS_EXPIRE,
    RECORDS_EXPIRE,
)
"""Each failure is explored at every moment, with followers that may fall behind."""


def is_possible(failure: FailureMode, cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    """Return whether a failure can happen with these settings and can be explored."""
    return not why_impossible(failure, cluster, config)


def cannot_happen(failure: FailureMode, config: EffectiveConfig) -> str:
    """Return the setting that excludes a failure, as a sentence; "" if none does."""
    if failure.is_unclean and config["unclean.leader.election.enable"] != "true":
        return "cannot happen with unclean.leader.election.enable=false"
    if config["replication.factor"] == "1" and (failure.is_unclean or _moves_leader(failure)):
        return "cannot happen with one replica: no other broker can lead. A reassignment of the replica is not explored"
    if failure == EXHAUSTED and int(config["retries"]) >= UNLIMITED_RETRIES:
        return "cannot happen with unlimited retries; delivery.timeout.ms ends them"
    is_deleted = _value(config, "cleanup.policy") != "compact"
    if (
        failure == RECORDS_EXPIRE
        and is_deleted
        and {_value(config, name) for name in ("retention.ms", "retention.bytes")} == {"-1"}
    ):
        return "cannot happen with retention.ms=-1 and retention.bytes=-1"
    return ""


def why_impossible(failure: FailureMode, cluster: ClusterConfig, config: EffectiveConfig) -> str:
    """Return why a failure cannot happen with these settings or is not explored, "" if it is explored."""
    if excluded := cannot_happen(failure, config):
        return excluded
    if failure == RECORDS_EXPIRE and _value(config, "cleanup.policy") == "compact":
        return "not explored with cleanup.policy=compact: retention deletes no record, and compaction is not modelled"
    if cluster.ephemeral_disks and failure != EMPTY_DISK and _loses_disks(failure):
        return f"not explored with disks that end with the broker ({cluster.ephemeral_disks}): see {EMPTY_DISK.name}"
    is_of_consumer = failure.of_consumer_group or failure.happens_to("consumer")
    if is_of_consumer and refuses_every_write(cluster, config):
        return "not explored: every write with acks=all is refused, so the consumer gets no record of the producer"
    if failure == TIMEOUT and not config.has_short_delivery_timeout:
        return "not explored: delivery.timeout.ms is two minutes or more (docs/producer.md, P11)"
    if failure == RESTART and config.is_transactional:
        return "explored with the specs of transactions, if they answer (see below)"
    if failure == EXCEPTION and "consumer" in clients_of(cluster.frameworks):
        return "not explored: the framework decides what follows an exception"
    if failure == DISK_LOST and config["unclean.leader.election.enable"] == "true":
        return "not explored with unclean elections, after which a replica without the record may lead"
    if failure == REBALANCE and has_consumer_protocol(config):
        return ""
    if failure in (REBALANCE, EVICTION) and config["commits"] == "background":
        return "not explored for commits in the background (docs/consumer.md)"
    if failure == EVICTION and has_consumer_protocol(config):
        return "not explored with group.protocol=consumer"
    return ""


def _moves_leader(failure: FailureMode) -> bool:
    return any(variable == "leader_moves_left" for variable, _ in failure.left)


def _loses_disks(failure: FailureMode) -> bool:
    """Return whether brokers stop, so that they lose disks that end with them."""
    return failure == DISK_LOST or any(variable in _STOPS for variable, _ in failure.left)


_STOPS = ("broker_crashes_left", "power_failures_left", "blackouts_left")


def _value(config: EffectiveConfig, name: str) -> str | None:
    choice = config.choices.get(name)
    return None if choice is None else choice.value


def is_relevant(question: GuaranteeQuestion, failure: FailureMode) -> bool:
    """Return whether a failure can affect the answer: producer failures do not concern the consumer, and vice versa."""
    if failure.asked is not None:
        return question.name in failure.asked
    if failure.happens_to("consumer"):
        return question.name in ("gaps", "reprocessing")
    return not (question.of_consumer and failure.happens_to("producer"))


def properties_for(question: GuaranteeQuestion, failure: FailureMode, model: Model) -> tuple[str, ...]:
    """Return the properties of a model that answer a question for a failure."""
    names = question.properties if failure.asked is None else failure.asked[question.name]
    return tuple(map(model.property_of, names))


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


def has_client_of(version: str, trace: Sequence[TraceStep]) -> bool:
    """Return whether the client of a release has every action of a counterexample; see `is_decidable`."""
    is_raised = any(step.action in ("producer_bump_epoch", "bump_epoch") for step in trace)
    return not is_raised or BUMPS_EPOCH_ON_LOST_STATE.applies_to(version)


def refuses_every_write(cluster: ClusterConfig, config: EffectiveConfig) -> bool:
    """Return whether acks=all never succeeds: min.insync.replicas above the replication factor (KAFKA-15583)."""
    is_above = int(config["min.insync.replicas"]) > int(config["replication.factor"])
    return is_above and config["acks"] == "all" and not MIN_ISR_CAPPED.applies_to(cluster.version)


OF_PRODUCER_STATE = ("duplicates", "reorder", "stuck")
"""The questions whose answers depend on what brokers remember of a producer."""
