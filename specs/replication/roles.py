"""Leaders and followers: how a replica enters a leader epoch, and how a follower asks where to truncate."""

from checker.language import Map, Option, SetOf, Struct, action, require
from specs.replication.fetching import Fetching
from specs.replication.leader_epochs import UNDEFINED, EpochEnd
from specs.replication.state import LeaderAndIsr, LeaderEpoch, Replica


class EpochQuestion(Struct):
    """OffsetsForLeaderEpoch: a request for the end of an epoch in the leader's log."""

    leader: Replica
    leader_epoch: LeaderEpoch
    epoch: LeaderEpoch
    shows = "end of e{epoch}? in e{leader_epoch}"


class Roles(Fetching, abstract=True):
    """The effect of the metadata of a leader epoch on a replica.

    A new leader keeps its log and its high watermark, and knows nothing of the others' logs. A new follower truncates
    first, by one of three rules (`truncation`): to its high watermark; to the end of its last epoch, for which it asks
    its leader (`truncating`), once or, since KIP-279, repeatedly; or, since 2.7, when a fetch shows that the logs
    diverge.

    Source: Partition.makeLeader and makeFollower, AbstractFetcherThread.maybeTruncate; KAFKA-7164, KIP-320.
    """

    truncating = SetOf(Replica)
    questions = Map(Replica, Option(EpochQuestion))
    epoch_ends = Map(Replica, Option(EpochEnd))

    def init(self):
        """The first replica leads in epoch 0, all others follow it, the logs are empty."""
        self.alive = set(Replica)
        isr = set(Replica) if self.starts_in_sync else {Replica[0]}
        self.requests.append(LeaderAndIsr(leader=Replica[0], isr=isr))
        self.quorum = self.requests[0]
        for replica in Replica:
            self.leader_epoch[replica] = 0
            self.leader[replica] = Replica[0]
        self.isr[Replica[0]] = isr
        if self.epoch_on_election:
            self.assign_epoch(Replica[0], 0, 0)

    def may_act_on(self, replica, epoch):
        """Return whether a replica may act on the metadata of a leader epoch now.

        A broker that has just started reads the metadata to its end. An epoch whose leader is gone is not announced.
        """
        if epoch >= len(self.requests) or epoch <= self.leader_epoch[replica]:
            return False
        if epoch == len(self.requests) - 1:
            return self.quorum.leader is not None
        return self.late_metadata and self.leader_epoch[replica] >= 0

    def enter_epoch(self, replica, epoch):
        """Adopt an epoch and its leader, and drop the state of the previous epoch."""
        self.leader_epoch[replica] = epoch
        self.leader[replica] = self.requests[epoch].leader
        self.step_down(replica)
        self.stop_fetching(replica)

    def stop_fetching(self, replica):
        """Drop a follower's messages in flight; with `late_requests` its fetch may still arrive."""
        if not self.late_requests:
            self.fetches[replica] = None
        self.answers[replica] = None
        self.forgetful.discard(replica)
        self.truncating.discard(replica)
        self.questions[replica] = None
        self.epoch_ends[replica] = None

    def step_down(self, replica):
        """Drop the state that only a leader has."""
        self.isr[replica] = set()
        self.pending[replica] = None
        self.epoch_start[replica] = 0
        self.known_partition_epoch[replica] = 0
        for other in Replica:
            self.remote_end[replica][other] = 0
            self.remote_broker_epoch[replica][other] = 0

    @action
    def become_leader(self, epoch: LeaderEpoch):
        """The leader of an epoch learns that it leads."""
        require(epoch < len(self.requests))
        replica = self.requests[epoch].leader
        require(replica is not None)
        require(replica in self.alive)
        require(self.may_act_on(replica, epoch))
        self.enter_epoch(replica, epoch)
        self.isr[replica] = self.requests[epoch].isr
        if epoch == len(self.requests) - 1:
            self.isr[replica] = self.quorum.isr
            self.known_partition_epoch[replica] = self.partition_epoch
        self.epoch_start[replica] = len(self.log[replica])
        if self.epoch_on_election:
            self.assign_epoch(replica, epoch, len(self.log[replica]))
        self.advance_high_watermark(replica)

    @action
    def become_follower(self, follower: Replica, epoch: LeaderEpoch):
        """A replica learns which leader to follow in an epoch."""
        require(follower in self.alive)
        require(self.may_act_on(follower, epoch))
        leader = self.requests[epoch].leader
        require(leader is not None)
        require(leader != follower)
        if self.follows_by_leader_id and self.leader[follower] == leader:
            self.leader_epoch[follower] = epoch
        else:
            self.enter_epoch(follower, epoch)
            if self.truncation == "high_watermark" or self.latest_epoch(follower) == UNDEFINED:
                self.truncate(follower, self.high_watermark[follower])
            elif self.truncation != "on_fetch":
                self.truncating.add(follower)

    def may_fetch(self, follower):
        """Return whether a follower follows a leader and has truncated."""
        return super().may_fetch(follower) and follower not in self.truncating

    @action
    def follower_ask_epoch_end(self, follower: Replica):
        """A follower asks its leader where the follower's last epoch ends."""
        require(follower in self.alive and follower in self.truncating)
        require(self.epoch_ends[follower] is None)
        question = EpochQuestion(
            leader=self.leader[follower],
            leader_epoch=self.leader_epoch[follower],
            epoch=self.latest_epoch(follower),
        )
        require(self.questions[follower] != question)
        self.questions[follower] = question

    @action
    def leader_answer_epoch_end(self, follower: Replica):
        """The leader answers while it leads and, since KIP-320, is in the same epoch."""
        question = self.questions[follower]
        require(question is not None)
        require(self.leads(question.leader))
        require(not self.fences_questions or question.leader_epoch == self.leader_epoch[question.leader])
        self.questions[follower] = None
        self.epoch_ends[follower] = self.end_offset_for(question.leader, question.epoch)

    @action
    def follower_truncate(self, follower: Replica):
        """The follower truncates by the answer; then it fetches, or asks again while the epochs differ."""
        answer = self.epoch_ends[follower]
        require(answer is not None)
        self.epoch_ends[follower] = None
        is_complete = self.is_truncation_complete(follower, answer)
        self.truncate(follower, self.truncation_offset(follower, answer))
        if is_complete or self.latest_epoch(follower) == UNDEFINED:
            self.truncating.discard(follower)
