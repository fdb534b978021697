"""The guarantees of transactions by release and failure: the table of docs/transactions.md.

The cells are compared with KIP-890 ("Motivation" and "Proposed Changes"), with KAFKA-17754, and with the documentation
of `isolation.level`: a consumer with read_committed reads only committed records.
"""

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeRow, Table
from specs.kafka_versions import EPOCH_PER_TRANSACTION, VERIFIES_TRANSACTIONS
from specs.transactions.coordinator import Coordinator
from specs.transactions.exactly_once import ExactlyOnceLoop
from specs.transactions.reader import TransactionalReader
from specs.transactions.transactional_producer import Transactions
from specs.transactions.verification_buffers import VerificationBuffers
from specs.transactions.verified_order import VerifiedOrder
from specs.transactions.versions import (
    buffer_rules,
    election_rules,
    loop_rules,
    order_rules,
    reader_rules,
    transaction_rules,
    transaction_version,
)

RELEASES = ("0.11.0.0", "2.8.0", "3.5.0", "3.6.0", "3.9.0", "4.0.0", "4.3.0")

MIXED_RELEASES = (("3.9.0", "4.3.0"), ("4.3.0", "3.9.0"))
"""Brokers of one release and clients of another."""

COLUMNS = {
    "late_hang": "open for ever: a late Produce after an abort (T1)",
    "late_read": "aborted, then read: a late request (T2)",
    "late_torn": "half committed: a late EndTxn (T3)",
    "coordinator": "never complete: the coordinator moves (T4)",
    "next": "failed without a cause: the next transaction (T5)",
    "exhausted": "open for ever: no epoch is left (T6)",
    "marker_retry": "never complete: the answer to a marker is lost (T7)",
    "late_marker": "committed, then lost: a copy of a marker is late (T7)",
    "timeout": "half committed: a timeout (T8)",
    "other_epoch": "ended by another epoch: an instance with a higher one (T8)",
    "expiry": "committed, then lost: the leader forgets the producer (T8)",
    "zombie": "processed twice: a transactional.id expires (T8)",
    "unclean": "open for ever: an unclean election (T9)",
    "order": "out of order for ever: a first batch is not verified (T10)",
    "buffers": "failed without a cause: two verified batches (T10)",
    "delayed_fetch": "aborted, then read: a fetch waits (T11)",
}

SIZES = {
    "late_hang": (Transactions, dict(transactions=1, max_epoch=3)),
    "late_read": (Transactions, dict(max_epoch=4)),
    "late_torn": (Transactions, dict(partitions=2, max_epoch=4, gives_up=False)),
    "coordinator": (Coordinator, dict(max_epoch=2, max_producer_id=0, max_coordinator_epoch=1)),
    "next": (Transactions, dict(max_epoch=4, max_late=0, gives_up=False, aborts=False)),
    "exhausted": (Coordinator, dict(max_epoch=2)),
    "marker_retry": (Transactions, dict(transactions=1, max_epoch=3, max_late=0, max_marker_copies=1)),
    "late_marker": (
        Transactions,
        dict(max_epoch=4, gives_up=False, late_markers="any", max_marker_copies=1),
    ),
    "timeout": (Transactions, dict(partitions=2, transactions=1, max_epoch=4, max_late=0, times_out=True)),
    "other_epoch": (Coordinator, dict(max_epoch=2, clients="any")),
    "expiry": (
        Transactions,
        dict(max_epoch=4, max_coordinator_epoch=1, gives_up=False, late_markers="former", max_marker_copies=1),
    ),
    "zombie": (
        ExactlyOnceLoop,
        dict(
            crashes=0,
            records=1,
            expirations=1,
            transactional_id="partition",
            fences_generations=False,
            after_abort="transaction_start",
        ),
    ),
    "unclean": (TransactionalReader, dict(transactions=1, elections=1, unclean_elections=True)),
    "order": (VerifiedOrder, {}),
    "buffers": (VerificationBuffers, {}),
    "delayed_fetch": (TransactionalReader, dict(max_fetch=2)),
}
"""The spec of each column, and the size at which it is explored."""

LOG_SIZE = 10
"""Room for everything that the clients and the coordinator of a column may append to a partition."""

PROPERTIES = {
    "late_hang": ("open_is_known",),
    "late_read": ("aborted_is_never_read",),
    "late_torn": ("all_or_nothing",),
    "coordinator": ("completes",),
    "next": ("no_spurious_error",),
    "exhausted": ("ongoing_can_end",),
    "marker_retry": ("completes",),
    "late_marker": ("committed_is_never_lost",),
    "timeout": ("all_or_nothing",),
    "other_epoch": ("ends_only_its_own_epoch",),
    "expiry": ("committed_is_never_lost",),
    "zombie": ("no_duplicate",),
    "unclean": ("no_hanging_transaction",),
    "order": ("begins_with_the_first",),
    "buffers": ("no_request_is_refused",),
    "delayed_fetch": ("no_aborted_read",),
}

RULES = {
    Transactions: transaction_rules,
    Coordinator: election_rules,
    ExactlyOnceLoop: loop_rules,
    TransactionalReader: reader_rules,
    VerifiedOrder: order_rules,
    VerificationBuffers: buffer_rules,
}

LEGEND = (
    "Yes: the number of states of the shortest counterexample, the initial state included. No: the number of distinct "
    "states in the complete exploration. Version: the transaction version of the clients' requests, in a new cluster. "
    "Verification is on where it exists.",
    "Explored: up to two transactions of one producer in one or two partitions, and one occurrence of the failure at "
    "every moment. A late request: a copy stays in the network while the client repeats the request or gives up.",
)


def documented(column, brokers, clients):
    """Return the answer of KIP-890 and of KAFKA-17754, None if they have none."""
    if column == "late_hang":
        return not VERIFIES_TRANSACTIONS.applies_to(brokers)
    if column in ("late_read", "late_torn"):
        return not (EPOCH_PER_TRANSACTION.applies_to(brokers) and EPOCH_PER_TRANSACTION.applies_to(clients))
    return None


def cell(column, brokers, clients):
    """Return one cell of a row."""
    spec, size = SIZES[column]
    log = dict(log_size=LOG_SIZE) if spec is Transactions else {}
    check = GuaranteeCheck(spec, {**size, **log, **RULES[spec](brokers, clients)}, PROPERTIES[column])
    return GuaranteeCell((check,), documented(column, brokers, clients))


def row(brokers, clients):
    """Return the row of brokers and clients of some releases."""
    kafka, client = (".".join(release.split(".")[:2]) for release in (brokers, clients))
    name = kafka if kafka == client else f"{kafka} (clients {client})"
    shown = {"Kafka": name, "version": str(transaction_version(brokers, clients))}
    return GuaranteeRow(shown, {column: cell(column, brokers, clients) for column in COLUMNS})


ROWS = (*((release, release) for release in RELEASES), *MIXED_RELEASES)

tables = [Table("guarantees", COLUMNS, tuple(row(*releases) for releases in ROWS), legend=LEGEND)]
