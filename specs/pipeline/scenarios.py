"""Common failures of a pipeline, end to end, and the settings that prevent each of them."""

from checker.language import Bug, Scenario
from specs.pipeline.pipeline import Pipeline
from specs.scenario_forms import violates

LOG = ["no_acked_loss", "no_duplicate", "no_reorder", "no_missing_earlier", "no_endless_retry"]
"""The properties of the log, and of the producer that fills it."""

PRODUCER = [*LOG, "every_record_acknowledged"]
"""The properties of scenarios without a consumer and with `REPAIRED`."""

DURABILITY = ["no_acked_loss", "every_record_acknowledged"]
"""What released brokers promise without a consumer: I2 and I7 break the other properties of the log."""

CONSUMER = ["reads_are_stable", "no_gap", "every_record_processed"]
"""The properties of scenarios with a consumer that commits after processing."""

REPAIRED = dict(no_state="never_held", snapshot_batches=5)
"""A broker without I2, as Kafka 4.5 will have it, and without I7, of which Kafka has no repair."""

DURABLE = dict(acks="all", min_insync_replicas=2)
ELIGIBLE = dict(DURABLE, power_failures=1, eligible_leader_replicas=True)
ALL_AT_ONCE = dict(broker_crashes=2, lost_responses=1, late_requests=True)


scenarios = [
    violates(Pipeline, "acks_0_loss", dict(acks="0", idempotent=False, broker_crashes=1), {"no_acked_loss": 6},
        "acks=0: the producer reports success when the request is written; the leader dies before it reads it."),
    violates(Pipeline, "acks_0_restart_duplicate", dict(acks="0", idempotent=False, producer_restarts=1),
        {"no_duplicate": 8},
        "acks=0: the request is written, and the producer dies before the callback; its successor writes again."),
    violates(Pipeline, "acks_0_without_retries_leaves_out",
        dict(acks="0", idempotent=False, retries=False, lost_responses=1, slow_followers=0), {"no_missing_earlier": 6},
        "acks=0 and retries=0: the connection closes in the middle of a write, and the next record is written."),
    Bug("acks_1_loss_at_failover", Pipeline, violates={"no_acked_loss": 6}, size=dict(broker_crashes=2),
        larger=dict(broker_crashes=2, records=3), faulty=dict(acks="1", broker_crashes=1), fixed=DURABLE,
        fixed_name="min_isr_2_two_crashes",
        promises=[*DURABILITY, "another_broker_leads", "writes_with_one_broker_down"],
        description="acks=1: the leader acknowledges, and dies before a follower has fetched the record.",
        remedy="acks=all, min.insync.replicas=2 of 3, clean elections: two crashes lose no record."),
    violates(Pipeline, "min_isr_2_refuses_with_two_brokers_down", dict(DURABLE, broker_crashes=2),
        {"writes_with_two_brokers_down": None},
        "The price of min.insync.replicas=2 of 3: with two brokers down no write succeeds."),
    violates(Pipeline, "min_isr_1_unclean_loss", dict(min_insync_replicas=1, broker_crashes=1, unclean_elections=True),
        {"no_acked_loss": 8}, "acks=all with min.insync.replicas=1 is acks=1 once the leader is alone in the ISR."),
    violates(Pipeline, "unclean_election_loss", dict(DURABLE, broker_crashes=2, unclean_elections=True),
        {"no_acked_loss": 9},
        "Every member of the ISR dies, and a replica outside it is elected: acknowledged records are truncated."),
    Bug("one_disk_is_lost", Pipeline, violates={"acknowledged_on_two_disks": 5}, larger=dict(records=3),
        faulty=dict(min_insync_replicas=1), fixed=dict(min_insync_replicas=2),
        promises=["acknowledged_on_two_disks", "every_record_acknowledged"],
        description="acks=all with min.insync.replicas=1: the leader is alone in the ISR and acknowledges a record "
            "that only its disk has.", remedy="With min.insync.replicas=2, every acknowledged record is on two disks."),
    violates(Pipeline, "last_replica_standing", dict(DURABLE, broker_crashes=1, power_failures=1),
        {"no_acked_loss": 10}, "The last member of the ISR loses its page cache and is elected anyway (KIP-966)."),
    Scenario(Pipeline, "last_replica_standing_power_loss_elr", ELIGIBLE, properties=DURABILITY,
        description="With eligible leader replicas, a power failure of one broker loses no record."),
    Scenario(Pipeline, "last_replica_standing_power_loss_elr_larger", dict(ELIGIBLE, records=3), properties=DURABILITY,
        description="With eligible leader replicas, a power failure of one broker loses no record."),
    violates(Pipeline, "last_known_leader",
        dict(DURABLE, broker_crashes=1, power_failures=1, eligible_leader_replicas=True), {"no_acked_loss": 11},
        "Eligible leader replicas, and no replica is eligible: the last known leader is elected without its records."),
    Bug("blackout_loss", Pipeline, violates={"no_acked_loss": 9}, size=dict(DURABLE, blackouts=1),
        larger=dict(DURABLE, blackouts=1, records=3), fixed=dict(flushes=True), fixed_name="blackout_flushed",
        promises=DURABILITY,
        description="All machines lose power at once: records that acks=all acknowledged were in page caches only.",
        remedy="With flush.messages=1, a power failure of all machines loses no record."),
    Bug("lost_response_duplicate", Pipeline, violates={"no_duplicate": 6}, size=dict(DURABLE, lost_responses=1),
        larger=dict(DURABLE, lost_responses=1, records=3), faulty=dict(idempotent=False),
        fixed=dict(late_requests=True), fixed_name="idempotent_lost_response", promises=PRODUCER,
        description="Without idempotence: the response is lost, and the record is sent again.",
        remedy="The leader recognises an idempotent producer's duplicates, and rejects records out of order."),
    violates(Pipeline, "retry_reorders", dict(DURABLE, idempotent=False, lost_responses=1), {"no_reorder": 11},
        "Without idempotence, two requests in flight: both fail, and are requeued in reverse order."),
    Bug("delivery_timeout_duplicate", Pipeline, violates={"no_duplicate": 14},
        size=dict(DURABLE, delivery_timeouts=1, slow_followers=0), larger=dict(DURABLE, delivery_timeouts=1, records=3),
        faulty=dict(resends=True), fixed=REPAIRED, fixed_name="delivery_timeout_not_sent_again",
        promises=["no_acked_loss", "no_duplicate", "no_reorder", "no_endless_retry", "every_record_acknowledged"],
        description="P11: a record in flight fails with a TimeoutException, and the application sends it again.",
        remedy="P11: the application does not send a record again that has timed out; brokers without I2 and I7, with "
        "the unreleased rule of 4.5."),
    violates(Pipeline, "delivery_timeout_leaves_out", dict(DURABLE, delivery_timeouts=1, slow_followers=0),
        {"no_missing_earlier": 4},
        "P11: a record fails with a TimeoutException before it is sent, and the next one is written."),
    violates(Pipeline, "expired_on_first_attempt",
        dict(DURABLE, **REPAIRED, delivery_timeouts=1, lost_responses=1, slow_followers=0), {"no_endless_retry": 5},
        "The first record times out on its first attempt, so the client does not mark its sequence as unresolved: with "
        "the unreleased rule of 4.5, the second is refused until it times out."),
    Bug("late_request_after_timeout_duplicate", Pipeline, violates={"no_duplicate": 12},
        size=dict(DURABLE, **REPAIRED, delivery_timeouts=1, lost_responses=1, slow_followers=0),
        faulty=dict(late_requests=True), fixed=dict(late_requests=True, max_in_flight=1),
        fixed_name="late_request_after_timeout_in_flight_one", promises=["no_acked_loss", "no_duplicate", "no_reorder"],
        description="With the unreleased rule of 4.5: the first record times out, the second raises the epoch, and "
        "then both old requests are handled.",
        remedy="With the unreleased rule of 4.5 and one request in flight, no second record raises the epoch while it "
        "is in a late request."),
    violates(Pipeline, "leader_change_loss", dict(acks="1", idempotent=False, leader_moves=1, slow_followers=0),
        {"no_acked_loss": 4},
        "acks=1, and a planned leader change: the former leader truncates what only it has acknowledged."),
    Bug("leader_change_i2", Pipeline, violates={"no_missing_earlier": 9, "no_endless_retry": 9},
        size=dict(DURABLE, leader_moves=1, slow_followers=0), larger=dict(DURABLE, leader_moves=1, records=3),
        fixed=REPAIRED, fixed_name="leader_change_repaired_broker", promises=PRODUCER,
        description="I2 without a crash: the second record reaches the new leader before the first, which is refused.",
        remedy="A planned leader change, with the unreleased rule of 4.5 (sequence 0 first)."),
    Bug("slow_follower_i2", Pipeline, violates={"no_missing_earlier": 10, "no_endless_retry": 10},
        size=dict(DURABLE, other_records=True, slow_followers=3), fixed=dict(max_in_flight=1), promises=PRODUCER,
        fixed_name="slow_follower_in_flight_one",
        description="I2 without a failure: two followers lag behind records of other producers, so the leader refuses "
        "the first record, and takes the second when one has caught up.",
        remedy="With one request in flight, the second record is sent after the first is appended."),
    violates(Pipeline, "slow_follower_i2_reorder",
        dict(DURABLE, **REPAIRED, other_records=True, slow_followers=3), {"no_reorder": 16, "no_duplicate": 20},
        "The follower lags again, and the second record is refused after it is appended: both are written in a new "
        "epoch. The unreleased rule of 4.5 does not help a log that has held records."),
    violates(Pipeline, "producer_restart_duplicate", dict(DURABLE, producer_restarts=1), {"no_duplicate": 6},
        "Idempotence covers one session of the producer: its successor sends unacknowledged records again."),
    Bug("read_then_gone", Pipeline, violates={"reads_are_stable": 8},
        size=dict(consumer="commits_last", broker_crashes=1),
        larger=dict(consumer="commits_last", broker_crashes=1, records=3),
        faulty=dict(acks="1", strict_min_isr=False, unclean_elections=True), fixed=DURABLE, fixed_name="read_and_stays",
        promises=[*DURABILITY, *CONSUMER],
        description="Before 3.7 a leader alone in the ISR raises the high watermark: a consumer reads, and the record "
            "vanishes.", remedy="acks=all, min.insync.replicas=2, clean elections: records that were read stay."),
    Bug("commits_first_gap", Pipeline, violates={"no_gap": 7},
        size=dict(consumer_crashes=1, auto_offset_reset="earliest"),
        larger=dict(consumer_crashes=1, auto_offset_reset="earliest", records=3), faulty=dict(consumer="commits_first"),
        fixed=dict(consumer="commits_last"), fixed_name="commits_last_no_gap", promises=[*PRODUCER, *CONSUMER],
        description="A consumer that commits before it processes, and dies in between: the record is skipped.",
        remedy="A consumer that commits last and starts from the beginning skips no record."),
    violates(Pipeline, "commits_last_reprocessing",
        dict(consumer="commits_last", consumer_crashes=1, auto_offset_reset="earliest"), {"no_reprocessing": 10},
        "A consumer that processes before it commits, and dies in between: the record is processed again."),
    violates(Pipeline, "latest_before_first_commit_gap", dict(consumer="auto_commit", consumer_crashes=1),
        {"no_gap": 6},
        "auto.offset.reset=latest, and a consumer that dies before its first commit: its records are skipped."),
    violates(Pipeline, "background_commit_gap",
        dict(consumer="background", consumer_crashes=1, auto_offset_reset="earliest"), {"no_gap": 8},
        "librdkafka's timer commits the returned records, and the consumer dies before it processes them."),
    Scenario(Pipeline, "end_to_end",
        dict(DURABLE, **REPAIRED, **ALL_AT_ONCE, consumer="commits_last", consumer_crashes=1)
        | dict(auto_offset_reset="earliest"), properties=[*PRODUCER, *CONSUMER, "another_broker_leads"],
        description="Two crashes, a lost response, late requests and a consumer's crash in one run, with the "
        "unreleased rule of 4.5 and a snapshot of the whole cache: every property holds."),
    Bug("i2_first_record_refused", Pipeline, violates={"no_missing_earlier": 9, "no_endless_retry": 9},
        size=dict(DURABLE, broker_crashes=1, slow_followers=0), larger=dict(DURABLE, broker_crashes=2, records=3),
        fixed=REPAIRED, fixed_name="i2_repaired_broker", promises=PRODUCER,
        description="A new leader refuses the first record before it knows that it leads, and takes the second.",
        remedy="Two crashes, with the unreleased rule of 4.5 (sequence 0 first), and a snapshot of the whole cache."),
    violates(Pipeline, "i2_reorder", dict(DURABLE, broker_crashes=1), {"no_reorder": 15},
        "The leader takes the second record first; an epoch bump then writes the first one after it."),
    Bug("implicit_acks_loss", Pipeline, violates={"no_acked_loss": 9},
        size=dict(DURABLE, broker_crashes=1, slow_followers=0, implicit_acks=True),
        larger=dict(DURABLE, broker_crashes=2, lost_responses=1, late_requests=True, implicit_acks=True),
        fixed=dict(max_in_flight=1), fixed_name="implicit_acks_in_flight_one", promises=DURABILITY,
        description="I2 with librdkafka: the success of the second record acknowledges the refused first one.",
        remedy="I2 with librdkafka and one request in flight: the second record is sent after the first is appended."),
    Bug("i3_rejected_record", Pipeline, violates={"no_duplicate": 12}, size=dict(DURABLE, rejections=1),
        fixed=dict(max_in_flight=1), fixed_name="i3_in_flight_one",
        promises=["no_acked_loss", "no_duplicate", "no_reorder", "no_endless_retry"],
        description="The first record is in the log with an error; the second is rejected, and the bump renumbers the "
        "first.", remedy="With one request in flight, no later record is rejected while an earlier one is retried."),
    Bug("i7_outage_duplicate", Pipeline, violates={"no_duplicate": 13},
        size=dict(replication_factor=1, min_insync_replicas=1, slow_followers=0, broker_crashes=1),
        fixed=dict(snapshot_batches=5), fixed_name="i7_outage_whole_cache", promises=["no_duplicate"],
        description="One broker crashes with two responses on the way; its snapshot keeps the second record only.",
        remedy="I7 with a snapshot that holds the whole cache: the leader recognises both records."),
    Scenario(Pipeline, "i7_outage_transactional",
        dict(replication_factor=1, min_insync_replicas=1, slow_followers=0, broker_crashes=1, transactional=True),
        properties=["no_acked_loss", "no_duplicate", "no_reorder"],
        description="I7 with a transactional producer: the refusal of the first record aborts the transaction."),
    Bug("i7_rolling_restart_duplicate", Pipeline, violates={"no_duplicate": 18},
        size=dict(DURABLE, broker_crashes=2, slow_followers=0), fixed=dict(REPAIRED),
        fixed_name="i7_rolling_restart_whole_cache", promises=PRODUCER,
        description="A follower restarts and rejoins; the leader stops with two responses on the way. Each record is "
        "written twice, with acks=all, idempotence, three replicas and min.insync.replicas=2.",
        remedy="I7 with the unreleased rule of 4.5, and a snapshot that holds the whole cache, at rolling restarts."),
]  # fmt: skip
