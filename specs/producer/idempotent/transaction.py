"""One transaction of an application, and an epoch bump in the middle of it (I14).

Sources: librdkafka#3575 and #3577; KIP-360; `TransactionManager.canRetry` and `handleFailedBatch` of Apache Kafka (the
client), `TransactionCoordinator.handleInitProducerId` and `endTransaction` (the coordinator).
"""

from checker.language import Bug, Constant, Drawing, Event, Lane, Log, Range, Seq, Spec, Struct
from checker.language.roles import action, invariant, reachable, require
from specs.transactions.state import Fate, Outcome


class Record(Range):
    """A record of the transaction, in send order."""

    low, high = 0, "records - 1"


class Epoch(Range):
    """The producer's epoch; each refusal raises it at most once."""

    low, high = 0, "max_refusals"


class Entry(Struct):
    """A record of the log under the epoch with which it was sent."""

    record: Record
    epoch: Epoch
    fate: Fate
    shows = "{record}(e{epoch}) {fate}"


class Transaction(Spec):
    """An application sends the records of one transaction and commits it, or aborts it after an error.

    The leader may refuse a batch with OUT_OF_ORDER_SEQUENCE_NUMBER, for example because it lost the producer's state.
    Kafka's client then reports an error that requires an abort, and raises the epoch afterwards. librdkafka raised it
    at once: the coordinator aborts what was sent, and the next batch begins a transaction of which the application does
    not know. Each step of the coordinator includes its markers.
    """

    records = Constant(2, at_least=1)
    max_refusals = Constant(1, at_least=0)
    bumps_in_transaction = Constant(False)
    """librdkafka 1.6.1: after a refusal the client raises its epoch and continues."""

    log = Seq(Entry, "records + max_refusals")
    epoch = Epoch
    is_open = bool
    """Whether the coordinator has an open transaction."""
    sent = Range(0, "records")
    bump_is_due = bool
    error = bool
    outcome = Outcome
    refusals = Range(0, "max_refusals")

    draws = Drawing(
        Lane("client",
            facts={"epoch": "epoch", "sent": "records sent", "bump_is_due": "bump due", "outcome": "outcome"}),
        Lane("leader", logs=(Log("log", colour="record", called=("record",)),), facts={"is_open": "transaction open"}),
    ).with_events(
        Event("init", "Nothing is sent, and no transaction is open"),
        Event("append", "The leader appends record {sent}, sent in epoch {epoch}{'' if is_open else ', which opens a "
            "transaction'}", at="'leader'"),
        Event("refuse", "The leader refuses record {sent} as out of order", "refuses", "'leader'", "refusal"),
        Event("init_producer_id", "InitProducerId: the coordinator aborts what was sent, and answers epoch {epoch + 1}",
            "epoch {epoch + 1}", "'client'", "new epoch", leaves_out=("log",)),
        Event("commit", "The application commits the open transaction", "commit", "'client'", leaves_out=("log",)),
        Event("abort", "The application aborts", "abort", "'client'", "abort", leaves_out=("log",)),
    )  # fmt: skip

    def in_transaction(self):
        """Return whether the application may send, and the client has nothing to do before."""
        return self.outcome == Outcome.NONE and not self.error and not self.bump_is_due

    def end(self, fate):
        """Write the markers: the open records of the log get their fate."""
        self.log = [Entry(record=e.record, epoch=e.epoch, fate=fate) if e.fate == Fate.OPEN else e for e in self.log]
        self.is_open = False

    @action
    def append(self):
        """The leader appends the next record; the first one of an epoch opens a transaction at the coordinator."""
        require(self.in_transaction() and self.sent < self.records)
        self.log.append(Entry(record=self.sent, epoch=self.epoch, fate=Fate.OPEN))
        self.is_open = True
        self.sent += 1

    @action
    def refuse(self):
        """The leader refuses the next record: OUT_OF_ORDER_SEQUENCE_NUMBER."""
        require(self.in_transaction() and self.sent < self.records and self.refusals < self.max_refusals)
        self.refusals += 1
        if self.bumps_in_transaction:
            self.bump_is_due = True
        else:
            self.error = True

    @action
    def init_producer_id(self):
        """The client raises its epoch: the coordinator aborts the open transaction. Source: KIP-360."""
        require(self.bump_is_due)
        self.end(Fate.ABORTED)
        self.epoch += 1
        self.bump_is_due = False

    @action
    def commit(self):
        """The application commits after every send has succeeded; the coordinator needs an open transaction."""
        require(self.in_transaction() and self.sent == self.records and self.is_open)
        self.outcome = Outcome.COMMITTED
        self.end(Fate.COMMITTED)

    @action
    def abort(self):
        """The application aborts after an error."""
        require(self.error and self.outcome == Outcome.NONE)
        self.outcome = Outcome.ABORTED
        self.end(Fate.ABORTED)

    @action
    def rest(self):
        """The transaction has ended."""
        require(self.outcome != Outcome.NONE)

    @invariant(says="the commit succeeded, and the log is {self.log}")
    def commit_is_whole(self):
        """If the commit succeeded, every record of the transaction is committed."""
        return self.outcome != Outcome.COMMITTED or all(self.is_committed(record) for record in Record)

    def is_committed(self, record):
        """Return whether a committed copy of a record is in the log."""
        return any(e.record == record and e.fate == Fate.COMMITTED for e in self.log)

    @invariant(says="the transaction was aborted, and the log is {self.log}")
    def abort_is_whole(self):
        """If the transaction was aborted, none of its records is committed."""
        return self.outcome != Outcome.ABORTED or not any(self.is_committed(record) for record in Record)

    @invariant(says="the transaction has ended, and the log is {self.log}")
    def nothing_stays_open(self):
        """After the end every record of the log is committed or aborted: consumers do not wait for it."""
        return self.outcome == Outcome.NONE or all(e.fate != Fate.OPEN for e in self.log)

    @reachable
    def committed(self):
        """The commit succeeds."""
        return self.outcome == Outcome.COMMITTED

    @reachable
    def aborted_after_an_append(self):
        """A transaction with a record in the log is aborted."""
        return self.outcome == Outcome.ABORTED and len(self.log) > 0


scenarios = [
    Bug("i14_new_transaction", Transaction, {"commit_is_whole": 6}, larger=dict(records=4, max_refusals=2),
        faulty=dict(bumps_in_transaction=True), deadlock=True, fixed_name="i14_fixed",
        description="The epoch is raised in a transaction: its first record is aborted, and the commit succeeds.",
        remedy="I14 with an error that requires an abort, as in Kafka's client."),
]  # fmt: skip
