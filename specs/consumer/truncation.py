"""A consumer's position in a log that an unclean election truncates: offsets alone, and offsets with leader epochs.

Scenarios: entry C6 of docs/consumer.md.
Sources: KIP-320; SubscriptionState (FetchPosition, maybeValidatePositionForCurrentLeader, maybeCompleteValidation),
FetchCollector.handleInitializeErrors, OffsetFetcherUtils, LeaderEpochFileCache.endOffsetFor of Apache Kafka.
"""

from checker.language import Bug, Constant, Option, Range, Scenario, Seq, Spec, Struct
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.consumer.consumer import Offset
from specs.consumer.followers import FetchFromFollower
from specs.scenario_forms import violates


class RecordId(Range):
    """Records are numbered in the order of production."""

    low, high = 0, "records"


class Epoch(Range):
    """Leader epochs."""

    low, high = 0, "elections"


class Record(Struct):
    """A record and the epoch of the leader that appended it."""

    id: RecordId
    epoch: Epoch
    shows = "{id}@{epoch}"


class Committed(Struct):
    """OffsetAndMetadata: an offset, and the epoch of the record before it, if known."""

    offset: Offset
    epoch: Option(Epoch)
    shows = "{offset}@{epoch}"


class TruncatedLog(Spec):
    """The log of the current leader, and one consumer of it.

    A replica that is elected uncleanly has any prefix of the old leader's log. The whole log of the leader is below the
    high watermark here, because the subject is the fate of records that consumers have read. With `validates`, the
    client uses leader epochs (KIP-320, 2.3): a fetch carries the epoch that the client considers current; when that
    epoch changes, the client asks with OffsetsForLeaderEpoch whether the position is still in the log.
    """

    records = Constant(4, at_least=1)
    elections = Constant(1, at_least=0)
    validates = Constant(True)
    auto_offset_reset = Constant("latest", one_of=("earliest", "latest", "none"))
    restarts = Constant(0, at_least=0)
    commits_epoch = Constant(True)  # commitSync() does; an application's OffsetAndMetadata may not
    seeks_to_end = Constant(0, at_least=0)  # the application calls seekToEnd, or starts at the end
    # The remedy: ListOffsets returns a leader epoch, but Kafka's client drops it.
    keeps_epoch_of_list_offsets = Constant(False)

    log = Seq(Record, "records")
    produced = RecordId
    leader_epoch = Epoch
    position = Offset
    position_epoch = Option(Epoch)  # epoch of the last returned record; None: the position has another origin
    known_epoch = Epoch  # the leader epoch for which the position is validated or awaits validation
    awaits_validation = bool
    given_up = bool  # LogTruncationException or OffsetOutOfRangeException: an operator decides
    committed = Committed
    returned = Seq(RecordId, "records * (elections + restarts + 1)")
    first_owed = RecordId  # the application skipped the records before this one
    restarts_left = Range(0, "restarts")
    seeks_left = Range(0, "seeks_to_end")

    draws = Drawing(
        Lane("leader", logs=(Log("log", markers={"position": "position"}, colour="id", called=("record",)),),
            facts={"leader_epoch": "leader epoch"}),
        Lane("consumer", facts={"position": "position", "position_epoch": "epoch of the position",
            "known_epoch": "known leader epoch", "awaits_validation": "awaits validation",
            "given_up": "threw an exception", "committed": "committed"}),
        Lane("application", logs=(Log("returned", end="", colour=".", at=()),)),
        arrows=(
            Arrow("fetch", "'leader'", "'consumer'", "from {position}"),
            Arrow("fetch_out_of_range", "'leader'", "'consumer'", "{position} is out of range"),
            Arrow("validate", "'leader'", "'consumer'", "end of epoch {position_epoch}"),
        ),
    ).with_events(
        Event("produce", "The leader appends record {produced}", at="'leader'"),
        Event("elect", "Another replica leads, with the records below offset {end}", "elected", "'leader'", "election"),
        Event("fetch", "The consumer fetches from offset {position} on", at="'consumer'"),
        Event("fetch_out_of_range", "Offset {position} is out of range, and the consumer {'throws an exception' if "
            "auto_offset_reset == 'none' else 'continues at the ' + ('beginning' if auto_offset_reset == 'earliest' "
            "else 'end')}", "out of range", "'consumer'", "refusal"),
        Event("metadata_update", "The consumer learns of leader epoch {leader_epoch}"
            "{', but its position ' + str(position) + ' has no epoch, so it cannot ask whether the log was truncated' "
            "if position_epoch is None else ''}", at="'consumer'"),
        Event("validate", "Epoch {position_epoch} ends at {end_of(position_epoch)}, as the consumer learns",
            at="'consumer'"),
        Event("commit", "The consumer commits position {position}", "commit {position}", "'consumer'"),
        Event("restart", "A successor begins at the committed offset {committed.offset}", "restart", "'consumer'",
            "restart"),
        Event("seek_to_end", "The application seeks to the end of the log", "seek to the end", "'consumer'"),
    )  # fmt: skip

    def init(self):
        """The log is empty, and the consumer is at its beginning."""
        self.restarts_left = self.restarts
        self.seeks_left = self.seeks_to_end

    # The brokers.

    @action
    def produce(self):
        """The leader appends the next record."""
        require(self.produced < self.records)
        self.log.append(Record(id=self.produced, epoch=self.leader_epoch))
        self.produced += 1

    @action
    def elect(self, end: Offset):
        """Another replica becomes leader with the first `end` records: all of them, or fewer (unclean)."""
        require(self.leader_epoch < self.elections)
        require(end <= len(self.log))
        del self.log[end:]
        self.leader_epoch += 1

    def end_of(self, epoch):
        """Return the end offset of an epoch: the start of the first later epoch, or the end of the log."""
        return sum(1 for record in self.log if record.epoch <= epoch)

    # The consumer.

    def may_fetch(self):
        """Return whether a fetch succeeds: no FENCED_LEADER_EPOCH, no pending validation, no pending exception."""
        is_known = not self.validates or self.known_epoch == self.leader_epoch
        return is_known and not self.awaits_validation and not self.given_up

    @action
    def fetch(self):
        """The consumer fetches all records from its position on."""
        require(self.may_fetch())
        require(self.position < len(self.log))
        for record in self.log[self.position :]:
            self.returned.append(record.id)
        self.position_epoch = self.log[len(self.log) - 1].epoch
        self.position = len(self.log)

    @action
    def fetch_out_of_range(self):
        """OFFSET_OUT_OF_RANGE: the log ends before the position. Source: FetchCollector.handleInitializeErrors."""
        require(self.may_fetch())
        require(self.position > len(self.log))
        if self.auto_offset_reset == "none":
            self.given_up = True
        else:
            self.seek(0 if self.auto_offset_reset == "earliest" else len(self.log))

    def seek(self, offset):
        """Move to an offset from ListOffsets (OffsetFetcherUtils.resetPositionIfNeeded: "skip validation")."""
        self.position = offset
        self.position_epoch = self.leader_epoch if self.keeps_epoch_of_list_offsets else None

    @action
    def metadata_update(self):
        """The client learns of the new leader, by FENCED_LEADER_EPOCH or after metadata.max.age.ms."""
        require(self.validates)
        require(self.known_epoch < self.leader_epoch)
        self.known_epoch = self.leader_epoch
        self.awaits_validation = self.position_epoch is not None

    @action
    def validate(self):
        """The client receives the OffsetsForLeaderEpoch response. Source: SubscriptionState.maybeCompleteValidation.

        If the position's epoch ends before the position, the log was truncated. The client moves to the end of the
        epoch, with earliest and latest alike; with none it throws LogTruncationException.
        """
        require(self.awaits_validation)
        require(self.known_epoch == self.leader_epoch)
        end = self.end_of(self.position_epoch)
        self.awaits_validation = False
        if end < self.position:
            if self.auto_offset_reset == "none":
                self.given_up = True
            else:
                self.position = end
                self.position_epoch = self.log[end - 1].epoch if end > 0 else None

    @action
    def commit(self):
        """The consumer commits its position, with the position's epoch."""
        require(self.restarts > 0 and not self.given_up)
        require(self.committed.offset < self.position)
        self.committed = Committed(offset=self.position, epoch=self.position_epoch if self.commits_epoch else None)

    @action
    def restart(self):
        """A successor starts at the committed offset. Source: ConsumerUtils.refreshCommittedOffsets."""
        require(self.restarts_left > 0 and not self.given_up)
        self.restarts_left -= 1
        self.position = self.committed.offset
        self.position_epoch = self.committed.epoch
        self.known_epoch = self.leader_epoch
        self.awaits_validation = self.validates and self.position_epoch is not None

    @action
    def seek_to_end(self):
        """The application seeks to the end of the log, to read only new records."""
        require(self.seeks_left > 0 and not self.given_up)
        require(not self.validates or self.known_epoch == self.leader_epoch)
        self.seeks_left -= 1
        self.seek(len(self.log))
        self.awaits_validation = False
        self.first_owed = self.produced

    # Properties.

    @step_invariant(says="record {record} is skipped: position {self.position}, returned {self.returned}")
    def no_gap(self, old):
        """When poll returns records, it has returned all earlier records of the log."""
        return len(self.returned) == len(old.returned) or all(
            record.id in self.returned or record.id < self.first_owed for record in self.log[: self.position]
        )

    @step_invariant(says="record {record} is skipped: position {old.position}, then {self.position}, log {self.log}")
    def reset_skips_nothing(self, old):
        """When the position moves back, all records below the new position were returned."""
        return (
            self.position >= old.position
            or self.awaits_validation
            or all(record.id in self.returned or record.id < self.first_owed for record in self.log[: self.position])
        )

    no_duplicate = FetchFromFollower.no_duplicate

    @invariant(says="record {record} was returned, but is not in the log {self.log}")
    def reads_are_stable(self):
        """Every returned record is in the log."""
        return all(any(stored.id == record for stored in self.log) for record in self.returned)

    @invariant(says="position {self.position}, log {self.log}")
    def validated_position_is_in_the_log(self):
        """If the client may fetch from a position with an epoch, the position is not past the end of that epoch."""
        return (
            not self.validates
            or not self.may_fetch()
            or self.position_epoch is None
            or self.position <= self.end_of(self.position_epoch)
        )

    @reachable
    def a_new_record_takes_an_old_place(self):
        """After the elections the last record is returned, and an earlier returned record is lost."""
        return self.elections == 0 or (
            self.leader_epoch == self.elections
            and (not self.validates or self.known_epoch == self.leader_epoch)
            and self.records - 1 in self.returned
            and any(all(stored.id != record for stored in self.log) for record in self.returned)
        )

    @reachable
    def starts_at_a_commit(self):
        """If the consumer may restart, it restarts at a committed offset."""
        return self.restarts == 0 or (self.restarts_left == 0 and self.position == self.committed.offset > 0)

    @reachable
    def skips_on_purpose(self):
        """If the application may seek to the end, it skips a record by that."""
        return self.seeks_to_end == 0 or self.first_owed > len(self.returned)


EPOCHS = ["no_gap", "reset_skips_nothing", "validated_position_is_in_the_log"]
GUARDS = ["a_new_record_takes_an_old_place", "starts_at_a_commit", "skips_on_purpose"]

scenarios = [
    Bug("c6_truncation_unnoticed", TruncatedLog, violates={"no_gap": 7}, faulty=dict(validates=False),
        promises=[*EPOCHS, *GUARDS, "no_duplicate"], fixed_name="c6_fixed_validation",
        description="C6 before KIP-320: the log is truncated below the position and refilled; the consumer reads on.",
        remedy="C6 with KIP-320: the client validates its position and moves back to the point of divergence."),
    Scenario(TruncatedLog, "c6_fixed_validation_larger", dict(records=5, elections=2, restarts=1),
        properties=[*EPOCHS, *GUARDS], description="C6 with KIP-320, five records, two elections, a restart."),
    violates(TruncatedLog, "c6_reset_to_the_end", dict(validates=False), {"reset_skips_nothing": 7},
        "C6 before KIP-320: the truncated log ends before the position; latest skips its new records."),
    violates(TruncatedLog, "c6_reset_to_the_beginning", dict(validates=False, auto_offset_reset="earliest"),
        {"no_duplicate": 7},
        "C6 before KIP-320: the truncated log ends before the position; earliest returns records again."),
    Scenario(TruncatedLog, "c6_fixed_none", dict(records=5, elections=2, auto_offset_reset="none"),
        properties=[*EPOCHS, "no_duplicate"],
        description="C6 with KIP-320 and auto.offset.reset=none: LogTruncationException, and an operator decides."),
    violates(TruncatedLog, "c6_committed_without_epoch", dict(restarts=1, commits_epoch=False), {"no_gap": 9},
        "C6 with KIP-320: a successor does not validate a committed offset without an epoch."),
    Bug("c6_position_without_epoch", TruncatedLog, violates={"no_gap": 8}, size=dict(seeks_to_end=1, restarts=1),
        faulty=dict(restarts=0), fixed=dict(keeps_epoch_of_list_offsets=True),
        larger=dict(records=5, elections=2, seeks_to_end=1), promises=[*EPOCHS, *GUARDS],
        fixed_name="c6_fixed_position_with_epoch",
        description="C6 with KIP-320: a position from ListOffsets has no epoch, so a new leader does not validate it.",
        remedy="C6 where a position keeps the epoch that ListOffsets returns: the client validates it."),
    Scenario(TruncatedLog, "c6_read_then_gone", expect={"reads_are_stable": 4}, properties=["reads_are_stable"],
        description="C6: a record that was read is lost; no client can prevent that."),
]  # fmt: skip
