"""The partition leader: its producer state with the open transaction, verification, markers, and the stable offset.

Sources: `ProducerAppendInfo` (`checkProducerEpoch`, `checkCoordinatorEpoch`, `appendEndTxnMarker`),
`ProducerStateManager` (`firstUnstableOffset`, `removeExpiredProducers`), `UnifiedLog`
(`maybeStartTransactionVerification`, `hasOngoingTransaction`, `analyzeAndValidateProducerState`, `updateProducers`),
`VerificationStateEntry`, `VerificationGuard` of Apache Kafka 3.9.1 to 4.3.1; KIP-98, KIP-890.
"""

from checker.language import Constant, Enum, Map, Option, Range, Scenario, Seq, SetOf, Spec, Struct, replace
from checker.language.roles import action, require
from specs.transactions.state import (
    Batch,
    CoordinatorEpoch,
    Decision,
    Error,
    Fate,
    LogEntry,
    Marker,
    Partition,
    ProducerEpoch,
    ProducerId,
    Sequence,
    Version,
)


class Offset(Range):
    """The position of an entry in a log, or the end of the log."""

    low, high = 0, "log_size"


class ProducerEntry(Struct):
    """`ProducerStateEntry` of a producer id.

    `first_offset` is that of the open transaction, `appended` the sequences of the cached batches of the epoch.
    """

    epoch: ProducerEpoch
    coordinator_epoch: Option(CoordinatorEpoch)
    first_offset: Option(Offset)
    appended: SetOf(Sequence)
    shows = "e{epoch} c{coordinator_epoch} open from {first_offset}"


class Guard(Enum):
    """What a request holds of the leader's `VerificationGuard`."""

    NONE = "none"  # the sentinel: a transaction was open, and nothing was to be verified
    CURRENT = "current"
    STALE = "stale"  # a marker or an append has removed the guard meanwhile


class Arrival(Struct):
    """A produce request that the leader has verified and not yet appended; `is_live`: its client waits for it.

    `version` is the transaction version of the request.
    """

    batch: Batch
    guard: Guard
    is_live: bool
    version: Version
    shows = "{batch} guard {guard}"


class PartitionRules(Spec, abstract=True):
    """The rules of the leaders of some partitions for batches and markers.

    Each partition has one replica. A leader remembers all batches of an epoch: the models have fewer than five.
    """

    log_size = Constant(6, at_least=1)
    transactions = Constant(2, at_least=1)
    max_arrivals = Constant(2, at_least=1)
    """The number of produce requests between verification and append, of which one has a client that waits."""
    transaction_version = Constant(2, at_least=1, at_most=2)
    needs_sequence_0 = Constant(True)
    """With version 2, a leader without state of the producer accepts only sequence 0 from a transaction that it has
    verified (KAFKA-18202, from 4.1 on)."""
    verification = Constant(True)
    """KIP-890, part 1: a leader appends the first batch of a transaction only if the coordinator knows the partition.
    It is transaction.partition.verification.enable."""
    ongoing_has_epoch = Constant(True)
    """Whether an open transaction of an older epoch counts as another one (KAFKA-18575, KAFKA-18654)."""
    markers = Constant("largest_accepted", one_of=("not_lower", "higher", "retry_accepted", "largest_accepted"))
    """Which epochs of a marker the leader accepts with version 2: up to 4.1 all that are not lower than the known one;
    then only higher ones (KAFKA-19446), and the same one if no transaction is open (KAFKA-19999) or, since 4.3, if it
    is the largest epoch (KAFKA-20090)."""

    version_1_marker_ends_guard = Constant(False)
    """Whether a marker of version 1 makes guards of its own epoch stale, also those of requests of version 2. A client
    that changes its version needs that; up to 4.3 only the request's version counts (`UnifiedLog.updateProducers`)."""

    log = Map(Partition, Seq(LogEntry, "log_size"))
    producers = Map(Partition, Map(ProducerId, Option(ProducerEntry)))
    arrivals = Map(Partition, Seq(Arrival, "max_arrivals"))

    # Batches.

    def is_ongoing(self, partition, batch):
        """Return whether the transaction of a batch is open in the partition. Source: `hasOngoingTransaction`."""
        entry = self.producers[partition][batch.producer_id]
        if entry is None or entry.first_offset is None:
            return False
        return not self.ongoing_has_epoch or entry.epoch == batch.epoch

    def is_stale(self, partition, batch):
        """Return whether the leader knows a higher epoch of the producer."""
        entry = self.producers[partition][batch.producer_id]
        return entry is not None and batch.epoch < entry.epoch

    def has_sequences(self, partition):
        """Return whether the batches of a partition have sequences; those of `__consumer_offsets` have none."""
        return True

    def is_copy(self, partition, batch):
        """Return whether the leader remembers the batch. Source: `findDuplicateBatch`."""
        entry = self.producers[partition][batch.producer_id]
        return entry is not None and entry.epoch == batch.epoch and batch.sequence in entry.appended

    def is_in_sequence(self, partition, batch, version):
        """Return whether the leader expects the sequence of a batch. Source: `checkSequence`."""
        entry = self.producers[partition][batch.producer_id]
        if entry is None:
            return version == 1 or batch.sequence == 0 or not (self.needs_sequence_0 and self.verification)
        if entry.epoch != batch.epoch:
            return batch.sequence == 0
        return batch.sequence == max((sequence + 1 for sequence in entry.appended), default=0)

    def append(self, partition, batch, guard):
        """Append a batch of a request with the version of this spec, if it may be appended, and return the error."""
        return self.append_as(self.transaction_version, partition, batch, guard)

    def append_as(self, version, partition, batch, guard):
        """Append a batch of a request with a transaction version. Source: `analyzeAndValidateProducerState`."""
        has_sequences = self.has_sequences(partition)
        if has_sequences and self.is_copy(partition, batch):
            return Error.NONE
        if self.is_stale(partition, batch):
            return Error.INVALID_PRODUCER_EPOCH
        if self.verification and guard != Guard.CURRENT and not self.is_ongoing(partition, batch):
            return Error.INVALID_TXN_STATE
        if has_sequences and not self.is_in_sequence(partition, batch, version):
            return Error.OUT_OF_ORDER_SEQUENCE_NUMBER
        entry = self.producers[partition][batch.producer_id]
        offset = len(self.log[partition])
        if entry is None:
            entry = ProducerEntry(epoch=batch.epoch, coordinator_epoch=None, first_offset=offset, appended=set())
        elif entry.epoch != batch.epoch:
            entry = replace(entry, epoch=batch.epoch, appended=set())
        if entry.first_offset is None:
            entry = replace(entry, first_offset=offset)
        self.log[partition].append(batch)
        self.producers[partition][batch.producer_id] = replace(entry, appended=entry.appended | {batch.sequence})
        self.remove_guard(partition, batch.producer_id, None)
        return Error.NONE

    def remove_guard(self, partition, producer_id, next_epoch):
        """Make the guards of a producer stale, except those of version 2 with the epoch of a marker.

        Source: `UnifiedLog.updateProducers`.
        """
        self.arrivals[partition] = [
            replace(arrival, guard=Guard.STALE)
            if arrival.guard == Guard.CURRENT
            and arrival.batch.producer_id == producer_id
            and (arrival.version == 1 or arrival.batch.epoch != next_epoch)
            else arrival
            for arrival in self.arrivals[partition]
        ]

    # Markers.

    def write_marker(self, partition, marker):
        """Append a marker of the version of this spec if its epochs allow it, and return the error."""
        return self.write_marker_as(self.transaction_version, partition, marker)

    def write_marker_as(self, version, partition, marker):
        """Append a marker of a transaction version if its epochs allow it. Source: `appendEndTxnMarker`."""
        entry = self.producers[partition][marker.producer_id]
        if entry is not None:
            if marker.epoch < entry.epoch:
                return Error.INVALID_PRODUCER_EPOCH
            if version == 2 and marker.epoch == entry.epoch and self.refuses_same_epoch(entry):
                return Error.INVALID_PRODUCER_EPOCH
            if entry.coordinator_epoch is not None and entry.coordinator_epoch > marker.coordinator_epoch:
                return Error.TRANSACTION_COORDINATOR_FENCED
        appended = entry.appended if entry is not None and entry.epoch == marker.epoch else set()
        self.log[partition].append(marker)
        self.producers[partition][marker.producer_id] = ProducerEntry(
            epoch=marker.epoch, coordinator_epoch=marker.coordinator_epoch, first_offset=None, appended=appended
        )
        keeps_guards = self.ongoing_has_epoch and (version == 2 or not self.version_1_marker_ends_guard)
        self.remove_guard(partition, marker.producer_id, marker.epoch if keeps_guards else None)
        return Error.NONE

    def refuses_same_epoch(self, entry):
        """Return whether a marker of transaction version 2 is refused because its epoch is already known.

        Source: `ProducerAppendInfo.checkProducerEpoch`.
        """
        if self.markers == "largest_accepted" and entry.epoch == self.max_epoch:
            return False
        return self.markers == "higher" or (self.markers != "not_lower" and entry.first_offset is not None)

    # What the log says.

    def fate(self, partition, producer_id, offset):
        """Return the fate of the batch of a producer at an offset: its next marker decides."""
        for later in self.log[partition][offset:]:
            if isinstance(later, Marker) and later.producer_id == producer_id:
                return Fate.COMMITTED if later.decision == Decision.COMMIT else Fate.ABORTED
        return Fate.OPEN

    def has_fate(self, partition, transaction, fate):
        """Return whether a batch of a transaction in a partition has some fate."""
        return any(
            isinstance(entry, Batch)
            and entry.transaction == transaction
            and self.fate(partition, entry.producer_id, offset) == fate
            for offset, entry in enumerate(self.log[partition])
        )

    def has_open(self, partition, producer_id):
        """Return whether a producer has an open transaction in a partition."""
        entry = self.producers[partition][producer_id]
        return entry is not None and entry.first_offset is not None

    def last_stable_offset(self, partition):
        """Return the end of the log, or the first offset of an open transaction. Source: `firstUnstableOffset`."""
        end = len(self.log[partition])
        return min(
            # An open transaction has a first offset; with + 0 one without it would be an error.
            self.producers[partition][id].first_offset + 0 if self.has_open(partition, id) else end
            for id in ProducerId
        )


class SinglePartition(PartitionRules):
    """The partitions of `Transactions` by themselves: one log each, which never loses an entry."""

    partitions = Constant(1, at_least=1)
    max_producer_id = Constant(1, at_least=0)
    max_epoch = Constant(2, at_least=1)
    max_coordinator_epoch = Constant(0, at_least=0)

    @action
    def take(self, partition: Partition, entry: LogEntry):
        """The leader appends a batch that is verified, or a marker."""
        require(len(self.log[partition]) < self.log_size)
        if isinstance(entry, Batch):
            answer = self.append(partition, entry, Guard.CURRENT)
        else:
            answer = self.write_marker(partition, entry)
        require(answer == Error.NONE)


scenarios = [
    Scenario(SinglePartition, "three_entries", constants={"log_size": 3, "max_producer_id": 0, "max_epoch": 1})
]
