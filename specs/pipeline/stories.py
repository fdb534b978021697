"""What every article on Kafka's reliability tells, end to end: each story, and what mends it."""

from checker.language import Scenario
from specs.pipeline.pipeline import Pipeline

PRODUCER = ["no_acked_loss", "no_duplicate", "no_reorder", "every_record_acknowledged"]
"""What is asked where there is no consumer."""

END_TO_END = [*PRODUCER, "reads_are_stable", "no_gap", "every_record_processed"]
"""What is asked where there is one; that it processes a record once is asked where it commits first."""

DURABLE = dict(acks="all", min_insync_replicas=2)
ALL_AT_ONCE = dict(broker_crashes=2, lost_responses=1, late_requests=True)


def story(name, constants, expect, tells):
    """Return a scenario that violates what it tells of, and is asked for nothing else."""
    return Scenario(Pipeline, name, constants, expect=expect, properties=list(expect), description=tells)


def mended(name, constants, tells, properties=PRODUCER):
    """Return a scenario that holds, and one with a record more."""
    return [
        Scenario(Pipeline, name, constants, properties=properties, description=tells),
        Scenario(Pipeline, f"{name}_larger", {**constants, "records": 3}, properties=properties, description=tells),
    ]


scenarios = [
    story(
        "acks_0_loss",
        dict(acks="0", broker_crashes=1),
        {"no_acked_loss": 5},
        "acks=0: success is a request that is written, and the leader dies before it reads it.",
    ),
    story(
        "acks_1_loss_at_failover",
        dict(acks="1", broker_crashes=1),
        {"no_acked_loss": 7},
        "acks=1: the leader acknowledges, and dies before a follower has fetched the record.",
    ),
    *mended(
        "min_isr_2_two_crashes",
        dict(DURABLE, broker_crashes=2),
        "acks=all, min.insync.replicas=2 of 3, no unclean election: two crashes lose, duplicate and reorder nothing.",
        [*PRODUCER, "another_broker_leads", "writes_with_one_broker_down"],
    ),
    story(
        "min_isr_2_refuses_with_two_brokers_down",
        dict(DURABLE, broker_crashes=2),
        {"writes_with_two_brokers_down": None},
        "The price of min.insync.replicas=2 of 3: with two brokers down no write succeeds.",
    ),
    story(
        "min_isr_1_unclean_loss",
        dict(min_insync_replicas=1, broker_crashes=1, unclean_elections=True),
        {"no_acked_loss": 9},
        "acks=all with min.insync.replicas=1 is acks=1 once the leader is alone in the ISR.",
    ),
    story(
        "unclean_election_loss",
        dict(DURABLE, broker_crashes=2, unclean_elections=True),
        {"no_acked_loss": 10},
        "Everybody in sync has died, and who is left is elected: what was acknowledged is truncated.",
    ),
    story(
        "last_replica_standing",
        dict(DURABLE, broker_crashes=1, power_failures=1),
        {"no_acked_loss": 11},
        "The last member of the ISR loses its page cache and is elected all the same (KIP-966).",
    ),
    *mended(
        "last_replica_standing_power_loss_elr",
        dict(DURABLE, power_failures=1, eligible_leader_replicas=True),
        "With eligible leader replicas a power loss of one broker loses nothing.",
    ),
    story(
        "last_known_leader",
        dict(DURABLE, broker_crashes=1, power_failures=1, eligible_leader_replicas=True),
        {"no_acked_loss": 12},
        "Eligible leader replicas, and nobody is eligible: the last known leader is elected, whatever it has lost.",
    ),
    story(
        "blackout_loss",
        dict(DURABLE, blackouts=1),
        {"no_acked_loss": 10},
        "All machines lose power at once: acks=all is acknowledged from page caches.",
    ),
    *mended(
        "blackout_flushed",
        dict(DURABLE, blackouts=1, flushes=True),
        "With flush.messages=1 a power loss of all machines loses nothing.",
    ),
    story(
        "lost_response_duplicate",
        dict(DURABLE, idempotent=False, lost_responses=1),
        {"no_duplicate": 7},
        "Without idempotence: the response is lost, and the record is sent again.",
    ),
    story(
        "retry_reorders",
        dict(DURABLE, idempotent=False, lost_responses=1),
        {"no_reorder": 13},
        "Without idempotence and two requests in flight: both fail, and go back into the queue the wrong way round.",
    ),
    *mended(
        "idempotent_lost_response",
        dict(DURABLE, lost_responses=1, late_requests=True),
        "An idempotent producer's copies are recognised, and refused out of order.",
    ),
    story(
        "producer_restart_duplicate",
        dict(DURABLE, producer_restarts=1),
        {"no_duplicate": 7},
        "Idempotence is of one life of the producer: its successor sends again what was not acknowledged.",
    ),
    story(
        "read_then_gone",
        dict(acks="1", strict_min_isr=False, consumer="commits_last", broker_crashes=1, unclean_elections=True),
        {"reads_are_stable": 9},
        "Before 3.7 the leader alone in the ISR moves the high watermark: a consumer reads, and the record vanishes.",
    ),
    *mended(
        "read_and_stays",
        dict(DURABLE, consumer="commits_last", broker_crashes=1),
        "acks=all, min.insync.replicas=2, no unclean election: what was read stays.",
        END_TO_END,
    ),
    story(
        "commits_first_gap",
        dict(consumer="commits_first", consumer_crashes=1),
        {"no_gap": 7},
        "A consumer that commits before it processes, and dies between: the record is skipped.",
    ),
    story(
        "commits_last_reprocessing",
        dict(consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"),
        {"no_reprocessing": 11},
        "A consumer that processes before it commits, and dies between: the record is processed again.",
    ),
    story(
        "latest_before_first_commit_gap",
        dict(consumer="auto_commit", consumer_crashes=1),
        {"no_gap": 7},
        "auto.offset.reset=latest, and a consumer that dies before its first commit: what it had is skipped.",
    ),
    story(
        "background_commit_gap",
        dict(consumer="background", consumer_crashes=1, auto_offset_reset="earliest"),
        {"no_gap": 9},
        "librdkafka's timer commits what was returned, and the consumer dies before it has processed it.",
    ),
    *mended(
        "commits_last_no_gap",
        dict(consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"),
        "A consumer that commits last and starts from the beginning skips nothing.",
        END_TO_END,
    ),
    Scenario(
        Pipeline,
        "end_to_end",
        dict(DURABLE, **ALL_AT_ONCE, consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"),
        properties=[*END_TO_END, "another_broker_leads"],
        description="Two crashes, a lost response, late requests and a consumer's crash, all at once: nothing is lost.",
    ),
]
