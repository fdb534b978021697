"""A replica's leader-epoch cache: where each leader epoch begins in its log, and where to truncate by it."""

from checker.language import Constant, Map, Range, Seq, Struct, invariant
from specs.replication.state import LeaderEpoch, PartitionState, Replica


class Offset(Range):
    """An offset of the log, or its end."""

    low, high = 0, "log_size"


class EpochStart(Struct):
    """An entry of the cache: the first offset of a leader epoch."""

    epoch: LeaderEpoch
    start: Offset
    shows = "e{epoch} from {start}"


class EpochEnd(Struct):
    """Where a leader epoch ends in a log; -1 is Kafka's UNDEFINED."""

    epoch: Range(-1, "max_leader_epoch")
    end: Range(-1, "log_size")
    shows = "e{epoch} ends at {end}"


UNDEFINED = -1


class LeaderEpochs(PartitionState, abstract=True):
    """The leader-epoch cache of each replica, and the historical rules of truncation.

    `truncation`: by the follower's high watermark (up to 0.10.2, without a cache: here nobody looks at it), by the
    offset at which the leader says that its epoch ends (KIP-101, 0.11), by epoch and offset, going back epoch by epoch
    (KIP-279, 2.0), or the same with the leader's answer coming with a fetch (2.7).

    Source: KIP-101, KIP-279, KAFKA-7415, KAFKA-10706; LeaderEpochFileCache and
    AbstractFetcherThread.getOffsetTruncationState.
    """

    truncation = Constant("on_fetch", one_of=("high_watermark", "kip101", "kip279", "on_fetch"))
    epoch_on_election = Constant(True)  # KAFKA-7415: a new leader's epoch begins at once, and not with its first record
    truncates_cache_at_end = Constant(True)  # KAFKA-10706: also where the log itself is not truncated

    epoch_starts = Map(Replica, Seq(EpochStart, "max_leader_epoch + 1"))

    def latest_epoch(self, replica):
        """Return the last epoch of the cache, UNDEFINED where it is empty."""
        starts = self.epoch_starts[replica]
        return starts[len(starts) - 1].epoch if len(starts) > 0 else UNDEFINED

    def assign_epoch(self, replica, epoch, start):
        """Let an epoch begin at an offset; entries that contradict it go. Source: LeaderEpochFileCache.assign."""
        if self.latest_epoch(replica) != epoch:
            self.epoch_starts[replica] = [
                found for found in self.epoch_starts[replica] if found.epoch < epoch and found.start < start
            ]
            self.epoch_starts[replica].append(EpochStart(epoch=epoch, start=start))

    def end_offset_for(self, replica, epoch):
        """Return where an epoch ends, and of which epoch that is the end. Source: LeaderEpochFileCache.endOffsetFor."""
        if epoch != UNDEFINED and epoch == self.latest_epoch(replica):
            return EpochEnd(epoch=epoch, end=len(self.log[replica]))
        starts = self.epoch_starts[replica]
        if epoch == UNDEFINED or all(found.epoch <= epoch for found in starts):
            return EpochEnd(epoch=UNDEFINED, end=UNDEFINED)
        return EpochEnd(
            epoch=max((found.epoch for found in starts if found.epoch <= epoch), default=epoch),
            end=min(found.start for found in starts if found.epoch > epoch),
        )

    def truncation_offset(self, follower, answer):
        """Return where a follower truncates on what its leader says of the end of an epoch."""
        end = len(self.log[follower])
        if answer.end == UNDEFINED:
            return self.high_watermark[follower]
        if self.truncation == "kip101" or answer.epoch == UNDEFINED:
            return min(answer.end, end)
        own = self.end_offset_for(follower, answer.epoch)
        if own.end == UNDEFINED:
            return min(answer.end, end)
        if own.epoch != answer.epoch:
            return min(own.end, end)
        return min(own.end, answer.end, end)

    def is_truncation_complete(self, follower, answer):
        """Return whether that is all, or the follower has to ask again with an earlier epoch (KIP-279)."""
        if self.truncation == "kip101" or answer.end == UNDEFINED or answer.epoch == UNDEFINED:
            return True
        own = self.end_offset_for(follower, answer.epoch)
        return own.end == UNDEFINED or own.epoch == answer.epoch

    def truncate(self, replica, offset):
        """Cut a log and its cache off. The high watermark goes back with the log end offset."""
        if offset < len(self.log[replica]) or self.truncates_cache_at_end:
            self.epoch_starts[replica] = [found for found in self.epoch_starts[replica] if found.start < offset]
        del self.log[replica][offset:]
        self.high_watermark[replica] = min(self.high_watermark[replica], offset)

    @invariant(says="{replica} has {self.log[replica][offset]} at offset {offset}, and by its cache e{epoch}")
    def cache_tells_the_log(self):
        """The cache has for each record the epoch in which it was appended."""
        return all(
            epoch == self.log[replica][offset].epoch
            for replica in Replica
            for offset in range(len(self.log[replica]))
            for epoch in [self.epoch_at(replica, offset)]
        )

    def epoch_at(self, replica, offset):
        """Return the last epoch that begins at an offset or before, UNDEFINED if none does."""
        return max((found.epoch for found in self.epoch_starts[replica] if found.start <= offset), default=UNDEFINED)
