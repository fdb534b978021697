"""The state of the message-level model: the values of its messages and the variables of brokers and controller."""

from checker.language import Map, Option, Range, Seq, SetOf, Struct
from specs.replication.state import LeaderAndIsr, LeaderEpoch, Record, Replica
from specs.replication.switches import Switches

UNDEFINED = -1
"""The epoch and the offset that stand for "unknown" (OffsetsForLeaderEpochResponse.UNDEFINED_EPOCH)."""


class Offset(Range):
    """An offset of the log, or the log end offset."""

    low, high = 0, "log_size"


class BrokerEpoch(Range):
    """The number of earlier registrations of a broker with the controller."""

    low, high = 0, "max(max_broker_epoch, crashes + power_failures + shutdowns) if checks_broker_epochs else 0"


class PartitionEpoch(Range):
    """The number of changes of the partition's leader or ISR that the controller has made."""

    low, high = 0, "max_partition_epoch"


class EpochStart(Struct):
    """An entry of the leader-epoch cache: the first offset of a leader epoch."""

    epoch: LeaderEpoch
    start: Offset
    shows = "epoch {epoch} from {start}"


class EpochEnd(Struct):
    """The end of a leader epoch in a log."""

    epoch: Range(UNDEFINED, "max_leader_epoch")
    end: Range(UNDEFINED, "log_size")
    shows = "epoch {epoch} ends at {end}"


class EpochQuestion(Struct):
    """OffsetsForLeaderEpoch: a request for the end of an epoch in the leader's log."""

    leader: Replica
    leader_epoch: LeaderEpoch
    epoch: LeaderEpoch
    shows = "end of e{epoch}? in e{leader_epoch}"


class FetchRequest(Struct):
    """A follower's fetch: its log end offset and the epochs that fetches carry since some version.

    `last_epoch` is the epoch of the follower's last record (since 2.8; -1 before, or if there is no record).
    """

    leader: Replica
    leader_epoch: LeaderEpoch
    broker_epoch: BrokerEpoch
    offset: Offset
    last_epoch: Range(UNDEFINED, "max_leader_epoch")
    shows = "fetch {offset} (last e{last_epoch}) in e{leader_epoch}"


class FetchResponse(Struct):
    """A leader's answer: the next record and the high watermark, or the offset at which the logs diverge."""

    record: Option(Record)
    high_watermark: Offset
    diverging: Option(EpochEnd)
    shows = "{record}, HW {high_watermark}, diverging: {diverging}"


class AlterPartition(Struct):
    """A leader's request for another ISR, based on a partition epoch; `joining` is the replica to add, if any."""

    isr: SetOf(Replica)
    partition_epoch: PartitionEpoch
    joining: Option(Replica)
    broker_epoch: BrokerEpoch
    shows = "isr {isr} on v{partition_epoch}"


class IsrChange(Struct):
    """A change of the ISR or the leader: the epochs in which it left the partition, and the ISR."""

    partition_epoch: PartitionEpoch
    leader_epoch: LeaderEpoch
    isr: SetOf(Replica)
    shows = "v{partition_epoch}: isr {isr} in e{leader_epoch}"


class PartitionVariables(Switches, abstract=True):
    """The variables of brokers, controller and clients, and the initial state."""

    # Of each broker, besides the log, the high watermark and the leader in `state`.
    alive = SetOf(Replica)
    epoch_starts = Map(Replica, Seq(EpochStart, "max_leader_epoch + 1"))  # the leader-epoch cache
    checkpoint = Map(Replica, Offset)  # the high watermark on disk
    stopped_cleanly = SetOf(Replica)  # brokers with the mark of a clean shutdown on disk
    knows_new_min_isr = SetOf(Replica)  # brokers that have read the change of min.insync.replicas

    # Of a leader. Other replicas have the values of `step_down` and `forget_followers`.
    epoch_start = Map(Replica, Offset)  # the log end offset with which its leader epoch began
    remote_end = Map(Replica, Map(Replica, Offset))  # each follower's log end offset: the offset of its last fetch
    remote_broker_epoch = Map(Replica, Map(Replica, BrokerEpoch))  # the broker epoch of each follower's last fetch
    known_partition_epoch = Map(Replica, PartitionEpoch)
    pending = Map(Replica, Option(AlterPartition))  # its request to the controller
    metadata_due = SetOf(Replica)  # leaders that know their partition epoch from an answer, not from the metadata yet
    awaited = Map(Replica, SetOf(Replica))  # followers outside the ISR for which its high watermark waits
    led_since = Map(Replica, LeaderEpoch)  # the first of the epochs in which it has led without interruption

    # Of a follower, with its messages in flight.
    truncating = SetOf(Replica)  # followers that ask where to truncate, and do not fetch yet
    questions = Map(Replica, Option(EpochQuestion))
    epoch_ends = Map(Replica, Option(EpochEnd))
    fetches = Map(Replica, Option(FetchRequest))
    former_fetches = Map(Replica, Seq(FetchRequest, "fetches_of_former_connections"))  # in flight, not awaited any more
    answers = Map(Replica, Option(FetchResponse))
    parked = SetOf(Replica)  # followers with a fetch that waits at its leader
    forgetful = SetOf(Replica)  # followers that have forgotten the epoch of their last record

    # Of the controller, besides `quorum` and `requests` in `state`.
    partition_epoch = PartitionEpoch
    changes = Seq(IsrChange, "remembered_changes")  # the last changes, up to the newest partition epoch
    fenced = SetOf(Replica)
    unregistered = SetOf(Replica)  # restarted brokers that the controller has not registered yet
    read_at_start = Map(Replica, Option(IsrChange))  # what a restarted broker has read at least, until it acts on it
    new_disks = SetOf(Replica)  # brokers with a disk to which the controller has not assigned the partition yet
    broker_epoch = Map(Replica, BrokerEpoch)
    eligible = SetOf(Replica)  # the eligible leader replicas (ELR)
    last_known_leader = Option(Replica)
    has_new_min_isr = bool  # min.insync.replicas has been changed

    # Of the clients.
    acked = SetOf(Range(0, "max_records - 1"))
    consumed = Seq(Range(0, "max_records - 1"), "log_size")

    # Failures that may still happen.
    crashes_left = Range(0, "crashes")
    power_failures_left = Range(0, "power_failures")
    shutdowns_left = Range(0, "shutdowns")
    disk_losses_left = Range(0, "disk_losses")
    log_moves_left = Range(0, "log_moves")

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
        if self.caches_elections():
            self.assign_epoch(Replica[0], 0, 0)
        self.crashes_left = self.crashes
        self.power_failures_left = self.power_failures
        self.shutdowns_left = self.shutdowns
        self.disk_losses_left = self.disk_losses
        self.log_moves_left = self.log_moves

    def is_alive(self, replica: Replica):
        """Return whether a broker runs."""
        return replica in self.alive

    def leads(self, replica: Replica):
        """Return whether a broker is alive and believes that it leads."""
        return replica in self.alive and self.presumes_leadership(replica)

    def follows(self, replica: Replica):
        """Return whether a broker is alive and follows a leader."""
        return replica in self.alive and self.leader[replica] is not None and self.leader[replica] != replica
