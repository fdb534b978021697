"""The published model of replication that every proposal extends: one partition, its replicas, a controller."""

from checker.language import Arrow, Drawing, Lane, action, reachable, require
from specs.replication.state import LOG, LeaderAndIsr, LeaderEpoch, PartitionState, Record, Replica


class Replication(PartitionState, abstract=True):
    """One partition, its replicas, and the controller that elects the leader.

    The controller keeps leader and ISR in the quorum (ZooKeeper, or the metadata log) and sends every change to the
    replicas in a LeaderAndIsr request. Kafka did so until 3.9, with ZooKeeper; with KRaft, the only mode since 4.0, the
    replicas read the changes in the metadata log. A request may arrive late, never, or after newer ones, so a replica
    may believe that it leads long after the quorum named another leader. Failures are not separate actions: a failed
    broker is one that the controller removes from the ISR and that does nothing for a while.

    A proposal overrides one or more of four methods: `truncation_offset`, `may_follow`, `is_caught_up`, `may_join_isr`.

    Source: TLA+ module KafkaReplication (hachikuji/kafka-specification); in Apache Kafka the classes Partition,
    ReplicaManager and AbstractFetcherThread.
    """

    draws = Drawing(
        Lane("controller", crowned={"quorum.leader": "leader in the quorum"}, members={"quorum.isr": "ISR"},
            boxes={"requests": "LeaderAndIsr requests, by leader epoch"},
            facts={"quorum.leader": "leader", "quorum.isr": "ISR"}),
        Lane("replica", each=Replica, logs=(LOG,), crowned={"presumes_leadership": "believes that it leads"},
            members={"isr": "ISR"}, facts={"leader_epoch": "leader epoch", "leader": "its leader"}),
        arrows=(
            Arrow("become_leader", "'controller'", "requests[epoch].leader", "LeaderAndIsr {epoch}", "requests[epoch]"),
            Arrow("become_follower", "'controller'", "follower", "LeaderAndIsr {epoch}", "requests[epoch]"),
            Arrow("become_follower", "requests[epoch].leader", "follower", "truncation offset"),
            Arrow("follower_fetch", "leader[follower]", "follower", "fetch"),
            Arrow("follower_truncate", "leader[follower]", "follower", "truncation offset"),
            Arrow("leader_expand_isr", "quorum.leader", "'controller'", "ISR"),
            Arrow("leader_shrink_isr", "quorum.leader", "'controller'", "ISR"),
        ),
    )  # fmt: skip

    def init(self):
        """Every replica is in sync; the controller has sent no request."""
        self.quorum.isr = set(Replica)

    # The rules that a proposal may override.

    def truncation_offset(self, leader: Replica, follower: Replica):
        """Return the offset to which a new follower truncates: its high watermark. Each proposal has its own rule."""
        return self.high_watermark[follower]

    def may_follow(self, follower: Replica, leader: Replica, epoch: LeaderEpoch):
        """Return whether the follower may truncate by the log of `leader` as it is now; originally always."""
        return True

    def is_caught_up(self, leader: Replica, follower: Replica, end_offset: int):
        """Return whether the leader believes that the follower has its log up to `end_offset`.

        On this belief the leader answers a fetch, keeps the follower in the ISR, and raises the high watermark.
        Originally it compares offsets only.
        """
        return self.leader[follower] == leader and len(self.log[follower]) >= end_offset

    def may_join_isr(self, leader: Replica, follower: Replica):
        """Return whether the leader may add the follower to the ISR; originally once it has the high watermark."""
        return self.is_caught_up(leader, follower, self.high_watermark[leader])

    # The rules that all proposals share.

    def high_watermark_is_in_own_epoch(self, leader: Replica):
        """Return whether every record of earlier leaders is below the leader's high watermark."""
        high_watermark = self.high_watermark[leader]
        return (
            high_watermark == len(self.log[leader])
            or self.log[leader][high_watermark].epoch == self.leader_epoch[leader]
        )

    def send_leader_and_isr(self, leader, isr):
        """Write leader and ISR to the quorum, and send them to the replicas in a new leader epoch."""
        self.quorum = LeaderAndIsr(leader=leader, isr=isr)
        self.requests.append(self.quorum)

    def update_isr(self, leader: Replica, isr):
        """Change the ISR as the true leader: in the quorum, without a new leader epoch."""
        self.isr[leader] = isr
        self.quorum.isr = isr

    def accept_request(self, replica: Replica, epoch: LeaderEpoch):
        """Adopt leader epoch, leader and ISR of a LeaderAndIsr request."""
        self.leader_epoch[replica] = epoch
        self.leader[replica] = self.requests[epoch].leader
        self.isr[replica] = self.requests[epoch].isr

    # The controller.

    @action
    def controller_elect_leader(self, replica: Replica):
        """The controller elects another member of the ISR, for any reason."""
        require(len(self.requests) <= self.max_leader_epoch)
        require(replica in self.quorum.isr)
        require(self.quorum.leader != replica)
        self.send_leader_and_isr(replica, self.quorum.isr)

    @action
    def controller_shrink_isr(self, replica: Replica):
        """The controller removes a failed broker from the ISR. If it led, there is no leader until an election."""
        require(len(self.requests) <= self.max_leader_epoch)
        require(replica in self.quorum.isr)
        if self.quorum.leader != replica:
            self.send_leader_and_isr(self.quorum.leader, self.quorum.isr - {replica})
        elif self.quorum.isr == {replica}:
            # The last leader stays in the ISR, so that it can be elected again. As published, this holds only while
            # it leads: shrinking a second time empties the ISR, and no replica can be elected any more.
            self.send_leader_and_isr(None, self.quorum.isr)
        else:
            self.send_leader_and_isr(None, self.quorum.isr - {replica})

    # The leader.

    @action
    def become_leader(self, epoch: LeaderEpoch):
        """The replica that a LeaderAndIsr request names becomes the leader; its log and high watermark stay."""
        require(epoch < len(self.requests))
        replica = self.requests[epoch].leader
        require(replica is not None)
        require(epoch > self.leader_epoch[replica])
        self.accept_request(replica, epoch)

    @action
    def leader_write(self, leader: Replica):
        """A leader appends a producer's record while it believes that it leads."""
        require(self.presumes_leadership(leader))
        require(self.next_record_id < self.max_records)
        require(len(self.log[leader]) < self.log_size)
        self.log[leader].append(Record(id=self.next_record_id, epoch=self.leader_epoch[leader]))
        self.next_record_id += 1

    @action
    def leader_increment_high_watermark(self, leader: Replica):
        """A leader raises its high watermark by one record, which its whole ISR has fetched."""
        require(self.presumes_leadership(leader))
        offset = self.high_watermark[leader]
        require(offset < len(self.log[leader]))
        require(all(self.is_caught_up(leader, follower, offset + 1) for follower in self.isr[leader]))
        self.high_watermark[leader] = offset + 1

    @action
    def leader_expand_isr(self, follower: Replica):
        """The true leader adds a follower that has caught up to the ISR."""
        leader = self.quorum.leader
        require(leader is not None)
        require(follower not in self.isr[leader])
        require(self.is_true_leader(leader))
        require(self.may_join_isr(leader, follower))
        self.update_isr(leader, self.isr[leader] | {follower})

    @action
    def leader_shrink_isr(self, follower: Replica):
        """The true leader removes a follower that lags behind its log end offset from the ISR."""
        leader = self.quorum.leader
        require(leader is not None)
        require(follower != leader)
        require(follower in self.isr[leader])
        require(self.is_true_leader(leader))
        require(not self.is_caught_up(leader, follower, len(self.log[leader])))
        self.update_isr(leader, self.isr[leader] - {follower})

    # The follower.

    @action
    def become_follower(self, follower: Replica, epoch: LeaderEpoch):
        """A replica learns its leader from a LeaderAndIsr request, and truncates what may differ from it."""
        require(epoch < len(self.requests))
        require(epoch > self.leader_epoch[follower])
        leader = self.requests[epoch].leader
        require(leader is not None)  # as published: no replica acts on a request without a leader
        require(leader != follower)
        require(self.may_follow(follower, leader, epoch))
        offset = self.truncation_offset(leader, follower)
        require(offset <= len(self.log[follower]))  # as published: no truncation past the log end
        del self.log[follower][offset:]
        self.high_watermark[follower] = min(self.high_watermark[follower], offset)
        self.accept_request(follower, epoch)

    @action
    def follower_fetch(self, follower: Replica):
        """A follower appends the next record of its leader's log, and learns the leader's high watermark."""
        leader = self.leader[follower]
        require(leader is not None)
        end_offset = len(self.log[follower])
        require(end_offset < len(self.log[leader]))
        require(self.presumes_leadership(leader))
        require(self.is_caught_up(leader, follower, end_offset))
        self.log[follower].append(self.log[leader][end_offset])
        self.high_watermark[follower] = min(self.high_watermark[leader], end_offset + 1)

    # Guards: evidence that something happens.

    @reachable
    def replicated_record_is_committed(self):
        """A record on more than one replica is below its leader's high watermark."""
        return any(
            self.presumes_leadership(leader) and self.high_watermark[leader] > 0 and len(self.isr[leader]) > 1
            for leader in Replica
        )

    @reachable
    def everything_is_committed(self):
        """A high watermark reaches the bound of log size and number of records."""
        return any(self.high_watermark[replica] == min(self.log_size, self.max_records) for replica in Replica)

    @reachable
    def old_leader_meets_new_leader(self):
        """Two replicas believe that they lead at the same time."""
        return any(
            one != other and self.presumes_leadership(one) and self.presumes_leadership(other)
            for one in Replica
            for other in Replica
        )

    @reachable
    def truncation_removes_a_record(self):
        """A record that was appended is in no log any more."""
        return any(
            all(record.id != record_id for replica in Replica for record in self.log[replica])
            for record_id in range(self.next_record_id)
        )

    @reachable
    def isr_expands(self):
        """The ISR is larger than that of the newest LeaderAndIsr request."""
        newest = len(self.requests)
        return newest > 0 and len(self.quorum.isr) > len(self.requests[newest - 1].isr)
