"""The guarantees of transactions by release and failure: the table of docs/transactions.md.

The cells are compared with KIP-890 ("Motivation" and "Proposed Changes"), with KAFKA-17754, with KIP-939,
and with the documentation of `isolation.level`: a consumer with read_committed reads only committed records.
"""

from collections.abc import Mapping
from typing import NamedTuple

from checker.language import Spec
from checker.language.tables import GuaranteeCell, GuaranteeCheck, GuaranteeRow
from specs.kafka_releases import RELEASES as EVERY_RELEASE
from specs.kafka_versions import EPOCH_PER_TRANSACTION, VERIFIES_TRANSACTIONS
from specs.known_exceptions import noted_table, unexplored
from specs.transactions import versions
from specs.transactions.coordinator import Coordinator
from specs.transactions.exactly_once import ExactlyOnceLoop
from specs.transactions.reader import TransactionalReader
from specs.transactions.transactional_producer import Transactions
from specs.transactions.two_phase_commit import TwoPhaseCommit
from specs.transactions.verification_buffers import VerificationBuffers
from specs.transactions.verified_order import VerifiedOrder

RELEASES = ("0.11.0.0", "2.8.0", "3.5.0", "3.6.0", "3.9.0", "4.0.0", "4.3.0")

MIXED_RELEASES = (("3.9.0", "4.3.0"), ("4.3.0", "3.9.0"))
"""Brokers of one release and clients of another."""

UPGRADED = "4.3.0"
"""The release of brokers and clients that the feature transaction.version is raised in."""

PROPOSED = "4.3.0"
"""The release to which the row on KIP-939 adds Enable2Pc and KeepPreparedTxn."""


ZOMBIE = dict(crashes=0, records=1, expirations=1, transactional_id="partition") | dict(
    fences_generations=False, after_abort="transaction_start"
)


class Question(NamedTuple):
    """A column of a table: may something bad happen?"""

    heading: str
    spec: type[Spec]
    size: Mapping[str, object]
    properties: tuple[str, ...]


QUESTIONS = {
    "late_hang": Question("open for ever: a late Produce after an abort (T1)",
        Transactions, dict(transactions=1, max_epoch=3), ("open_is_known",)),
    "late_read": Question("aborted, then read: a late request (T2)",
        Transactions, dict(max_epoch=4), ("aborted_is_never_read",)),
    "late_torn": Question("half committed: a late EndTxn (T3)",
        Transactions, dict(partitions=2, max_epoch=4, gives_up=False), ("all_or_nothing",)),
    "coordinator": Question("never complete: the coordinator moves (T4)",
        Coordinator, dict(max_epoch=2, max_producer_id=0, max_coordinator_epoch=1), ("completes",)),
    "next": Question("failed without a cause: the next transaction (T5)",
        Transactions, dict(max_epoch=4, max_late=0, gives_up=False, aborts=False), ("no_spurious_error",)),
    "exhausted": Question("open for ever: no epoch is left (T6)",
        Coordinator, dict(max_epoch=2), ("ongoing_can_end",)),
    "marker_retry": Question("never complete: the answer to a marker is lost (T7)",
        Transactions, dict(transactions=1, max_epoch=3, max_late=0, max_marker_copies=1), ("completes",)),
    "late_marker": Question("committed, then lost: a copy of a marker is late (KAFKA-19446)",
        Transactions, dict(max_epoch=4, gives_up=False, late_markers="any", max_marker_copies=1),
        ("committed_is_never_lost",)),
    "timeout": Question("half committed: a timeout (T8)",
        Transactions, dict(partitions=2, transactions=1, max_epoch=4, max_late=0, times_out=True), ("all_or_nothing",)),
    "other_epoch": Question("ended by another epoch: an instance with a higher one (T8)",
        Coordinator, dict(max_epoch=2, clients="any"), ("ends_only_its_own_epoch",)),
    "expiry": Question("committed, then lost: the leader forgets the producer (T8)", Transactions,
        dict(max_epoch=4, max_coordinator_epoch=1, gives_up=False, late_markers="former", max_marker_copies=1),
        ("committed_is_never_lost",)),
    "zombie": Question("processed twice: a transactional.id expires (T8)",
        ExactlyOnceLoop, ZOMBIE, ("no_duplicate",)),
    "unclean": Question("open for ever: an unclean election (T9)",
        TransactionalReader, dict(transactions=1, elections=1, unclean_elections=True), ("no_hanging_transaction",)),
    "order": Question("out of order for ever: a first batch is not verified (T10)",
        VerifiedOrder, {}, ("begins_with_the_first",)),
    "buffers": Question("failed without a cause: two verified batches (T10)",
        VerificationBuffers, {}, ("no_request_is_refused",)),
    "delayed_fetch": Question("aborted, then read: a fetch waits (T11)",
        TransactionalReader, dict(max_fetch=2), ("no_aborted_read",)),
    "two_phase": Question("prepared, then aborted: two-phase commit (KIP-939)",
        TwoPhaseCommit, dict(transactions=1), ("store_and_kafka_agree",)),
}  # fmt: skip
"""The heading of each column, its spec, the size at which it is explored, and the properties it checks."""

COLUMNS = {name: question.heading for name, question in QUESTIONS.items()}
ENTRIES = {name: heading.rpartition("(")[2].rstrip(")") for name, heading in COLUMNS.items()}
"""The entry of the catalogue that each column is about; one of them is a proposal (KIP-939)."""

SIZES = {name: (question.spec, question.size) for name, question in QUESTIONS.items()}
PROPERTIES = {name: question.properties for name, question in QUESTIONS.items()}

LOG_SIZE = 10
"""Room for everything that the clients and the coordinator of a column may append to a partition."""


RULES = {Transactions: versions.transaction_rules, Coordinator: versions.election_rules,
    ExactlyOnceLoop: versions.loop_rules, TransactionalReader: versions.reader_rules,
    VerifiedOrder: versions.order_rules, VerificationBuffers: versions.buffer_rules,
    TwoPhaseCommit: versions.two_phase_rules}  # fmt: skip

LEGEND = (
    "Version: the transaction version of the clients' requests, in a new cluster. Verification is on where it exists.",
    "Explored: up to two transactions of one producer in one or two partitions, and one occurrence of the failure at "
    "every moment. A late request: a copy stays in the network while the client repeats the request or gives up. "
    "Two-phase commit: an application prepares a transaction, commits in an external store, and restarts.",
    'Version "1 to 2": the feature transaction.version is raised at any moment while the clients run. A question with '
    "a spec that has no upgrade has the answers of both versions and of clients of version 1 in a cluster of version "
    "2: yes if one of them is yes.",
    "With KIP-939: 4.3 with Enable2Pc and KeepPreparedTxn as the KIP proposes them. No release has them.",
)


def documented(column, brokers, clients):
    """Return the answer of KIP-890 and of KAFKA-17754, None if they have none."""
    if column == "late_hang":
        return not VERIFIES_TRANSACTIONS.applies_to(brokers)
    if column in ("late_read", "late_torn"):
        return not (EPOCH_PER_TRANSACTION.applies_to(brokers) and EPOCH_PER_TRANSACTION.applies_to(clients))
    return None


def check(column, *rules):
    """Return the check of a column with the rules of a row; the later rules replace the earlier ones."""
    spec, size = SIZES[column]
    log = dict(log_size=LOG_SIZE) if spec is Transactions else {}
    constants = {name: value for constants in (size, log, *rules) for name, value in constants.items()}
    return GuaranteeCheck(spec, constants, PROPERTIES[column])


def cell(column, brokers, clients):
    """Return one cell of the row of some releases."""
    rules = RULES[SIZES[column][0]](brokers, clients)
    return GuaranteeCell((check(column, rules),), documented(column, brokers, clients))


def upgraded_cell(column):
    """Return one cell of the row of a cluster in which the feature transaction.version is raised."""
    spec, size = SIZES[column]
    rules = RULES[spec](UPGRADED)
    if spec is Transactions:
        # A client raises its epoch once more when it changes to version 2.
        upgrade = dict(transaction_version=1, upgrades=True, max_epoch=size["max_epoch"] + 2)
        return GuaranteeCell((check(column, rules, upgrade),))
    if "transaction_version" not in rules:
        return GuaranteeCell((check(column, rules),))
    versions = [dict(transaction_version=1), dict(transaction_version=2)]
    if "old_clients" in rules:
        versions.append(dict(transaction_version=1, old_clients=True))
    return GuaranteeCell(tuple(check(column, rules, version) for version in versions))


def proposed_cell(column):
    """Return one cell of the row of a release with KIP-939."""
    if column == "two_phase":
        rules = dict(keeps_prepared=True, times_out=False)
        return GuaranteeCell((check(column, versions.two_phase_rules(PROPOSED), rules),), documented=False)
    return cell(column, PROPOSED, PROPOSED)


def row(brokers, clients):
    """Return the row of brokers and clients of some releases."""
    kafka, client = short_name(brokers), short_name(clients)
    name = kafka if kafka == client else f"{kafka} (clients {client})"
    shown = {"Kafka": name, "version": str(versions.transaction_version(brokers, clients))}
    return GuaranteeRow(shown, {column: cell(column, brokers, clients) for column in COLUMNS})


def short_name(release):
    """Return the major and the minor version of a release."""
    return ".".join(release.split(".")[:2])


ROWS = (*((release, release) for release in RELEASES), *MIXED_RELEASES)

UPGRADED_ROW = GuaranteeRow(
    {"Kafka": short_name(UPGRADED), "version": "1 to 2"}, {column: upgraded_cell(column) for column in COLUMNS}
)
PROPOSED_ROW = GuaranteeRow(
    {"Kafka": f"{short_name(PROPOSED)} with KIP-939", "version": "2"},
    {column: proposed_cell(column) for column in COLUMNS},
)

LEFT_OUT = unexplored(["transactions"], answered=(), config={"client": "java", "transactional": "true"},
    releases=tuple((release, release) for release in EVERY_RELEASE), shown=ENTRIES.values())  # fmt: skip

TABLE_ROWS = (*(row(*releases) for releases in ROWS), UPGRADED_ROW, PROPOSED_ROW)

tables = [noted_table("guarantees", COLUMNS, TABLE_ROWS, notes={}, legend=(*LEGEND, LEFT_OUT))]
