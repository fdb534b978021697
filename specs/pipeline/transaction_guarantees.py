"""The guarantees of transactions, end to end: the last two tables of docs/guarantees.md.

The cells of the first table are compared with the documentation of `isolation.level`, with KIP-890 and with KIP-98;
those of the second one with KIP-129 and KIP-447, and with the documentation of `KafkaProducer`.
"""

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeRow, Table
from specs.transactions.exactly_once import ExactlyOnceLoop
from specs.transactions.guarantees import LOG_SIZE, RULES, SIZES
from specs.transactions.guarantees import documented as documented_by_release
from specs.transactions.reader import TransactionalReader
from specs.transactions.transactional_producer import Transactions

OLD, NEW = "3.9.0", "4.3.0"
"""A release with transaction version 1, and one with version 2."""

# The first table: a producer with a transactional.id, and a consumer.

COLUMNS = {
    "aborted": "read, although open or aborted",
    "half_read": "half is read: a planned leader change",
    "lost": "committed, then lost: a planned leader change",
    "unclean_lost": "committed, then lost: an unclean election",
    "restart": "written twice: the producer restarts",
    "fenced": "a former instance's records are committed: the producer restarts",
    "late_torn": "half committed: a late EndTxn",
    "timeout": "half committed: transaction.timeout.ms passes",
    "dead": "open for ever: the producer dies",
    "unclean_open": "open for ever: an unclean election",
}

_RESTART = dict(transactions=1, instances=2, max_epoch=8, max_late=1, max_arrivals=3, gives_up=False, log_size=LOG_SIZE)
_DEATH = dict(transactions=1, instances=2, max_epoch=6, max_late=0, max_arrivals=3, times_out=True, log_size=LOG_SIZE)
_UNCLEAN = dict(transactions=1, max_producer_id=0, elections=1, unclean_elections=True)
_CHANGE = dict(transactions=1, max_producer_id=0, elections=1, partitions=2)

CHECKS = {
    "aborted": (TransactionalReader, {}, ("no_open_read", "no_aborted_read")),
    "half_read": (TransactionalReader, _CHANGE, ("no_torn_transaction",)),
    "lost": (TransactionalReader, _CHANGE, ("no_committed_record_lost",)),
    "unclean_lost": (TransactionalReader, _UNCLEAN, ("no_committed_record_lost",)),
    "restart": (Transactions, _RESTART, ("committed_once",)),
    "fenced": (Transactions, _RESTART, ("fenced_is_never_committed",)),
    "late_torn": (Transactions, {**SIZES["late_torn"][1], "log_size": LOG_SIZE}, ("all_or_nothing",)),
    "timeout": (Transactions, {**SIZES["timeout"][1], "log_size": LOG_SIZE}, ("all_or_nothing",)),
    "dead": (Transactions, _DEATH, ("no_transaction_hangs",)),
    "unclean_open": (TransactionalReader, _UNCLEAN, ("no_hanging_transaction",)),
}
"""The spec of each column, its size with the failure, and the properties."""

LEGEND = (
    "Yes and no as in the first table. Version: the transaction version. After a time-out of commitTransaction, the "
    "application calls it again (retry), or takes the transaction for lost and repeats it with a new producer "
    "(repeat).",
    "Explored: the specs of [transactions](transactions.md), with one transaction, or two if the first one is the "
    "cause. The first table also holds for committed records, in its rows with acks=all: a transaction does not "
    "protect from power loss. The log of the transaction coordinator loses nothing.",
)


def documented(column, release, isolation_level):
    """Return the answer of the documentation of `isolation.level` and of KIP-890, None if they have none."""
    if column == "aborted":
        return isolation_level == "read_uncommitted"
    return documented_by_release(column, release, release) if column == "late_torn" else None


def cell(column, release, isolation_level, commit_timeout):
    """Return one cell of the first table."""
    spec, size, properties = CHECKS[column]
    rules = RULES[spec](release)
    if spec is TransactionalReader:
        rules = {**rules, "isolation_level": isolation_level}
    elif column in ("restart", "fenced"):
        rules = {**rules, "commit_timeout": {"retry": "retried", "repeat": "repeated"}[commit_timeout]}
    return GuaranteeCell(
        (GuaranteeCheck(spec, {**rules, **size}, properties),), documented(column, release, isolation_level)
    )


def row(release, isolation_level, commit_timeout):
    """Return a row of the first table."""
    shown = {
        "Kafka": release.removesuffix(".0"),
        "version": str(RULES[Transactions](release)["transaction_version"]),
        "isolation.level": isolation_level,
        "after a time-out": commit_timeout,
    }
    return GuaranteeRow(shown, {column: cell(column, release, isolation_level, commit_timeout) for column in COLUMNS})


ROWS = (
    (OLD, "read_uncommitted", "retry"),
    (OLD, "read_committed", "retry"),
    (NEW, "read_uncommitted", "retry"),
    (NEW, "read_committed", "repeat"),
    (NEW, "read_committed", "retry"),
)
"""From the weakest to the strongest."""

# The second table: an application consumes, processes and produces.

LOOP_COLUMNS = {
    "crash": "processed twice: an instance crashes",
    "rebalance": "processed twice: a rebalance",
    "both": "processed twice: a rebalance and a crash",
    "slow": "processed twice: a rebalance, and transaction.timeout.ms passes",
    "answers": "processed twice: answers are lost",
    "crash_gap": "left out: an instance crashes",
    "abort_gap": "left out: the application aborts",
    "order": "out of order: a rebalance",
}

LOOP_FAILURES = {
    "crash": dict(rebalances=0, crashes=1),
    "rebalance": dict(rebalances=1, crashes=0),
    "both": dict(records=1, rebalances=1, crashes=1),
    "slow": dict(records=1, rebalances=1, crashes=0, slow_transactions=1),
    "answers": dict(records=1, rebalances=1, crashes=0, lost_answers=2),
    "crash_gap": dict(rebalances=0, crashes=1),
    "abort_gap": dict(rebalances=0, crashes=0, aborts=1),
    "order": dict(rebalances=1, crashes=0),
}

LOOP_PROPERTIES = {"crash_gap": "no_gap", "abort_gap": "no_gap", "order": "no_reorder"}
"""The properties of some columns; in the other columns `no_duplicate`."""

OFFSETS = {
    "commitSync": dict(offsets_in_transaction=False),
    "in the transaction": dict(offsets_in_transaction=True),
}

APPLICATIONS = {
    "as documented": {},
    "keeps its position after an abort": dict(after_abort="keep"),
    "starts over after a time-out": dict(lost_commit="transaction_start"),
}
"""What the application does after an abort, and after a time-out of commitTransaction."""

LOOP_ROWS = (
    ("commitSync", "instance", True, "as documented", NEW),
    ("in the transaction", "random", False, "as documented", NEW),
    ("in the transaction", "instance", False, "as documented", NEW),
    ("in the transaction", "instance", True, "keeps its position after an abort", NEW),
    ("in the transaction", "instance", True, "starts over after a time-out", NEW),
    ("in the transaction", "partition", False, "as documented", OLD),
    ("in the transaction", "partition", False, "as documented", NEW),
    ("in the transaction", "random", True, "as documented", NEW),
    ("in the transaction", "instance", True, "as documented", OLD),
    ("in the transaction", "instance", True, "as documented", NEW),
)
"""From the weakest to the strongest; the last two are exactly_once_v2 of Kafka Streams."""

LOOP_LEGEND = (
    "Yes and no as in the first table. Offsets: how the application commits them. transactional.id: one for each "
    "instance, one for each input partition (exactly_once of Kafka Streams before KIP-447), or a random one at each "
    "start. Group metadata: sendOffsetsToTransaction has the member and the generation, and an offset fetch waits for "
    "open transactions (KIP-447).",
    "Explored: [exactly-once](exactly-once.md) with two instances, one or two records, and the failures of the column "
    "at every moment. The brokers do not fail. Processed twice, left out: by what a consumer with read_committed sees.",
)


def loop_documented(column, offsets, transactional_id, has_generation, application):
    """Return the answer of the documentation, None if it has none.

    Sources: KIP-129 and KIP-447 (exactly-once), "Message Delivery Semantics" (offsets that are committed afterwards).
    """
    if offsets == "commitSync":
        return True if column == "crash" else None
    is_fenced = has_generation or transactional_id == "partition"
    return False if is_fenced and application == "as documented" else None


def loop_cell(column, offsets, transactional_id, has_generation, application, release):
    """Return one cell of the second table."""
    constants = {
        **RULES[ExactlyOnceLoop](release),
        **OFFSETS[offsets],
        **APPLICATIONS[application],
        **LOOP_FAILURES[column],
        "transactional_id": transactional_id,
        "fences_generations": has_generation,
        "requires_stable": has_generation,
    }
    check = GuaranteeCheck(ExactlyOnceLoop, constants, (LOOP_PROPERTIES.get(column, "no_duplicate"),))
    return GuaranteeCell((check,), loop_documented(column, offsets, transactional_id, has_generation, application))


def loop_row(offsets, transactional_id, has_generation, application, release):
    """Return a row of the second table."""
    shown = {
        "offsets": offsets,
        "transactional.id": transactional_id,
        "group metadata": "yes" if has_generation else "no",
        "application": application,
        "Kafka": release.removesuffix(".0"),
    }
    settings = (offsets, transactional_id, has_generation, application, release)
    return GuaranteeRow(shown, {column: loop_cell(column, *settings) for column in LOOP_COLUMNS})


tables = [
    Table("transactions", COLUMNS, tuple(row(*settings) for settings in ROWS), legend=LEGEND, mark="t"),
    Table(
        "exactly_once", LOOP_COLUMNS, tuple(loop_row(*settings) for settings in LOOP_ROWS), legend=LOOP_LEGEND, mark="x"
    ),
]
