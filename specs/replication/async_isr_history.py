"""AsyncIsr with every version of the ISR in one sequence: the same protocol, for any number of replicas.

The sets of requests and updates of AsyncIsr have capacities that depend on the number of replicas. Here a sequence has
all versions of the ISR, each with the replicas that the leader has asked to add or to remove. The requests and updates
of AsyncIsr follow from it (`refines`), and both specs have the same number of states. The proof for any number of
replicas, records and versions:

    python -m checker prove replication/async_isr_history/three_replicas --unbounded replicas --unbounded max_offset \\
        --unbounded max_version
"""

from checker.language import Constant, Map, Range, Refinement, Scenario, Seq, SetOf, Spec, Struct
from checker.language.drawing import Arrow, Drawing, Lane
from checker.language.roles import action, invariant, lemma, require
from specs.replication.async_isr import AsyncIsr, Version, VersionedIsr
from specs.replication.state import Replica


class IsrVersion(Struct):
    """One version of the ISR, and the replicas that the leader has asked the controller to add to it or to remove."""

    isr: SetOf(Replica)
    requested: SetOf(Replica)
    shows = "{isr}, requested {requested}"


class AsyncIsrHistory(Spec):
    """The leader asks the controller to change the ISR, and continues while it waits for the answer.

    Version v of the ISR is `versions[v].isr`. The controller appends a version. The leader knows one of them, and
    learns newer ones late, in any order of which the version rises, or never.

    Source: KIP-497, in Apache Kafka Partition.PartitionState (PendingExpandIsr, PendingShrinkIsr); TLA+ module AsyncIsr
    (hachikuji/kafka-specification).
    """

    replicas = Constant(3, at_least=2)
    max_offset = Constant(1, at_least=1)
    max_version = Constant(2, at_least=1)

    versions = Seq(IsrVersion, "max_version + 1")

    # Of the leader: the version that it knows, and the members of all ISRs that it has requested since.
    version = Version
    pending_isr = SetOf(Replica)
    end_offset = Map(Replica, Range(0, "max_offset"))

    draws = Drawing(
        Lane("controller", members={"controller_isr": "ISR"}, boxes={"versions": "versions of the ISR"}),
        Lane("leader's view", members={"isr": "ISR", "pending_isr": "requested"},
            facts={"version": "version", "high_watermark": "high watermark"}, crowned={"leader": "leader"}),
        Lane("replica", each=Replica, facts={"end_offset": "log end offset"}),
        arrows=(Arrow("follower_fetch", '"leader\'s view"', "replica", "fetch"),),
    )  # fmt: skip

    refines = Refinement(AsyncIsr, controller_isr=lambda self: self.controller_isr(),
        controller_version=lambda self: self.controller_version(), isr=lambda self: self.isr(),
        requests=lambda self: {
            VersionedIsr(isr=self.changed_isr(version, replica), version=version)
            for version in range(len(self.versions))
            for replica in self.versions[version].requested},
        updates=lambda self: {
            VersionedIsr(isr=self.versions[version].isr, version=version)
            for version in range(len(self.versions))
            if version > 0})  # fmt: skip

    def init(self):
        """Every replica is in sync, the logs are empty."""
        self.write_isr(set(Replica))

    leader = AsyncIsr.leader  # the log, and what is reachable, are those of `AsyncIsr`

    def controller_version(self):
        """Return the newest version."""
        return len(self.versions) - 1

    def controller_isr(self):
        """Return the ISR of the newest version."""
        return self.versions[self.controller_version()].isr

    def isr(self):
        """Return the ISR that the leader knows."""
        return self.versions[self.version].isr

    def may_be_in_isr(self, replica: Replica):
        """Return whether a replica is in the ISR that the leader knows, or in one that it has requested since."""
        return replica in self.isr() or replica in self.pending_isr

    def high_watermark(self):
        """Return the log end offset of the slowest replica that is, or may be, in the ISR."""
        return min(self.end_offset[replica] for replica in self.isr() | self.pending_isr)

    def changed_isr(self, version: Version, replica: Replica):
        """Return the ISR of a version without a replica that is a member of it, or with one that is not."""
        isr = self.versions[version].isr
        return isr - {replica} if replica in isr else isr | {replica}

    def write_isr(self, isr):
        """Write an ISR at the controller in a new version."""
        self.versions.append(IsrVersion(isr=isr, requested=set()))

    def request_change(self, replica: Replica):
        """Ask the controller to add a replica to the ISR that the leader knows, or to remove it."""
        self.pending_isr = self.pending_isr | self.changed_isr(self.version, replica)
        self.versions[self.version].requested.add(replica)

    @action
    def controller_shrink_isr(self, replica: Replica):
        """The controller removes a failed follower from the ISR."""
        require(self.controller_version() < self.max_version)
        require(replica != self.leader())
        require(replica in self.controller_isr())
        self.write_isr(self.controller_isr() - {replica})

    @action
    def controller_handle_request(self, replica: Replica):
        """The controller grants a request that is based on its newest version, and ignores others."""
        require(replica in self.versions[self.controller_version()].requested)
        require(self.controller_version() < self.max_version)
        self.write_isr(self.changed_isr(self.controller_version(), replica))

    @action
    def leader_request_shrink_isr(self, replica: Replica):
        """The leader asks to remove a follower from the ISR."""
        require(replica != self.leader())
        require(replica in self.isr())
        self.request_change(replica)

    @action
    def leader_request_expand_isr(self, replica: Replica):
        """The leader asks to add a follower that has every committed record to the ISR."""
        require(replica not in self.isr())
        require(self.end_offset[replica] >= self.high_watermark())
        self.request_change(replica)

    @action
    def leader_handle_update(self, version: Version):
        """The leader learns a newer ISR. Its earlier requests cannot be granted any more."""
        require(version < len(self.versions))
        require(version > self.version)
        self.version = version
        self.pending_isr = set()

    leader_write = AsyncIsr.leader_write
    follower_fetch = AsyncIsr.follower_fetch

    @invariant(
        says="{replica} is in the controller's ISR with log end offset {self.end_offset[replica]}, below the high "
        "watermark {self.high_watermark()}"
    )
    def valid_high_watermark(self):
        """Every replica that the controller may elect has every record that the leader has committed."""
        return all(self.end_offset[replica] >= self.high_watermark() for replica in self.controller_isr())

    @lemma
    def leader_knows_a_version(self):
        """The controller has written the version that the leader knows."""
        return self.version < len(self.versions)

    @lemma
    def leader_stays_in_sync(self):
        """The leader is in every ISR, and never asks to be removed."""
        return all(self.leader() in version.isr and self.leader() not in version.requested for version in self.versions)

    @lemma
    def later_versions_are_not_requested(self):
        """The leader has no requests that are based on versions that it does not know yet."""
        return all(
            replica not in self.versions[version].requested
            for version in range(len(self.versions))
            if version > self.version
            for replica in Replica
        )

    @lemma
    def requested_replicas_may_be_in_isr(self):
        """The leader counts each replica of a request that may still be granted as a member of the ISR."""
        return all(self.may_be_in_isr(replica) for replica in self.versions[self.version].requested)

    @lemma
    def members_of_later_isrs_may_be_in_isr(self):
        """The leader counts the members of all later ISRs as members of the ISR."""
        return all(
            self.may_be_in_isr(replica)
            for version in range(len(self.versions))
            if version > self.version
            for replica in self.versions[version].isr
        )

    @lemma
    def later_isrs_shrink(self):
        """Without a request, the controller only removes members: each ISR that the leader does not know has fewer."""
        return all(
            replica in self.versions[earlier].isr
            for later in range(len(self.versions))
            for earlier in range(later)
            if earlier > self.version
            for replica in self.versions[later].isr
        )

    everything_is_committed = AsyncIsr.everything_is_committed


scenarios = [
    Scenario(AsyncIsrHistory, "two_replicas", dict(replicas=2), description="A leader and one follower."),
    Scenario(AsyncIsrHistory, "three_replicas", description="A leader and two followers."),
    Scenario(AsyncIsrHistory, "three_versions", dict(max_offset=2, max_version=3),
        description="One more record and one more version."),
]  # fmt: skip
