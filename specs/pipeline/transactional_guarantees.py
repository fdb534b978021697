"""The guarantees of the pipeline with transactions, by settings and failure: the second table of docs/guarantees.md.

The cells are compared with Kafka's documentation of `isolation.level`, `transactional.id`,
`unclean.leader.election.enable`, `KafkaProducer.commitTransaction` and `KafkaProducer.sendOffsetsToTransaction`.
"""

from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeNote, GuaranteeRow
from specs.known_exceptions import exceptions, noted_table, unexplored
from specs.transactions.exactly_once import ExactlyOnceLoop
from specs.transactions.guarantees import ENTRIES, RULES, Question
from specs.transactions.reader import TransactionalReader
from specs.transactions.transactional_producer import Transactions
from specs.transactions.versions import transaction_version

PRODUCER = dict(max_epoch=4, max_late=1, log_size=10)
RESTARTED = dict(instances=2, max_epoch=8, max_arrivals=3, log_size=10)
LEADER = dict(transactions=1, max_producer_id=0, elections=1)

QUESTIONS = {
    "unfinished": Question("unfinished, then committed: the producer restarts",
        Transactions, dict(RESTARTED, max_late=0), ("fenced_is_never_committed", "all_or_nothing")),
    "twice": Question("committed twice: the producer restarts",
        Transactions, dict(RESTARTED, transactions=1, max_late=1, gives_up=False), ("committed_once",)),
    "late": Question("aborted, then committed: a request is late",
        Transactions, PRODUCER, ("aborted_is_never_read",)),
    "torn": Question("half committed: a request is late",
        Transactions, dict(PRODUCER, partitions=2, gives_up=False), ("all_or_nothing",)),
    "hangs": Question("open for ever: a request is late",
        Transactions, dict(PRODUCER, transactions=1), ("open_is_known",)),
    "abort": Question("aborted or open, but read: the application aborts",
        TransactionalReader, {}, ("no_aborted_read", "no_open_read")),
    "lost": Question("committed, then lost: the leader crashes",
        TransactionalReader, LEADER, ("no_committed_record_lost",)),
    "partial": Question("read in part: the leader crashes",
        TransactionalReader, dict(LEADER, partitions=2), ("no_torn_transaction", "whole_transactions")),
    "unread": Question("committed, but never read: the leader crashes",
        TransactionalReader, LEADER, ("is_readable",)),
    "crash_twice": Question("processed twice: an instance crashes",
        ExactlyOnceLoop, dict(rebalances=0, crashes=1), ("no_duplicate",)),
    "rebalance_twice": Question("processed twice: a rebalance",
        ExactlyOnceLoop, dict(rebalances=1, crashes=0), ("no_duplicate",)),
    "answer_twice": Question("processed twice: an answer is lost",
        ExactlyOnceLoop, dict(records=1, rebalances=1, crashes=0, lost_answers=2), ("no_duplicate",)),
    "skipped": Question("never processed: an instance crashes",
        ExactlyOnceLoop, dict(rebalances=0, crashes=1), ("no_gap", "every_record_has_a_readable_result")),
}  # fmt: skip
"""The heading of each column, its spec, the size at which it is explored, and the properties it checks."""

COLUMNS = {name: question.heading for name, question in QUESTIONS.items()}
OF_LEADER = tuple(name for name, question in QUESTIONS.items() if "elections" in question.size)

FACTS = {"client": "java", "transactional": "true", "enable.idempotence": "true", "acks": "all",
    "transaction.partition.verification.enable": "true"}  # fmt: skip
"""The effective settings of every row, as the conditions of `specs/catalogue.toml` name them."""

RECOMMENDED = dict(kafka="4.3", transactional_id="instance", offsets="group metadata", isolation_level="read_committed",
    unclean=False, repeats_commit=True)  # fmt: skip

SETTINGS = (RECOMMENDED | dict(isolation_level="read_uncommitted"), RECOMMENDED | dict(unclean=True),
    RECOMMENDED | dict(repeats_commit=False), RECOMMENDED | dict(offsets="commitSync"),
    RECOMMENDED | dict(offsets="no metadata"),
    RECOMMENDED | dict(offsets="no metadata", transactional_id="partition"), RECOMMENDED | dict(kafka="3.9"),
    RECOMMENDED)  # fmt: skip
"""Settings that differ from the recommended ones, and these at the end."""

NOTES = {"T2": GuaranteeNote(
    "All transactions of a producer have one epoch with transaction version 1. A leader takes a late batch of an "
    "aborted transaction for a batch of the next one (T2, before 4.0).")}  # fmt: skip

LEGEND = (
    "transactional.id: each instance of the application keeps one, or the owner of "
    "an input partition uses that of the partition. Offsets: sendOffsetsToTransaction with consumer.groupMetadata() "
    "or without group metadata, or commitSync after the transaction. After a commit timeout: the application calls "
    "commitTransaction again, or takes the transaction for lost and repeats it with a new producer. "
    '"Committed twice" and "an answer is lost" have such timeouts.',
    "Explored: brokers and clients of one release, with verification and acks=all. The first five questions: a "
    "producer with up to two transactions in one or two partitions. A producer that restarts leaves a former instance, "
    "which still runs. A late request: a copy stays in the network while the client repeats the request or gives up. "
    "The next four: a consumer of one or two partitions with two replicas each. The last four: two instances of an "
    "application that consumes, transforms and produces, and two input records (one if an answer is lost). Every "
    "failure occurs at every moment. Questions with different specs do not have each other's failures.",
    "Only the questions of the consumer depend on isolation.level. The others count committed records. A consumer with "
    "read_uncommitted also reads the aborted ones.",
)


def documented(column, settings):
    """Return the answer of Kafka's documentation, None if it has none."""
    if column == "unfinished":
        return False  # transactional.id: earlier transactions are completed before the first new one
    if column == "abort":
        return settings["isolation_level"] == "read_uncommitted"
    if column == "late" and settings["isolation_level"] == "read_committed":
        return False
    if column == "lost" and not settings["unclean"]:
        return False  # acks=all
    if column == "twice" and settings["repeats_commit"]:
        return False  # commitTransaction: it is safe to retry after a TimeoutException
    if column in ("crash_twice", "rebalance_twice") and settings["offsets"] == "group metadata":
        return False  # sendOffsetsToTransaction
    return None


def release(settings):
    """Return the first version of a release."""
    return settings["kafka"] + ".0"


def producer_constants(column, settings):
    """Return the constants of `Transactions`."""
    # `fenced_is_never_committed` and `all_or_nothing` do not distinguish a transaction from its repetition.
    is_repeated = column == "twice" and not settings["repeats_commit"]
    return dict(commit_timeout="repeated" if is_repeated else "retried")


def reader_constants(column, settings):
    """Return the constants of `TransactionalReader`."""
    return dict(isolation_level=settings["isolation_level"], unclean_elections=settings["unclean"])


def loop_constants(column, settings):
    """Return the constants of `ExactlyOnceLoop`."""
    return dict(
        transactional_id=settings["transactional_id"],
        fences_generations=settings["offsets"] == "group metadata",
        offsets_in_transaction=settings["offsets"] != "commitSync",
        lost_commit="repeat" if settings["repeats_commit"] else "transaction_start",
    )


CONSTANTS = {Transactions: producer_constants, TransactionalReader: reader_constants, ExactlyOnceLoop: loop_constants}


def cell(column, settings):
    """Return one cell of a row."""
    _, spec, size, properties = QUESTIONS[column]
    constants = RULES[spec](release(settings)) | CONSTANTS[spec](column, settings) | size
    answer = documented(column, settings)
    is_refuted = column == "late" and answer is False and transaction_version(release(settings)) == 1
    check = GuaranteeCheck(spec, constants, properties)
    return GuaranteeCell((check,), answer, differs="T2" if is_refuted else "", exceptions=known(column, settings))


def known(column, settings):
    """Return the entries of the catalogue that lose a record or a marker of a transaction when the leader crashes."""
    if column not in OF_LEADER:
        return ()
    releases = ((release(settings), release(settings)),)
    return exceptions("loss", ["crash"], {**FACTS, "replication.factor": "2", "controller": "kraft"}, releases)


def row(settings):
    """Return the row of a combination of settings."""
    shown = {"Kafka": settings["kafka"], "transactional.id": settings["transactional_id"],
        "offsets": settings["offsets"], "isolation.level": settings["isolation_level"],
        "unclean": "on" if settings["unclean"] else "off",
        "after a commit timeout": "commits again" if settings["repeats_commit"] else "repeats"}  # fmt: skip
    return GuaranteeRow(shown, {column: cell(column, settings) for column in COLUMNS})


LEFT_OUT = unexplored(["transactions", "loss"], answered=("crash", "unclean-election"),
    config=FACTS, releases=tuple((release(settings), release(settings)) for settings in SETTINGS),
    shown=[ENTRIES[column] for column in ("late_hang", "late_read", "late_torn")])  # fmt: skip

tables = [noted_table("transactions", COLUMNS, map(row, SETTINGS), NOTES, (*LEGEND, LEFT_OUT))]
