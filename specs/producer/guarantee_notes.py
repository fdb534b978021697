"""Notes of the table of guarantees: rarer faults and other settings, each with the checks that show it."""

from checker.language.tables import GuaranteeCheck, GuaranteeNote
from specs.broker.network import BrokerNetwork
from specs.broker.versions import KAFKA_1_1
from specs.producer.acks import Acks
from specs.producer.idempotent.fair import FairIdempotent, FairLeaderMove
from specs.producer.idempotent.leader_move import IdempotentLeaderMove
from specs.producer.idempotent.producer import IdempotentProducer
from specs.producer.plain.producer import PlainProducer

ONE_BATCH = dict(batches=1, max_in_flight=1, log_size=2)
TWO_BATCHES = dict(batches=2, max_in_flight=2, log_size=4)

KNOWN_TWO = dict(first_sequence=1, batches=3, max_in_flight=2, log_size=5)
KNOWN_SIX = dict(first_sequence=1, batches=7, max_in_flight=5, log_size=13)
"""The same with a first batch that is in the log and acknowledged, so that the leader has state of the producer."""

NOTES = {
    "replicas": GuaranteeNote(
        "acks=all depends on min.insync.replicas. With the default of 1, a leader that is alone in the ISR "
        "acknowledges, and an unclean election then loses the record (R12). With 2 of three brokers, crashes lose it "
        "only with an unclean election; power loss of one broker needs none (R11). The documentation says: not lost "
        "as long as one in-sync replica lives.",
        (GuaranteeCheck(Acks, dict(acks="all", min_insync_replicas=1, unclean_elections=True, starts_in_sync=False),
             ("no_acked_loss",)), GuaranteeCheck(Acks,
             dict(acks="all", min_insync_replicas=2, replication_factor=3, unclean_elections=True, broker_crashes=2),
             ("no_acked_loss",)))),
    "P1": GuaranteeNote(
        "The documentation of max.in.flight.requests.per.connection says that ordering is preserved if retries are "
        "disabled. A batch that is too large for the broker is split and sent again for any value of retries, after "
        "the batches in flight (P1).",
        (GuaranteeCheck(PlainProducer, dict(records=3, batch_size=2, broker_limit=1, max_in_flight=2, retries=0),
             ("no_reorder",)),)),
    "P12": GuaranteeNote(
        "The documentation promises order with one request in flight or without retries. A request that outlives its "
        "connection, in a broker that is stuck for longer than request.timeout.ms, is appended after later requests of "
        "the client (P12).", (GuaranteeCheck(BrokerNetwork, dict(acks="1", disconnects=1), ("no_late_copy",)),
         GuaranteeCheck(BrokerNetwork, dict(acks="1", disconnects=1, retries=0), ("no_reorder",)))),
    "P11": GuaranteeNote(
        "A record whose future failed may be in the log. If the application sends it again, the log may have it twice "
        "(P11).",
        (GuaranteeCheck(PlainProducer, dict(retries=0, delivery_timeouts=True, resends=1), ("no_duplicate",)),
         GuaranteeCheck(PlainProducer, dict(acks="0", retries=0, delivery_timeouts=True, resends=1),
             ("no_duplicate",)))),
    "unread": GuaranteeNote(
        "The documentation of acks says that retries has no effect with 0. Success is reported before a broker reads "
        "the request, so a later request may be appended first: on the next connection, while the broker still handles "
        "requests of the closed one (P12), or at another leader, if the first one reads the request only when it leads "
        "again. A request that is not written completely when its connection closes is sent again, also after a later "
        "one to a new leader (P4; with retries, and more than one in flight).",
        (GuaranteeCheck(BrokerNetwork, dict(acks="0", disconnects=1, retries=0), ("no_reorder",)),
         GuaranteeCheck(PlainProducer, dict(acks="0", nodes=2, leader_moves=2, retries=0), ("no_reorder",)),
         GuaranteeCheck(PlainProducer, dict(acks="0", nodes=2, leader_moves=1, disconnects=1, max_in_flight=2),
             ("no_reorder",)))),
    "I2": GuaranteeNote(
        "Brokers from 2.5 to 4.4 accept any sequence of a producer that they have no state of. If the leader refuses "
        "the first batch and accepts the second, it refuses the first from then on: the second is in the log without "
        "it, and the client resends it until delivery.timeout.ms. If anything then bumps the epoch, the first is "
        "appended after the second, or once more (I2, KAFKA-14359, KAFKA-15591). Once a batch of the producer is "
        "acknowledged, and until its state expires, the answers are those of 4.5; with one request in flight they "
        "always are.", (GuaranteeCheck(IdempotentProducer, dict(TWO_BATCHES, max_refusals=1), ("no_gap",)),
         GuaranteeCheck(FairIdempotent, dict(TWO_BATCHES, max_refusals=1), ("batch_is_completed",)))),
    "unknown": GuaranteeNote(
        "Brokers from 2.1 to 2.4 answer the second batch with UNKNOWN_PRODUCER_ID if they refused the first. The "
        "client bumps its epoch, even while it sends the first again: if the response to that is lost, the first is "
        "appended under both epochs.", (GuaranteeCheck(IdempotentProducer,
             dict(KAFKA_1_1, **TWO_BATCHES, max_epoch=2, max_refusals=1, max_disconnects=1), ("no_duplicate",)),)),
    "I7": GuaranteeNote(
        "The documentation says exactly one copy. A broker that restarts remembers one batch of a producer, not five: "
        "if the responses of two batches are lost with it, both are appended again (I7; seen with brokers of 3.9, 4.3 "
        "and 4.4). Two connections after a leader change, with five in flight, have the same effect.",
        (GuaranteeCheck(IdempotentProducer, dict(TWO_BATCHES, max_restarts=1), ("no_duplicate",)),
         GuaranteeCheck(IdempotentLeaderMove, dict(KNOWN_SIX, max_disconnects=1), ("no_duplicate",)))),
    "I3": GuaranteeNote(
        "After a permanent rejection of a batch the client bumps its epoch. The bump gives a new identity to an "
        "earlier batch that is in the log although its response was an error (I3, KAFKA-14034).",
        (GuaranteeCheck(IdempotentProducer, dict(TWO_BATCHES, max_late_acks=1, max_rejections=1), ("no_duplicate",)),)),
    "I13": GuaranteeNote(
        "If producer.id.expiration.ms passes while a batch is being retried, the broker takes the retry for a first "
        "batch (I13).", (GuaranteeCheck(IdempotentProducer, dict(ONE_BATCH, max_state_expiries=1, max_disconnects=1),
             ("no_duplicate",)),)),
    "stall": GuaranteeNote(
        "A batch is refused until its delivery.timeout.ms if it is in the log but no longer in the broker's cache (the "
        "broker restarted, or five later batches follow), or if its predecessor expired on its first attempt. The "
        "batches behind it wait as long (docs/idempotence.md).",
        (GuaranteeCheck(FairIdempotent, dict(KNOWN_TWO, max_disconnects=1, max_timeouts=1), ("batch_is_completed",)),
         GuaranteeCheck(FairIdempotent, dict(TWO_BATCHES, max_restarts=1, max_late_acks=1), ("batch_is_completed",)),
         GuaranteeCheck(FairIdempotent, dict(KNOWN_SIX, max_late_acks=1, max_disconnects=1), ("batch_is_completed",)),
         GuaranteeCheck(FairLeaderMove, KNOWN_SIX, ("batch_is_completed",)))),
}  # fmt: skip
