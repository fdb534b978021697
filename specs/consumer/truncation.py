"""A consumer's position in a log that an unclean election truncates: offsets alone, and offsets with leader epochs.

Scenarios: entry C6 of docs/consumer.md.
Sources: KIP-320; SubscriptionState (FetchPosition, maybeValidatePositionForCurrentLeader, maybeCompleteValidation),
FetchCollector.handleInitializeErrors, OffsetFetcherUtils, LeaderEpochFileCache.endOffsetFor of Apache Kafka.
"""

from checker.language import (
    Arrow,
    Constant,
    Drawing,
    Lane,
    Log,
    Option,
    Range,
    Scenario,
    Seq,
    Spec,
    Struct,
    action,
    invariant,
    reachable,
    require,
    step_invariant,
)


class Offset(Range):
    """An offset, or the end of the log."""

    low, high = 0, "records"


class RecordId(Range):
    """Records are numbered in the order in which they are produced."""

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
    """OffsetAndMetadata: the offset, and the epoch of the record before it, if known."""

    offset: Offset
    epoch: Option(Epoch)
    shows = "{offset}@{epoch}"


class TruncatedLog(Spec):
    """The log of whoever leads, and one consumer of it.

    A replica that is elected uncleanly has any prefix of the old leader's log. What is in the leader's log is below the
    high watermark here: the question is what happens to what consumers have read. `validates` says whether the client
    knows leader epochs (KIP-320, 2.3): a fetch carries the epoch that the client takes for the current one, and where
    that changes, OffsetsForLeaderEpoch says whether the position is still in the log.
    """

    records = Constant(4, at_least=1)
    elections = Constant(1, at_least=0)
    validates = Constant(True)
    auto_offset_reset = Constant("latest", one_of=("earliest", "latest", "none"))
    restarts = Constant(0, at_least=0)
    commits_epoch = Constant(True)  # commitSync() does; an OffsetAndMetadata of one's own may not
    seeks_to_end = Constant(0, at_least=0)  # the application calls seekToEnd, or starts at the end
    keeps_epoch_of_list_offsets = Constant(
        False
    )  # the remedy: ListOffsets answers with an epoch, Kafka's client drops it

    log = Seq(Record, "records")
    produced = RecordId
    leader_epoch = Epoch
    position = Offset
    position_epoch = Option(Epoch)  # of the last record returned; None: the position came from elsewhere
    known_epoch = Epoch  # the leader epoch that the position was validated for, or is about to be
    awaits_validation = bool
    given_up = bool  # LogTruncationException or OffsetOutOfRangeException: a person has to decide
    committed = Committed
    returned = Seq(RecordId, "records * (elections + restarts + 1)")
    first_owed = RecordId  # earlier records were skipped on purpose
    restarts_left = Range(0, "restarts")
    seeks_left = Range(0, "seeks_to_end")

    draws = Drawing(
        Lane(
            "leader",
            logs=(Log("log", markers={"position": "position"}, colour="id", called=("record",)),),
            facts={"leader_epoch": "leader epoch"},
        ),
        Lane(
            "consumer",
            facts={
                "position": "position",
                "position_epoch": "epoch of the position",
                "known_epoch": "leader epoch it knows",
                "awaits_validation": "awaits validation",
                "given_up": "raised an error",
                "committed": "committed",
            },
        ),
        Lane("application", logs=(Log("returned", end="", colour=".", at=()),)),
        arrows=(
            Arrow("fetch", "'leader'", "'consumer'", "from {position}"),
            Arrow("fetch_out_of_range", "'leader'", "'consumer'", "{position} is out of range"),
            Arrow("validate", "'leader'", "'consumer'", "end of epoch {position_epoch}"),
        ),
    )

    def init(self):
        """An empty log, and a consumer at its beginning, which is also its end."""
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
        """Another replica leads, which has the first `end` records: all of them, or not all (unclean)."""
        require(self.leader_epoch < self.elections)
        require(end <= len(self.log))
        del self.log[end:]
        self.leader_epoch += 1

    def end_of(self, epoch):
        """Return where the leader's log leaves an epoch: the start of the first later one, or its end."""
        return sum(1 for record in self.log if record.epoch <= epoch)

    # The consumer.

    def may_fetch(self):
        """Whether the leader answers: not with FENCED_LEADER_EPOCH, and no validation or person has to come first."""
        is_known = not self.validates or self.known_epoch == self.leader_epoch
        return is_known and not self.awaits_validation and not self.given_up

    @action
    def fetch(self):
        """Return everything from the position on."""
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
        """Go to an offset that ListOffsets returned (OffsetFetcherUtils.resetPositionIfNeeded: "skip validation")."""
        self.position = offset
        self.position_epoch = self.leader_epoch if self.keeps_epoch_of_list_offsets else None

    @action
    def metadata_update(self):
        """The client learns of the new leader: by FENCED_LEADER_EPOCH, or because metadata.max.age.ms is over."""
        require(self.validates)
        require(self.known_epoch < self.leader_epoch)
        self.known_epoch = self.leader_epoch
        self.awaits_validation = self.position_epoch is not None

    @action
    def validate(self):
        """OffsetsForLeaderEpoch answers. Source: SubscriptionState.maybeCompleteValidation.

        A log that leaves the position's epoch before the position was truncated: go where it does, whatever the
        auto.offset.reset; with none raise LogTruncationException.
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
        """Commit the position, with its epoch."""
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
        """The application wants what comes from now on."""
        require(self.seeks_left > 0 and not self.given_up)
        require(not self.validates or self.known_epoch == self.leader_epoch)
        self.seeks_left -= 1
        self.seek(len(self.log))
        self.awaits_validation = False
        self.first_owed = self.produced

    # Properties.

    @step_invariant(says="record {record} is skipped: position {self.position}, returned {self.returned}")
    def no_gap(self, old):
        """When records are returned, every record of the log before them has been."""
        return len(self.returned) == len(old.returned) or all(
            record.id in self.returned or record.id < self.first_owed for record in self.log[: self.position]
        )

    @step_invariant(says="record {record} is skipped: position {old.position}, then {self.position}, log {self.log}")
    def reset_skips_nothing(self, old):
        """Where the position goes back, it goes back to the first record that was not returned, or further."""
        return (
            self.position >= old.position
            or self.awaits_validation
            or all(record.id in self.returned or record.id < self.first_owed for record in self.log[: self.position])
        )

    @invariant(says="record {record} is returned {self.returned.count(record)} times: {self.returned}")
    def no_duplicate(self):
        """No record is returned twice."""
        return all(self.returned.count(record) <= 1 for record in self.returned)

    @invariant(says="record {record} was returned, and is not in the log {self.log}")
    def reads_are_stable(self):
        """What was returned is in the log."""
        return all(any(stored.id == record for stored in self.log) for record in self.returned)

    @invariant(says="position {self.position}, log {self.log}")
    def validated_position_is_in_the_log(self):
        """Where the client may fetch from a position with an epoch, the log has that epoch up to there, or later."""
        return (
            not self.validates
            or not self.may_fetch()
            or self.position_epoch is None
            or self.position <= self.end_of(self.position_epoch)
        )

    @reachable
    def a_new_record_takes_an_old_place(self):
        """After the elections the last record is returned, and one that was returned is gone."""
        return self.elections == 0 or (
            self.leader_epoch == self.elections
            and (not self.validates or self.known_epoch == self.leader_epoch)
            and self.records - 1 in self.returned
            and any(all(stored.id != record for stored in self.log) for record in self.returned)
        )

    @reachable
    def starts_at_a_commit(self):
        """Where the consumer restarts, it does at a committed offset."""
        return self.restarts == 0 or (self.restarts_left == 0 and self.position == self.committed.offset > 0)

    @reachable
    def skips_on_purpose(self):
        """Where the application may go to the end, it skips a record by that."""
        return self.seeks_to_end == 0 or self.first_owed > len(self.returned)


EPOCHS = ["no_gap", "reset_skips_nothing", "validated_position_is_in_the_log"]
GUARDS = ["a_new_record_takes_an_old_place", "starts_at_a_commit", "skips_on_purpose"]

scenarios = [
    Scenario(
        TruncatedLog,
        "c6_truncation_unnoticed",
        dict(validates=False),
        expect={"no_gap": 7},
        properties=["no_gap"],
        description="C6 before KIP-320: the log is truncated below the position and refilled; the consumer reads on.",
    ),
    Scenario(
        TruncatedLog,
        "c6_reset_to_the_end",
        dict(validates=False),
        expect={"reset_skips_nothing": 7},
        properties=["reset_skips_nothing"],
        description="C6 before KIP-320: the truncated log ends before the position; latest skips its new records.",
    ),
    Scenario(
        TruncatedLog,
        "c6_reset_to_the_beginning",
        dict(validates=False, auto_offset_reset="earliest"),
        expect={"no_duplicate": 7},
        properties=["no_duplicate"],
        description="C6 before KIP-320: the truncated log ends before the position; earliest returns records again.",
    ),
    Scenario(
        TruncatedLog,
        "c6_fixed_validation",
        properties=[*EPOCHS, *GUARDS, "no_duplicate"],
        description="C6 with KIP-320: the position is validated, and goes back to where the log diverges.",
    ),
    Scenario(
        TruncatedLog,
        "c6_fixed_validation_larger",
        dict(records=5, elections=2, restarts=1),
        properties=[*EPOCHS, *GUARDS],
        description="C6 with KIP-320, five records, two elections, a restart.",
    ),
    Scenario(
        TruncatedLog,
        "c6_fixed_none",
        dict(records=5, elections=2, auto_offset_reset="none"),
        properties=["no_gap", "reset_skips_nothing", "validated_position_is_in_the_log", "no_duplicate"],
        description="C6 with KIP-320 and auto.offset.reset=none: LogTruncationException, and a person decides.",
    ),
    Scenario(
        TruncatedLog,
        "c6_committed_without_epoch",
        dict(restarts=1, commits_epoch=False),
        expect={"no_gap": 9},
        properties=["no_gap"],
        description="C6 with KIP-320: a committed offset without an epoch is not validated when the successor starts.",
    ),
    Scenario(
        TruncatedLog,
        "c6_position_without_epoch",
        dict(seeks_to_end=1),
        expect={"no_gap": 8},
        properties=["no_gap"],
        description="C6 with KIP-320: a position from ListOffsets has no epoch, so a new leader does not validate it.",
    ),
    Scenario(
        TruncatedLog,
        "c6_fixed_position_with_epoch",
        dict(seeks_to_end=1, restarts=1, keeps_epoch_of_list_offsets=True),
        properties=[*EPOCHS, *GUARDS],
        description="C6 where a position keeps the epoch that ListOffsets returns: it is validated like any other.",
    ),
    Scenario(
        TruncatedLog,
        "c6_fixed_position_with_epoch_larger",
        dict(records=5, elections=2, seeks_to_end=1, keeps_epoch_of_list_offsets=True),
        properties=[*EPOCHS, *GUARDS],
        description="The same with five records and two elections.",
    ),
    Scenario(
        TruncatedLog,
        "c6_read_then_gone",
        expect={"reads_are_stable": 4},
        properties=["reads_are_stable"],
        description="C6: what no client can help against: the record that was read is gone.",
    ),
]
