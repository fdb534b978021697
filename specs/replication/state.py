"""State of one partition at its replicas and at the controller, and the properties of every protocol."""

from checker.language import Constant, Domain, Map, Option, Range, Seq, SetOf, Spec, Struct, invariant, step_invariant
from checker.language.drawing import Log

LOG = Log("log", markers={"high_watermark": "HW"}, colour="epoch", called=("record=id",))
"""How the log of a replica is drawn."""


class Replica(Domain):
    """A broker with a copy of the partition."""

    size, prefix = "replicas", "b"


class LeaderEpoch(Range):
    """The number of a LeaderAndIsr request or, with KRaft, of an election in the metadata log."""

    low, high = 0, "max_leader_epoch"


class Record(Struct):
    """A record: `id` makes it unique, `epoch` is the leader epoch in which a leader appended it."""

    id: Range(0, "max_records - 1")
    epoch: LeaderEpoch
    shows = "r{id}@{epoch}"


class LeaderAndIsr(Struct):
    """The leader of the partition (none after the leader failed) and the replicas that are in sync."""

    leader: Option(Replica)
    isr: SetOf(Replica)
    shows = "(leader {leader}, isr {isr})"


class PartitionState(Spec, abstract=True):
    """The variables and the properties that all models of replication share.

    Source: TLA+ module KafkaReplication (hachikuji/kafka-specification).
    """

    replicas = Constant(3, at_least=2)
    log_size = Constant(2, at_least=1)
    max_records = Constant(2, at_least=1)
    max_leader_epoch = Constant(2, at_least=0)

    # Of each replica.
    log = Map(Replica, Seq(Record, "log_size"))
    high_watermark = Map(Replica, Range(0, "log_size"))
    leader_epoch = Map(Replica, Range(-1, "max_leader_epoch"))  # -1: no LeaderAndIsr request yet, as in Kafka
    leader = Map(Replica, Option(Replica))
    isr = Map(Replica, SetOf(Replica))

    # Of the controller. The request with leader epoch e is requests[e]: epochs are unique, no request is lost
    # permanently, and each may be delivered any number of times.
    quorum = LeaderAndIsr
    requests = Seq(LeaderAndIsr, "max_leader_epoch + 1")

    # Of the producers.
    next_record_id = Range(0, "max_records")

    def presumes_leadership(self, replica: Replica):
        """Return whether a replica believes that it leads; a newer leader may exist."""
        return self.leader[replica] == replica

    def is_true_leader(self, replica: Replica):
        """Return whether a replica leads in the newest leader epoch: only then the quorum accepts its ISR changes."""
        return self.presumes_leadership(replica) and self.leader_epoch[replica] == len(self.requests) - 1

    # Properties.

    def agree_at(self, one: Replica, other: Replica, offset: int):
        """Return whether two replicas have the same record at an offset."""
        return (
            offset < len(self.log[one])
            and offset < len(self.log[other])
            and self.log[one][offset] == self.log[other][offset]
        )

    @invariant(
        says="replica {follower}, offset {offset}: record {self.log[leader][offset]} is below {leader}'s high "
        "watermark and {'missing' if offset >= len(self.log[follower]) else 'not the one there'}, though {leader} "
        "counts {follower} among its in-sync replicas"
    )
    def weak_isr(self):
        """The ISR of any leader, old or new, has all records below that leader's high watermark."""
        return all(
            self.agree_at(leader, follower, offset)
            for leader in Replica
            if self.presumes_leadership(leader)
            for follower in self.isr[leader]
            for offset in range(self.high_watermark[leader])
        )

    @invariant(
        says="replica {replica}, offset {offset}: record {self.log[leader][offset]} is below {leader}'s high "
        "watermark and {'missing' if offset >= len(self.log[replica]) else 'not the one there'}, though {replica} may "
        "be elected"
    )
    def strong_isr(self):
        """Every electable replica has all records below the high watermark of any leader, old or new.

        Consumers may have read these records, and acks=all has acknowledged them. A leader without them loses them.
        """
        return all(
            self.agree_at(leader, replica, offset)
            for leader in Replica
            if self.presumes_leadership(leader)
            for replica in self.quorum.isr
            for offset in range(self.high_watermark[leader])
        )

    @invariant(
        says="offset {offset} is below both high watermarks and holds {self.log[one][offset]} on {one}, "
        "{self.log[other][offset]} on {other}"
    )
    def log_matching(self):
        """Any two replicas have the same records below the lower of their high watermarks."""
        return all(
            self.agree_at(one, other, offset)
            for one in Replica
            for other in Replica
            for offset in range(min(self.high_watermark[one], self.high_watermark[other]))
        )

    @step_invariant(
        says="{leader}'s high watermark fell from {old.high_watermark[leader]} to {self.high_watermark[leader]}"
    )
    def high_watermark_never_regresses(self, old):
        """While a replica leads in one leader epoch, its high watermark does not fall."""
        return all(
            self.high_watermark[leader] >= old.high_watermark[leader]
            for leader in Replica
            if old.presumes_leadership(leader) and self.leader_epoch[leader] == old.leader_epoch[leader]
        )
