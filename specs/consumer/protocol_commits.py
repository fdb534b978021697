"""Offset commits of the consumer protocol (KIP-848), fenced by member epochs or by assignment epochs (KIP-1251).

Scenarios: entry C13 of docs/consumer.md.
Sources: ConsumerGroup.validateOffsetCommit and createAssignmentEpochValidator of 4.3.1, validateOffsetCommit of 4.2.0;
KIP-1251; CommitRequestManager of Kafka's client.
"""

from checker.language import Bug, Constant, Map, Option, Struct
from checker.language.drawing import Arrow, Drawing, Event
from checker.language.roles import action, invariant, require, step_invariant
from specs.consumer.commits import PollLoop
from specs.consumer.consumer import Offset
from specs.consumer.consumer_protocol import REACHED, SAFE, ConsumerProtocol, Epoch
from specs.consumer.group import ConsumerGroup, Member
from specs.scenario_forms import violates


class Commit(Struct):
    """An OffsetCommit request."""

    epoch: Epoch
    offset: Offset
    shows = "{offset}, epoch {epoch}"


class ProtocolCommits(ConsumerProtocol):
    """`ConsumerProtocol` with one partition, the positions of its owners, and commits in transit.

    `commit_fence`: the coordinator accepts a commit "always"; with the "member_epoch" of the member (4.0 to 4.2); with
    that or an older one if the member "holds" the partition; or with that or an older one, from the epoch on in which
    the partition was assigned to the member ("assignment_epoch", KIP-1251, 4.3).
    """

    partitions = Constant(1, at_least=1, at_most=1)
    records = Constant(1, at_least=1)
    commit_fence = Constant("assignment_epoch", one_of=("always", "member_epoch", "holds", "assignment_epoch"))

    committed = Offset
    assignment_epoch = Map(Member, Epoch)  # the target epoch at which the member was assigned the partition
    position = Map(Member, Option(Offset))  # None: the consumer does not own the partition
    commit = Map(Member, Option(Commit))  # in transit
    owner_refused = Option(Member)  # a member whose commit was refused although the partition was its own all the time

    draws = Drawing(
        *ConsumerProtocol.draws.lanes,
        arrows=(
            *ConsumerProtocol.draws.arrows,
            Arrow("handle_commit", "member", "'coordinator'", "commit {commit[member]}"),
        ),
    ).with_events(
        *ConsumerProtocol.draws.events,
        Event("process", "{member} polls and processes record {position[member]}", "process", "member"),
        Event("send_commit", "{member} commits offset {position[member]}, with epoch {epoch[member]}",
            "commits {position[member]}", "member"),
        Event("handle_commit", "The coordinator {'accepts' if accepts(member, commit[member].epoch) else 'refuses'} "
            "the commit of offset {commit[member].offset} by {member}, sent in epoch {commit[member].epoch}"
            "{'' if accepts(member, commit[member].epoch) else ': its epoch is now ' + str(member_epoch[member])}", "",
            "'coordinator'", "{'refusal' if not accepts(member, commit[member].epoch) else ''}"))  # fmt: skip

    def update_member(self, member, state, epoch, assigned, pending):
        """Store a member; a newly assigned partition gets the epoch. Source: computeNextAssignment of 4.3."""
        if 0 in assigned and 0 not in self.assigned[member]:
            self.assignment_epoch[member] = epoch
        super().update_member(member, state, epoch, assigned, pending)

    @action
    def reconcile(self, member: Member):
        """A consumer applies its assignment; a new owner starts at the committed offset."""
        super().reconcile(member)
        if 0 not in self.owned[member]:
            self.position[member] = None
        elif self.position[member] is None:
            self.position[member] = self.committed

    def drop_all(self, member):
        """Give the partition up."""
        super().drop_all(member)
        self.position[member] = None

    @action
    def process(self, member: Member):
        """A consumer polls and processes the next record."""
        require(self.position[member] is not None and self.position[member] < self.records)
        self.position[member] += 1

    @action
    def send_commit(self, member: Member):
        """A consumer commits its position with its epoch; it need not wait for the response (commitAsync)."""
        require(self.position[member] is not None and self.commit[member] is None)
        require(self.position[member] != self.committed)
        self.commit[member] = Commit(epoch=self.epoch[member], offset=self.position[member])

    @action
    def handle_commit(self, member: Member):
        """The coordinator accepts a commit or refuses it (STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID)."""
        require(self.commit[member] is not None)
        request = self.commit[member]
        self.commit[member] = None
        if self.accepts(member, request.epoch):
            self.committed = request.offset
        elif self.has_owned_since(member, request.epoch):
            self.owner_refused = member

    def accepts(self, member, epoch):
        """Return whether the coordinator accepts a commit. Source: ConsumerGroup.validateOffsetCommit."""
        if self.commit_fence == "always":
            return True
        if member not in self.in_group or epoch > self.member_epoch[member]:
            return False
        if epoch == self.member_epoch[member]:
            return True
        if self.commit_fence == "holds":
            return self.is_held_by(member, 0)
        return self.commit_fence == "assignment_epoch" and self.has_owned_since(member, epoch)

    def has_owned_since(self, member, epoch):
        """Return whether a member owns the partition and has owned it at this epoch of its own."""
        return member in self.in_group and self.is_held_by(member, 0) and self.assignment_epoch[member] <= epoch

    commits_move_forward = ConsumerGroup.commits_move_forward

    @step_invariant(says="offset {self.committed} was committed by a member that does not own the partition")
    def only_owners_commit(self, old):
        """A commit is accepted only from a member that owns the partition, in the coordinator's view."""
        return self.committed == old.committed or any(
            old.commit[member] is not None and self.commit[member] is None and old.is_held_by(member, 0)
            for member in old.in_group
        )

    @invariant(says="{self.owner_refused} owns the partition, and its commit is refused")
    def owners_may_commit(self):
        """No commit of a member is refused if the partition was its own from the commit on."""
        return self.owner_refused is None

    everything_is_committed = PollLoop.everything_is_committed


COMMITS = ["commits_move_forward", "only_owners_commit", "everything_is_committed"]
REPAIRED = dict(reports_unapplied=True)  # the remedy of C10

scenarios = [
    Bug("unfenced_commit", ProtocolCommits, violates={"only_owners_commit": 10, "commits_move_forward": 17},
        size=REPAIRED, faulty=dict(commit_fence="always"), fixed=dict(commit_fence="member_epoch"),
        promises=[*SAFE, *COMMITS, *REACHED],
        description="Without a fence a late commit of the previous owner overwrites that of the next one.",
        remedy="The coordinator accepts commits with the member's epoch, as in 4.0 to 4.2."),
    Bug("c13_owner_refused", ProtocolCommits, violates={"owners_may_commit": 14}, size=REPAIRED,
        faulty=dict(commit_fence="member_epoch"), fixed=dict(commit_fence="assignment_epoch"),
        larger=dict(REPAIRED, records=2), fixed_name="c13_fixed_by_assignment_epochs",
        description="C13: the owner commits while the response with its next epoch is in transit, and is refused.",
        remedy="C13, KIP-1251 (4.3): an older epoch is accepted from the partition's assignment epoch on."),
    violates(ProtocolCommits, "c13_older_epoch_of_an_owner", dict(REPAIRED, commit_fence="holds"),
        {"commits_move_forward": 18},
        "C13: why KIP-1251 compares epochs: a partition moves to another member and back."),
    violates(ProtocolCommits, "c10_commit_of_the_previous_owner", dict(timeouts=1),
        {"only_owners_commit": 17, "commits_move_forward": 24},
        "C10 with commits: the previous owner has the current epoch, and its commit is accepted."),
]  # fmt: skip
