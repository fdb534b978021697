"""Fetches as messages: a follower's request, the leader's answer, and its effect on the follower."""

from checker.language import (
    Map,
    Option,
    Range,
    SetOf,
    Struct,
    action,
    invariant,
    reachable,
    require,
    step_invariant,
)
from specs.replication.acknowledging import BrokerEpoch
from specs.replication.isr_changes import IsrChanges
from specs.replication.leader_epochs import UNDEFINED, EpochEnd, Offset
from specs.replication.state import LeaderEpoch, Record, Replica


class FetchRequest(Struct):
    """A follower's fetch: its log end offset and the epochs that fetches carry since some version.

    `last_epoch` is the epoch of the follower's last record (since 2.7; -1 before, or if there is no record).
    """

    leader: Replica
    leader_epoch: LeaderEpoch
    broker_epoch: BrokerEpoch
    offset: Offset
    last_epoch: Range(-1, "max_leader_epoch")
    shows = "fetch {offset} (last e{last_epoch}) in e{leader_epoch}"


class FetchResponse(Struct):
    """A leader's answer: the next record and the high watermark, or the offset at which the logs diverge."""

    record: Option(Record)
    high_watermark: Offset
    diverging: Option(EpochEnd)
    shows = "{record}, HW {high_watermark}, diverging: {diverging}"


class Fetching(IsrChanges, abstract=True):
    """Followers fetch one record at a time. A fetch shows the leader that the follower has every earlier record.

    So a record counts only with the fetch after the one that brought it, and the follower learns that from the answer
    to this later fetch: its high watermark is one fetch late.

    A request stays in flight until it is handled or the follower sends another one. The leader may get it long after
    the follower has turned to another leader. An answer that the follower does not wait for any more counts as lost.

    Source: Partition.fetchRecords, AbstractFetcherThread.processFetchRequest; KIP-320, KAFKA-13141, KAFKA-14704,
    KAFKA-15510, KAFKA-18723.
    """

    fetches = Map(Replica, Option(FetchRequest))
    answers = Map(Replica, Option(FetchResponse))
    forgetful = SetOf(Replica)  # followers that have forgotten the epoch of their last record

    def follows(self, replica: Replica):
        """Return whether a broker is alive and follows a leader."""
        return replica in self.alive and self.leader[replica] is not None and self.leader[replica] != replica

    def may_fetch(self, follower):
        """Return whether a follower may fetch. `Roles` adds that it has truncated."""
        return self.follows(follower)

    @action
    def follower_fetch(self, follower: Replica):
        """A follower asks its leader for the records from its log end offset on."""
        require(self.may_fetch(follower))
        require(self.answers[follower] is None)
        request = FetchRequest(
            leader=self.leader[follower],
            leader_epoch=self.leader_epoch[follower],
            broker_epoch=self.broker_epoch[follower],
            offset=len(self.log[follower]),
            last_epoch=self.last_fetched_epoch(follower),
        )
        require(self.fetches[follower] != request)
        self.fetches[follower] = request

    def last_fetched_epoch(self, follower):
        """Return the epoch of the follower's last record, UNDEFINED if fetches do not carry it."""
        if self.truncation != "on_fetch" or follower in self.forgetful:
            return UNDEFINED
        return self.latest_epoch(follower)

    def diverging(self, leader, request):
        """Return the end of the follower's last epoch in the leader's log, None if the logs do not diverge.

        A fetch without an epoch past the leader's log end is out of range: then the leader's log end is returned.
        """
        found = self.end_offset_for(leader, request.last_epoch)
        if found.end == UNDEFINED and request.offset > len(self.log[leader]):
            return EpochEnd(epoch=UNDEFINED, end=len(self.log[leader]))
        if found.end != UNDEFINED and (found.epoch < request.last_epoch or found.end < request.offset):
            return found
        return None

    @action
    def leader_handle_fetch(self, follower: Replica):
        """A leader handles a fetch: it records the follower's progress and answers."""
        request = self.fetches[follower]
        require(request is not None)
        leader = request.leader
        require(self.leads(leader))
        require(not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader])
        self.fetches[follower] = None
        diverging = self.diverging(leader, request)
        if diverging is None or self.counts_diverging_fetch:
            self.note_progress(leader, follower, request)
        if self.follows(follower) and self.leader[follower] == leader and self.is_waiting(follower, request):
            self.answer(leader, follower, request, diverging)

    def is_waiting(self, follower, request):
        """Return whether the follower still waits for the answer."""
        return request.leader_epoch == self.leader_epoch[follower] and request.offset == len(self.log[follower])

    def note_progress(self, leader, follower, request):
        """Record that the follower has every record before the requested offset."""
        self.remote_end[leader][follower] = min(request.offset, len(self.log[leader]))
        self.remote_broker_epoch[leader][follower] = request.broker_epoch
        self.ask_to_join(leader, follower)
        self.advance_high_watermark(leader)

    def answer(self, leader, follower, request, diverging):
        """Answer a fetch if there is news; otherwise it waits at the leader until the follower sends another."""
        has_record = diverging is None and request.offset < len(self.log[leader])
        if (
            has_record
            or diverging is not None
            or min(self.high_watermark[leader], request.offset) != self.high_watermark[follower]
        ):
            self.answers[follower] = FetchResponse(
                record=self.log[leader][request.offset] if has_record else None,
                high_watermark=self.high_watermark[leader],
                diverging=diverging,
            )

    @action
    def follower_receive(self, follower: Replica):
        """A follower gets the answer: it truncates, or appends the record and adopts the high watermark."""
        response = self.answers[follower]
        require(response is not None)
        self.answers[follower] = None
        self.forgetful.discard(follower)
        if self.forgets_last_epoch and response.record is None and response.diverging is None:
            self.forgetful.add(follower)
        if response.diverging is not None:
            self.truncate(follower, self.truncation_offset(follower, response.diverging))
        else:
            if self.sends_lazily and response.record is not None:
                self.append_from_leaders_file(follower)
            elif response.record is not None:
                self.append(follower, response.record)
            self.high_watermark[follower] = min(response.high_watermark, len(self.log[follower]))

    def append_from_leaders_file(self, follower):
        """KAFKA-18723: append what the leader's file has when it is sent; since 4.0 no record of a newer epoch."""
        leader = self.leader[follower]
        offset = len(self.log[follower])
        if offset < len(self.log[leader]):
            record = self.log[leader][offset]
            if not self.refuses_newer_records or record.epoch <= self.leader_epoch[follower]:
                self.append(follower, record)

    @action
    def follower_take_high_watermark(self, follower: Replica):
        """KAFKA-14704: the follower adopts the high watermark of a diverging answer, and truncates afterwards."""
        require(self.high_watermark_before_truncation)
        response = self.answers[follower]
        require(response is not None)
        require(response.diverging is not None)
        high_watermark = min(response.high_watermark, len(self.log[follower]))
        require(high_watermark > self.high_watermark[follower])
        self.high_watermark[follower] = high_watermark

    @invariant(
        says="{leader} counts on {follower} up to offset {self.remote_end[leader][follower]}, but at offset {offset} "
        "{leader} has {self.log[leader][offset]} and {follower} has {self.log[follower][offset]}"
    )
    def counted_followers_agree(self):
        """A follower has the records that its leader counts on, while both are in the same leader epoch."""
        return all(
            offset >= len(self.log[follower]) or self.log[follower][offset] == self.log[leader][offset]
            for leader in Replica
            if self.leads(leader)
            for follower in Replica
            if self.leader[follower] == leader and self.leader_epoch[follower] == self.leader_epoch[leader]
            for offset in range(self.remote_end[leader][follower])
        )

    @step_invariant(says="{follower} received a request to truncate, and its log is still {self.log[follower]}")
    def truncation_makes_progress(self, old):
        """A follower that must truncate drops a record or an epoch; otherwise it would be asked again forever."""
        return all(
            len(self.log[follower]) < len(old.log[follower]) or self.latest_epoch(follower) < old.latest_epoch(follower)
            for follower in Replica
            if old.has_diverging_answer(follower)
            and not self.has_diverging_answer(follower)
            and self.leader_epoch[follower] == old.leader_epoch[follower]
        )

    def has_diverging_answer(self, follower):
        """Return whether a diverging answer is in flight to a follower."""
        response = self.answers[follower]
        return response is not None and response.diverging is not None

    @reachable
    def high_watermark_is_one_fetch_late(self):
        """A follower has a record that its leader has committed, and does not know that it is committed."""
        return any(
            self.leader[follower] == leader
            and self.high_watermark[follower] < min(self.high_watermark[leader], len(self.log[follower]))
            for leader in Replica
            for follower in Replica
            if leader != follower
        )
