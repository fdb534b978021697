"""1. The leader-epoch cache: the start of each leader epoch in a log."""

from specs.replication.partition_state import UNDEFINED, EpochEnd, EpochStart, PartitionVariables


class EpochCache(PartitionVariables, abstract=True):
    """A log and its leader-epoch cache. Source: LeaderEpochFileCache, UnifiedLog."""

    def latest_epoch(self, replica):
        """Return the last epoch of the cache, UNDEFINED if it is empty. Source: LeaderEpochFileCache.latestEpoch."""
        starts = self.epoch_starts[replica]
        return starts[len(starts) - 1].epoch if len(starts) > 0 else UNDEFINED

    def assign_epoch(self, replica, epoch, start):
        """Start an epoch at an offset and drop contradicting entries. Source: LeaderEpochFileCache.assign."""
        if self.latest_epoch(replica) != epoch:
            self.epoch_starts[replica] = [
                found for found in self.epoch_starts[replica] if found.epoch < epoch and found.start < start
            ]
            self.epoch_starts[replica].append(EpochStart(epoch=epoch, start=start))

    def end_offset_for(self, replica, epoch):
        """Return the end of an epoch, or of the last one before it. Source: LeaderEpochFileCache.endOffsetFor."""
        if epoch != UNDEFINED and epoch == self.latest_epoch(replica):
            return EpochEnd(epoch=epoch, end=len(self.log[replica]))
        starts = self.epoch_starts[replica]
        if epoch == UNDEFINED or all(found.epoch <= epoch for found in starts):
            return EpochEnd(epoch=UNDEFINED, end=UNDEFINED)
        return EpochEnd(
            epoch=max((found.epoch for found in starts if found.epoch <= epoch), default=epoch),
            end=min(found.start for found in starts if found.epoch > epoch),
        )

    def caches_elections(self):
        """Return whether the cache has the epoch of an election (KAFKA-7415), also without records (KAFKA-7897)."""
        return self.epoch_on_election and (self.records_carry_epochs or self.caches_epochs_of_old_formats)

    def append(self, replica, record):
        """Append a record to a log; the first record of an epoch starts the epoch in the cache.

        Source: UnifiedLog.append.
        """
        if self.records_carry_epochs:
            self.assign_epoch(replica, record.epoch, len(self.log[replica]))
        self.log[replica].append(record)

    def truncate(self, replica, offset):
        """Truncate a log and its cache. The high watermark falls with the log end offset.

        Source: UnifiedLog.truncateTo, LeaderEpochFileCache.truncateFromEnd; KAFKA-10706.
        """
        if offset < len(self.log[replica]) or self.truncates_cache_at_end:
            self.epoch_starts[replica] = [found for found in self.epoch_starts[replica] if found.start < offset]
        del self.log[replica][offset:]
        self.high_watermark[replica] = min(self.high_watermark[replica], offset)
