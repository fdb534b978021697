"""A replicated partition with transactions: the last stable offset, the aborted index, and elections.

Sources: `ProducerStateManager` (`firstUnstableOffset`, `onHighWatermarkUpdated`, `completeTxn`, `lastStableOffset`),
`UnifiedLog` (`fetchLastStableOffsetMetadata`, `rebuildProducerState`), `TransactionIndex.collectAbortedTxns` and
`AbortedTxn` of Apache Kafka 3.9.1 and 4.3.1; KIP-98.
"""

from checker.language import Bug, Constant, Enum, Map, Option, Range, Refinement, Seq, Struct, replace
from checker.language.drawing import Drawing, Event, Lane, Log
from checker.language.roles import action, invariant, leads_to, reachable, require, step_invariant
from specs.scenario_forms import violates
from specs.transactions.partition_leader import Guard, Offset, PartitionRules, ProducerEntry, SinglePartition
from specs.transactions.state import (
    Batch,
    Decision,
    Error,
    Fate,
    Marker,
    Partition,
    ProducerEpoch,
    ProducerId,
    TransactionNumber,
)


class Progress(Enum):
    """The transaction of a producer at the coordinator, which this spec takes as given."""

    COMPLETE = "complete"
    ONGOING = "ongoing"
    COMMITTING = "committing"
    ABORTING = "aborting"


class AbortedTransaction(Struct):
    """`AbortedTxn`: an entry of the aborted index, with the last stable offset after its marker."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    stable_offset: Offset
    shows = "id{producer_id} {first_offset} to {last_offset}"


class ReplicatedPartition(PartitionRules):
    """A leader and a follower of one partition, and producers with a transactional id each.

    The leader writes batches that are verified, and markers. The coordinator sends a marker until it is replicated. The
    follower copies the log; after an election it leads, and derives the state of the producers from its log. The former
    leader becomes its follower and truncates. The coordinator itself is correct: `Coordinator` and `Transactions`
    contain its rules.

    What is replicated refines `SinglePartition`: elections are not visible below the high watermark.
    """

    partitions = Constant(1, at_most=1)
    max_producer_id = Constant(1, at_least=0)
    max_epoch = Constant(2, at_least=1)
    max_coordinator_epoch = Constant(0)
    max_elections = Constant(1, at_least=0)
    unclean_elections = Constant(False)
    """unclean.leader.election.enable: a follower outside of the ISR may be elected."""
    waits_for_marker = Constant(True)
    """Whether a transaction is unstable until its marker is replicated (`unreplicatedTxns`)."""

    progress = Map(ProducerId, Progress)
    epoch = Map(ProducerId, ProducerEpoch)
    transaction = Map(ProducerId, TransactionNumber)
    has_written = Map(ProducerId, bool)
    begun = Range(0, "transactions")
    follower_end = Offset
    high_watermark = Offset
    in_sync = bool
    elections = Range(0, "max_elections")
    aborted = Map(Partition, Seq(AbortedTransaction, "transactions"))

    refines = Refinement(
        SinglePartition, log=lambda self: self.replicated_logs(), producers=lambda self: self.replicated_producers()
    )

    draws = Drawing(
        Lane("coordinator", facts={"progress": "transactions", "epoch": "epochs"}),
        Lane("leader of", each=Partition, logs=(Log("log", markers={"last_stable_offset": "LSO",
            "high_watermark_of": "HW"}, at=("offset",)),), boxes={"aborted": "aborted index"}),
        Lane("follower", facts={"follower_end": "log end", "in_sync": "in the ISR"}),
    ).with_events(
        Event("elect", "The leader fails, and the follower is elected", "election", "'follower'", kind="election"),
    )  # fmt: skip

    def init(self):
        self.in_sync = True

    def high_watermark_of(self, partition):
        """Return the high watermark; there is one partition."""
        return self.high_watermark

    # The producers and their coordinator.

    @action
    def begin(self, producer_id: ProducerId):
        """A producer begins a transaction and adds the partition."""
        require(self.progress[producer_id] == Progress.COMPLETE and self.begun < self.transactions)
        require(self.epoch[producer_id] < self.max_epoch)
        self.progress[producer_id] = Progress.ONGOING
        self.transaction[producer_id] = self.begun
        self.has_written[producer_id] = False
        self.begun += 1

    @action
    def write(self, producer_id: ProducerId, partition: Partition):
        """The leader appends the producer's batch, which is verified."""
        require(self.progress[producer_id] == Progress.ONGOING and not self.has_written[producer_id])
        batch = Batch(
            producer_id=producer_id,
            epoch=self.epoch[producer_id],
            sequence=0,
            transaction=self.transaction[producer_id],
        )
        answer = self.append(partition, batch, Guard.CURRENT)
        require(answer == Error.NONE)
        self.has_written[producer_id] = True

    @action
    def decide(self, producer_id: ProducerId, decision: Decision):
        """The coordinator writes the decision, which raises the epoch."""
        require(self.progress[producer_id] == Progress.ONGOING)
        self.progress[producer_id] = Progress.COMMITTING if decision == Decision.COMMIT else Progress.ABORTING
        self.epoch[producer_id] += 1

    def is_decided(self, producer_id):
        """Return whether the coordinator sends markers."""
        return self.progress[producer_id] in (Progress.COMMITTING, Progress.ABORTING)

    def marker_of(self, producer_id):
        """Return the marker of a decided transaction."""
        commits = self.progress[producer_id] == Progress.COMMITTING
        return Marker(
            producer_id=producer_id,
            epoch=self.epoch[producer_id],
            decision=Decision.COMMIT if commits else Decision.ABORT,
            coordinator_epoch=0,
        )

    @action(fair="weak", for_each="producer_id")
    def mark(self, producer_id: ProducerId, partition: Partition):
        """The leader writes the marker; after an election that lost it, the coordinator sends it again."""
        require(self.is_decided(producer_id))
        marker = self.marker_of(producer_id)
        require(marker not in self.log[partition])
        _answer = self.write_marker(partition, marker)

    @action(fair="weak", for_each="producer_id")
    def acknowledge_marker(self, producer_id: ProducerId, partition: Partition):
        """The marker is replicated: the coordinator completes the transaction."""
        require(self.is_decided(producer_id))
        marker = self.marker_of(producer_id)
        require(marker in self.log[partition])
        require(self.log[partition].index(marker) < self.high_watermark)
        self.progress[producer_id] = Progress.COMPLETE

    def write_marker(self, partition, marker):
        """Append a marker; an abort of an open transaction gets an entry of the aborted index."""
        entry = self.producers[partition][marker.producer_id]
        answer = super().write_marker(partition, marker)
        is_written = answer == Error.NONE and entry is not None and entry.first_offset is not None
        if is_written and marker.decision == Decision.ABORT and entry is not None:
            last = len(self.log[partition]) - 1
            self.aborted[partition].append(
                AbortedTransaction(
                    producer_id=marker.producer_id,
                    first_offset=entry.first_offset,
                    last_offset=last,
                    stable_offset=self.stable_after(partition, last),
                )
            )
        return answer

    def stable_after(self, partition, marker_offset):
        """Return the first offset of the oldest open transaction, or the offset after a marker.

        Source: `ProducerStateManager.lastStableOffset`.
        """
        return min(
            # An open transaction has a first offset; with + 0 one without it would be an error.
            self.producers[partition][id].first_offset + 0 if self.has_open(partition, id) else marker_offset + 1
            for id in ProducerId
        )

    # Replication.

    @action(fair="weak")
    def replicate(self, partition: Partition):
        """The follower fetches an entry."""
        require(self.follower_end < len(self.log[partition]))
        self.follower_end += 1

    @action(fair="weak")
    def join(self):
        """The follower has everything that is committed and joins the ISR."""
        require(not self.in_sync and self.follower_end >= self.high_watermark)
        self.in_sync = True

    @action
    def leave(self):
        """The follower leaves the ISR."""
        require(self.in_sync and self.elections < self.max_elections)
        self.in_sync = False

    @action(fair="weak")
    def raise_high_watermark(self, partition: Partition):
        """Every replica of the ISR has the next entry."""
        require(self.high_watermark < len(self.log[partition]))
        require(not self.in_sync or self.follower_end > self.high_watermark)
        self.high_watermark += 1

    @action
    def elect(self, partition: Partition):
        """The leader fails. The follower leads with its log and derives the producers' state from it."""
        require(self.elections < self.max_elections and (self.in_sync or self.unclean_elections))
        self.elections += 1
        kept = self.log[partition][: self.follower_end]
        self.high_watermark = min(self.high_watermark, self.follower_end)
        self.in_sync = True
        self.log[partition].clear()
        self.aborted[partition].clear()
        for id in ProducerId:
            self.producers[partition][id] = None
        for entry in kept:
            self.replay(partition, entry)

    def replay(self, partition, entry):
        """Append an entry of the follower's log, which brings the producers' state with it."""
        if isinstance(entry, Batch):
            _answer = self.append(partition, entry, Guard.CURRENT)
        elif isinstance(entry, Marker):
            _answer = self.write_marker(partition, entry)

    # The partition as `Transactions` has it: what is replicated, and the state that follows from it.

    def replicated_logs(self):
        """Return the log up to the high watermark."""
        return {p: self.log[p][: self.high_watermark] for p in Partition}

    def replicated_producers(self):
        """Return the state of the producers that a leader derives from the replicated log."""
        return {p: {id: self.producer_of(p, id) for id in ProducerId} for p in Partition}

    def producer_of(self, partition, producer_id):
        """Return the state of a producer in the replicated log."""
        found: Option(ProducerEntry) = None
        for offset, entry in enumerate(self.log[partition][: self.high_watermark]):
            if isinstance(entry, Marker):
                if entry.producer_id == producer_id:
                    found = ProducerEntry(
                        epoch=entry.epoch,
                        coordinator_epoch=entry.coordinator_epoch,
                        first_offset=None,
                        appended=found.appended if found is not None and found.epoch == entry.epoch else set(),
                    )
            elif isinstance(entry, Batch) and entry.producer_id == producer_id:
                if found is None:
                    found = ProducerEntry(
                        epoch=entry.epoch, coordinator_epoch=None, first_offset=offset, appended={entry.sequence}
                    )
                else:
                    known = found.appended if found.epoch == entry.epoch else set()
                    first = offset if found.first_offset is None else found.first_offset
                    found = replace(found, epoch=entry.epoch, first_offset=first, appended=known | {entry.sequence})
        return found

    # What consumers get.

    def last_stable_offset(self, partition):
        """Return the end of what read_committed consumers get: the high watermark, or the first unstable offset."""
        return min(
            (
                offset
                for offset, entry in enumerate(self.log[partition])
                if isinstance(entry, Batch) and self.is_unstable(partition, entry.producer_id, offset)
            ),
            default=self.high_watermark,
        )

    def is_unstable(self, partition, producer_id, offset):
        """Return whether a batch is below the high watermark and undecided, or its marker is not replicated."""
        if offset >= self.high_watermark:
            return False
        if self.waits_for_marker:
            return not self.has_marker(partition, producer_id, offset, self.high_watermark)
        return not self.has_marker(partition, producer_id, offset, len(self.log[partition]))

    def has_marker(self, partition, producer_id, offset, end):
        """Return whether a marker decides the batch of a producer before some end of the log."""
        return any(
            isinstance(later, Marker) and later.producer_id == producer_id for later in self.log[partition][offset:end]
        )

    def is_collected(self, partition, producer_id, offset):
        """Return whether a fetch from an offset lists an aborted transaction of the producer that covers it.

        Source: `TransactionIndex.collectAbortedTxns`, which stops at an entry with a high enough stable offset.
        """
        end = self.last_stable_offset(partition)
        for entry in self.aborted[partition]:
            if entry.producer_id == producer_id and entry.first_offset <= offset and offset <= entry.last_offset:
                return True
            if entry.stable_offset >= end:
                return False
        return False

    @step_invariant(says="the last stable offset goes back: {old.log}, then {self.log}")
    def stable_offset_never_goes_back(self, old):
        """The last stable offset never goes back."""
        return all(self.last_stable_offset(p) >= old.last_stable_offset(p) for p in Partition)

    @step_invariant(says="what consumers got changes: {old.log}, then {self.log}")
    def stable_records_never_change(self, old):
        """No batch below the last stable offset disappears or changes its fate."""
        return all(
            offset < len(self.log[p])
            and self.log[p][offset] == entry
            and self.fate_of(p, offset) == old.fate_of(p, offset)
            for p in Partition
            for offset, entry in enumerate(old.log[p])
            if offset < old.last_stable_offset(p)
        )

    def fate_of(self, partition, offset):
        """Return the fate of an entry, committed for a marker."""
        entry = self.log[partition][offset]
        if isinstance(entry, Batch):
            return self.fate(partition, entry.producer_id, offset)
        return Fate.COMMITTED

    @invariant(says="offset {offset} of {self.log}: the index is {self.aborted}")
    def index_lists_the_aborted(self):
        """A fetch of a stable batch lists its transaction as aborted if, and only if, it is."""
        return all(
            (self.fate(p, entry.producer_id, offset) == Fate.ABORTED) == self.is_collected(p, entry.producer_id, offset)
            for p in Partition
            for offset, entry in enumerate(self.log[p])
            if isinstance(entry, Batch) and offset < self.last_stable_offset(p)
        )

    @invariant(says="id{id} has an open transaction, and the coordinator has completed it: {self.log}")
    def open_is_known(self):
        """The coordinator has not completed a transaction that is open."""
        return all(
            not self.has_open(p, id) or self.progress[id] != Progress.COMPLETE for p in Partition for id in ProducerId
        )

    @leads_to("is_decided", says="the transaction of id{producer_id} stays {self.progress[producer_id]}")
    def completes(self, producer_id: ProducerId):
        """Every decided transaction completes."""
        return self.progress[producer_id] == Progress.COMPLETE

    @reachable
    def interleaved(self):
        """A producer's batch lies between the batch and the marker of another one."""
        return any(
            len(self.aborted[p]) > 0 and self.aborted[p][0].last_offset > self.aborted[p][0].first_offset + 1
            for p in Partition
        )


SAFETY = ["stable_offset_never_goes_back", "stable_records_never_change", "index_lists_the_aborted", "open_is_known",
    "refines"]  # fmt: skip

scenarios = [
    Bug("marker_not_replicated", ReplicatedPartition, {"stable_offset_never_goes_back": 8}, size=dict(log_size=4),
        larger=dict(log_size=4, max_elections=2), faulty=dict(waits_for_marker=False),
        promises=[*SAFETY, "completes", "interleaved"],
        description="A leader that counts a marker before it is replicated: the follower is elected without the "
        "marker, and the last stable offset goes back.",
        remedy="Kafka: a transaction is unstable until the high watermark has passed its marker."),
    violates(ReplicatedPartition, "unclean_election", dict(log_size=4, unclean_elections=True),
        {"refines": 6, "stable_records_never_change": 7, "open_is_known": 11},
        "An unclean election loses a replicated marker: what was read is open again, and the coordinator sends no "
        "marker (KAFKA-20716)."),
]  # fmt: skip
