"""Common failures of a pipeline, end to end, and the settings that prevent each of them."""

from checker.language import Bug, Scenario
from specs.pipeline.pipeline import Pipeline

PRODUCER = ["no_acked_loss", "no_duplicate", "no_reorder", "every_record_acknowledged"]
"""The properties of scenarios without a consumer."""

END_TO_END = [*PRODUCER, "reads_are_stable", "no_gap", "every_record_processed"]
"""The properties of scenarios with a consumer that commits after processing."""

DURABLE = dict(acks="all", min_insync_replicas=2)
ELIGIBLE = dict(DURABLE, power_failures=1, eligible_leader_replicas=True)
ALL_AT_ONCE = dict(broker_crashes=2, lost_responses=1, late_requests=True)


def violates(name, constants, expect, description):
    """Return a scenario that is checked for the expected violations only."""
    return Scenario(Pipeline, name, constants, expect=expect, properties=list(expect), description=description)


scenarios = [
    violates(
        "acks_0_loss",
        dict(acks="0", broker_crashes=1),
        {"no_acked_loss": 5},
        "acks=0: the producer reports success when it writes the request; the leader dies before it reads it.",
    ),
    Bug(
        "acks_1_loss_at_failover",
        Pipeline,
        violates={"no_acked_loss": 7},
        size=dict(broker_crashes=2),
        larger=dict(broker_crashes=2, records=3),
        faulty=dict(acks="1", broker_crashes=1),
        fixed=DURABLE,
        fixed_name="min_isr_2_two_crashes",
        promises=[*PRODUCER, "another_broker_leads", "writes_with_one_broker_down"],
        description="acks=1: the leader acknowledges, and dies before a follower has fetched the record.",
        remedy="acks=all, min.insync.replicas=2 of 3, clean elections: two crashes lose, duplicate and reorder no "
        "record.",
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
    Scenario(
        Pipeline,
        "last_replica_standing_power_loss_elr",
        ELIGIBLE,
        properties=PRODUCER,
        description="With eligible leader replicas, a power failure of one broker loses no record.",
    ),
    Scenario(
        Pipeline,
        "last_replica_standing_power_loss_elr_larger",
        dict(ELIGIBLE, records=3),
        properties=PRODUCER,
        description="With eligible leader replicas, a power failure of one broker loses no record.",
    ),
    violates(
        "last_known_leader",
        dict(DURABLE, broker_crashes=1, power_failures=1, eligible_leader_replicas=True),
        {"no_acked_loss": 12},
        "Eligible leader replicas, and no replica is eligible: the last known leader is elected without its records.",
    ),
    Bug(
        "blackout_loss",
        Pipeline,
        violates={"no_acked_loss": 10},
        size=dict(DURABLE, blackouts=1),
        larger=dict(DURABLE, blackouts=1, records=3),
        fixed=dict(flushes=True),
        fixed_name="blackout_flushed",
        promises=PRODUCER,
        description="All machines lose power at once: records that acks=all acknowledged were in page caches only.",
        remedy="With flush.messages=1, a power failure of all machines loses no record.",
    ),
    Bug(
        "lost_response_duplicate",
        Pipeline,
        violates={"no_duplicate": 7},
        size=dict(DURABLE, lost_responses=1),
        larger=dict(DURABLE, lost_responses=1, records=3),
        faulty=dict(idempotent=False),
        fixed=dict(late_requests=True),
        fixed_name="idempotent_lost_response",
        promises=PRODUCER,
        description="Without idempotence: the response is lost, and the record is sent again.",
        remedy="The leader recognises an idempotent producer's duplicates, and rejects records out of order.",
    ),
    violates(
        "retry_reorders",
        dict(DURABLE, idempotent=False, lost_responses=1),
        {"no_reorder": 13},
        "Without idempotence, two requests in flight: both fail, and are requeued in reverse order.",
    ),
    violates(
        "producer_restart_duplicate",
        dict(DURABLE, producer_restarts=1),
        {"no_duplicate": 7},
        "Idempotence covers one session of the producer: its successor sends unacknowledged records again.",
    ),
    Bug(
        "read_then_gone",
        Pipeline,
        violates={"reads_are_stable": 9},
        size=dict(consumer="commits_last", broker_crashes=1),
        larger=dict(consumer="commits_last", broker_crashes=1, records=3),
        faulty=dict(acks="1", strict_min_isr=False, unclean_elections=True),
        fixed=DURABLE,
        fixed_name="read_and_stays",
        promises=END_TO_END,
        description="Before 3.7 a leader alone in the ISR raises the high watermark: a consumer reads, and the record "
        "vanishes.",
        remedy="acks=all, min.insync.replicas=2, clean elections: records that were read stay.",
    ),
    Bug(
        "commits_first_gap",
        Pipeline,
        violates={"no_gap": 7},
        size=dict(consumer_crashes=1),
        larger=dict(consumer_crashes=1, records=3),
        faulty=dict(consumer="commits_first"),
        fixed=dict(consumer="commits_last", auto_offset_reset="earliest"),
        fixed_name="commits_last_no_gap",
        promises=END_TO_END,
        description="A consumer that commits before it processes, and dies in between: the record is skipped.",
        remedy="A consumer that commits last and starts from the beginning skips no record.",
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
    Scenario(
        Pipeline,
        "end_to_end",
        dict(DURABLE, **ALL_AT_ONCE, consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"),
        properties=[*END_TO_END, "another_broker_leads"],
        description="Two crashes, a lost response, late requests and a consumer's crash in one run: no record is lost.",
    ),
]
