"""The rules of a leader's producer state by Kafka version: values for the constants of `producer_state`.

They are computed from the table of `specs.kafka_versions`; the defaults of the constants are the rules of 4.4.
"""

from specs import kafka_versions as kafka


def producer_state(version):
    """Return the constants of `ProducerState` for the brokers of a version such as "2.5" or "1.0.2"."""
    caches_five = kafka.CACHES_FIVE_BATCHES.applies_to(version)
    return dict(
        cache_size=kafka.MAX_IN_FLIGHT_WITH_IDEMPOTENCE if caches_five else 1,
        no_state=accepted_without_state(version),
        old_sequence="duplicate"
        if caches_five and not kafka.STATE_CHANGES_AFTER_APPEND.applies_to(version)
        else "out_of_order",
    )


def accepted_without_state(version):
    """Return the value of `no_state`: the first sequences that a leader without state of the producer accepts."""
    if kafka.EMPTY_LOG_NEEDS_SEQUENCE_0.applies_to(version):
        return "never_held"
    if kafka.BUMPS_EPOCH_ON_LOST_STATE.applies_to(version):
        return "any"
    return "unknown_producer_id" if kafka.REPORTS_UNKNOWN_PRODUCER.applies_to(version) else "full"


def transactional_state(version):
    """Return the constants of `TransactionalState` for the brokers of a version, transaction version 2."""
    return dict(
        no_state=accepted_without_state(version),
        needs_sequence_0=kafka.EMPTY_STATE_NEEDS_SEQUENCE_0.applies_to(version),
        transaction_version=2,
    )


KAFKA_1_0 = producer_state("1.0")
"""Five batches are cached (KAFKA-5494); a sequence below them counts as a duplicate."""

KAFKA_1_1 = producer_state("1.1")
"""A sequence below the cached ones is out of order (KAFKA-6683, also in 1.0.2)."""

KAFKA_2_5 = producer_state("2.5")
"""A leader without state of the producer accepts any sequence (KIP-360). The rules of every release up to 4.4."""

KAFKA_4_5 = producer_state("4.5")
"""A log that never held a record accepts only sequence 0 at first (KAFKA-15591). Not released."""
