"""A consumer of transactional partitions: the last stable offset, the aborted transactions of a fetch, and elections.

Scenarios: entries T9 and T11 of docs/transactions.md.
Sources (4.3.1): UnifiedLog (lastStableOffset, fetchLastStableOffsetMetadata), TransactionIndex.collectAbortedTxns,
ProducerStateManager (firstUnstableOffset, lastStableOffset), DelayedFetch; the client's CompletedFetch.
"""

from checker.language import Bug, Constant, Map, OneOf, Option, Range, Scenario, Seq, SetOf, Spec, Struct, require
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from checker.language.roles import action, always_eventually, assume, invariant, leads_to, reachable, step_invariant
from specs.scenario_forms import violates
from specs.transactions.state import (
    Decision,
    Marker,
    Partition,
    ProducerEpoch,
    ProducerId,
    TransactionNumber,
    TransactionState,
)


class Offset(Range):
    """An offset of a partition, or its end."""

    low, high = 0, "transactions * (batches + 1)"


class Batch(Struct):
    """A transactional batch; its sequence does not matter to readers."""

    producer_id: ProducerId
    epoch: ProducerEpoch
    transaction: TransactionNumber
    shows = "t{transaction}(id{producer_id} e{epoch})"


LogEntry = OneOf(Batch, Marker)


class AbortedTransaction(Struct):
    """An item of a fetch response: from this offset on, the batches of the producer are aborted."""

    producer_id: ProducerId
    first: Offset
    shows = "id{producer_id} from {first}"


class Response(Struct):
    """The answer to a fetch: entries from an offset on, and the aborted transactions that overlap them."""

    first: Offset
    entries: Seq(LogEntry, "max_fetch")
    aborted: SetOf(AbortedTransaction, "transactions")
    shows = "{entries} from {first}, aborted {aborted}"


def end_marker(log, index, producer_id):
    """Return the offset of the marker that ends a producer's transaction at an index, None if the log has none."""
    for i in range(index, len(log)):
        entry = log[i]
        if isinstance(entry, Marker) and entry.producer_id == producer_id:
            return i
    return None


def first_batch(log, end, producer_id):
    """Return the offset of the first batch of the transaction that a marker at `end` ends, None without a batch."""
    first = None
    for i in range(end):
        entry = log[i]
        if isinstance(entry, Batch) and entry.producer_id == producer_id and first is None:
            first = i
        if isinstance(entry, Marker) and entry.producer_id == producer_id:
            first = None
    return first


class TransactionalReader(Spec):
    """Transactions write to partitions with two replicas, and a consumer reads the partitions.

    The leader's log determines its producer state, which a new leader builds from its log: the last stable offset and
    the index of aborted transactions are computed from the log. A fetch that finds nothing to read waits at the broker
    (DelayedFetch) and is completed later. The client drops the batches of an aborted transaction until its marker.

    What is abstracted, and what follows:

    - The high watermark follows the in-sync replicas at once, and a leader that is elected from the ISR keeps it. The
      delays are the subject of `specs.replication`.
    - A client does not write after its transaction has ended. A verdict of this spec does not cover late requests; they
      are the subject of `specs.transactions.transactional_producer`.
    - The coordinator does not fail, and repeats a marker until it is replicated.
    - Each response is processed in one step. A client that processes it in parts keeps the list of aborted
      transactions with the response (CompletedFetch), so that the parts give the same records.
    """

    partitions = Constant(1, at_least=1)
    transactions = Constant(2, at_least=1)
    batches = Constant(1, at_least=1)
    max_fetch = Constant(4, at_least=1)
    """The number of entries of a fetch response."""

    isolation_level = Constant("read_committed", one_of=("read_committed", "read_uncommitted"))
    elections = Constant(0, at_least=0)
    unclean_elections = Constant(False)
    delayed_fetch_returns_aborted = Constant(True)
    """A fetch that has waited returns the aborted transactions (KAFKA-5376, before the first release with them)."""
    operator_aborts = Constant(False)
    """An operator ends hanging transactions with `kafka-transactions.sh abort`."""

    max_producer_id = Constant(1, at_least=0)
    max_epoch = Constant(2, at_least=0)
    """Each transaction has an epoch: its number. Its markers have the next one."""
    max_coordinator_epoch = Constant(0, at_least=0)

    # The coordinator and the producers.
    state = Map(TransactionNumber, TransactionState)
    sent = Map(TransactionNumber, Map(Partition, Range(0, "batches")))

    # The partitions.
    log = Map(Partition, Seq(LogEntry, "transactions * (batches + 1)"))
    follower_end = Map(Partition, Offset)  # the follower's log is the leader's up to this offset
    in_sync = Map(Partition, bool)
    elections_left = Range(0, "elections")
    waiting = Map(Partition, bool)  # a fetch waits at the broker

    # The reader.
    response = Map(Partition, Option(Response))
    position = Map(Partition, Offset)
    read = Map(Partition, Seq(TransactionNumber, "transactions * batches"))  # the transactions of the batches

    draws = Drawing(
        Lane("coordinator", facts={"state": "transactions"}),
        Lane("partition", each=Partition,
            logs=(Log("log", markers={"last_stable_offset": "LSO", "high_watermark": "HW"}, end="LEO"),),
            facts={"follower_end": "follower's end", "in_sync": "follower in sync", "waiting": "fetch waits"}),
        Lane("reader", boxes={"read": "read"}, facts={"position": "position", "response": "response"}),
        arrows=(
            Arrow("write", "'coordinator'", "partition", "batch of t{transaction}"),
            Arrow("write_marker", "'coordinator'", "partition", "marker of t{transaction}"),
            Arrow("abort_hanging", "'coordinator'", "partition", "abort marker"),
            Arrow("fetch", "'reader'", "partition", "fetch from {position[partition]}"),
            Arrow("complete_fetch", "partition", "'reader'", "response"),
        ),
    ).with_events(
        Event("write", "The producer of t{transaction} writes a batch to {partition}"),
        Event("commit", "The coordinator decides to commit t{transaction}"),
        Event("abort", "The coordinator decides to abort t{transaction}", "", "'coordinator'", "abort"),
        Event("write_marker", "The marker of t{transaction} reaches {partition}"),
        Event("complete", "All markers of t{transaction} are replicated"),
        Event("replicate", "The follower of {partition} fetches an entry"),
        Event("leave", "The follower of {partition} stops, and leaves the ISR"),
        Event("fetch", "The reader fetches from offset {position[partition]} of {partition} on"),
        Event("elect", "The leader of {partition} dies; the follower is elected", "election", "partition", "election"),
        Event("abort_hanging", "An operator aborts the hanging t{transaction} in {partition}"),
        Event("complete_fetch", "The fetch that waits at {partition} is completed"),
        Event("receive", "The reader processes the response of {partition}"))  # fmt: skip

    def init(self):
        """The partitions are empty, and their replicas in sync."""
        for partition in Partition:
            self.in_sync[partition] = True
        self.elections_left = self.elections

    @assume
    def every_transaction_has_an_epoch(self):
        """The largest epoch is at least the number of transactions: max_epoch >= transactions."""
        return self.max_epoch >= self.transactions

    # The transactions.

    def producer_id_of(self, transaction):
        """Return the producer id of a transaction; producers take turns."""
        return transaction % (self.max_producer_id + 1)

    def is_complete(self, transaction):
        """Return whether all markers of a transaction are written."""
        return self.state[transaction] in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    def is_committed(self, transaction):
        """Return whether the coordinator has decided to commit a transaction."""
        return self.state[transaction] in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

    def is_aborted(self, transaction):
        """Return whether the coordinator has decided to abort a transaction."""
        return self.state[transaction] in (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)

    def is_decided(self, transaction):
        """Return whether the coordinator has decided a transaction."""
        return self.is_committed(transaction) or self.is_aborted(transaction)

    def may_write(self, transaction):
        """Return whether the producer of a transaction may write to it: its earlier transactions are complete."""
        is_open = self.state[transaction] in (TransactionState.EMPTY, TransactionState.ONGOING)
        return is_open and all(
            self.is_complete(earlier)
            for earlier in TransactionNumber
            if earlier < transaction and self.producer_id_of(earlier) == self.producer_id_of(transaction)
        )

    def count_in_log(self, transaction, partition):
        """Return the number of batches of a transaction in a partition."""
        return sum(1 for entry in self.log[partition] if isinstance(entry, Batch) and entry.transaction == transaction)

    @action
    def write(self, transaction: TransactionNumber, partition: Partition):
        """The producer sends the next batch of a transaction."""
        require(self.may_write(transaction))
        require(self.sent[transaction][partition] < self.batches)
        require(self.count_in_log(transaction, partition) == self.sent[transaction][partition])
        self.state[transaction] = TransactionState.ONGOING
        self.sent[transaction][partition] += 1
        self.append_batch(transaction, partition)

    @action
    def resend(self, transaction: TransactionNumber, partition: Partition):
        """The producer sends a batch again that an election has lost; it was not acknowledged."""
        require(self.state[transaction] == TransactionState.ONGOING)
        require(self.count_in_log(transaction, partition) < self.sent[transaction][partition])
        self.append_batch(transaction, partition)

    def append_batch(self, transaction, partition):
        """Append a batch of a transaction."""
        producer_id = self.producer_id_of(transaction)
        self.log[partition].append(Batch(producer_id=producer_id, epoch=transaction, transaction=transaction))

    @action
    def commit(self, transaction: TransactionNumber):
        """EndTxn(commit), after the acknowledgement of all batches: the coordinator stores the decision."""
        require(self.state[transaction] == TransactionState.ONGOING)
        require(
            all(
                sum(
                    1
                    for i, entry in enumerate(self.log[partition])
                    if isinstance(entry, Batch)
                    and entry.transaction == transaction
                    and i < self.high_watermark(partition)
                )
                == self.sent[transaction][partition]
                for partition in Partition
            )
        )
        self.state[transaction] = TransactionState.PREPARE_COMMIT

    @action(fair="weak")
    def abort(self, transaction: TransactionNumber):
        """EndTxn(abort), or transaction.timeout.ms has passed: the coordinator stores the decision."""
        require(self.state[transaction] == TransactionState.ONGOING)
        self.state[transaction] = TransactionState.PREPARE_ABORT

    def marker_of(self, transaction, partition):
        """Return the offset of the marker of a transaction in a partition, None if the log does not have it."""
        for i, entry in enumerate(self.log[partition]):
            if isinstance(entry, Marker) and entry.epoch == transaction + 1:
                return i
        return None

    @action(fair="weak")
    def write_marker(self, transaction: TransactionNumber, partition: Partition):
        """The coordinator writes a marker that the leader's log does not have."""
        require(self.is_decided(transaction) and not self.is_complete(transaction))
        require(self.sent[transaction][partition] > 0 and self.marker_of(transaction, partition) is None)
        decision = Decision.COMMIT if self.is_committed(transaction) else Decision.ABORT
        self.append_marker(transaction, partition, decision)

    def append_marker(self, transaction, partition, decision):
        """Append the marker of a transaction, with the next epoch (transaction version 2)."""
        self.log[partition].append(
            Marker(
                producer_id=self.producer_id_of(transaction),
                epoch=transaction + 1,
                decision=decision,
                coordinator_epoch=0,
            )
        )

    def is_marked(self, transaction, partition):
        """Return whether a transaction wrote nothing to a partition, or its marker there is replicated."""
        marker = self.marker_of(transaction, partition)
        return self.sent[transaction][partition] == 0 or (
            marker is not None and marker < self.high_watermark(partition)
        )

    @action(fair="weak")
    def complete(self, transaction: TransactionNumber):
        """All markers are replicated: the coordinator forgets the partitions."""
        require(self.is_decided(transaction) and not self.is_complete(transaction))
        require(all(self.is_marked(transaction, partition) for partition in Partition))
        is_committed = self.is_committed(transaction)
        self.state[transaction] = TransactionState.COMPLETE_COMMIT if is_committed else TransactionState.COMPLETE_ABORT

    @action(fair="weak")
    def abort_hanging(self, transaction: TransactionNumber, partition: Partition):
        """An operator writes an abort marker for a transaction that the coordinator has completed."""
        require(self.operator_aborts and self.is_complete(transaction))
        require(self.count_in_log(transaction, partition) > 0)
        require(self.marker_of(transaction, partition) is None)
        self.append_marker(transaction, partition, Decision.ABORT)

    # Replication.

    def high_watermark(self, partition):
        """Return the offset up to which every in-sync replica has the log."""
        return self.follower_end[partition] if self.in_sync[partition] else len(self.log[partition])

    @action(fair="weak")
    def replicate(self, partition: Partition):
        """The follower fetches the next entry; at the end of the log it is in sync."""
        require(self.follower_end[partition] < len(self.log[partition]) or not self.in_sync[partition])
        if self.follower_end[partition] < len(self.log[partition]):
            self.follower_end[partition] += 1
        if self.follower_end[partition] == len(self.log[partition]):
            self.in_sync[partition] = True

    @action
    def leave(self, partition: Partition):
        """The follower lags, and the leader removes it from the ISR."""
        require(self.elections > 0 and self.in_sync[partition])
        self.in_sync[partition] = False

    @action
    def elect(self, partition: Partition):
        """The leader dies, and the follower leads with its log; the old leader comes back and truncates."""
        require(self.elections_left > 0)
        require(self.in_sync[partition] or self.unclean_elections)
        self.elections_left -= 1
        self.log[partition] = self.log[partition][: self.follower_end[partition]]
        self.in_sync[partition] = False
        self.waiting[partition] = False

    # The leader's answer to a fetch.

    def last_stable_offset(self, partition):
        """Return the high watermark, or the first offset of a transaction without a marker below it, if lower."""
        high_watermark = self.high_watermark(partition)
        return min(
            [
                i
                for i, entry in enumerate(self.log[partition])
                if isinstance(entry, Batch) and not self.is_ended_below(partition, i, entry.producer_id, high_watermark)
            ],
            default=high_watermark,
        )

    def is_ended_below(self, partition, index, producer_id, limit):
        """Return whether the marker after an entry is below a limit."""
        marker = end_marker(self.log[partition], index, producer_id)
        return marker is not None and marker < limit

    def aborted_transactions(self, partition, first, end):
        """Return the aborted transactions that overlap the offsets from `first` to before `end`.

        The index has the abort markers in the order of the log, each with the last stable offset after it. The search
        ends at the first one with a last stable offset of at least `end`. Source: TransactionIndex.collectAbortedTxns.
        """
        log = self.log[partition]
        found: SetOf(AbortedTransaction) = set()
        for i, entry in enumerate(log):
            if isinstance(entry, Marker) and entry.decision == Decision.ABORT:
                start = first_batch(log, i, entry.producer_id)
                if start is not None:
                    if i >= first and start < end:
                        found = found | {AbortedTransaction(producer_id=entry.producer_id, first=start)}
                    if self.stable_offset_at(partition, i) >= end:
                        return found
        return found

    def stable_offset_at(self, partition, marker):
        """Return the last stable offset that the index stores with an abort marker: the first open batch, or its end.

        Source: ProducerStateManager.lastStableOffset, which does not look at the high watermark.
        """
        return min(
            [
                i
                for i, entry in enumerate(self.log[partition])
                if i < marker
                and isinstance(entry, Batch)
                and not self.is_ended_below(partition, i, entry.producer_id, marker + 1)
            ],
            default=marker + 1,
        )

    def readable_end(self, partition):
        """Return the offset up to which the reader may read. Source: UnifiedLog.read."""
        if self.isolation_level == "read_committed":
            return self.last_stable_offset(partition)
        return self.high_watermark(partition)

    @action(fair="weak")
    def fetch(self, partition: Partition):
        """The reader fetches: the leader answers at once if it has something to read, otherwise the fetch waits."""
        require(self.response[partition] is None and not self.waiting[partition])
        if self.position[partition] < self.readable_end(partition):
            self.answer(partition, True)
        else:
            self.waiting[partition] = True

    @action(fair="weak")
    def complete_fetch(self, partition: Partition):
        """A fetch that has waited is completed: the leader reads again. Source: DelayedFetch.onComplete."""
        require(self.waiting[partition] and self.position[partition] < self.readable_end(partition))
        self.waiting[partition] = False
        self.answer(partition, self.delayed_fetch_returns_aborted)

    def answer(self, partition, with_aborted):
        """Send entries from the position on; only a read_committed response has aborted transactions."""
        first = self.position[partition]
        end = min(self.readable_end(partition), first + self.max_fetch)
        has_aborted = with_aborted and self.isolation_level == "read_committed"
        self.response[partition] = Response(
            first=first,
            entries=self.log[partition][first:end],
            aborted=self.aborted_transactions(partition, first, end) if has_aborted else set(),
        )

    # The reader.

    @action(fair="weak")
    def receive(self, partition: Partition):
        """The reader processes a response. Source: CompletedFetch.nextFetchedRecord."""
        require(self.response[partition] is not None)
        response = self.response[partition]
        for i, entry in enumerate(response.entries):
            if isinstance(entry, Batch) and not self.is_dropped(response, i, entry.producer_id):
                self.read[partition].append(entry.transaction)
        self.position[partition] = response.first + len(response.entries)
        self.response[partition] = None

    def is_dropped(self, response, index, producer_id):
        """Return whether an aborted transaction of a producer began at or before an entry, and its marker comes later.

        The client takes the aborted transactions from a queue in the order of their first offsets, and keeps a set of
        producer ids until it meets their abort markers.
        """
        return any(
            aborted.producer_id == producer_id
            and aborted.first <= response.first + index
            and not any(
                response.first + i >= aborted.first
                and i < index
                and isinstance(entry, Marker)
                and entry.producer_id == producer_id
                and entry.decision == Decision.ABORT
                for i, entry in enumerate(response.entries)
            )
            for aborted in response.aborted
        )

    # Properties.

    @invariant(says="the reader has a batch of t{transaction} from {partition}, and t{transaction} is aborted")
    def no_aborted_read(self):
        """The reader receives no batch of an aborted transaction."""
        return all(not self.is_aborted(transaction) for partition in Partition for transaction in self.read[partition])

    @invariant(says="the reader has a batch of t{transaction} from {partition}, and t{transaction} is not decided")
    def no_open_read(self):
        """The reader receives no batch of a transaction that is not decided."""
        return all(self.is_decided(transaction) for partition in Partition for transaction in self.read[partition])

    @invariant(says="{partition} is read past the committed t{transaction} with the batches of {self.read[partition]}")
    def whole_transactions(self):
        """After the marker of a committed transaction the reader has all its batches of the partition, once each."""
        return all(
            not self.is_committed(transaction)
            or not self.has_passed(transaction, partition)
            or self.read[partition].count(transaction) == self.sent[transaction][partition]
            for partition in Partition
            for transaction in TransactionNumber
        )

    def has_passed(self, transaction, partition):
        """Return whether the reader is behind the marker of a transaction in a partition."""
        marker = self.marker_of(transaction, partition)
        return marker is not None and marker < self.position[partition]

    @invariant(says="the reader has t{transaction} from {partition}, and passed it in {other} without its batches")
    def no_torn_transaction(self):
        """All or none: the reader does not have a transaction in one partition and pass it without batches in another.

        A transaction that is committed in one partition may still be unread in another.
        """
        return not any(
            transaction in self.read[partition]
            and self.sent[transaction][other] > 0
            and self.has_passed(transaction, other)
            and transaction not in self.read[other]
            for transaction in TransactionNumber
            for partition in Partition
            for other in Partition
        )

    @invariant(says="t{transaction} in {partition}: {self.log[partition]}")
    def no_committed_record_lost(self):
        """The log has all batches of committed transactions."""
        return all(
            not self.is_committed(transaction)
            or self.count_in_log(transaction, partition) == self.sent[transaction][partition]
            for transaction in TransactionNumber
            for partition in Partition
        )

    @invariant(says="t{transaction} is {self.state[transaction]}; {partition}: {self.log[partition]}")
    def complete_transactions_are_marked(self):
        """Coordinator and partitions agree: every partition has the marker of a complete transaction."""
        return all(
            not self.is_complete(transaction)
            or self.sent[transaction][partition] == 0
            or self.has_marker(transaction, partition)
            for transaction in TransactionNumber
            for partition in Partition
        )

    def has_marker(self, transaction, partition):
        """Return whether a partition has a marker with the decision about a transaction."""
        decision = Decision.COMMIT if self.is_committed(transaction) else Decision.ABORT
        return any(
            isinstance(entry, Marker) and entry.epoch == transaction + 1 and entry.decision == decision
            for entry in self.log[partition]
        )

    @invariant(says="{partition}: position {self.position[partition]}, LSO {self.last_stable_offset(partition)}")
    def reader_is_below_stable_offset(self):
        """The position of a read_committed reader is never above the last stable offset."""
        return all(
            self.isolation_level == "read_uncommitted" or self.position[partition] <= self.last_stable_offset(partition)
            for partition in Partition
        )

    @step_invariant(says="{partition}: {old.last_stable_offset(partition)}, then {self.last_stable_offset(partition)}")
    def stable_offset_never_goes_back(self, old):
        """The last stable offset never goes back."""
        return all(self.last_stable_offset(partition) >= old.last_stable_offset(partition) for partition in Partition)

    @leads_to("is_decided", says="t{transaction} is {self.state[transaction]}; positions {self.position} for ever")
    def is_passed(self, transaction: TransactionNumber):
        """The reader passes every decided transaction, in every partition."""
        return all(
            self.sent[transaction][partition] == 0 or self.has_passed(transaction, partition) for partition in Partition
        )

    @leads_to("is_committed", says="t{transaction} is committed, and the logs are {self.log} for ever")
    def is_readable(self, transaction: TransactionNumber):
        """The batches of a committed transaction become readable: their partition has its marker."""
        return all(
            self.count_in_log(transaction, partition) == 0 or self.is_marked(transaction, partition)
            for partition in Partition
        )

    @always_eventually(says="a last stable offset stays below the end of its log: {self.log}")
    def no_hanging_transaction(self):
        """Every last stable offset reaches the end of the log again and again."""
        return all(self.last_stable_offset(partition) == len(self.log[partition]) for partition in Partition)

    @reachable
    def everything_is_read(self):
        """The reader receives all batches of all transactions."""
        return all(len(self.read[partition]) == self.transactions * self.batches for partition in Partition)

    @reachable
    def transactions_overlap(self):
        """With two producers: the reader passes a transaction whose batch is before that of an open one."""
        return self.max_producer_id == 0 or any(
            self.state[transaction] == TransactionState.ONGOING
            and self.position[partition] > 0
            and self.sent[transaction][partition] > 0
            for transaction in TransactionNumber
            for partition in Partition
        )


SAFETY = ["no_aborted_read", "no_open_read", "whole_transactions", "no_torn_transaction", "no_committed_record_lost",
    "complete_transactions_are_marked", "reader_is_below_stable_offset", "stable_offset_never_goes_back"]  # fmt: skip
PROMISES = [*SAFETY, "is_passed", "is_readable", "no_hanging_transaction", "everything_is_read"]
ONE_TRANSACTION = dict(transactions=1, max_producer_id=0)
UNCLEAN = dict(ONE_TRANSACTION, elections=1, unclean_elections=True)

scenarios = [
    Scenario(TransactionalReader, "two_producers", description="Transactions of two producers overlap in a partition."),
    Scenario(TransactionalReader, "one_producer", dict(transactions=3, max_producer_id=0, max_epoch=3, batches=2),
        properties=PROMISES,
        description="Three transactions of one producer with two batches each; a response begins and ends anywhere."),
    Scenario(TransactionalReader, "two_partitions", dict(ONE_TRANSACTION, partitions=2, elections=1),
        properties=PROMISES, description="A transaction with a batch in each of two partitions, and an election."),
    violates(TransactionalReader, "read_uncommitted", dict(isolation_level="read_uncommitted"),
        {"no_open_read": 5, "no_aborted_read": 6},
        "isolation.level=read_uncommitted, the default: the reader receives open and aborted transactions."),
    Scenario(TransactionalReader, "open_transaction_blocks_the_reader", expect={"is_passed": 10},
        properties=["is_passed"], fair={"abort": None},
        description="Without transaction.timeout.ms: a producer that stops blocks all later transactions for readers."),
    Bug("t9_unclean_election_loses_the_marker", TransactionalReader,
        violates={"is_readable": 9, "no_hanging_transaction": 9}, size=dict(ONE_TRANSACTION, elections=1),
        larger=dict(elections=1), faulty=dict(unclean_elections=True), fixed=dict(unclean_elections=False),
        promises=PROMISES,
        description="T9 (KAFKA-20716): a replica with the batch and without the marker is elected; the coordinator has "
        "completed the transaction and sends no other marker.",
        remedy="T9: clean elections. After an unclean one Kafka repairs nothing; KAFKA-20716 is to document that."),
    Scenario(TransactionalReader, "t9_aborted_by_the_operator", dict(UNCLEAN, operator_aborts=True),
        properties=["no_hanging_transaction"],
        description="T9: `kafka-transactions.sh abort` ends the hanging transaction."),
    violates(TransactionalReader, "t9_torn_by_the_operator", dict(UNCLEAN, operator_aborts=True, partitions=2),
        {"whole_transactions": 8, "no_torn_transaction": 13},
        "T9: the operator's abort marker drops the records of a transaction that is committed in another partition."),
    Bug("t11_delayed_fetch_loses_aborted_list", TransactionalReader, violates={"no_aborted_read": 9},
        size=dict(max_fetch=2), larger=dict(batches=2), faulty=dict(delayed_fetch_returns_aborted=False),
        fixed=dict(delayed_fetch_returns_aborted=True), promises=PROMISES,
        description="T11 (KAFKA-5376): a fetch waits at the broker until a transaction is aborted; its response lacks "
        "the list of aborted transactions, and the reader receives the aborted batch.",
        remedy="T11: a fetch that has waited returns the list too (KAFKA-5376)."),
]  # fmt: skip
