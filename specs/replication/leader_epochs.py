"""The leader-epoch cache of a replica: the start of each leader epoch in its log, and the rules of truncation."""

from checker.language import Map, Range, Seq, Struct, invariant
from specs.replication.state import LeaderEpoch, Replica
from specs.replication.switches import Switches


class Offset(Range):
    """An offset of the log, or the log end offset."""

    low, high = 0, "log_size"


class EpochStart(Struct):
    """An entry of the cache: the first offset of a leader epoch."""

    epoch: LeaderEpoch
    start: Offset
    shows = "e{epoch} from {start}"


class EpochEnd(Struct):
    """The end of a leader epoch in a log; -1 is Kafka's UNDEFINED."""

    epoch: Range(-1, "max_leader_epoch")
    end: Range(-1, "log_size")
    shows = "e{epoch} ends at {end}"


UNDEFINED = -1


class LeaderEpochs(Switches, abstract=True):
    """The leader-epoch cache of each replica, and the truncation rules since 0.10.2 (`truncation`).

    - high_watermark (up to 0.10.2): a follower truncates to its high watermark. The cache exists, but is not read.
    - kip101 (0.11): to the offset at which the leader says that the follower's last epoch ends.
    - kip279 (2.0): by epoch and offset; the follower asks again with an earlier epoch if the leader lacks its own.
    - on_fetch (2.7): as kip279, with the leader's answer in a fetch response.

    Source: KIP-101, KIP-279, KAFKA-7415, KAFKA-10706; LeaderEpochFileCache and
    AbstractFetcherThread.getOffsetTruncationState.
    """

    epoch_starts = Map(Replica, Seq(EpochStart, "max_leader_epoch + 1"))

    def latest_epoch(self, replica):
        """Return the last epoch of the cache, UNDEFINED if it is empty."""
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

    def truncation_offset(self, follower, answer):
        """Return the offset at which a follower truncates after its leader's answer."""
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
        """Return whether the follower is done; otherwise it asks again with an earlier epoch (KIP-279)."""
        if self.truncation == "kip101" or answer.end == UNDEFINED or answer.epoch == UNDEFINED:
            return True
        own = self.end_offset_for(follower, answer.epoch)
        return own.end == UNDEFINED or own.epoch == answer.epoch

    def truncate(self, replica, offset):
        """Truncate a log and its cache. The high watermark falls with the log end offset."""
        if offset < len(self.log[replica]) or self.truncates_cache_at_end:
            self.epoch_starts[replica] = [found for found in self.epoch_starts[replica] if found.start < offset]
        del self.log[replica][offset:]
        self.high_watermark[replica] = min(self.high_watermark[replica], offset)

    @invariant(says="{replica} has {self.log[replica][offset]} at offset {offset}, and its cache has e{epoch} there")
    def cache_matches_the_log(self):
        """For each record the cache has the epoch in which it was appended."""
        return all(
            epoch == self.log[replica][offset].epoch
            for replica in Replica
            for offset in range(len(self.log[replica]))
            for epoch in [self.epoch_at(replica, offset)]
        )

    def epoch_at(self, replica, offset):
        """Return the last epoch that starts at an offset or before it, UNDEFINED if there is none."""
        return max((found.epoch for found in self.epoch_starts[replica] if found.start <= offset), default=UNDEFINED)
