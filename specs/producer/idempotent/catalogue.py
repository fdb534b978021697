"""The catalogue's bugs of idempotence as scenarios, each beside its repair; docs/idempotence.md tells their stories."""

from checker.language import Scenario
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.idempotent.leader_move import IdempotentLeaderMove, WaitsForOldLeader
from specs.producer.idempotent.legacy import HeapOrder, LegacyReset, RetentionProducer
from specs.producer.idempotent.mistakes import (
    BumpsEveryPartition,
    FailingAppend,
    Librdkafka,
    SequenceReadTwice,
    SequenceTakenEarly,
    StaleSequences,
)
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.idempotent.repairs import (
    CircularComparisons,
    HoldsFreshBatches,
    MarksEveryExpiry,
    ProbesBeforeBump,
    RepairedProducer,
)

ONE = dict(batches=1, max_in_flight=1, log_size=2)
TWO = dict(batches=2, max_in_flight=2, log_size=4)
THREE = dict(batches=3, max_in_flight=3, log_size=6)
FOUR = dict(batches=4, max_in_flight=4, log_size=8)
SIX = dict(batches=6, max_in_flight=5, log_size=12)
"""More batches than the broker remembers, at the largest max.in.flight that Kafka allows with idempotence."""

IN_THE_LOG = ["no_duplicate", "no_reorder", "no_gap", "no_acked_loss", "ack_true", "in_flight_bound"]

survived = [
    Scenario(IdempotentProducer, "no_faults", SIX, description="Without faults six batches arrive once and in order."),
    Scenario(
        IdempotentProducer,
        "disconnects_and_refusals",
        dict(FOUR, max_disconnects=2, max_refusals=2, max_abandoned=1),
        description="Lost requests and responses, refusals, and a request that outlives its connection cause no harm.",
    ),
    Scenario(
        IdempotentProducer,
        "acknowledgements_are_true",
        dict(
            SIX,
            log_size=14,
            max_epoch=4,
            max_refusals=1,
            max_rejections=1,
            max_late_acks=1,
            max_disconnects=1,
            max_abandoned=1,
        ),
        properties=["no_acked_loss", "ack_true", "in_flight_bound", "failures_have_causes", "no_dead_end"],
        description="Kafka's client, same size: it may duplicate (I3), but acknowledged batches are where it reports.",
    ),
    Scenario(
        RepairedProducer,
        "one_fault_of_each_kind",
        dict(
            SIX,
            max_epoch=4,
            max_refusals=1,
            max_rejections=1,
            max_late_acks=1,
            max_disconnects=1,
            max_abandoned=1,
            max_restarts=1,
            snapshot_batches=5,
        ),
        description="Six batches, five in flight, one fault of each kind: with all repairs every promise is kept.",
    ),
]

broker_memory = [
    Scenario(
        IdempotentProducer,
        "i1_cache_of_one",
        dict(TWO, cache_size=1, max_disconnects=1),
        expect={"no_duplicate": 12},
        description="Both responses are lost; the broker remembers the second batch only and refuses the first.",
    ),
    Scenario(IdempotentProducer, "i1_fixed", dict(TWO, cache_size=2, max_disconnects=1)),
    Scenario(IdempotentProducer, "i1_fixed_larger", dict(FOUR, cache_size=4, max_disconnects=2)),
    Scenario(
        IdempotentProducer,
        "i1_cache_smaller_than_in_flight",
        dict(THREE, cache_size=2, max_disconnects=1),
        expect={"no_duplicate": 14},
        description="The same with three in flight and a cache of two.",
    ),
    Scenario(
        IdempotentProducer,
        "i2_any_sequence_without_state",
        dict(TWO, no_state="any", max_refusals=1),
        expect={"no_gap": 5, "sequences_contiguous": 5},
        description="The first batch is refused; a broker without state for the producer appends the second.",
    ),
    Scenario(
        IdempotentProducer,
        "i2_endless_retry",
        dict(TWO, no_state="any", max_refusals=1),
        expect={"no_endless_retry": 7},
        properties=["no_endless_retry"],
        description="Then the first is refused for ever, and the client sends it again until its delivery timeout.",
    ),
    Scenario(
        IdempotentProducer,
        "i2_reorder",
        dict(THREE, no_state="any", max_epoch=2, max_refusals=1, max_rejections=1),
        expect={"no_reorder": 12},
        properties=["no_reorder"],
        description="A later rejection brings a new epoch; under it the first batch is appended behind the third.",
    ),
    Scenario(IdempotentProducer, "i2_fixed", dict(TWO, max_refusals=2)),
    Scenario(IdempotentProducer, "i2_fixed_larger", dict(FOUR, max_refusals=2)),
    Scenario(IdempotentProducer, "i2_fixed_full", dict(FOUR, no_state="full", max_refusals=2)),
    Scenario(
        IdempotentProducer,
        "i7_restart",
        dict(TWO, max_restarts=1),
        expect={"no_duplicate": 12},
        description="Two batches appended, responses lost, the broker restarts: its snapshot holds the second only.",
    ),
    Scenario(
        IdempotentProducer,
        "i7_restart_six_batches",
        dict(SIX, max_restarts=1),
        expect={"no_duplicate": 12},
        description="Kafka's own numbers, five in flight and a cache of five: the same.",
    ),
    Scenario(
        IdempotentProducer,
        "i7_restart_refuses_a_retry",
        dict(TWO, max_restarts=1, max_late_acks=1),
        expect={"no_endless_retry": 8},
        properties=["no_endless_retry"],
        description="The first is appended but timed out, the second is acked; after a restart the first is refused.",
    ),
    Scenario(
        IdempotentProducer,
        "i7_retry_fixed",
        dict(TWO, max_restarts=1, max_late_acks=1, snapshot_batches=5),
    ),
    Scenario(IdempotentProducer, "i7_fixed", dict(TWO, max_restarts=1, snapshot_batches=5)),
    Scenario(IdempotentProducer, "i7_fixed_larger", dict(FOUR, max_restarts=2, snapshot_batches=5)),
    Scenario(
        IdempotentProducer,
        "i7_in_flight_one",
        dict(THREE, max_in_flight=1, max_restarts=2),
        description="With one request in flight the last batch is the only one that may be retried.",
    ),
    Scenario(
        IdempotentProducer,
        "i7_duplicate_answer",
        dict(FOUR, max_restarts=2, old_sequence="duplicate"),
        description="As Kafka 1.0.0 and 1.0.1 had it: a sequence below the cached ones is answered as a duplicate.",
    ),
    Scenario(
        IdempotentProducer,
        "i7_duplicate_answer_without_i2_rule",
        dict(TWO, no_state="any", old_sequence="duplicate", max_refusals=1),
        expect={"no_acked_loss": 10},
        properties=["no_acked_loss"],
        description="That answer needs the rule of I2: else a batch that was never appended is taken for an old one.",
    ),
    Scenario(
        IdempotentFailover,
        "i7_failover",
        TWO,
        expect={"no_duplicate": 15},
        description="The follower restarts with both batches in its log, then becomes the leader.",
    ),
    Scenario(IdempotentFailover, "i7_failover_without_restart", dict(TWO, max_follower_restarts=0)),
    Scenario(IdempotentFailover, "i7_failover_fixed", dict(TWO, snapshot_batches=5)),
    Scenario(IdempotentFailover, "i7_failover_fixed_larger", dict(FOUR, snapshot_batches=5, max_failovers=2)),
    Scenario(
        IdempotentProducer,
        "i13_expiry",
        dict(ONE, max_state_expiries=1, max_disconnects=1),
        expect={"no_duplicate": 7, "sequences_contiguous": 7},
        description="Appended, response lost, state expired: the retry is a first batch.",
    ),
    Scenario(IdempotentProducer, "i13_fixed", dict(ONE, max_state_expiries=1, max_disconnects=1, expiry_waits=True)),
    Scenario(
        IdempotentProducer,
        "i13_fixed_larger",
        dict(THREE, max_state_expiries=2, max_disconnects=2, expiry_waits=True),
    ),
    Scenario(
        FailingAppend,
        "i15_state_before_append",
        ONE,
        expect={"ack_true": 7, "no_acked_loss": 7},
        description="The state is advanced, the append fails, the retry is a duplicate of nothing.",
    ),
    Scenario(FailingAppend, "i15_fixed", dict(ONE, state_first=False)),
    Scenario(
        FailingAppend, "i15_fixed_larger", dict(THREE, state_first=False, max_append_failures=2, max_disconnects=1)
    ),
]

client_epochs = [
    Scenario(
        IdempotentProducer,
        "i3_bump_rewrites_earlier_batches",
        dict(TWO, max_late_acks=1, max_rejections=1),
        expect={"no_duplicate": 10},
        description="The first batch is in the log though its answer was a timeout; the second is rejected: a bump.",
    ),
    Scenario(
        IdempotentProducer,
        "i3_bump_rewrites_later_batches",
        dict(TWO, max_disconnects=1, max_rejections=1),
        expect={"no_duplicate": 12},
        description="Both are in the log, both responses are lost; the first is rejected when it is sent again.",
    ),
    Scenario(ProbesBeforeBump, "i3_fixed", dict(TWO, max_late_acks=1, max_rejections=1)),
    Scenario(ProbesBeforeBump, "i3_later_fixed", dict(FOUR, max_disconnects=1, max_rejections=1)),
    Scenario(ProbesBeforeBump, "i3_fixed_larger", dict(FOUR, max_epoch=3, max_late_acks=2, max_rejections=2)),
    Scenario(
        LegacyReset,
        "i4_retention_forgets",
        dict(TWO, first_sequence=1, max_disconnects=1),
        expect={"no_duplicate": 10},
        description="Appended, response lost, deleted with its state: UNKNOWN_PRODUCER_ID, reset to 0, sent again.",
    ),
    Scenario(
        RetentionProducer,
        "i4_epoch_bump_alone",
        dict(TWO, first_sequence=1, max_disconnects=1),
        expect={"no_duplicate": 11},
        description="A new epoch instead of the reset does not help as long as retention forgets producers.",
    ),
    Scenario(RetentionProducer, "i4_fixed", dict(TWO, first_sequence=1, retention_forgets=False, max_disconnects=1)),
    Scenario(RetentionProducer, "i4_fixed_larger", dict(FOUR, retention_forgets=False, max_disconnects=2)),
    Scenario(
        LegacyReset,
        "i4_state_reappears",
        dict(TWO, max_leader_moves=1),
        expect={"ack_true": 12, "no_acked_loss": 12},
        properties=["ack_true", "no_acked_loss"],
        description="After the reset a leader that forgot nothing takes the second batch for a retry of the first.",
    ),
    Scenario(
        RetentionProducer,
        "i4_state_reappears_fixed",
        dict(TWO, max_leader_moves=1),
        properties=["ack_true", "no_acked_loss"],
    ),
    Scenario(
        RetentionProducer,
        "i4_state_reappears_fixed_larger",
        dict(FOUR, log_size=12, max_epoch=3, max_leader_moves=2, max_retentions=2),
        properties=["ack_true", "no_acked_loss"],
    ),
    Scenario(
        HeapOrder,
        "i5_heap_order",
        FOUR,
        expect={"no_gap": 19, "no_reorder": 22},
        description="Four in flight, the first completed: the reset numbers the rest in the heap's order.",
    ),
    Scenario(LegacyReset, "i5_fixed", FOUR),
    Scenario(LegacyReset, "i5_fixed_larger", dict(batches=5, max_in_flight=5, log_size=10)),
    Scenario(
        StaleSequences,
        "i6_idle_partition",
        dict(TWO, partitions=2, max_epoch=3, max_rejections=1),
        expect={"bumps_have_causes": 12},
        description="One partition bumps the epoch; the idle one keeps its old sequence, is refused and bumps again.",
    ),
    Scenario(IdempotentProducer, "i6_fixed", dict(TWO, partitions=2, max_epoch=3, max_rejections=1)),
    Scenario(IdempotentProducer, "i6_fixed_larger", dict(THREE, partitions=2, max_epoch=3, max_rejections=2)),
    Scenario(
        BumpsEveryPartition,
        "i9_bump_of_every_partition",
        dict(TWO, partitions=2, max_epoch=3, max_late_acks=1, max_refusals=1),
        expect={"no_duplicate": 13},
        description="A plain refusal on one partition renumbers a batch of the other, which is already in the log.",
    ),
    Scenario(
        IdempotentProducer,
        "i9_fixed",
        dict(TWO, partitions=2, max_epoch=3, max_late_acks=1, max_refusals=1),
    ),
    Scenario(
        IdempotentProducer,
        "i9_fixed_larger",
        dict(THREE, partitions=2, max_epoch=3, max_late_acks=1, max_refusals=1),
    ),
    Scenario(
        IdempotentProducer,
        "i12_wrap_around",
        dict(THREE, first_sequence=3, max_sequence=3, max_refusals=1),
        expect={"no_endless_retry": 7},
        description="The batch with the last sequence is refused; the one with sequence 0 is taken for the older one.",
    ),
    Scenario(CircularComparisons, "i12_fixed", dict(THREE, first_sequence=3, max_sequence=3, max_refusals=1)),
    Scenario(
        IdempotentProducer,
        "i12_last_acknowledged",
        dict(FOUR, max_in_flight=1, first_sequence=7, no_state="full", max_state_expiries=1),
        expect={"no_endless_retry": 11},
        description="The last acked sequence stays at the maximum; after the wrap-around no sequence follows it.",
    ),
    Scenario(
        CircularComparisons,
        "i12_last_acknowledged_fixed",
        dict(FOUR, max_in_flight=1, first_sequence=7, no_state="full", max_state_expiries=1),
    ),
    Scenario(
        CircularComparisons,
        "i12_fixed_larger",
        dict(batches=5, max_in_flight=3, log_size=6, first_sequence=6, max_refusals=2, max_disconnects=1),
    ),
]

other_clients = [
    Scenario(
        Librdkafka,
        "i8_possibly_persisted",
        dict(TWO, max_disconnects=1, max_refusals=1),
        expect={"no_dead_end": 9},
        description="A lost request counts as delivered; when the batch behind it is refused, the producer is dead.",
    ),
    Scenario(Librdkafka, "i8_fixed", dict(TWO, counts_possibly_persisted=False, max_disconnects=1, max_refusals=1)),
    Scenario(
        Librdkafka,
        "i8_fixed_larger",
        dict(THREE, counts_possibly_persisted=False, max_disconnects=2, max_refusals=2),
    ),
    Scenario(
        SequenceTakenEarly,
        "i10_sent_in_another_order",
        TWO,
        expect={"failures_have_causes": 4},
        description="Two sends take sequences in order and reach the socket in the other order: one fails, no fault.",
    ),
    Scenario(
        SequenceTakenEarly,
        "i10_any_sequence_without_state",
        dict(TWO, no_state="any"),
        expect={"no_gap": 3, "sequences_contiguous": 3},
        description="On a broker that takes any first sequence the later one is appended, and the earlier one fails.",
    ),
    Scenario(IdempotentProducer, "i10_fixed", TWO),
    Scenario(IdempotentProducer, "i10_fixed_larger", dict(FOUR, max_disconnects=1)),
    Scenario(
        SequenceReadTwice,
        "i11_same_sequence_twice",
        TWO,
        expect={"ack_true": 7, "no_acked_loss": 7},
        description="Two batches share a sequence: the second is answered as a duplicate and is not in the log.",
    ),
    Scenario(IdempotentProducer, "i11_fixed", TWO),
    Scenario(IdempotentProducer, "i11_fixed_larger", dict(FOUR, max_disconnects=1)),
]

found_here = [
    Scenario(
        IdempotentProducer,
        "expired_on_first_attempt",
        dict(TWO, max_disconnects=1, max_timeouts=1),
        expect={"no_endless_retry": 5},
        description="A batch expires with its first request in flight, unmarked, so the next sequence never fits.",
    ),
    Scenario(MarksEveryExpiry, "expired_on_first_attempt_fixed", dict(TWO, max_disconnects=1, max_timeouts=1)),
    Scenario(
        MarksEveryExpiry,
        "expired_on_first_attempt_fixed_larger",
        dict(FOUR, max_epoch=3, max_disconnects=1, max_timeouts=2),
    ),
    Scenario(
        IdempotentProducer,
        "window_overrun",
        dict(SIX, max_late_acks=1, max_disconnects=1),
        expect={"no_endless_retry": 18},
        description="Fresh batches overtake a retry in transit; acknowledgements in between widen the window to six.",
    ),
    Scenario(
        IdempotentProducer,
        "window_overrun_appends_nothing_twice",
        dict(SIX, max_late_acks=1, max_disconnects=1, max_refusals=1, max_abandoned=1),
        properties=IN_THE_LOG,
        description="The log stays right all the same: the batch fails although it is there.",
    ),
    Scenario(HoldsFreshBatches, "window_overrun_fixed", dict(SIX, max_late_acks=1, max_disconnects=1)),
    Scenario(
        HoldsFreshBatches,
        "window_overrun_fixed_larger",
        dict(SIX, max_late_acks=2, max_disconnects=2, max_refusals=2, max_abandoned=2),
    ),
    Scenario(
        IdempotentLeaderMove,
        "two_connections",
        SIX,
        expect={"no_endless_retry": 16},
        description="Five batches wait at a dead leader while the new one takes a sixth: the first has left the cache.",
    ),
    Scenario(
        IdempotentLeaderMove,
        "two_connections_duplicate",
        dict(SIX, max_disconnects=1),
        expect={"no_duplicate": 22},
        properties=["no_duplicate"],
        description="If the sixth batch's response is also lost, the refusal of the first bumps the epoch for all six.",
    ),
    Scenario(WaitsForOldLeader, "two_connections_fixed", dict(SIX, max_disconnects=1)),
    Scenario(WaitsForOldLeader, "two_connections_fixed_larger", dict(SIX, max_leader_moves=2, max_disconnects=2)),
]

scenarios = survived + broker_memory + client_epochs + other_clients + found_here
