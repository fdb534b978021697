"""Common failures of a pipeline, end to end, and the settings that prevent each of them."""

from checker.language import Scenario
from specs.pipeline.pipeline import Pipeline

PRODUCER = ["no_acked_loss", "no_duplicate", "no_reorder", "every_record_acknowledged"]
"""The properties of scenarios without a consumer."""

END_TO_END = [*PRODUCER, "reads_are_stable", "no_gap", "every_record_processed"]
"""The properties of scenarios with a consumer that commits after processing."""

DURABLE = dict(acks="all", min_insync_replicas=2)
ALL_AT_ONCE = dict(broker_crashes=2, lost_responses=1, late_requests=True)


def violates(name, constants, expect, description):
    """Return a scenario that is checked for the expected violations only."""
    return Scenario(Pipeline, name, constants, expect=expect, properties=list(expect), description=description)


def holds(name, constants, description, properties=PRODUCER):
    """Return a scenario that holds, and the same with three records."""
    larger = {**constants, "records": 3}
    return [
        Scenario(Pipeline, name, constants, properties=properties, description=description),
        Scenario(Pipeline, f"{name}_larger", larger, properties=properties, description=description),
    ]


scenarios = [
    violates(
        "acks_0_loss",
        dict(acks="0", broker_crashes=1),
        {"no_acked_loss": 5},
        "acks=0: the producer reports success when it writes the request; the leader dies before it reads it.",
    ),
    violates(
        "acks_1_loss_at_failover",
        dict(acks="1", broker_crashes=1),
        {"no_acked_loss": 7},
        "acks=1: the leader acknowledges, and dies before a follower has fetched the record.",
    ),
    *holds(
        "min_isr_2_two_crashes",
        dict(DURABLE, broker_crashes=2),
        "acks=all, min.insync.replicas=2 of 3, clean elections: two crashes lose, duplicate and reorder no record.",
        [*PRODUCER, "another_broker_leads", "writes_with_one_broker_down"],
    ),
    violates(
        "min_isr_2_refuses_with_two_brokers_down",
        dict(DURABLE, broker_crashes=2),
        {"writes_with_two_brokers_down": None},
        "The price of min.insync.replicas=2 of 3: with two brokers down no write succeeds.",
    ),
    violates(
        "min_isr_1_unclean_loss",
        dict(min_insync_replicas=1, broker_crashes=1, unclean_elections=True),
        {"no_acked_loss": 9},
        "acks=all with min.insync.replicas=1 is acks=1 once the leader is alone in the ISR.",
    ),
    violates(
        "unclean_election_loss",
        dict(DURABLE, broker_crashes=2, unclean_elections=True),
        {"no_acked_loss": 10},
        "Every member of the ISR dies, and a replica outside it is elected: acknowledged records are truncated.",
    ),
    violates(
        "last_replica_standing",
        dict(DURABLE, broker_crashes=1, power_failures=1),
        {"no_acked_loss": 11},
        "The last member of the ISR loses its page cache and is elected anyway (KIP-966).",
    ),
    *holds(
        "last_replica_standing_power_loss_elr",
        dict(DURABLE, power_failures=1, eligible_leader_replicas=True),
        "With eligible leader replicas, a power failure of one broker loses no record.",
    ),
    violates(
        "last_known_leader",
        dict(DURABLE, broker_crashes=1, power_failures=1, eligible_leader_replicas=True),
        {"no_acked_loss": 12},
        "Eligible leader replicas, and no replica is eligible: the last known leader is elected without its records.",
    ),
    violates(
        "blackout_loss",
        dict(DURABLE, blackouts=1),
        {"no_acked_loss": 10},
        "All machines lose power at once: records that acks=all acknowledged were in page caches only.",
    ),
    *holds(
        "blackout_flushed",
        dict(DURABLE, blackouts=1, flushes=True),
        "With flush.messages=1, a power failure of all machines loses no record.",
    ),
    violates(
        "lost_response_duplicate",
        dict(DURABLE, idempotent=False, lost_responses=1),
        {"no_duplicate": 7},
        "Without idempotence: the response is lost, and the record is sent again.",
    ),
    violates(
        "retry_reorders",
        dict(DURABLE, idempotent=False, lost_responses=1),
        {"no_reorder": 13},
        "Without idempotence, two requests in flight: both fail, and are requeued in reverse order.",
    ),
    *holds(
        "idempotent_lost_response",
        dict(DURABLE, lost_responses=1, late_requests=True),
        "The leader recognises an idempotent producer's duplicates, and rejects records out of order.",
    ),
    violates(
        "producer_restart_duplicate",
        dict(DURABLE, producer_restarts=1),
        {"no_duplicate": 7},
        "Idempotence covers one session of the producer: its successor sends unacknowledged records again.",
    ),
    violates(
        "read_then_gone",
        dict(acks="1", strict_min_isr=False, consumer="commits_last", broker_crashes=1, unclean_elections=True),
        {"reads_are_stable": 9},
        "Before 3.7 a leader alone in the ISR raises the high watermark: a consumer reads, and the record vanishes.",
    ),
    *holds(
        "read_and_stays",
        dict(DURABLE, consumer="commits_last", broker_crashes=1),
        "acks=all, min.insync.replicas=2, clean elections: records that were read stay.",
        END_TO_END,
    ),
    violates(
        "commits_first_gap",
        dict(consumer="commits_first", consumer_crashes=1),
        {"no_gap": 7},
        "A consumer that commits before it processes, and dies in between: the record is skipped.",
    ),
    violates(
        "commits_last_reprocessing",
        dict(consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"),
        {"no_reprocessing": 11},
        "A consumer that processes before it commits, and dies in between: the record is processed again.",
    ),
    violates(
        "latest_before_first_commit_gap",
        dict(consumer="auto_commit", consumer_crashes=1),
        {"no_gap": 7},
        "auto.offset.reset=latest, and a consumer that dies before its first commit: its records are skipped.",
    ),
    violates(
        "background_commit_gap",
        dict(consumer="background", consumer_crashes=1, auto_offset_reset="earliest"),
        {"no_gap": 9},
        "librdkafka's timer commits the returned records, and the consumer dies before it processes them.",
    ),
    *holds(
        "commits_last_no_gap",
        dict(consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"),
        "A consumer that commits last and starts from the beginning skips no record.",
        END_TO_END,
    ),
    Scenario(
        Pipeline,
        "end_to_end",
        dict(DURABLE, **ALL_AT_ONCE, consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"),
        properties=[*END_TO_END, "another_broker_leads"],
        description="Two crashes, a lost response, late requests and a consumer's crash in one run: no record is lost.",
    ),
]
