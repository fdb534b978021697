"""5. Followers fetch, one record at a time."""

from checker.language.roles import action, require
from specs.replication.partition_state import (
    UNDEFINED,
    EpochEnd,
    FetchRequest,
    FetchResponse,
    Offset,
    PartitionVariables,
)
from specs.replication.state import Replica


class Fetches(PartitionVariables, abstract=True):
    """A follower fetches, and its leader counts the fetch and answers.

    A fetch shows the leader that the follower has every earlier record. So a record counts only with the fetch
    after the one that brought it, and the follower learns that from the answer to this later fetch: its high
    watermark is one fetch late. A request stays in flight until it is handled or the follower sends another one.
    The leader may get it long after the follower has turned to another leader. An answer that the follower does not
    wait for any more counts as lost.
    """

    @action
    def follower_fetch(self, follower: Replica):
        """A follower that has truncated asks its leader for the records from its log end offset on.

        Source: AbstractFetcherThread.maybeFetch, RemoteLeaderEndPoint.buildFetch.
        """
        require(self.follows(follower) and follower not in self.truncating)
        require(self.answers[follower] is None)
        request = FetchRequest(
            leader=self.leader[follower],
            leader_epoch=self.leader_epoch[follower],
            broker_epoch=self.broker_epoch[follower],
            offset=len(self.log[follower]),
            last_epoch=self.last_fetched_epoch(follower),
        )
        require(self.fetches[follower] != request)
        if self.fetches[follower] is not None and self.fetches[follower].leader != request.leader:
            self.leave_fetch(follower)
        self.fetches[follower] = request
        self.parked.discard(follower)

    def leave_fetch(self, follower):
        """Keep a fetch in flight after its follower has turned to another leader, or has died. The oldest may be lost.

        Its answer would change nothing.
        """
        former = self.fetches[follower]
        if self.fetches_of_former_connections > 0 and former is not None and follower not in self.parked:
            if len(self.former_fetches[follower]) == self.fetches_of_former_connections:
                del self.former_fetches[follower][0]
            self.former_fetches[follower].append(former)

    @action
    def leader_handle_former_fetch(self, follower: Replica):
        """A leader counts a fetch of a follower that fetches from another leader by now, or has died since.

        Source: Partition.fetchRecords; SocketServer, which reads what arrived before a pause.
        """
        require(len(self.former_fetches[follower]) > 0)
        request = self.former_fetches[follower][0]
        leader = request.leader
        require(self.leads(leader))
        require(not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader])
        del self.former_fetches[follower][0]
        if self.diverging(leader, request) is None or self.counts_diverging_fetch:
            self.note_progress(leader, follower, request)

    def last_fetched_epoch(self, follower):
        """Return the epoch of the follower's last record, UNDEFINED if fetches do not carry it."""
        if self.truncation != "on_fetch" or follower in self.forgetful:
            return UNDEFINED
        return self.latest_epoch(follower)

    @action
    def leader_handle_fetch(self, follower: Replica):
        """A leader handles a fetch: it records the follower's progress and answers.

        Source: Partition.fetchRecords; KIP-320, KAFKA-13141.
        """
        request = self.fetches[follower]
        require(request is not None)
        require(follower not in self.parked)
        leader = request.leader
        require(self.leads(leader))
        require(not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader])
        high_watermark = self.high_watermark[leader]
        diverging = self.diverging(leader, request)
        if diverging is None or self.counts_diverging_fetch:
            self.note_progress(leader, follower, request)
        if self.parks_fetches and diverging is None and request.offset >= len(self.log[leader]):
            self.parked.add(follower)
        else:
            self.fetches[follower] = None
            self.answer_if_awaited(
                leader,
                follower,
                request,
                diverging,
                high_watermark if self.parks_fetches else self.high_watermark[leader],
            )

    @action
    def leader_park_fetch(self, follower: Replica):
        """A leader handles a fetch, and a record arrives after it has read its log: the fetch is parked all the same.

        Source: ReplicaManager.fetchMessages, which reads the log and parks the fetch without a common lock.
        """
        require(self.parks_fetches)
        request = self.fetches[follower]
        require(request is not None)
        require(follower not in self.parked)
        leader = request.leader
        require(self.leads(leader) and request.offset < len(self.log[leader]))
        require(not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader])
        require(self.diverging(leader, request) is None)
        self.note_progress(leader, follower, request)
        self.parked.add(follower)

    @action
    def leader_answer_as_read(self, follower: Replica, committed: Offset, has_record: bool):
        """A leader handles a fetch and answers with what it read before other steps came in between.

        It counts the fetch after it has read its log. In the meantime a record may arrive, and another fetch may raise
        the high watermark: the answer has an earlier one. It may also lack a record, or be sent without one, because
        other partitions use up its size or have records. The model does not know when the leader has read: it allows
        each high watermark that the follower may lack.

        Source: Partition.fetchRecords, ReplicaManager.fetchMessages (minBytes, minOneMessage).
        """
        require(self.reads_before_counting)
        request = self.fetches[follower]
        require(request is not None)
        require(follower not in self.parked)
        leader = request.leader
        require(self.leads(leader))
        require(not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader])
        require(self.diverging(leader, request) is None)
        require(self.follows(follower) and self.leader[follower] == leader and self.is_waiting(follower, request))
        require(self.high_watermark[follower] <= committed)
        require(committed <= self.high_watermark[leader])
        if has_record:
            require(request.offset < len(self.log[leader]))
            require(committed < self.high_watermark[leader])  # else it is `leader_handle_fetch`
        else:
            require(min(committed, request.offset) != self.high_watermark[follower])
        self.note_progress(leader, follower, request)
        self.fetches[follower] = None
        self.answers[follower] = FetchResponse(
            record=self.log[leader][request.offset] if has_record else None, high_watermark=committed, diverging=None
        )

    @action
    def leader_answer_parked_fetch(self, follower: Replica):
        """A leader answers a parked fetch: a record has arrived, the logs diverge by now, or fetch.max.wait.ms is over.

        It reads its log and its high watermark again, and does not count the fetch again. If it leads no longer, or in
        another epoch, the answer is an error and changes nothing. Source: DelayedFetch.onComplete.
        """
        require(follower in self.parked)
        request = self.fetches[follower]
        leader = request.leader
        self.parked.discard(follower)
        self.fetches[follower] = None
        if self.leads(leader) and (not self.fences_fetches or request.leader_epoch == self.leader_epoch[leader]):
            diverging = self.diverging(leader, request)
            self.answer_if_awaited(leader, follower, request, diverging, self.high_watermark[leader])

    @action
    def leader_answer_without_record(self, follower: Replica):
        """A parked fetch is answered without the record that it waits for: other partitions use up the answer's size.

        Source: ReplicaManager.readFromLog (replica.fetch.response.max.bytes, minOneMessage for one partition only).
        """
        require(follower in self.parked)
        request = self.fetches[follower]
        leader = request.leader
        require(self.leads(leader) and request.leader_epoch == self.leader_epoch[leader])
        require(request.offset < len(self.log[leader]) and self.diverging(leader, request) is None)
        require(self.follows(follower) and self.leader[follower] == leader and self.is_waiting(follower, request))
        self.parked.discard(follower)
        self.fetches[follower] = None
        self.answers[follower] = FetchResponse(record=None, high_watermark=self.high_watermark[leader], diverging=None)

    def answer_if_awaited(self, leader, follower, request, diverging, high_watermark):
        """Answer a fetch, unless its follower has turned to another leader or does not wait for the answer any more."""
        if self.follows(follower) and self.leader[follower] == leader and self.is_waiting(follower, request):
            self.answer(leader, follower, request, diverging, high_watermark)

    def diverging(self, leader, request):
        """Return the end of the follower's last epoch in the leader's log, None if the logs do not diverge.

        A fetch is out of range if the leader does not know the follower's last epoch, or if it carries none and is past
        the leader's log end. The follower then truncates to the leader's log end, if its own is larger.
        Source: Partition.readRecords, AbstractFetcherThread.fetchOffsetAndTruncate.
        """
        found = self.end_offset_for(leader, request.last_epoch)
        if found.end == UNDEFINED and (request.last_epoch != UNDEFINED or request.offset > len(self.log[leader])):
            return EpochEnd(epoch=UNDEFINED, end=len(self.log[leader]))
        if found.end != UNDEFINED and (found.epoch < request.last_epoch or found.end < request.offset):
            return found
        return None

    def note_progress(self, leader, follower, request):
        """Record that the follower has every record before the requested offset.

        Source: Partition.updateFollowerFetchState.
        """
        self.remote_end[leader][follower] = min(request.offset, len(self.log[leader]))
        self.remote_broker_epoch[leader][follower] = request.broker_epoch
        if not self.asks_to_join_later:
            self.ask_to_join(leader, follower)
        self.advance_high_watermark(leader)

    def is_waiting(self, follower, request):
        """Return whether the follower still waits for the answer.

        Source: AbstractFetcherThread.processFetchRequest; since KAFKA-18723 it compares the leader epoch too.
        """
        if not self.keeps_epochs_without_records and request.last_epoch != self.last_fetched_epoch(follower):
            return False  # the follower has restarted since the fetch
        return request.offset == len(self.log[follower]) and (
            request.leader_epoch == self.leader_epoch[follower]
            or (not self.drops_answers_of_other_epochs and request.last_epoch != UNDEFINED)
        )

    def answer(self, leader, follower, request, diverging, high_watermark):
        """Answer a fetch if there is news; otherwise the follower sends another one.

        Source: ReplicaManager.fetchMessages, DelayedFetch.
        """
        has_record = diverging is None and request.offset < len(self.log[leader])
        if has_record or diverging is not None or min(high_watermark, request.offset) != self.high_watermark[follower]:
            self.answers[follower] = FetchResponse(
                record=self.log[leader][request.offset] if has_record else None,
                high_watermark=high_watermark,
                diverging=diverging,
            )

    @action
    def follower_receive(self, follower: Replica):
        """A follower gets the answer: it truncates, or appends the record and adopts the high watermark.

        Source: AbstractFetcherThread.processFetchRequest, ReplicaFetcherThread.processPartitionData; KAFKA-15510.
        """
        response = self.answers[follower]
        require(response is not None)
        self.answers[follower] = None
        self.forgetful.discard(follower)
        if self.forgets_last_epoch and response.record is None and response.diverging is None:
            self.forgetful.add(follower)
        if response.diverging is not None:
            if not self.is_out_of_range_within_the_log(follower, response.diverging):
                self.truncate(follower, self.truncation_offset(follower, response.diverging))
        else:
            if self.sends_lazily and response.record is not None:
                self.append_from_leaders_file(follower)
            elif response.record is not None:
                self.append(follower, response.record)
            self.high_watermark[follower] = min(response.high_watermark, len(self.log[follower]))

    def is_out_of_range_within_the_log(self, follower, diverging):
        """Return whether a follower is out of range although its log does not end after its leader's.

        It then keeps its log and its epochs, and fetches again. Source: AbstractFetcherThread.fetchOffsetAndTruncate.
        """
        return diverging.epoch == UNDEFINED and diverging.end >= len(self.log[follower])

    def append_from_leaders_file(self, follower):
        """Append what the leader's file has when it is sent; with the fix, no record of a newer epoch.

        Source: FileRecords.writeTo, UnifiedLog.appendAsFollower; KAFKA-18723.
        """
        leader = self.leader[follower]
        offset = len(self.log[follower])
        if offset < len(self.log[leader]):
            record = self.log[leader][offset]
            if not self.refuses_newer_records or record.epoch <= self.leader_epoch[follower]:
                self.append(follower, record)

    @action
    def follower_take_high_watermark(self, follower: Replica):
        """The follower adopts the high watermark of a diverging answer, and truncates afterwards.

        Source: AbstractFetcherThread.processFetchRequest before KAFKA-14704.
        """
        require(self.high_watermark_before_truncation)
        response = self.answers[follower]
        require(response is not None)
        require(response.diverging is not None)
        high_watermark = min(response.high_watermark, len(self.log[follower]))
        require(high_watermark > self.high_watermark[follower])
        self.high_watermark[follower] = high_watermark
