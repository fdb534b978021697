"""2. The metadata of a leader epoch reach a broker: it leads, follows, or has no leader."""

from checker.language.roles import action, require
from specs.replication.partition_state import UNDEFINED, PartitionEpoch, PartitionVariables
from specs.replication.state import LeaderEpoch, Replica


class EpochChanges(PartitionVariables, abstract=True):
    """A broker acts on the metadata of a leader epoch.

    With KRaft a broker replays the metadata log in order, and acts on the difference between two images of it. So
    it never acts on an old epoch after a newer one, and it misses the epochs between the two images. A restarted
    broker acts on nothing before it has read what was committed when it started: it may lack later changes only.
    With ZooKeeper the controller sends LeaderAndIsr requests, and a broker misses epochs if the controller changes.

    Source: MetadataLoader.handleCommit, stillNeedToCatchUp, TopicDelta.localChanges, ReplicaManager.applyDelta.
    """

    def may_act_on(self, replica, epoch):
        """Return whether a replica may act on the metadata of a leader epoch now.

        A broker that has just started has read the metadata to its end or, with `starts_behind`, at least to what was
        their end when it started. With ZooKeeper brokers do not learn that a partition has no leader.
        """
        if epoch >= len(self.requests) or epoch <= self.leader_epoch[replica]:
            return False
        if epoch == len(self.requests) - 1:
            return self.quorum.leader is not None or self.controller == "kraft"
        started = self.read_at_start[replica]
        return self.late_metadata and (
            self.leader_epoch[replica] >= 0 or (started is not None and epoch >= started.leader_epoch)
        )

    @action
    def become_leader(self, epoch: LeaderEpoch):
        """The leader of an epoch learns that it leads. It keeps its log and its high watermark.

        Source: Partition.makeLeader; KAFKA-7415.
        """
        require(epoch < len(self.requests))
        replica = self.requests[epoch].leader
        require(replica is not None)
        require(replica in self.alive)
        require(self.may_act_on(replica, epoch))
        started = self.read_at_start[replica]
        if epoch == len(self.requests) - 1:
            self.lead(replica, epoch, self.quorum.isr, self.partition_epoch)
        elif started is not None and started.leader_epoch == epoch:
            self.lead(replica, epoch, started.isr, started.partition_epoch)
        else:
            self.lead(replica, epoch, self.requests[epoch].isr, 0)

    @action
    def become_leader_with_earlier_isr(self, epoch: LeaderEpoch, version: PartitionEpoch):
        """The leader of an epoch learns that it leads from metadata of that epoch that are not the newest.

        Source: MetadataLoader, Partition.makeLeader.
        """
        require(self.remembered_changes > 0)
        require(epoch < len(self.requests))
        replica = self.requests[epoch].leader
        require(replica is not None)
        require(replica in self.alive)
        require(self.may_act_on(replica, epoch))
        require(version < self.partition_epoch)
        started = self.read_at_start[replica]
        require(self.leader_epoch[replica] >= 0 or (started is not None and version >= started.partition_epoch))
        for change in self.changes:
            if change.partition_epoch == version and change.leader_epoch == epoch:
                self.lead(replica, epoch, change.isr, version)
        require(self.leader_epoch[replica] == epoch)

    def lead(self, replica, epoch, isr, version):
        """Let a replica lead in an epoch, with the ISR of a partition epoch."""
        if not self.keeps_followers_in(replica, epoch):
            self.forget_followers(replica)
        if self.answers_across_epochs and not self.presumes_leadership(replica):
            self.led_since[replica] = epoch
        self.enter_epoch(replica, epoch)
        self.isr[replica] = isr
        self.known_partition_epoch[replica] = version
        self.epoch_start[replica] = len(self.log[replica])
        if self.caches_elections():
            self.assign_epoch(replica, epoch, len(self.log[replica]))
        self.advance_high_watermark(replica)

    def keeps_followers_in(self, replica, epoch):
        """Return whether a leader that learns that it leads again keeps what it knows of its followers' logs.

        Kafka (`same_leader`) does not ask whether it has missed an epoch in which another replica led.
        Source: Partition.makeLeader (isNewLeader), Replica.resetReplicaState.
        """
        if self.keeps_followers == "never" or not self.presumes_leadership(replica):
            return False
        return self.keeps_followers == "same_leader" or epoch == self.leader_epoch[replica] + 1

    @action
    def become_follower(self, follower: Replica, epoch: LeaderEpoch):
        """A replica learns which leader to follow in an epoch, and truncates by one of three rules (`truncation`).

        It truncates to its high watermark; or to the end of its last epoch, for which it asks its leader (`truncating`)
        once or, since KIP-279, repeatedly; or, since 2.8, when a fetch shows that the logs diverge.

        Source: Partition.makeFollower, ReplicaFetcherManager.addFetcherForPartitions; KAFKA-7164.
        """
        require(follower in self.alive)
        require(self.may_act_on(follower, epoch))
        leader = self.requests[epoch].leader
        require(leader is not None)
        require(leader != follower)
        if self.follows_by_leader_id and self.leader[follower] == leader:
            self.leader_epoch[follower] = epoch
        else:
            self.forget_followers(follower)
            self.led_since[follower] = 0
            self.enter_epoch(follower, epoch)
            if self.truncation == "high_watermark" or self.latest_epoch(follower) == UNDEFINED:
                self.truncate(follower, self.high_watermark[follower])
            elif self.truncation != "on_fetch":
                self.truncating.add(follower)

    @action
    def become_leaderless(self, replica: Replica, epoch: LeaderEpoch):
        """A replica learns that the partition has no leader: a leader steps down, a follower stops fetching.

        Source: ReplicaManager.applyLocalFollowersDelta, Partition.makeFollower.
        """
        require(self.controller == "kraft")
        require(replica in self.alive)
        require(self.may_act_on(replica, epoch))
        require(self.requests[epoch].leader is None)
        self.forget_followers(replica)
        self.led_since[replica] = 0
        self.enter_epoch(replica, epoch)

    def enter_epoch(self, replica, epoch):
        """Adopt an epoch and its leader, and drop the state of the previous epoch.

        A fetcher thread talks to one leader. The answer of the same leader to a fetch of another epoch is not dropped
        if the follower need not truncate first, and the rule of KAFKA-18723 is off.
        """
        drops_answers = (
            self.drops_answers_of_other_epochs
            or self.truncation != "on_fetch"
            or self.latest_epoch(replica) == UNDEFINED
            or self.leader[replica] != self.requests[epoch].leader
        )
        self.leader_epoch[replica] = epoch
        self.leader[replica] = self.requests[epoch].leader
        self.read_at_start[replica] = None
        self.step_down(replica)
        if drops_answers:
            self.stop_fetching(replica)

    def step_down(self, replica):
        """Drop the state of a leader epoch."""
        self.isr[replica] = set()
        self.pending[replica] = None
        self.metadata_due.discard(replica)
        self.awaited[replica] = set()
        self.epoch_start[replica] = 0
        self.known_partition_epoch[replica] = 0

    def forget_followers(self, replica):
        """Drop what a leader knows of the others' logs: a new leader knows nothing of them."""
        for other in Replica:
            self.remote_end[replica][other] = 0
            self.remote_broker_epoch[replica][other] = 0

    def stop_fetching(self, replica):
        """Drop a follower's messages in flight; with `late_requests` its fetch may still arrive."""
        if not self.late_requests:
            self.fetches[replica] = None
            self.parked.discard(replica)
        self.answers[replica] = None
        self.forgetful.discard(replica)
        self.truncating.discard(replica)
        self.questions[replica] = None
        self.epoch_ends[replica] = None
