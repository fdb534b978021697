"""Asynchronous ISR changes: the leader sends AlterIsr to the controller (KIP-497; today AlterPartition)."""

from checker.language import Constant, Map, Range, Scenario, SetOf, Spec, Struct
from checker.language.drawing import Arrow, Drawing, Lane
from checker.language.roles import action, invariant, reachable, require
from specs.replication.state import Replica


class Version(Range):
    """The number of ISR changes that the controller has made (Kafka's partition epoch)."""

    low, high = 0, "max_version"


class VersionedIsr(Struct):
    """An ISR and a version: in a request the version that it is based on, in an update the new version."""

    isr: SetOf(Replica)
    version: Version
    shows = "{isr} v{version}"


class AsyncIsr(Spec):
    """The leader asks the controller to change the ISR, and continues while it waits for the answer.

    Only the controller writes the ISR. Until the leader knows the answer to its request, either ISR may be the true
    one. So it commits only records that the members of both have (Kafka's maximal ISR). The leader never changes in
    this model. Requests and updates may be delivered late, more than once, or never.

    Source: KIP-497, in Apache Kafka Partition.PartitionState (PendingExpandIsr, PendingShrinkIsr); TLA+ module AsyncIsr
    (hachikuji/kafka-specification). That module is infinite: here `max_offset` and `max_version` bound the leader's log
    end offset and the controller's version.
    """

    replicas = Constant(3, at_least=2)
    max_offset = Constant(1, at_least=1)
    max_version = Constant(2, at_least=1)

    # Of the controller.
    controller_isr = SetOf(Replica)
    controller_version = Version

    # Of the leader: the ISR that it knows, the members of all ISRs that it has requested since, the log end offsets.
    isr = SetOf(Replica)
    version = Version
    pending_isr = SetOf(Replica)
    end_offset = Map(Replica, Range(0, "max_offset"))

    # In flight: for each version one update, and one request for each follower that joins or leaves the ISR.
    requests = SetOf(VersionedIsr, "(max_version + 1) * (replicas - 1)")
    updates = SetOf(VersionedIsr, "max_version")

    draws = Drawing(
        Lane("controller", members={"controller_isr": "ISR"}, facts={"controller_version": "version"}),
        Lane("leader's view", members={"isr": "ISR", "pending_isr": "requested"},
            facts={"version": "version", "high_watermark": "high watermark"},
            boxes={"requests": "requests sent", "updates": "updates sent to it"}, crowned={"leader": "leader"}),
        Lane("replica", each=Replica, facts={"end_offset": "log end offset"}),
        arrows=(
            Arrow("controller_handle_request", '"leader\'s view"', "'controller'", "{request}", "request in requests"),
            Arrow("leader_handle_update", "'controller'", '"leader\'s view"', "{update}", "update in updates"),
            Arrow("follower_fetch", '"leader\'s view"', "replica", "fetch"),
        ),
    )  # fmt: skip

    def init(self):
        """Every replica is in sync, the logs are empty."""
        self.controller_isr = set(Replica)
        self.isr = set(Replica)

    def leader(self):
        """Return the replica that leads."""
        return Replica[0]

    def high_watermark(self):
        """Return the log end offset of the slowest replica that is, or may be, in the ISR."""
        return min(self.end_offset[replica] for replica in self.isr | self.pending_isr)

    def write_isr(self, isr):
        """Write an ISR at the controller in a new version, and send it to the leader."""
        self.controller_version += 1
        self.controller_isr = isr
        self.updates.add(VersionedIsr(isr=isr, version=self.controller_version))

    def request_isr(self, isr):
        """Ask the controller to replace the ISR that the leader knows."""
        self.requests.add(VersionedIsr(isr=isr, version=self.version))
        self.pending_isr = self.pending_isr | isr

    @action
    def controller_shrink_isr(self, replica: Replica):
        """The controller removes a failed follower from the ISR."""
        require(self.controller_version < self.max_version)
        require(replica != self.leader())
        require(replica in self.controller_isr)
        self.write_isr(self.controller_isr - {replica})

    @action
    def controller_handle_request(self, request: VersionedIsr):
        """The controller grants a request that is based on its newest version, and ignores others."""
        require(request in self.requests)
        require(request.version == self.controller_version)
        require(self.controller_version < self.max_version)
        self.write_isr(request.isr)

    @action
    def leader_request_shrink_isr(self, replica: Replica):
        """The leader asks to remove a follower from the ISR."""
        require(replica != self.leader())
        require(replica in self.isr)
        self.request_isr(self.isr - {replica})

    @action
    def leader_request_expand_isr(self, replica: Replica):
        """The leader asks to add a follower that has every committed record to the ISR."""
        require(replica not in self.isr)
        require(self.end_offset[replica] >= self.high_watermark())
        self.request_isr(self.isr | {replica})

    @action
    def leader_handle_update(self, update: VersionedIsr):
        """The leader learns a newer ISR. Its earlier requests cannot be granted any more."""
        require(update in self.updates)
        require(update.version > self.version)
        self.isr = update.isr
        self.version = update.version
        self.pending_isr = set()

    @action
    def leader_write(self):
        """The leader appends a producer's record."""
        require(self.end_offset[self.leader()] < self.max_offset)
        self.end_offset[self.leader()] += 1

    @action
    def follower_fetch(self, replica: Replica):
        """A follower appends the next record of the leader's log."""
        require(self.end_offset[replica] < self.end_offset[self.leader()])
        self.end_offset[replica] += 1

    @invariant(
        says="{replica} is in the controller's ISR with log end offset {self.end_offset[replica]}, below the high "
        "watermark {self.high_watermark()}"
    )
    def valid_high_watermark(self):
        """Every replica that the controller may elect has every record that the leader has committed."""
        return all(self.end_offset[replica] >= self.high_watermark() for replica in self.controller_isr)

    @reachable
    def everything_is_committed(self):
        """The high watermark reaches the bound."""
        return self.high_watermark() == self.max_offset

    @reachable
    def follower_lags_behind_high_watermark(self):
        """A record is committed that a replica outside the ISR does not have."""
        return any(self.end_offset[replica] < self.high_watermark() for replica in Replica)

    @reachable
    def controller_is_ahead_of_leader(self):
        """The controller's ISR has a member that is not in the ISR known to the leader."""
        return any(replica not in self.isr for replica in self.controller_isr)


scenarios = [
    Scenario(AsyncIsr, "two_replicas", dict(replicas=2), description="A leader and one follower."),
    Scenario(AsyncIsr, "five_versions", dict(replicas=2, max_version=5), description="Five changes of the ISR."),
    Scenario(AsyncIsr, "three_replicas", description="A leader and two followers."),
    Scenario(AsyncIsr, "three_versions", dict(max_offset=2, max_version=3),
        description="One more record and one more version."),
]  # fmt: skip
