"""The catalogue of idempotence bugs as scenarios, each with its remedy. docs/idempotence.md describes them."""

from checker.language import Bug, Scenario
from specs.producer.idempotent import mistakes, repairs
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.idempotent.leader_move import IdempotentLeaderMove, WaitsForOldLeader
from specs.producer.idempotent.legacy import HeapOrder, LegacyReset, RetentionProducer
from specs.producer.idempotent.producer import IdempotentProducer
from specs.scenario_forms import violates

ONE = dict(batches=1, max_in_flight=1, log_size=2)
TWO = dict(batches=2, max_in_flight=2, log_size=4)
THREE = dict(batches=3, max_in_flight=3, log_size=6)
FOUR = dict(batches=4, max_in_flight=4, log_size=8)
SIX = dict(batches=6, max_in_flight=5, log_size=12)
"""More batches than the broker caches, at the largest max.in.flight that Kafka allows with idempotence."""

TWO_PARTITIONS = dict(partitions=2, max_epoch=3)

KNOWN = dict(first_sequence=1)
"""The leader has state of the producer: a first batch is in the log and acknowledged. Without it, a released broker
takes any sequence (I2)."""

KNOWN_TWO = dict(KNOWN, batches=3, max_in_flight=2, log_size=5)
KNOWN_THREE = dict(KNOWN, batches=4, max_in_flight=3, log_size=7)
KNOWN_FOUR = dict(KNOWN, batches=5, max_in_flight=4, log_size=9)
KNOWN_SIX = dict(KNOWN, batches=7, max_in_flight=5, log_size=13)
"""The same sizes with that first batch."""

SINCE_4_5 = dict(no_state="never_held")
"""The rule of KAFKA-15591, which no released broker has."""

LOG_PROPERTIES = ["no_duplicate", "no_reorder", "no_gap", "no_acked_loss", "ack_true", "in_flight_bound"]

survived = [
    Scenario(IdempotentProducer, "no_faults", SIX,
        description="Without faults six batches are appended once and in order."),
    Scenario(IdempotentProducer, "disconnects_and_refusals",
        dict(KNOWN_FOUR, max_disconnects=2, max_refusals=2, max_abandoned=1),
        description="Lost requests and responses, refusals, and a request that outlives its connection cause no harm."),
    Scenario(IdempotentProducer, "acknowledgements_are_true",
        dict(SIX, log_size=14, max_epoch=4, max_refusals=1, max_rejections=1)
        | dict(max_late_acks=1, max_disconnects=1, max_abandoned=1),
        properties=["no_acked_loss", "ack_true", "in_flight_bound", "failures_have_causes", "no_dead_end"],
        description="Kafka's client, same size: it may duplicate (I3), but acknowledged batches are where it reports."),
    Scenario(repairs.RepairedProducer, "one_fault_of_each_kind",
        dict(KNOWN_SIX, max_epoch=4, max_refusals=1, max_rejections=1, max_late_acks=1)
        | dict(max_disconnects=1, max_abandoned=1, max_restarts=1, snapshot_batches=5),
        description="Six batches, five in flight, one fault of each kind: with all repairs every property holds."),
]  # fmt: skip

broker_memory = [
    Bug("i1_cache_of_one", IdempotentProducer, {"no_duplicate": 12}, size=dict(TWO, cache_size=2, max_disconnects=1),
        larger=dict(FOUR, cache_size=4, max_disconnects=2), faulty=dict(cache_size=1), fixed_name="i1_fixed",
        description="Both responses are lost; the broker remembers the second batch only and refuses the first.",
        remedy="I1 with a cache that holds every batch in flight."),
    Scenario(IdempotentProducer, "i1_cache_smaller_than_in_flight", dict(THREE, cache_size=2, max_disconnects=1),
        expect={"no_duplicate": 14}, description="I1 with three batches in flight and a cache of two."),
    Bug("i2_any_sequence_without_state", IdempotentProducer, {"no_gap": 5, "sequences_contiguous": 5}, size=TWO,
        larger=FOUR, faulty=dict(max_refusals=1), fixed=dict(SINCE_4_5, max_refusals=2), fixed_name="i2_fixed",
        description="The first batch is refused; a broker without state for the producer appends the second.",
        remedy="I2 with the rule of 4.5 (unreleased): a partition that never held a record takes only sequence 0."),
    Scenario(IdempotentProducer, "i2_fixed_full", dict(FOUR, no_state="full", max_refusals=2),
        description="I2 with the rule of 0.11: a broker without state of the producer takes only sequence 0."),
    violates(IdempotentProducer, "i2_endless_retry", dict(TWO, max_refusals=1), {"no_endless_retry": 7},
        "The broker then refuses the first batch forever; the client retries until its delivery timeout."),
    violates(IdempotentProducer, "i2_reorder", dict(THREE, max_epoch=2, max_refusals=1, max_rejections=1),
        {"no_reorder": 12},
        "A later rejection bumps the epoch; in the new epoch the first batch is appended after the third."),
    violates(IdempotentProducer, "i2_duplicate", dict(TWO, max_epoch=2, max_refusals=1, max_disconnects=1),
        {"no_reorder": 12, "no_duplicate": 15},
        "The second's response is lost too; refused, the first bumps the epoch: both are appended again."),
    Scenario(IdempotentProducer, "i2_idle_producer",
        dict(KNOWN_TWO, max_refusals=1, max_state_expiries=1, expiry_waits=True),
        expect={"no_gap": 6, "sequences_contiguous": 6},
        description="After a day without a batch the state has expired: a producer of long standing is new again."),
    Scenario(IdempotentProducer, "i2_idle_producer_4_5",
        dict(KNOWN_TWO, **SINCE_4_5, max_refusals=1, max_state_expiries=1, expiry_waits=True),
        expect={"no_gap": 6, "sequences_contiguous": 6},
        description="The same with the rule of 4.5 (unreleased), which protects only a log that never held a record."),
    Bug("implicit_acknowledgement", mistakes.ImplicitAcks, {"no_acked_loss": 7}, size=dict(TWO, max_refusals=1),
        larger=dict(FOUR, max_refusals=2, max_disconnects=1), fixed=SINCE_4_5,
        description="librdkafka: the second's success acknowledges the refused first, which is not in the log.",
        remedy="I2 in librdkafka with the rule of 4.5 (unreleased): the second is refused, and nothing is lost."),
    violates(mistakes.ImplicitAcks, "implicit_acknowledgement_4_5",
        dict(KNOWN_TWO, **SINCE_4_5, max_refusals=1, max_state_expiries=1, expiry_waits=True), {"no_acked_loss": 8},
        "The same on a log that has held records: the rule of 4.5 (unreleased) does not prevent it."),
    Scenario(mistakes.ImplicitAcks, "implicit_acknowledgement_in_flight_one",
        dict(FOUR, max_in_flight=1, max_refusals=2, max_disconnects=1),
        description="librdkafka with one request in flight: no later batch is in the log before the first."),
    Scenario(IdempotentProducer, "i2_in_flight_one",
        dict(FOUR, max_in_flight=1, max_epoch=2, max_refusals=2, max_disconnects=2),
        description="I2 with one request in flight: the second batch is sent after the first is appended."),
    Scenario(IdempotentProducer, "i2_first_acknowledged",
        dict(KNOWN_FOUR, max_epoch=2, max_refusals=2, max_disconnects=1),
        description="I2 with an application that waits for the first acknowledgement: the broker then has state."),
    Bug("i7_restart", IdempotentProducer, {"no_duplicate": 12}, size=dict(TWO, max_restarts=1),
        larger=dict(FOUR, max_restarts=2), fixed=dict(snapshot_batches=5), fixed_name="i7_fixed",
        description="Two batches appended, responses lost, the broker restarts: its snapshot holds the second only.",
        remedy="I7 with a snapshot that holds the whole cache."),
    Scenario(IdempotentProducer, "i7_restart_six_batches", dict(SIX, max_restarts=1), expect={"no_duplicate": 12},
        description="I7 at Kafka's sizes: five requests in flight, a cache of five batches."),
    Bug("i7_restart_refuses_a_retry", IdempotentProducer, {"no_endless_retry": 8},
        size=dict(TWO, max_restarts=1, max_late_acks=1), fixed=dict(snapshot_batches=5), fixed_name="i7_retry_fixed",
        description="The first is appended but timed out, the second is acked; after a restart the first is refused.",
        remedy="I7 with a snapshot that holds the whole cache: the retry is answered as a duplicate."),
    Scenario(IdempotentProducer, "i7_in_flight_one", dict(THREE, max_in_flight=1, max_restarts=2),
        description="With one request in flight only the last batch can be retried."),
    Scenario(IdempotentProducer, "i7_duplicate_answer", dict(FOUR, max_restarts=2, old_sequence="duplicate"),
        description="The rule of Kafka 1.0.0 and 1.0.1: a sequence below the cached ones is answered as a duplicate."),
    violates(IdempotentProducer, "i7_duplicate_answer_without_i2_rule",
        dict(TWO, old_sequence="duplicate", max_refusals=1), {"no_acked_loss": 10},
        "Without the rule of I2, that answer takes a batch that was never appended for an old one."),
    Bug("i7_failover", IdempotentFailover, {"no_duplicate": 15}, size=TWO, larger=dict(FOUR, max_failovers=2),
        fixed=dict(snapshot_batches=5),
        description="The follower restarts with both batches in its log, then becomes the leader.",
        remedy="I7 on a follower, with a snapshot that holds the whole cache."),
    Scenario(IdempotentFailover, "i7_failover_without_restart", dict(TWO, max_follower_restarts=0),
        description="A follower that did not restart has the whole cache when it becomes the leader."),
    Bug("i13_expiry", IdempotentProducer, {"no_duplicate": 7, "sequences_contiguous": 7},
        size=dict(ONE, max_state_expiries=1, max_disconnects=1),
        larger=dict(THREE, max_state_expiries=2, max_disconnects=2), fixed=dict(expiry_waits=True),
        fixed_name="i13_fixed",
        description="Appended, response lost, state expired: the broker takes the retry for a first batch.",
        remedy="I13 with a state that does not expire while a batch is in flight."),
    Bug("i15_state_before_append", mistakes.FailingAppend, {"ack_true": 7, "no_acked_loss": 7}, size=ONE,
        larger=dict(KNOWN_THREE, max_append_failures=2, max_disconnects=1), fixed=dict(state_first=False),
        fixed_name="i15_fixed",
        description="The state is updated, the append fails, and the retry is answered as a duplicate.",
        remedy="I15 with a state that is updated after the append."),
]  # fmt: skip

client_epochs = [
    Bug("i3_bump_rewrites_earlier_batches", IdempotentProducer, {"no_duplicate": 10},
        size=dict(KNOWN_TWO, max_late_acks=1, max_rejections=1),
        larger=dict(KNOWN_FOUR, max_epoch=3, max_late_acks=2, max_rejections=2), fixed_name="i3_fixed",
        fixed_spec=repairs.ProbesBeforeBump,
        description="The first batch is in the log though its response was a timeout; the second is rejected: a bump.",
        remedy="I3 with a client that resends uncertain batches unchanged before it bumps the epoch."),
    Bug("i3_bump_rewrites_later_batches", IdempotentProducer, {"no_duplicate": 12},
        size=dict(max_disconnects=1, max_rejections=1), faulty=KNOWN_TWO, fixed=KNOWN_FOUR, fixed_name="i3_later_fixed",
        fixed_spec=repairs.ProbesBeforeBump,
        description="Both are in the log, both responses are lost; the first is rejected when it is sent again.",
        remedy="I3 with a client that resends uncertain batches unchanged before it bumps the epoch; four batches."),
    Bug("i4_retention_forgets", LegacyReset, {"no_duplicate": 10}, size=dict(TWO, first_sequence=1, max_disconnects=1),
        larger=dict(FOUR, max_disconnects=2), fixed=dict(retention_forgets=False), fixed_name="i4_fixed",
        fixed_spec=RetentionProducer,
        description="Appended, response lost, deleted with its state: UNKNOWN_PRODUCER_ID, reset to 0, sent again.",
        remedy="I4 with an epoch bump, and with producer state that outlives the deleted records."),
    Scenario(RetentionProducer, "i4_epoch_bump_alone", dict(TWO, first_sequence=1, max_disconnects=1),
        expect={"no_duplicate": 11},
        description="A new epoch instead of the reset does not help as long as retention deletes producer state."),
    Bug("i4_state_reappears", LegacyReset, {"ack_true": 12, "no_acked_loss": 12}, size=dict(TWO, max_leader_moves=1),
        larger=dict(FOUR, log_size=12, max_epoch=3, max_leader_moves=2, max_retentions=2),
        promises=["ack_true", "no_acked_loss"], fixed_spec=RetentionProducer,
        description="After the reset a leader that has kept its state takes the second batch for a retry of the first.",
        remedy="I4 with an epoch bump: acknowledgements are true although the state reappears."),
    Bug("i5_heap_order", HeapOrder, {"no_gap": 19, "no_reorder": 22}, size=FOUR,
        larger=dict(batches=5, max_in_flight=5, log_size=10), fixed_name="i5_fixed", fixed_spec=LegacyReset,
        description="Four in flight, the first completed: the reset numbers the rest in the heap's order.",
        remedy="I5 with batches that are renumbered in the order of their sequences."),
    Bug("i6_idle_partition", mistakes.StaleSequences, {"bumps_have_causes": 9},
        size=dict(KNOWN_TWO, **TWO_PARTITIONS, max_rejections=1),
        larger=dict(KNOWN_THREE, **TWO_PARTITIONS, max_rejections=2), fixed_name="i6_fixed",
        fixed_spec=IdempotentProducer,
        description="One partition bumps the epoch; the idle one keeps its old sequence, is refused and bumps again.",
        remedy="I6 with an idle partition that starts at sequence 0 in the new epoch."),
    Bug("i9_bump_of_every_partition", mistakes.BumpsEveryPartition, {"no_duplicate": 13},
        size=dict(KNOWN_TWO, **TWO_PARTITIONS, max_late_acks=1, max_refusals=1),
        larger=dict(KNOWN_THREE, **TWO_PARTITIONS, max_late_acks=1, max_refusals=1), fixed_name="i9_fixed",
        fixed_spec=IdempotentProducer,
        description="A plain refusal on one partition renumbers a batch of the other, which is already in the log.",
        remedy="I9 with a bump for a real gap only, which renumbers only its partition."),
    Bug("i12_wrap_around", IdempotentProducer, {"no_endless_retry": 7},
        size=dict(THREE, first_sequence=3, max_sequence=3, max_refusals=1),
        larger=dict(batches=5, max_in_flight=3, log_size=6, first_sequence=6, max_refusals=2, max_disconnects=1),
        fixed_name="i12_fixed", fixed_spec=repairs.CircularComparisons,
        description="The batch with the last sequence is refused; the client takes sequence 0 for the older one.",
        remedy="I12 with sequences that are compared on the circle."),
    Bug("i12_last_acknowledged", IdempotentProducer, {"no_endless_retry": 11},
        size=dict(FOUR, max_in_flight=1, first_sequence=7, no_state="full", max_state_expiries=1),
        fixed_spec=repairs.CircularComparisons,
        description="The last acked sequence stays at the maximum; after the wrap-around no sequence follows it.",
        remedy="I12 with a last acknowledged sequence that moves forward on the circle."),
]  # fmt: skip

other_clients = [
    Bug("i8_possibly_persisted", mistakes.Librdkafka, {"no_dead_end": 9},
        size=dict(KNOWN_TWO, max_disconnects=1, max_refusals=1),
        larger=dict(KNOWN_THREE, max_disconnects=2, max_refusals=2), fixed=dict(counts_possibly_persisted=False),
        fixed_name="i8_fixed",
        description="A lost request counts as delivered; a refusal of the next batch is then fatal to the producer.",
        remedy="I8 since librdkafka 2.3.0: a batch of unknown fate does not advance the expected sequence."),
    Bug("i10_sent_in_another_order", mistakes.SequenceTakenEarly, {"failures_have_causes": 4}, size=KNOWN_TWO,
        larger=dict(KNOWN_FOUR, max_disconnects=1), fixed_name="i10_fixed", fixed_spec=IdempotentProducer,
        description="Two sends take sequences in order and reach the socket in the other order: one fails, no fault.",
        remedy="I10 with one sender that assigns sequences in the order in which it writes."),
    Scenario(mistakes.SequenceTakenEarly, "i10_any_sequence_without_state", TWO,
        expect={"no_gap": 3, "sequences_contiguous": 3},
        description="A broker that takes any first sequence appends the later batch, and the earlier one fails."),
    Bug("i11_same_sequence_twice", mistakes.SequenceReadTwice, {"ack_true": 7, "no_acked_loss": 7}, size=TWO,
        larger=dict(FOUR, max_disconnects=1), fixed_name="i11_fixed", fixed_spec=IdempotentProducer,
        description="Two batches share a sequence: the second is answered as a duplicate and is not in the log.",
        remedy="I11 with a sequence that advances when it is read."),
]  # fmt: skip

found_here = [
    Bug("expired_on_first_attempt", IdempotentProducer, {"no_endless_retry": 5},
        size=dict(KNOWN_TWO, max_disconnects=1, max_timeouts=1),
        larger=dict(KNOWN_FOUR, max_epoch=3, max_disconnects=1, max_timeouts=2), fixed_spec=repairs.MarksEveryExpiry,
        description="A batch expires with its first request in flight, unmarked, so the next sequence never fits.",
        remedy="Every batch that expires after its first send is marked unresolved."),
    Bug("window_overrun", IdempotentProducer, {"no_endless_retry": 18},
        size=dict(KNOWN_SIX, max_late_acks=1, max_disconnects=1),
        larger=dict(KNOWN_SIX, max_late_acks=2, max_disconnects=2, max_refusals=2, max_abandoned=2),
        fixed_spec=repairs.HoldsFreshBatches,
        description="Fresh batches overtake a retry in transit; acknowledgements in between widen the window to six.",
        remedy="Fresh batches wait until a retry is answered."),
    Scenario(IdempotentProducer, "window_overrun_appends_nothing_twice",
        dict(KNOWN_SIX, max_late_acks=1, max_disconnects=1, max_refusals=1, max_abandoned=1), properties=LOG_PROPERTIES,
        description="After a window overrun the log is still correct: the batch fails although it is in the log."),
    Bug("two_connections", IdempotentLeaderMove, {"no_endless_retry": 16}, size=dict(KNOWN_SIX, max_disconnects=1),
        larger=dict(KNOWN_SIX, max_leader_moves=2, max_disconnects=2), faulty=dict(max_disconnects=0),
        fixed_spec=WaitsForOldLeader,
        description="Five batches wait at a dead leader while the new one takes a sixth: the first has left the cache.",
        remedy="The client sends to the new leader only after every request to the old one has failed."),
    violates(IdempotentLeaderMove, "two_connections_duplicate", dict(KNOWN_SIX, max_disconnects=1),
        {"no_duplicate": 22},
        "If the sixth batch's response is also lost, the refusal of the first bumps the epoch for all six."),
]  # fmt: skip

scenarios = survived + broker_memory + client_epochs + other_clients + found_here
