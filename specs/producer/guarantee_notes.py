"""What the table of guarantees leaves out: rarer faults and other settings, each with what shows it."""

from checker.language.tables import GuaranteeCheck, GuaranteeNote
from specs.broker.network import BrokerNetwork
from specs.producer.acks import Acks
from specs.producer.idempotent.leader_move import IdempotentLeaderMove
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.plain.producer import PlainProducer

ONE_BATCH = dict(batches=1, max_in_flight=1, log_size=2)
TWO_BATCHES = dict(batches=2, max_in_flight=2, log_size=4)
SIX_BATCHES = dict(batches=6, max_in_flight=5, log_size=12)

NOTES = {
    "replicas": GuaranteeNote(
        "acks=all is what min.insync.replicas makes of it: with the default of 1 a leader that is alone in the ISR "
        "acknowledges, and an unclean election then loses the record (P8); with 2 of three brokers it takes the loss "
        "of both and an unclean election. The documentation says so: not lost as long as one in-sync replica lives.",
        (
            GuaranteeCheck(
                Acks,
                dict(acks="all", min_insync_replicas=1, unclean_elections=True, starts_in_sync=False),
                ("no_acked_loss",),
            ),
            GuaranteeCheck(
                Acks,
                dict(acks="all", min_insync_replicas=2, replication_factor=3, unclean_elections=True, broker_crashes=2),
                ("no_acked_loss",),
            ),
        ),
    ),
    "split": GuaranteeNote(
        "The documentation of max.in.flight.requests.per.connection says that ordering is preserved if retries are "
        "disabled. A batch that is too large for the broker is split and sent again whatever retries says, behind what "
        "is in flight (P1).",
        (
            GuaranteeCheck(
                PlainProducer,
                dict(records=3, batch_size=2, broker_limit=1, max_in_flight=2, retries=0),
                ("no_reorder",),
            ),
        ),
    ),
    "zombie": GuaranteeNote(
        "The documentation promises the order with one request in flight or without retries. A request that outlives "
        "its connection, in a broker that is stuck for longer than request.timeout.ms, is appended behind what the "
        "client sent after it (P12).",
        (
            GuaranteeCheck(BrokerNetwork, dict(acks="1", disconnects=1), ("no_late_copy",)),
            GuaranteeCheck(BrokerNetwork, dict(acks="1", disconnects=1, retries=0), ("no_reorder",)),
        ),
    ),
    "resend": GuaranteeNote(
        "A future that failed does not say that the record is not in the log. An application that sends it again may "
        "have it there twice (P11).",
        (
            GuaranteeCheck(
                PlainProducer,
                dict(retries=0, delivery_timeouts=True, resends=1),
                ("no_duplicate",),
            ),
        ),
    ),
    "memory": GuaranteeNote(
        "The documentation says exactly one copy. A broker that restarts remembers one batch of a producer, not five: "
        "if the responses of two batches are lost with it, both are appended again (I7; derived from the source, not "
        "reproduced). Two connections after a leader change, with five in flight, do the same.",
        (
            GuaranteeCheck(IdempotentProducer, dict(TWO_BATCHES, max_restarts=1), ("no_duplicate",)),
            GuaranteeCheck(IdempotentLeaderMove, dict(SIX_BATCHES, max_disconnects=1), ("no_duplicate",)),
        ),
    ),
    "rewrite": GuaranteeNote(
        "A batch that is rejected for good makes the client bump its epoch, which gives a new identity to an earlier "
        "batch that is in the log though its answer was an error (I3, KAFKA-14034).",
        (GuaranteeCheck(IdempotentProducer, dict(TWO_BATCHES, max_late_acks=1, max_rejections=1), ("no_duplicate",)),),
    ),
    "expiry": GuaranteeNote(
        "If producer.id.expiration.ms passes while a batch is being retried, its retry is a first batch (I13).",
        (
            GuaranteeCheck(
                IdempotentProducer, dict(ONE_BATCH, max_state_expiries=1, max_disconnects=1), ("no_duplicate",)
            ),
        ),
    ),
    "stall": GuaranteeNote(
        "A batch that is in the log but no longer in the broker's memory (the broker restarted, or five later ones "
        "follow), or whose predecessor expired on its first attempt, is refused until its delivery.timeout.ms is over; "
        "the batches behind it wait as long (docs/idempotence.md; derived from the source, not reproduced).",
        (
            GuaranteeCheck(
                IdempotentProducer, dict(TWO_BATCHES, max_disconnects=1, max_timeouts=1), ("no_endless_retry",)
            ),
            GuaranteeCheck(
                IdempotentProducer, dict(TWO_BATCHES, max_restarts=1, max_late_acks=1), ("no_endless_retry",)
            ),
            GuaranteeCheck(
                IdempotentProducer, dict(SIX_BATCHES, max_late_acks=1, max_disconnects=1), ("no_endless_retry",)
            ),
            GuaranteeCheck(IdempotentLeaderMove, SIX_BATCHES, ("no_endless_retry",)),
        ),
    ),
}
