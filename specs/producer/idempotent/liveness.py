"""Liveness of the idempotent producer: every batch is completed, except for the bugs that retry one for ever.

The section "Stuck" of docs/idempotence.md describes the scenarios. `catalogue` has the safety properties of these bugs.
"""

from checker.language import Bug, Scenario, eventually
from specs.broker.producer_state import BatchId, Partition
from specs.producer.idempotent.catalogue import KNOWN_TWO, SINCE_4_5, THREE, TWO
from specs.producer.idempotent.mistakes import Librdkafka
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.repairs import CircularComparisons, MarksEveryExpiry
from specs.scenario_forms import without_each


class IdempotentLiveness(IdempotentProducer):
    """The idempotent producer with the property that every future is completed.

    The application has sent all batches before the first step, and retries have no limit. The scenarios promise that
    some of the actions are fair.

    Source: Sender, RecordAccumulator and TransactionManager of Apache Kafka.
    """

    @eventually(says="{partition}: the future of batch {b} is never completed; in flight {self.in_flight[partition]}")
    def batch_is_completed(self, partition: Partition, b: BatchId):
        """Every batch is acknowledged, or it fails."""
        return not self.is_pending(partition, b)


class CircularComparisonsLiveness(IdempotentLiveness, CircularComparisons):
    """The same for a client that compares sequences on the circle."""


class MarksEveryExpiryLiveness(IdempotentLiveness, MarksEveryExpiry):
    """The same for a client that marks every batch that expires after its first send."""


class LibrdkafkaLiveness(IdempotentLiveness, Librdkafka):
    """The same for librdkafka."""


FAIR = dict(drain="weak", handle_produce="weak", receive_response="weak", bump_epoch="weak")
"""The sender drains and reads responses, the broker handles requests, and a due epoch bump takes place."""

FAIR_EXPIRY = dict(FAIR, resolve_sequences="weak")
"""The same, and the client resolves the sequences of expired batches."""

FAULTS = dict(KNOWN_TWO, max_disconnects=1, max_refusals=1, max_rejections=1, max_late_acks=1, max_epoch=3)
REJECTION = dict(KNOWN_TWO, max_disconnects=1, max_rejections=1)
EXPIRY = dict(KNOWN_TWO, max_disconnects=1, max_timeouts=1)
COMPLETED = "batch_is_completed"


def stuck(name, length, spec=IdempotentLiveness, **bug):
    """Return a bug that leaves a batch incomplete although client and broker are fair."""
    return Bug(name, spec, {COMPLETED: length}, fair=FAIR_EXPIRY, promises=[COMPLETED], **bug)


scenarios = [
    Scenario(IdempotentLiveness, "fair_client_and_broker", FAULTS, fair=FAIR, properties=[COMPLETED],
        description="With four weakly fair actions every batch is completed in spite of one fault of four kinds."),
    *without_each(IdempotentLiveness, REJECTION, FAIR, [COMPLETED], {
        "drain": (1, "The sender never sends the first batch."),
        "handle_produce": (3, "The broker never handles a request, and the connection stays open."),
        "receive_response": (5, "The client never reads the response, and the connection stays open."),
        "bump_epoch": (4, "A rejected batch requests an epoch bump; until it takes place the sender drains nothing."),
    }),
    Scenario(MarksEveryExpiryLiveness, "without_resolve_sequences", EXPIRY, fair=FAIR, properties=[COMPLETED],
        expect={COMPLETED: 4},
        description="With delivery timeouts a fifth promise is needed: the sender waits for unresolved sequences."),
    stuck("i1_cache_of_one", 7, size=dict(KNOWN_TWO, max_late_acks=1, max_disconnects=1, max_epoch=3),
        faulty=dict(cache_size=1), fixed_name="i1_fixed",
        description="I1: the broker remembers the second batch only, and refuses the first for ever.",
        remedy="I1 with a cache that holds every batch in flight."),
    stuck("i2_endless_retry", 7, size=dict(TWO, max_refusals=1), fixed=SINCE_4_5, fixed_name="i2_fixed",
        description="I2: a broker without state appends the second batch and refuses the first for ever.",
        remedy="I2 with the rule of 4.5 (unreleased): a partition that never held a record takes only sequence 0."),
    Scenario(IdempotentLiveness, "i2_ends_at_delivery_timeout", dict(TWO, max_refusals=1, max_timeouts=2, max_epoch=3),
        fair=dict(FAIR_EXPIRY, delivery_timeout="weak"), properties=[COMPLETED],
        description="I2: delivery.timeout.ms ends the retries; the future of the first batch fails."),
    stuck("i7_restart_refuses_a_retry", 8, size=dict(TWO, max_restarts=1, max_late_acks=1),
        fixed=dict(snapshot_batches=5), fixed_name="i7_fixed",
        description="I7: after a restart the broker has forgotten the first batch, and refuses its retry for ever.",
        remedy="I7 with a snapshot that holds the whole cache: the retry is answered as a duplicate."),
    stuck("i8_possibly_persisted", 9, LibrdkafkaLiveness, size=dict(KNOWN_TWO, max_disconnects=1, max_refusals=1),
        fixed=dict(counts_possibly_persisted=False), fixed_name="i8_fixed",
        description="I8: a refusal is fatal to the producer, and the futures of two batches are never completed.",
        remedy="I8 since librdkafka 2.3.0: a batch of unknown fate does not advance the expected sequence."),
    stuck("i12_wrap_around", 7, size=dict(THREE, first_sequence=3, max_sequence=3, max_refusals=1),
        fixed_spec=CircularComparisonsLiveness, fixed_name="i12_fixed",
        description="I12: the client takes sequence 0 for the older one, and sends only that batch again.",
        remedy="I12 with sequences that are compared on the circle."),
    stuck("expired_on_first_attempt", 5, size=EXPIRY, fixed_spec=MarksEveryExpiryLiveness,
        description="A batch expires with its first request in flight, unmarked; the next one is refused for ever.",
        remedy="Every batch that expires after its first send is marked unresolved."),
]  # fmt: skip
