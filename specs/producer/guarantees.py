"""What each combination of a producer's settings is good for: the table of docs/producer.md.

What the cells are held against is Kafka's documentation of `acks`, `retries`, `enable.idempotence` and
`max.in.flight.requests.per.connection`, and the class comment of KafkaProducer, for 4.x.
"""

from itertools import product

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeRow, Table
from specs.producer.acks import Acks
from specs.producer.guarantee_notes import NOTES
from specs.producer.idempotent.failover import IdempotentFailover
from specs.producer.plain.configured import ConfiguredProducer
from specs.producer.plain.producer import PlainProducer
from specs.producer.plain.sessions import ProducerSessions

ACKS, RETRIES, IN_FLIGHT = ("0", "1", "all"), (0, 3), (1, 2, 5, 6)
"""Three retries, which the faults of a row cannot use up, stand for any number above 0."""

COLUMNS = {
    "loss": "loses an acknowledged record",
    "duplicate": "duplicates",
    "reorder": "reorders",
    "stuck": "gets stuck",
    "gap": "leaves a gap",
}

SENDER_PROPERTIES = {
    "loss": ("no_acked_loss", "ack_true"),
    "duplicate": ("no_duplicate",),
    "reorder": ("no_reorder", "no_late_copy"),
    "stuck": ("deadlock",),
    "gap": ("no_gap",),
}
"""What a column asks of a spec that derives from `Sender`."""

IDEMPOTENT_PROPERTIES = {
    "loss": ("no_acked_loss", "ack_true"),
    "duplicate": ("no_duplicate",),
    "reorder": ("no_reorder",),
    "stuck": ("no_endless_retry", "no_dead_end"),
    "gap": ("no_gap",),
}
"""What a column asks of a spec that derives from `IdempotentProducer`."""

LEGEND = (
    "Yes, with the number of states of the shortest counterexample, the initial state included; or no, with the number "
    "of distinct states that were explored, all that there are. An acknowledged record is one whose future succeeded. "
    "Reordered: a copy of a record, be it the first, stands behind a later record. Stuck: nothing can happen while a "
    "future is incomplete, or the broker refuses for ever what the client sends again (until delivery.timeout.ms). "
    "A gap: a record is in the log while an earlier one is neither there nor known to have failed. Answers that take "
    "the same steps, in whatever order, share a counterexample.",
    "Explored: one partition, and one fault of each kind at any moment. Without idempotence: six records, a retriable "
    "refusal and a connection that closes with whatever is on it; and three records, a connection that closes, a "
    "leader that moves, and (acks=all) a refusal after the append. With idempotence: six batches, a refusal, a "
    "connection that closes, and a failover to a follower. Loss, in addition: two records, three brokers, "
    "min.insync.replicas=2, one crash, no unclean election. Restart: in addition six records, a refusal, and the "
    "producer's process dies once; its successor sends again what was not acknowledged. With acks=0 retries and "
    "requests in flight make no difference, since a request is complete once it is written.",
    "What takes rarer faults, or other settings, is in the notes, each with its counterexamples.",
)


def plain_checks(acks, retries, in_flight, restart, properties):
    """Return what is explored of a producer without idempotence."""
    if acks == "0":
        # A request is complete once it is written: nothing is ever in flight, or sent again.
        retries, in_flight = 0, 1
    settings = dict(acks=acks, retries=retries)
    yield GuaranteeCheck(
        PlainProducer, dict(settings, records=6, max_in_flight=in_flight, refusals=1, disconnects=1), properties
    )
    # Of three records no more than three are in flight.
    moves = dict(records=3, max_in_flight=min(in_flight, 3), nodes=2, leader_moves=1, disconnects=1, late_refusals=1)
    yield GuaranteeCheck(PlainProducer, dict(settings, **moves), properties)
    if restart:
        faults = dict(records=6, refusals=1, restarts=1)
        yield GuaranteeCheck(PlainProducer, dict(settings, max_in_flight=in_flight, **faults), properties)


def idempotent_checks(in_flight, restart, column):
    """Return what is explored of an idempotent producer."""
    size = dict(batches=6, max_in_flight=in_flight, log_size=12, max_epoch=2)
    faults = dict(max_refusals=1, max_disconnects=1, max_failovers=1, max_follower_restarts=0)
    yield GuaranteeCheck(IdempotentFailover, dict(size, **faults), IDEMPOTENT_PROPERTIES[column])
    if restart:
        sessions = dict(records=6, retries=3, max_in_flight=in_flight, refusals=1, restarts=1)
        yield GuaranteeCheck(ProducerSessions, sessions, SENDER_PROPERTIES[column])


def replication_check(acks):
    """Return what is explored of the partition's replicas."""
    sizes = dict(records=2, replication_factor=3, min_insync_replicas=2, broker_crashes=1)
    return GuaranteeCheck(Acks, dict(sizes, acks=acks), ("no_acked_loss",))


def documented(column, acks, retries, in_flight, idempotent, restart):
    """Return what Kafka's documentation says; None: nothing."""
    if column == "loss":
        return acks != "all"
    if column == "duplicate":
        # acks=0 gives retries no effect; idempotence holds within a session.
        return acks != "0" and (restart or (retries > 0 and not idempotent))
    if column == "reorder" and not restart:
        return acks != "0" and retries > 0 and in_flight > 1 and not idempotent
    return None


def notes(column, acks, retries, in_flight, idempotent, restart):
    """Return the names of the notes of a cell."""
    if acks == "0":
        return ()
    if column == "loss":
        return ("replicas",) if acks == "all" else ()
    if column == "stuck":
        return ("stall",) if idempotent and in_flight > 1 else ()
    if column == "duplicate" and not restart:
        return duplicate_notes(retries, in_flight, idempotent)
    if column == "reorder" and not idempotent:
        return reorder_notes(retries, in_flight, restart)
    return ()


def duplicate_notes(retries, in_flight, idempotent):
    """Return the names of the notes where the answer is that nothing is duplicated."""
    if idempotent:
        return ("memory", "rewrite", "expiry") if in_flight > 1 else ("expiry",)
    return ("resend",) if retries == 0 else ()


def reorder_notes(retries, in_flight, restart):
    """Return the names of the notes where the answer is that nothing is reordered."""
    if in_flight == 1:
        return ("zombie",)
    return ("split", "zombie") if retries == 0 and not restart else ()


def row(acks, retries, in_flight, idempotent, restart):
    """Return the row of a combination."""
    settings = {
        "acks": acks,
        "retries": "0" if retries == 0 else ">0",
        "in flight": str(in_flight),
        "idempotence": "on" if idempotent else "off",
        "restart": "yes" if restart else "no",
    }
    if idempotent:
        refusal = refusal_of(acks, retries, in_flight)
        if refusal:
            return GuaranteeRow(settings, refused=refusal)
    combination = (acks, retries, in_flight, idempotent, restart)
    return GuaranteeRow(settings, {column: cell(column, *combination) for column in COLUMNS})


def cell(column, acks, retries, in_flight, idempotent, restart):
    """Return one cell of a row."""
    checks = [replication_check(acks)] if column == "loss" else []
    if idempotent:
        checks += idempotent_checks(in_flight, restart, column)
    else:
        checks += plain_checks(acks, retries, in_flight, restart, SENDER_PROPERTIES[column])
    combination = (column, acks, retries, in_flight, idempotent, restart)
    return GuaranteeCell(tuple(checks), documented(*combination), notes(*combination))


def refusal_of(acks, retries, in_flight):
    """Return why a producer with these settings and enable.idempotence=true cannot be constructed; else nothing."""
    asked = dict(version="4.0", enable_idempotence="true", acks=acks, retries=retries, max_in_flight=in_flight)
    if not ConfiguredProducer(**asked).is_refused():
        return ""
    return "idempotence that is asked for needs acks=all, retries>0 and at most 5 in flight (ConfigException)"


tables = [
    Table(
        "guarantees",
        COLUMNS,
        tuple(row(*combination) for combination in product(ACKS, RETRIES, IN_FLIGHT, (False, True), (False, True))),
        NOTES,
        LEGEND,
    )
]
