"""Lemmas that prove KIP-320: invariants of replication in which every request carries a leader epoch."""

from checker.language import lemma
from specs.replication.base import Replication
from specs.replication.state import LeaderEpoch, Replica


class FencedLemmas(Replication, abstract=True):
    """Lemmas for the prover; docs/proving.md describes how such lemmas are found.

    The last one implies the invariants: every record below a high watermark was committed in some leader epoch, and
    since then every leader and every member of an ISR has it. The others define a leader epoch, and state that logs
    with a common record are equal up to it.
    """

    # The controller and its requests.

    @lemma
    def leader_epochs_are_assigned(self):
        """Every replica is in a leader epoch that the controller has started."""
        return all(self.leader_epoch[replica] < len(self.requests) for replica in Replica)

    @lemma
    def quorum_is_newest_request(self):
        """The quorum has the newest request's leader, and its ISR until that leader takes over."""
        newest = len(self.requests) - 1
        if newest < 0:
            return self.quorum.leader is None
        return self.quorum.leader == self.requests[newest].leader and (
            self.has_taken_over(newest) or self.quorum.isr == self.requests[newest].isr
        )

    @lemma
    def leaders_are_in_sync(self):
        """A leader is a member of its ISR: in the quorum, in every request, and in its own view."""
        return (
            (self.quorum.leader is None or self.quorum.leader in self.quorum.isr)
            and all(request.leader is None or request.leader in request.isr for request in self.requests)
            and all(replica in self.isr[replica] for replica in Replica if self.presumes_leadership(replica))
        )

    def has_taken_over(self, epoch: LeaderEpoch):
        """Return whether the leader of an epoch is in this epoch, or in a later one."""
        leader = self.requests[epoch].leader
        return leader is not None and self.leader_epoch[leader] >= epoch

    @lemma
    def every_replica_follows_a_request(self):
        """A replica has the leader of its epoch's request, which has taken over; without an epoch its log is empty."""
        return all(self.follows_a_request(replica) for replica in Replica)

    def follows_a_request(self, replica: Replica):
        """Return whether a replica's view matches its leader epoch's request."""
        epoch = self.leader_epoch[replica]
        if epoch < 0:
            return self.leader[replica] is None and len(self.log[replica]) == 0
        return self.leader[replica] == self.requests[epoch].leader and self.has_taken_over(epoch)

    @lemma
    def true_leader_knows_isr(self):
        """The leader in the newest epoch has the quorum's ISR."""
        return all(self.isr[replica] == self.quorum.isr for replica in Replica if self.is_true_leader(replica))

    @lemma
    def requests_shrink_isr(self):
        """Until a member of a request's ISR is in its leader epoch, later ISRs are subsets of it."""
        return all(
            self.is_begun(self.requests[epoch].isr, epoch)
            or self.later_isrs_are_within(self.requests[epoch].isr, epoch)
            for epoch in LeaderEpoch
            if epoch < len(self.requests)
        )

    @lemma
    def stale_leader_is_frozen(self):
        """If a leader is not the true one, later ISRs are subsets of its own, or a member has left its epoch."""
        return all(
            self.is_begun(self.isr[leader], self.leader_epoch[leader] + 1)
            or self.later_isrs_are_within(self.isr[leader], self.leader_epoch[leader])
            for leader in Replica
            if self.presumes_leadership(leader)
        )

    def is_begun(self, isr, epoch):
        """Return whether a member of an ISR is in an epoch, or in a later one."""
        return any(self.leader_epoch[replica] >= epoch for replica in isr)

    def later_isrs_are_within(self, isr, epoch):
        """Return whether the ISRs of all later requests, and the quorum's, are subsets of an ISR."""
        return self.quorum.isr <= isr and all(
            self.requests[later].isr <= isr for later in LeaderEpoch if epoch < later and later < len(self.requests)
        )

    # The logs.

    @lemma
    def high_watermark_is_in_log(self):
        """A high watermark is at most the log end offset."""
        return all(self.high_watermark[replica] <= len(self.log[replica]) for replica in Replica)

    @lemma
    def record_ids_are_assigned(self):
        """Every record in a log has been produced."""
        return all(record.id < self.next_record_id for replica in Replica for record in self.log[replica])

    @lemma
    def record_epochs_ascend(self):
        """A log's epochs never fall, and are at most its replica's leader epoch."""
        return all(
            self.log[replica][offset].epoch
            <= (
                self.log[replica][offset + 1].epoch
                if offset + 1 < len(self.log[replica])
                else self.leader_epoch[replica]
            )
            for replica in Replica
            for offset in range(len(self.log[replica]))
        )

    @lemma
    def same_epoch_means_same_log(self):
        """If two logs have the same epoch at an offset, they are equal up to it."""
        return all(
            self.log[one][before] == self.log[other][before]
            for one in Replica
            for other in Replica
            for offset in range(min(len(self.log[one]), len(self.log[other])))
            if self.log[one][offset].epoch == self.log[other][offset].epoch
            for before in range(offset + 1)
        )

    @lemma
    def leader_has_all_of_its_epoch(self):
        """A record of a leader epoch is in its leader's log while that leader is in the epoch."""
        return all(
            self.leader_epoch[leader] != self.log[replica][offset].epoch or self.agree_at(leader, replica, offset)
            for leader in Replica
            if self.presumes_leadership(leader)
            for replica in Replica
            for offset in range(len(self.log[replica]))
        )

    @lemma
    def records_come_from_leaders(self):
        """The leader of an epoch with a record has taken over."""
        return all(
            record.epoch < len(self.requests) and self.has_taken_over(record.epoch)
            for replica in Replica
            for record in self.log[replica]
        )

    @lemma
    def follower_has_part_of_leaders_log(self):
        """The log of a follower in its leader's epoch is a prefix of the leader's log."""
        return all(
            self.agree_at(leader, follower, offset)
            for leader in Replica
            if self.presumes_leadership(leader)
            for follower in Replica
            if self.leader_epoch[follower] == self.leader_epoch[leader]
            for offset in range(len(self.log[follower]))
        )

    # Committed records.

    @lemma
    def everything_below_high_watermark_is_committed(self):
        """Each record below a high watermark was committed in some leader epoch."""
        return all(
            any(self.is_committed_in(replica, offset, epoch) for epoch in range(self.leader_epoch[replica] + 1))
            for replica in Replica
            for offset in range(self.high_watermark[replica])
        )

    def is_committed_in(self, replica: Replica, offset, epoch):
        """Return whether the record that a replica has at an offset was committed in a leader epoch.

        That is: the leader of the epoch has it, every replica that was or may be elected since has it, and every ISR of
        a leader of that epoch or a later one has it.
        """
        return (
            self.log[replica][offset].epoch <= epoch
            and self.leader_committed(replica, offset, epoch)
            and all(self.keeps(other, replica, offset, epoch) for other in self.quorum.isr)
            and all(
                self.keeps(other, replica, offset, epoch)
                for later in LeaderEpoch
                if epoch < later and later < len(self.requests)
                for other in self.requests[later].isr
            )
            and all(
                self.keeps(other, replica, offset, epoch)
                for leader in Replica
                if self.presumes_leadership(leader) and self.leader_epoch[leader] >= epoch
                for other in self.isr[leader]
            )
        )

    def leader_committed(self, replica: Replica, offset, epoch):
        """Return whether an epoch's leader has the record and, while it is in the epoch, knows that it is committed."""
        leader = self.requests[epoch].leader
        return (
            leader is not None
            and self.keeps(leader, replica, offset, epoch)
            and (self.leader_epoch[leader] > epoch or offset < self.high_watermark[leader])
        )

    def keeps(self, other: Replica, replica: Replica, offset, epoch):
        """Return whether another replica has the record, and is in an epoch in which it keeps the record."""
        return self.leader_epoch[other] >= epoch and self.agree_at(other, replica, offset)
