"""The message-level model of replication: one partition, its brokers, their messages, the controller, failures.

Every rule of the protocol is in the modules of the bases of `Partition`, with the class of Apache Kafka that has it.
`partition_state` has the variables. `switches` declares the constants that select a rule or allow an event, `versions`
has their values for each version of Kafka. This module adds the consumer and the properties.
"""

from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.replication.appends import Appends
from specs.replication.broker_failures import BrokerFailures
from specs.replication.controller_elections import ControllerElections
from specs.replication.epoch_cache import EpochCache
from specs.replication.epoch_changes import EpochChanges
from specs.replication.fetches import Fetches
from specs.replication.isr_requests import IsrRequests
from specs.replication.partition_drawing import DRAWING
from specs.replication.partition_state import UNDEFINED
from specs.replication.state import Replica
from specs.replication.truncation_rounds import TruncationRounds


class Partition(
    BrokerFailures, ControllerElections, IsrRequests, Fetches, TruncationRounds, Appends, EpochChanges, EpochCache
):
    """One partition: its brokers, the messages between them, the controller, and their failures.

    Each base is a part of the protocol. Read from the last one to the first, they follow a record: a broker learns its
    role from the metadata, the leader appends, followers truncate and fetch, the high watermark advances, the ISR
    changes; then the controller and failures. Their order is that of the actions.

    Source: Partition, ReplicaManager, AbstractFetcherThread, LeaderEpochFileCache, ReplicationControlManager,
    PartitionChangeBuilder; docs/replication.md.
    """

    draws = DRAWING

    # A consumer that reads the log once, record by record.

    @action
    def consumer_read(self, replica: Replica):
        """The consumer reads the next record below a replica's high watermark.

        Source: Partition.fetchRecords with the isolation HIGH_WATERMARK; KIP-392 (`reads_from_followers`).
        """
        require(self.consumers)
        require(self.leads(replica) or (self.reads_from_followers and self.follows(replica)))
        offset = len(self.consumed)
        require(offset < self.high_watermark[replica])
        self.consumed.append(self.log[replica][offset].id)

    # Properties, besides those of the published models in `state`.

    @invariant(says="record r{record} was acknowledged, and the leader {leader} has {self.log[leader]}")
    def no_acked_loss(self):
        """The leader in the newest leader epoch has every acknowledged record."""
        return all(
            any(found.id == record for found in self.log[leader])
            for leader in Replica
            if self.is_true_leader(leader)
            for record in self.acked
        )

    @invariant(
        says="a consumer has read r{self.consumed[offset]} at offset {offset}, and {leader} has {self.log[leader]}"
    )
    def reads_are_stable(self):
        """The leader in the newest leader epoch has every record that was read, at the same offset."""
        return all(
            offset < len(self.log[leader]) and self.log[leader][offset].id == self.consumed[offset]
            for leader in Replica
            if self.is_true_leader(leader)
            for offset in range(len(self.consumed))
        )

    @invariant(
        says="{leader} counts on {follower} up to offset {self.remote_end[leader][follower]}, but at offset {offset} "
        "{leader} has {self.log[leader][offset]} and {follower} has {self.log[follower][offset]}"
    )
    def counted_followers_agree(self):
        """A follower has the records that its leader counts on, while both are in the same leader epoch."""
        return all(
            offset >= len(self.log[follower]) or self.agree_at(leader, follower, offset)
            for leader in Replica
            if self.leads(leader)
            for follower in Replica
            if self.leader[follower] == leader and self.leader_epoch[follower] == self.leader_epoch[leader]
            for offset in range(self.remote_end[leader][follower])
        )

    @step_invariant(says="{follower} has to truncate and truncates nothing; its next fetch gets the same answer")
    def truncation_makes_progress(self, old):
        """A follower that must truncate drops a record or an epoch; otherwise it would be asked again forever."""
        return all(
            len(self.log[follower]) < len(old.log[follower]) or self.latest_epoch(follower) < old.latest_epoch(follower)
            for follower in Replica
            if old.has_diverging_answer(follower)
            and not self.has_diverging_answer(follower)
            and self.leader_epoch[follower] == old.leader_epoch[follower]
        )

    def has_diverging_answer(self, follower):
        """Return whether a diverging answer is in flight to a follower."""
        response = self.answers[follower]
        return response is not None and response.diverging is not None

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

    @invariant(says="{self.quorum.leader} leads in the metadata although it is fenced")
    def leader_is_not_fenced(self):
        """The leader in the metadata is not fenced."""
        return self.quorum.leader is None or self.quorum.leader not in self.fenced

    @invariant(says="{self.quorum.leader} leads in the metadata, and its ISR there is {self.quorum.isr}")
    def leader_is_in_sync(self):
        """A leader is a member of its ISR: in the metadata, and in its own view."""
        return (self.quorum.leader is None or self.quorum.leader in self.quorum.isr) and all(
            leader in self.isr[leader] for leader in Replica if self.leads(leader)
        )

    # Guards: evidence that something happens.

    @reachable
    def record_is_acknowledged(self):
        """A record is acknowledged."""
        return len(self.acked) > 0

    @reachable
    def another_replica_leads(self):
        """If another epoch is within the bound, the leadership moves."""
        return self.max_leader_epoch == 0 or any(
            self.is_true_leader(replica) and self.leader_epoch[replica] > 0 for replica in Replica
        )

    @reachable
    def replica_learns_that_there_is_no_leader(self):
        """With KRaft, if failures or timeouts may leave the partition without a leader, a replica learns of it."""
        may_have_no_leader = self.max_leader_epoch > 0 and (self.crashes > 0 or self.session_timeouts)
        return (
            self.controller == "zookeeper"
            or not may_have_no_leader
            or any(self.leader[replica] is None and self.leader_epoch[replica] >= 0 for replica in Replica)
        )

    @reachable
    def high_watermark_is_one_fetch_late(self):
        """A follower has a record that its leader has committed, and does not know that it is committed."""
        return any(
            self.leader[follower] == leader
            and self.high_watermark[follower] < min(self.high_watermark[leader], len(self.log[follower]))
            for leader in Replica
            for follower in Replica
            if leader != follower
        )

    @reachable
    def follower_asks_to_come_back(self):
        """If the ISR may shrink and grow again, a follower that has left it catches up."""
        may_come_back = self.lagging and self.max_partition_epoch > 1
        return not may_come_back or any(self.is_joining(leader) for leader in Replica)

    def is_joining(self, leader):
        """Return whether a leader asks to add a replica."""
        request = self.pending[leader]
        return request is not None and request.joining is not None

    @reachable
    def everything_is_read(self):
        """If there is a consumer, it reads to the end."""
        return not self.consumers or len(self.consumed) == min(self.log_size, self.max_records)
