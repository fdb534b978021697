"""The producer state of each broker, as a function of its log and of the snapshot that it loaded.

`specs.broker.producer_state` stores the same state as Kafka does; tests compare the two.
"""

from checker.language import Constant, Map, Range, action
from specs.broker.sequence_rules import Error, SequenceRules
from specs.pipeline.failures import CAPACITY, FailingPartition
from specs.pipeline.partition import Broker


class RememberingPartition(FailingPartition, SequenceRules, abstract=True):
    """A partition of which each broker remembers the last batches of each producer.

    A broker adds every batch that it appends, as leader or as follower. A restart loads the snapshot at the end of the
    log, which has only the last batch of each producer (I7). A truncation to an earlier offset loads an older snapshot:
    here there is none, so the broker reads its whole log.

    Source: ProducerStateManager, UnifiedLog.rebuildProducerState, LogLoader.recoverSegment.
    """

    idempotent = Constant(True)  # enable.idempotence, in effect

    loaded = Map(Broker, Range(0, CAPACITY))  # the offset of the snapshot that the broker loaded, 0: none

    @action
    def broker_restart(self, broker: Broker):
        """A broker restarts, and loads the snapshot at the end of its log."""
        self.loaded[broker] = len(self.log[broker]) if self.forgets_at_restart(broker) else 0
        super().broker_restart(broker)

    def truncate(self, broker, leader_log):
        """Truncate a log; a snapshot after its end is removed. Source: ProducerStateManager.truncateAndReload."""
        super().truncate(broker, leader_log)
        self.drop_later_snapshot(broker)

    def drop_later_snapshot(self, broker):
        """Remove the snapshot if the log ends before it."""
        if self.loaded[broker] > len(self.log[broker]):
            self.loaded[broker] = 0

    def drop_logs_without_effect(self):
        """Empty logs that have no effect; without a log, the snapshot that a broker loaded has none either."""
        super().drop_logs_without_effect()
        for broker in Broker:
            if len(self.log[broker]) == 0:
                self.loaded[broker] = 0

    def forgets_at_restart(self, broker):
        """Return whether a restart makes a broker forget a batch that its producer may send again."""
        if not self.idempotent:
            return False
        end = len(self.log[broker])
        return any(
            self.may_send_again(self.log[broker][offset])
            and self.batches_between(broker, self.log[broker][offset].session, offset, end) >= self.snapshot_batches
            for offset in range(end)
        )

    # The leader's state of a producer, which is one session of the producer's process.

    def has_state(self, session):
        """Return whether the leader has state for a producer."""
        return any(entry.session == session for entry in self.log[self.leader])

    def known_epoch(self, session):
        """Return a producer's epoch, which is that of its last batch."""
        return max(entry.epoch for entry in self.log[self.leader] if entry.session == session)

    def expected_sequence(self, session):
        """Return the sequence after the last batch of a producer."""
        epoch = self.known_epoch(session)
        return max(
            entry.sequence + 1 for entry in self.log[self.leader] if entry.session == session and entry.epoch == epoch
        )

    def remembers(self, session, batch):
        """Return whether a batch is in the cache: it is one of the last, and the snapshot had it or came before it."""
        return any(
            self.log[self.leader][offset] == batch and self.is_cached(session, offset)
            for offset in range(len(self.log[self.leader]))
        )

    def is_cached(self, session, offset):
        """Return whether the cache has the batch of a producer at an offset."""
        loaded = self.loaded[self.leader]
        end = len(self.log[self.leader])
        return self.batches_between(self.leader, session, offset, end) < self.cache_size and (
            offset >= loaded or self.batches_between(self.leader, session, offset, loaded) < self.snapshot_batches
        )

    def batches_between(self, broker, session, offset, end):
        """Return the number of a producer's batches in a log after an offset and before an end."""
        return sum(1 for entry in self.log[broker][offset + 1 : end] if entry.session == session)

    def holds_records(self, session):
        """Return whether the leader's log holds a record, of any producer."""
        return self.other_records or len(self.log[self.leader]) > 0

    def error_of(self, batch):
        """Return the error with which the leader answers a batch; a duplicate has none. Source: UnifiedLog.append."""
        if self.is_known(batch):
            return Error.NONE
        return self.check(batch.session, batch) if self.idempotent else Error.NONE

    def is_known(self, batch):
        """Return whether the leader answers a batch as a duplicate, and does not append it."""
        return self.idempotent and self.is_duplicate(batch.session, batch)
