"""The message-level model of replication: one partition, its brokers, their messages, the controller, failures.

Every rule of the protocol is in this file, with the class of Apache Kafka that has it. `switches` declares the
constants that select a rule or allow an event, `versions` has their values for each version of Kafka.
"""

from checker.language import Map, Option, Range, Seq, SetOf, Struct
from checker.language.roles import action, invariant, reachable, require, step_invariant
from specs.replication.partition_drawing import DRAWING
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
    shows = "e{epoch} from {start}"


class EpochEnd(Struct):
    """The end of a leader epoch in a log."""

    epoch: Range(UNDEFINED, "max_leader_epoch")
    end: Range(UNDEFINED, "log_size")
    shows = "e{epoch} ends at {end}"


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


class Partition(Switches):
    """One partition: its brokers, the messages between them, the controller, and their failures.

    The file follows a record: a broker learns its role from the metadata, the leader appends, followers truncate and
    fetch, the high watermark advances, the ISR changes; then the controller, failures, a consumer, and the properties.

    Source: Partition, ReplicaManager, AbstractFetcherThread, LeaderEpochFileCache, ReplicationControlManager,
    PartitionChangeBuilder; docs/replication-messages.md.
    """

    draws = DRAWING

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

    # 1. The leader-epoch cache: the start of each leader epoch in a log. Source: LeaderEpochFileCache.

    def latest_epoch(self, replica):
        """Return the last epoch of the cache, UNDEFINED if it is empty. Source: LeaderEpochFileCache.latestEpoch."""
        starts = self.epoch_starts[replica]
        return starts[len(starts) - 1].epoch if len(starts) > 0 else UNDEFINED

    def assign_epoch(self, replica, epoch, start):
        """Start an epoch at an offset and drop contradicting entries. Source: LeaderEpochFileCache.assign."""
        if self.latest_epoch(replica) != epoch:
            self.epoch_starts[replica] = [
                found for found in self.epoch_starts[replica] if found.epoch < epoch and found.start < start
            ]
            self.epoch_starts[replica].append(EpochStart(epoch=epoch, start=start))

    def end_offset_for(self, replica, epoch):
        """Return the end of an epoch, or of the last one before it. Source: LeaderEpochFileCache.endOffsetFor."""
        if epoch != UNDEFINED and epoch == self.latest_epoch(replica):
            return EpochEnd(epoch=epoch, end=len(self.log[replica]))
        starts = self.epoch_starts[replica]
        if epoch == UNDEFINED or all(found.epoch <= epoch for found in starts):
            return EpochEnd(epoch=UNDEFINED, end=UNDEFINED)
        return EpochEnd(
            epoch=max((found.epoch for found in starts if found.epoch <= epoch), default=epoch),
            end=min(found.start for found in starts if found.epoch > epoch),
        )

    def caches_elections(self):
        """Return whether the cache has the epoch of an election (KAFKA-7415), also without records (KAFKA-7897)."""
        return self.epoch_on_election and (self.records_carry_epochs or self.caches_epochs_of_old_formats)

    def append(self, replica, record):
        """Append a record to a log; the first record of an epoch starts the epoch in the cache.

        Source: UnifiedLog.append.
        """
        if self.records_carry_epochs:
            self.assign_epoch(replica, record.epoch, len(self.log[replica]))
        self.log[replica].append(record)

    def truncate(self, replica, offset):
        """Truncate a log and its cache. The high watermark falls with the log end offset.

        Source: UnifiedLog.truncateTo, LeaderEpochFileCache.truncateFromEnd; KAFKA-10706.
        """
        if offset < len(self.log[replica]) or self.truncates_cache_at_end:
            self.epoch_starts[replica] = [found for found in self.epoch_starts[replica] if found.start < offset]
        del self.log[replica][offset:]
        self.high_watermark[replica] = min(self.high_watermark[replica], offset)

    # 2. The metadata of a leader epoch reaches a broker.
    #
    # With KRaft a broker replays the metadata log in order, and acts on the difference between two images of it. So it
    # never acts on an old epoch after a newer one, and it misses the epochs between the two images. A restarted broker
    # acts on nothing before it has read what was committed when it started: it may lack later changes only. With
    # ZooKeeper the controller sends LeaderAndIsr requests, and a broker misses epochs if the controller changes.
    # Source: MetadataLoader.handleCommit, stillNeedToCatchUp, TopicDelta.localChanges, ReplicaManager.applyDelta.

    def may_act_on(self, replica, epoch):
        """Return whether a replica may act on the metadata of a leader epoch now.

        A broker that has just started has read the metadata to its end or, with `starts_behind`, at least to what was
        their end when it started. With ZooKeeper brokers do not learn that a partition has no leader.
        """
        if epoch >= len(self.requests) or epoch <= self.leader_epoch[replica]:
            return False
        if epoch == len(self.requests) - 1:
            return self.quorum.leader is not None or self.controller == "kraft"
        started = self.read_at_start[replica]
        return self.late_metadata and (
            self.leader_epoch[replica] >= 0 or (started is not None and epoch >= started.leader_epoch)
        )

    @action
    def become_leader(self, epoch: LeaderEpoch):
        """The leader of an epoch learns that it leads. It keeps its log and its high watermark.

        Source: Partition.makeLeader; KAFKA-7415.
        """
        require(epoch < len(self.requests))
        replica = self.requests[epoch].leader
        require(replica is not None)
        require(replica in self.alive)
        require(self.may_act_on(replica, epoch))
        started = self.read_at_start[replica]
        if epoch == len(self.requests) - 1:
            self.lead(replica, epoch, self.quorum.isr, self.partition_epoch)
        elif started is not None and started.leader_epoch == epoch:
            self.lead(replica, epoch, started.isr, started.partition_epoch)
        else:
            self.lead(replica, epoch, self.requests[epoch].isr, 0)

    @action
    def become_leader_with_earlier_isr(self, epoch: LeaderEpoch, version: PartitionEpoch):
        """The leader of an epoch learns that it leads from metadata of that epoch that are not the newest.

        Source: MetadataLoader, Partition.makeLeader.
        """
        require(self.remembered_changes > 0)
        require(epoch < len(self.requests))
        replica = self.requests[epoch].leader
        require(replica is not None)
        require(replica in self.alive)
        require(self.may_act_on(replica, epoch))
        require(version < self.partition_epoch)
        started = self.read_at_start[replica]
        require(self.leader_epoch[replica] >= 0 or (started is not None and version >= started.partition_epoch))
        for change in self.changes:
            if change.partition_epoch == version and change.leader_epoch == epoch:
                self.lead(replica, epoch, change.isr, version)
        require(self.leader_epoch[replica] == epoch)

    def lead(self, replica, epoch, isr, version):
        """Let a replica lead in an epoch, with the ISR of a partition epoch."""
        if not self.keeps_followers_in(replica, epoch):
            self.forget_followers(replica)
        if self.answers_across_epochs and not self.presumes_leadership(replica):
            self.led_since[replica] = epoch
        self.enter_epoch(replica, epoch)
        self.isr[replica] = isr
        self.known_partition_epoch[replica] = version
        self.epoch_start[replica] = len(self.log[replica])
        if self.caches_elections():
            self.assign_epoch(replica, epoch, len(self.log[replica]))
        self.advance_high_watermark(replica)

    def keeps_followers_in(self, replica, epoch):
        """Return whether a leader that learns that it leads again keeps what it knows of its followers' logs.

        Kafka (`same_leader`) does not ask whether it has missed an epoch in which another replica led.
        Source: Partition.makeLeader (isNewLeader), Replica.resetReplicaState.
        """
        if self.keeps_followers == "never" or not self.presumes_leadership(replica):
            return False
        return self.keeps_followers == "same_leader" or epoch == self.leader_epoch[replica] + 1

    @action
    def become_follower(self, follower: Replica, epoch: LeaderEpoch):
        """A replica learns which leader to follow in an epoch, and truncates by one of three rules (`truncation`).

        It truncates to its high watermark; or to the end of its last epoch, for which it asks its leader (`truncating`)
        once or, since KIP-279, repeatedly; or, since 2.8, when a fetch shows that the logs diverge.

        Source: Partition.makeFollower, ReplicaFetcherManager.addFetcherForPartitions; KAFKA-7164.
        """
        require(follower in self.alive)
        require(self.may_act_on(follower, epoch))
        leader = self.requests[epoch].leader
        require(leader is not None)
        require(leader != follower)
        if self.follows_by_leader_id and self.leader[follower] == leader:
            self.leader_epoch[follower] = epoch
        else:
            self.forget_followers(follower)
            self.led_since[follower] = 0
            self.enter_epoch(follower, epoch)
            if self.truncation == "high_watermark" or self.latest_epoch(follower) == UNDEFINED:
                self.truncate(follower, self.high_watermark[follower])
            elif self.truncation != "on_fetch":
                self.truncating.add(follower)

    @action
    def become_leaderless(self, replica: Replica, epoch: LeaderEpoch):
        """A replica learns that the partition has no leader: a leader steps down, a follower stops fetching.

        Source: ReplicaManager.applyLocalFollowersDelta, Partition.makeFollower.
        """
        require(self.controller == "kraft")
        require(replica in self.alive)
        require(self.may_act_on(replica, epoch))
        require(self.requests[epoch].leader is None)
        self.forget_followers(replica)
        self.led_since[replica] = 0
        self.enter_epoch(replica, epoch)

    def enter_epoch(self, replica, epoch):
        """Adopt an epoch and its leader, and drop the state of the previous epoch.

        A fetcher thread talks to one leader. The answer of the same leader to a fetch of another epoch is not dropped
        if the follower need not truncate first, and the rule of KAFKA-18723 is off.
        """
        drops_answers = (
            self.drops_answers_of_other_epochs
            or self.truncation != "on_fetch"
            or self.latest_epoch(replica) == UNDEFINED
            or self.leader[replica] != self.requests[epoch].leader
        )
        self.leader_epoch[replica] = epoch
        self.leader[replica] = self.requests[epoch].leader
        self.read_at_start[replica] = None
        self.step_down(replica)
        if drops_answers:
            self.stop_fetching(replica)

    def step_down(self, replica):
        """Drop the state of a leader epoch."""
        self.isr[replica] = set()
        self.pending[replica] = None
        self.metadata_due.discard(replica)
        self.awaited[replica] = set()
        self.epoch_start[replica] = 0
        self.known_partition_epoch[replica] = 0

    def forget_followers(self, replica):
        """Drop what a leader knows of the others' logs: a new leader knows nothing of them."""
        for other in Replica:
            self.remote_end[replica][other] = 0
            self.remote_broker_epoch[replica][other] = 0

    def stop_fetching(self, replica):
        """Drop a follower's messages in flight; with `late_requests` its fetch may still arrive."""
        if not self.late_requests:
            self.fetches[replica] = None
            self.parked.discard(replica)
        self.answers[replica] = None
        self.forgetful.discard(replica)
        self.truncating.discard(replica)
        self.questions[replica] = None
        self.epoch_ends[replica] = None

    # 3. A producer's record. Source: Partition.appendRecordsToLeader, DelayedProduce.

    @action
    def leader_append(self, leader: Replica):
        """A leader appends a producer's record while it believes that it leads.

        With acks=all it checks min.insync.replicas now, and again before it answers.
        """
        require(self.leads(leader))
        require(self.next_record_id < self.max_records)
        require(len(self.log[leader]) < self.log_size)
        require(self.acks != "all" or len(self.isr[leader]) >= self.min_isr(leader))
        record = Record(id=self.next_record_id, epoch=self.leader_epoch[leader])
        self.next_record_id += 1
        self.append(leader, record)
        if self.acks == "1":
            self.acked.add(record.id)
        self.advance_high_watermark(leader)

    def min_isr(self, leader: Replica):
        """Return the size of the ISR that a leader requires."""
        return self.effective_min_isr(leader in self.knows_new_min_isr)

    def effective_min_isr(self, is_new):
        """Return min.insync.replicas before or after its change: since 3.7 at most the number of replicas.

        Source: Partition.effectiveMinIsr, ReplicationControlManager.getTopicEffectiveMinIsr; KAFKA-15583.
        """
        required = self.new_min_insync_replicas if is_new else self.min_insync_replicas
        return min(required, self.replicas) if self.strict_min_isr else required

    def maximal_isr(self, leader: Replica):
        """Return every replica that is in sync, or may be by now, as far as the leader knows.

        These are the members of the ISR, the replica that the leader has asked to add, and those that it has asked to
        remove while the controller has not removed them. Source: PendingPartitionChange; KIP-497.
        """
        if self.pending[leader] is None:
            return self.isr[leader]
        return self.isr[leader] | self.pending[leader].isr

    def advance_high_watermark(self, leader):
        """Raise the leader's high watermark to the end that the maximal ISR has, and answer the appends below it.

        Source: Partition.maybeIncrementLeaderHW; KAFKA-15583.
        """
        if not self.strict_min_isr or len(self.isr[leader]) >= self.min_isr(leader):
            committed = self.high_watermark[leader]
            reached = min(
                len(self.log[leader]) if member == leader else self.remote_end[leader][member]
                for member in self.maximal_isr(leader) | self.awaited[leader] | {leader}
            )
            if reached > committed:
                self.high_watermark[leader] = reached
                for record in self.log[leader][committed:reached]:
                    self.answer_append(leader, record)

    @action
    def leader_await_follower(self, leader: Replica, follower: Replica):
        """A follower outside the ISR has caught up, or has lagged for replica.lag.time.max.ms after that.

        From then on the leader's high watermark waits for it, or no longer does. The model has no clock: either may
        happen at any time, also before the leader learns that the follower is not in the ISR any more.
        Source: Partition.maybeIncrementLeaderHW (shouldWaitForReplicaToJoinIsr).
        """
        require(self.waits_for_joining)
        require(self.leads(leader))
        require(follower not in self.isr[leader] or self.has_left(leader, follower))
        if follower in self.awaited[leader]:
            self.awaited[leader].discard(follower)
        else:
            self.awaited[leader].add(follower)

    def has_left(self, leader, follower):
        """Return whether a follower has left the ISR in a change that its leader has not learned yet."""
        return any(
            change.partition_epoch > self.known_partition_epoch[leader] and follower not in change.isr
            for change in self.changes
        )

    def answer_append(self, leader, record):
        """Answer an append with acks=all. Its producer waits only at the leader that appended it.

        If too few replicas are in sync by then, the answer is NOT_ENOUGH_REPLICAS_AFTER_APPEND, and the record stays in
        the log. Source: Partition.checkEnoughReplicasReachOffset.
        """
        if (
            self.acks == "all"
            and self.is_producer_waiting(leader, record)
            and len(self.maximal_isr(leader)) >= self.min_isr(leader)
        ):
            self.acked.add(record.id)

    def is_producer_waiting(self, leader, record):
        """Return whether the producer of a record waits at a leader: in the epoch of the append or, in Kafka, longer.

        Kafka remembers the offset of the append alone. The request fails when the broker learns that it follows.
        Source: DelayedProduce, ReplicaManager.completeDelayedOperationsWhenNotPartitionLeader.
        """
        if self.answers_across_epochs:
            return record.epoch >= self.led_since[leader]
        return record.epoch == self.leader_epoch[leader]

    # 4. A follower asks where to truncate, before it fetches (KIP-101, KIP-279).
    #    Source: AbstractFetcherThread.maybeTruncate.

    @action
    def follower_ask_epoch_end(self, follower: Replica):
        """A follower asks its leader where the follower's last epoch ends.

        Source: AbstractFetcherThread.truncateToEpochEndOffsets.
        """
        require(follower in self.alive and follower in self.truncating)
        require(self.epoch_ends[follower] is None)
        question = EpochQuestion(
            leader=self.leader[follower],
            leader_epoch=self.leader_epoch[follower],
            epoch=self.latest_epoch(follower),
        )
        require(self.questions[follower] != question)
        self.questions[follower] = question

    @action
    def leader_answer_epoch_end(self, follower: Replica):
        """The leader answers while it leads and, since KIP-320, is in the same epoch.

        Source: Partition.lastOffsetForLeaderEpoch.
        """
        question = self.questions[follower]
        require(question is not None)
        require(self.leads(question.leader))
        require(not self.fences_questions or question.leader_epoch == self.leader_epoch[question.leader])
        self.questions[follower] = None
        self.epoch_ends[follower] = self.end_offset_for(question.leader, question.epoch)

    @action
    def follower_truncate(self, follower: Replica):
        """The follower truncates by the answer; then it fetches, or asks again while the epochs differ.

        Source: AbstractFetcherThread.maybeTruncateToEpochEndOffsets.
        """
        answer = self.epoch_ends[follower]
        require(answer is not None)
        self.epoch_ends[follower] = None
        is_complete = self.is_truncation_complete(follower, answer)
        self.truncate(follower, self.truncation_offset(follower, answer))
        if is_complete or self.latest_epoch(follower) == UNDEFINED:
            self.truncating.discard(follower)

    def truncation_offset(self, follower, answer):
        """Return the offset at which a follower truncates after its leader's answer.

        Source: AbstractFetcherThread.getOffsetTruncationState.
        """
        end = len(self.log[follower])
        if answer.end == UNDEFINED:
            return self.high_watermark[follower]
        if self.truncation == "kip101" or answer.epoch == UNDEFINED:
            return min(answer.end, end)
        own = self.end_offset_for(follower, answer.epoch)
        if own.end == UNDEFINED:
            return min(answer.end, end)
        if own.epoch != answer.epoch:
            return min(own.end, end)
        return min(own.end, answer.end, end)

    def is_truncation_complete(self, follower, answer):
        """Return whether the follower is done; otherwise it asks again with an earlier epoch (KIP-279).

        Source: AbstractFetcherThread.getOffsetTruncationState.
        """
        if self.truncation == "kip101" or answer.end == UNDEFINED or answer.epoch == UNDEFINED:
            return True
        own = self.end_offset_for(follower, answer.epoch)
        return own.end == UNDEFINED or own.epoch == answer.epoch

    # 5. Followers fetch, one record at a time.
    #
    # A fetch shows the leader that the follower has every earlier record. So a record counts only with the fetch after
    # the one that brought it, and the follower learns that from the answer to this later fetch: its high watermark is
    # one fetch late. A request stays in flight until it is handled or the follower sends another one. The leader may
    # get it long after the follower has turned to another leader. An answer that the follower does not wait for any
    # more counts as lost.

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
            record=self.log[leader][request.offset] if has_record else None,
            high_watermark=committed,
            diverging=None,
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

    # 6. The leader asks the controller for another ISR: AlterPartition (KIP-497).
    #
    # A leader has one request in flight, which is granted, rejected or delayed. A requested ISR counts for the high
    # watermark at once (`maximal_isr`). The leader learns the new ISR from the metadata, at any later time. A request
    # carries the leader's epoch. A leader that enters another epoch drops its request, since the controller would
    # reject it. The request of a leader that dies is lost (default), or arrives later (`requests_of_dead_leaders`).

    def may_ask(self, leader):
        """Return whether a leader has no request in flight, and the bound allows a change."""
        return self.pending[leader] is None and self.known_partition_epoch[leader] < self.max_partition_epoch

    def ask_to_join(self, leader, follower):
        """After a fetch: ask to add the follower if it has caught up.

        Source: Partition.maybeExpandIsr, isFollowerInSync; KAFKA-7128.
        """
        if (
            follower not in self.isr[leader]
            and self.may_ask(leader)
            and self.remote_end[leader][follower] >= self.high_watermark[leader]
            and (not self.joins_at_epoch_start or self.remote_end[leader][follower] >= self.epoch_start[leader])
        ):
            self.ask_for(leader, follower)

    @action
    def leader_ask_to_expand_isr(self, leader: Replica, follower: Replica):
        """A leader learns that a follower that has caught up is not fenced, and asks to add it to the ISR.

        Source: Partition.maybeExpandIsr, canAddReplicaToIsr; KIP-841.
        """
        require(self.asks_to_join_later)
        require(self.leads(leader) and follower != leader)
        require(self.pending[leader] is None)
        self.ask_to_join(leader, follower)
        require(self.pending[leader] is not None)

    def ask_for(self, leader, follower):
        """Ask to add a follower, with the broker epoch of its fetch."""
        self.pending[leader] = AlterPartition(
            isr=self.isr[leader] | {follower},
            partition_epoch=self.known_partition_epoch[leader],
            joining=follower,
            broker_epoch=self.remote_broker_epoch[leader][follower],
        )

    def lags(self, leader, follower):
        """Return whether a leader may find that a follower lags.

        The model does not tell a follower at offset 0 from one that has not fetched in this leader epoch yet.
        Source: Partition.isFollowerOutOfSync.
        """
        end = self.remote_end[leader][follower]
        return end < len(self.log[leader]) or (self.lags_before_first_fetch and end == 0)

    @action
    def leader_ask_to_shrink_isr(self, leader: Replica, follower: Replica):
        """A follower has lagged for replica.lag.time.max.ms: the leader asks to remove it.

        Source: Partition.maybeShrinkIsr.
        """
        require(self.lagging)
        require(self.leads(leader))
        require(follower != leader)
        require(follower in self.isr[leader])
        require(self.may_ask(leader))
        require(self.lags(leader, follower))
        self.pending[leader] = AlterPartition(
            isr=self.isr[leader] - {follower},
            partition_epoch=self.known_partition_epoch[leader],
            joining=None,
            broker_epoch=0,
        )

    @action
    def leader_ask_to_be_alone(self, leader: Replica):
        """All followers in the ISR have lagged: one request removes them. Source: Partition.maybeShrinkIsr."""
        require(self.lagging and self.removes_several)
        require(self.leads(leader))
        require(self.may_ask(leader))
        followers = self.isr[leader] - {leader}
        require(len(followers) > 1)
        require(all(self.lags(leader, follower) for follower in followers))
        self.pending[leader] = AlterPartition(
            isr={leader}, partition_epoch=self.known_partition_epoch[leader], joining=None, broker_epoch=0
        )

    @action
    def leader_drop_request(self, leader: Replica):
        """A request was not sent, because the broker has one in flight that the leader no longer waits for.

        Source: DefaultAlterPartitionManager.submit (OPERATION_NOT_ATTEMPTED).
        """
        require(self.asks_to_join_later)
        require(self.leads(leader))
        request = self.pending[leader]
        require(request is not None)
        require(request.partition_epoch == self.partition_epoch)  # the controller has not granted it
        self.pending[leader] = None

    @action
    def controller_handle_alter_partition(self, leader: Replica):
        """The controller grants a request of the leader that is based on the newest partition epoch.

        It rejects other requests (INVALID_UPDATE_VERSION) without effect: the leader waits for newer metadata.
        Source: ReplicationControlManager.alterPartition, validateAlterPartitionData.
        """
        request = self.pending[leader]
        require(request is not None)
        require(self.quorum.leader == leader and self.is_true_leader(leader))
        require(request.partition_epoch == self.partition_epoch)
        require(self.partition_epoch < self.max_partition_epoch)
        if request.joining is not None and not self.is_eligible(request.joining, request.broker_epoch):
            self.pending[leader] = None  # INELIGIBLE_REPLICA: the leader keeps the ISR that it knows
        else:
            self.change(leader, request.isr)

    @action
    def controller_handle_request_of_dead_leader(self, leader: Replica):
        """The controller grants a request of a leader that has died since, and that it has not fenced yet.

        Source: ReplicationControlManager.validateAlterPartitionData, which compares epochs; SocketServer, which reads
        what arrived before a pause.
        """
        require(self.requests_of_dead_leaders)
        request = self.pending[leader]
        require(request is not None)
        require(leader not in self.alive and self.quorum.leader == leader)
        require(request.partition_epoch == self.partition_epoch)
        require(request.joining is None or self.is_eligible(request.joining, request.broker_epoch))
        self.pending[leader] = None
        self.change(leader, request.isr)

    def is_eligible(self, replica, broker_epoch):
        """Return whether the controller admits a replica to the ISR.

        Source: ReplicationControlManager.ineligibleReplicasForIsr; KIP-841, KIP-903.
        """
        return (self.fenced_may_join or replica not in self.fenced) and (
            not self.checks_broker_epochs or broker_epoch == self.broker_epoch[replica]
        )

    @action
    def leader_learn_isr(self, leader: Replica):
        """The leader gets newer metadata of its leader epoch, which also answers its request.

        Source: Partition.makeLeader, handleAlterPartitionUpdate.
        """
        require(self.leads(leader) and self.is_true_leader(leader))
        require(self.quorum.leader == leader)
        require(self.known_partition_epoch[leader] < self.partition_epoch)
        self.known_partition_epoch[leader] = self.partition_epoch
        self.isr[leader] = self.quorum.isr
        self.pending[leader] = None
        self.metadata_due.discard(leader)
        self.advance_high_watermark(leader)

    @action
    def leader_learn_earlier_isr(self, leader: Replica, version: PartitionEpoch):
        """The leader gets newer metadata of its leader epoch that are not the newest.

        Source: MetadataLoader, Partition.makeLeader, handleAlterPartitionUpdate.
        """
        require(self.leads(leader))
        require(self.known_partition_epoch[leader] < version)
        require(version < self.partition_epoch)
        for change in self.changes:
            if change.partition_epoch == version and change.leader_epoch == self.leader_epoch[leader]:
                self.known_partition_epoch[leader] = version
                self.isr[leader] = change.isr
        require(self.known_partition_epoch[leader] == version)
        self.pending[leader] = None
        self.metadata_due.discard(leader)
        self.advance_high_watermark(leader)

    @action
    def leader_get_answer(self, leader: Replica):
        """A leader learns from the answer to its request that it was granted, before the metadata show that.

        Source: Partition.handleAlterPartitionUpdate.
        """
        require(self.learns_isr_twice)
        require(self.leads(leader))
        request = self.pending[leader]
        require(request is not None)
        for change in self.changes:
            if (
                change.partition_epoch == request.partition_epoch + 1
                and change.leader_epoch == self.leader_epoch[leader]
            ):
                require(change.isr == request.isr)
                self.known_partition_epoch[leader] = change.partition_epoch
                self.isr[leader] = change.isr
        require(self.known_partition_epoch[leader] == request.partition_epoch + 1)
        self.pending[leader] = None
        self.metadata_due.add(leader)
        self.advance_high_watermark(leader)

    @action
    def leader_learn_isr_again(self, leader: Replica):
        """The metadata show a leader the ISR that it knows from an answer. It drops its next request.

        The controller may have granted that request, or may still grant it.
        Source: Partition.makeLeader (updateAssignmentAndIsr, also for an equal partition epoch).
        """
        require(self.leads(leader) and leader in self.metadata_due)
        self.metadata_due.discard(leader)
        self.pending[leader] = None
        self.advance_high_watermark(leader)

    # 7. The controller: fencing and elections. Source: ReplicationControlManager, PartitionChangeBuilder; KIP-966.
    #
    # The controller fences a broker that it believes dead, and removes it from the ISR. If the broker led, the first
    # electable replica in the order of assignment leads in a new leader epoch, or no replica does. Without eligible
    # leader replicas the last member of the ISR stays in it. With them (`eligible_leader_replicas`) the ISR may become
    # empty: a replica that left the ISR while it was below min.insync.replicas has every committed record, and may
    # lead. A broker that was not shut down cleanly may have lost records, and leaves both sets when it registers again.
    # If both are empty, the last known leader may lead.

    def change(self, leader, isr):
        """Write leader, ISR and eligible leader replicas in a new partition epoch.

        Source: PartitionChangeBuilder.build, maybePopulateTargetElr, maybeUpdateLastKnownLeader.
        """
        require(self.partition_epoch < self.max_partition_epoch)
        self.partition_epoch += 1
        if self.eligible_leader_replicas:
            if len(isr) > 0:
                self.last_known_leader = None
            elif self.quorum.leader is not None:
                self.last_known_leader = self.quorum.leader
            if len(isr) >= self.effective_min_isr(self.has_new_min_isr):
                self.eligible = set()
            else:
                self.eligible = (self.eligible | self.quorum.isr) - isr
        self.quorum = LeaderAndIsr(leader=leader, isr=isr)
        if self.remembered_changes > 0:
            if len(self.changes) == self.remembered_changes:
                del self.changes[0]
            self.changes.append(
                IsrChange(partition_epoch=self.partition_epoch, leader_epoch=len(self.requests) - 1, isr=isr)
            )

    def elect(self, leader, isr):
        """Start a leader epoch with this leader, or none, and this ISR.

        Source: PartitionChangeBuilder.tryElection, PartitionRegistration.merge.
        """
        require(len(self.requests) <= self.max_leader_epoch)
        if not self.late_metadata:
            self.forget_metadata(len(self.requests) - 1)
        self.requests.append(LeaderAndIsr(leader=leader, isr=isr))
        self.change(leader, isr)

    def forget_metadata(self, epoch):
        """Erase the metadata of an epoch on which no broker can act any more (`may_act_on`).

        It only saves states: two states that differ in nothing but such an epoch become one.
        """
        self.requests[epoch] = LeaderAndIsr(leader=None, isr=set())

    def is_electable(self, replica):
        """Return whether a clean election may choose a replica: in the ISR or, if that is empty, eligible.

        Source: PartitionChangeBuilder.isValidNewLeader.
        """
        return replica not in self.fenced and (
            replica in self.quorum.isr or (len(self.quorum.isr) == 0 and replica in self.eligible)
        )

    @action
    def controller_fence(self, broker: Replica):
        """The controller fences a broker whose session has timed out.

        Source: ReplicationControlManager.handleBrokerFenced.
        """
        require(broker not in self.fenced)
        require(self.session_timeouts or broker not in self.alive)
        self.fenced.add(broker)
        self.take_out(broker)

    def take_out(self, broker):
        """Remove a broker from the ISR, and replace it if it leads.

        Source: ReplicationControlManager.generateLeaderAndIsrUpdates.
        """
        isr = self.quorum.isr - {broker}
        if len(isr) == 0 and not self.eligible_leader_replicas:
            isr = self.quorum.isr
        if self.quorum.leader == broker:
            self.replace_leader(isr)
        elif isr != self.quorum.isr:
            self.change(self.quorum.leader, isr)

    def replace_leader(self, isr):
        """Elect the first unfenced replica of an ISR or, if it is empty, of the eligible replicas; or no leader.

        With KRaft a partition without a leader is in a leader epoch of its own.
        """
        for replica in Replica:
            if replica not in self.fenced and (replica in isr or (len(isr) == 0 and replica in self.eligible)):
                self.elect(replica, isr | {replica})
                return
        if self.controller == "kraft":
            self.elect(None, isr)
        else:
            self.change(None, isr)

    @action
    def controller_elect(self, replica: Replica):
        """The controller elects an electable replica if the partition has no leader or another one is preferred.

        Source: ReplicationControlManager.handleBrokerUnfenced, maybeBalancePartitionLeaders.
        """
        require(self.quorum.leader is None or self.preferred_elections)
        require(self.quorum.leader != replica)
        require(self.is_electable(replica))
        self.elect(replica, self.quorum.isr | {replica})

    @action
    def controller_elect_uncleanly(self, replica: Replica):
        """If no replica is electable, any unfenced replica becomes the leader, alone in the ISR.

        No replica is eligible then: another one may have records that the new leader lacks.
        Source: PartitionChangeBuilder.electAnyLeader, maybeUpdateRecordElr; unclean.leader.election.enable.
        """
        require(self.unclean_elections)
        require(self.quorum.leader is None)
        require(replica not in self.fenced)
        require(not any(self.is_electable(other) for other in Replica))
        self.elect(replica, {replica})
        self.eligible = set()

    @action
    def controller_elect_last_known(self, replica: Replica):
        """If the ISR and the eligible replicas are both empty, the last known leader may lead again.

        Source: PartitionChangeBuilder.canElectLastKnownLeader; KIP-966, KAFKA-19522.
        """
        require(self.eligible_leader_replicas)
        require(self.quorum.leader is None)
        require(replica not in self.fenced or self.elects_fenced_last_leader)
        require(len(self.quorum.isr) == 0 and len(self.eligible) == 0)
        require(self.last_known_leader == replica)
        self.elect(replica, {replica})

    @action
    def controller_assign_directory(self, broker: Replica):
        """A broker reports that it has the partition on a new disk, and the controller records it.

        A broker reports it also before it has registered again, with the broker epoch of its last registration. That
        one does not have the disk, so the controller takes it for a failed disk: the replica leaves the ISR, although
        its broker is not fenced.

        Source: AssignmentsManager.maybeSendAssignments, ReplicationControlManager.handleAssignReplicasToDirs;
        KIP-858, KAFKA-17190.
        """
        require(broker in self.new_disks)
        require(broker in self.alive)
        self.new_disks.discard(broker)
        self.change(self.quorum.leader, self.quorum.isr)
        if broker in self.unregistered:
            self.take_out(broker)

    @action
    def operator_change_min_isr(self):
        """An operator changes min.insync.replicas. The eligible replicas are those of the old value, and are dropped.

        Source: ConfigurationControlManager.createClearElrRecordsAsNeeded, ReplicationControlManager.replay.
        """
        require(self.new_min_insync_replicas > 0 and not self.has_new_min_isr)
        self.has_new_min_isr = True
        if self.clears_eligible:
            self.eligible = set()
            self.last_known_leader = None

    @action
    def broker_learn_min_isr(self, broker: Replica):
        """A broker reads the new min.insync.replicas in the metadata log, after everything that is before it there.

        Source: BrokerMetadataPublisher.onMetadataUpdate, DynamicConfigPublisher.
        """
        require(self.has_new_min_isr and broker not in self.knows_new_min_isr)
        require(broker in self.alive and self.leader_epoch[broker] == len(self.requests) - 1)
        require(not self.leads(broker) or self.known_partition_epoch[broker] == self.partition_epoch)
        self.knows_new_min_isr.add(broker)

    # 8. Failures of brokers. Each happens at most as often as a constant says.
    #
    # A crash loses a broker's memory; its log survives in the page cache. A power failure loses the page cache too: a
    # broker does not flush before it acknowledges, so any suffix of the log may be lost.

    @action
    def broker_crash(self, broker: Replica):
        """A broker's process dies; its log survives."""
        require(broker in self.alive)
        require(self.crashes_left > 0)
        self.crashes_left -= 1
        self.stop(broker)

    @action
    def broker_lose_power(self, broker: Replica, kept: Offset):
        """A broker's machine dies; the log from offset `kept` on was in the page cache only, and is lost."""
        require(broker in self.alive)
        require(self.power_failures_left > 0)
        require(kept < len(self.log[broker]))
        require(self.power_failures_in_isr or broker not in self.quorum.isr)
        self.power_failures_left -= 1
        self.stop(broker)
        self.truncate(broker, kept)

    @action
    def broker_lose_disk(self, broker: Replica):
        """A stopped broker loses its disk: the log, its epochs, the checkpoint, and the mark of a clean shutdown."""
        require(broker not in self.alive)
        require(self.disk_losses_left > 0)
        self.disk_losses_left -= 1
        self.truncate(broker, 0)
        self.epoch_starts[broker] = []
        self.checkpoint[broker] = 0
        self.stopped_cleanly.discard(broker)
        if self.assigns_directories:
            self.new_disks.add(broker)

    @action
    def broker_shut_down(self, broker: Replica):
        """A broker that does not lead shuts down cleanly: it leaves the ISR, then marks its log as complete.

        A broker that led, or was fenced, has left the ISR before (`controller_fence`, with `session_timeouts`).

        Source: BrokerLifecycleManager (controlled shutdown), CleanShutdownFileHandler.
        """
        require(broker in self.alive)
        require(broker not in self.fenced or self.session_timeouts)
        require(self.shutdowns_left > 0)
        require(self.quorum.leader != broker)
        self.shutdowns_left -= 1
        self.fenced.add(broker)
        self.take_out(broker)
        self.stop(broker)
        self.stopped_cleanly.add(broker)

    def stop(self, broker):
        """Stop a broker: its memory, the requests in flight to it, and their answers are lost."""
        self.alive.discard(broker)
        self.unregistered.discard(broker)
        self.read_at_start[broker] = None
        request = self.pending[broker]
        self.step_down(broker)
        if self.requests_of_dead_leaders:
            self.pending[broker] = request
        self.forget_followers(broker)
        self.led_since[broker] = 0
        self.leader[broker] = None
        self.leader_epoch[broker] = -1
        self.stop_fetching(broker)
        if self.fetches_of_former_connections > 0:
            self.leave_fetch(broker)
            self.fetches[broker] = None
            self.parked.discard(broker)
        for other in Replica:
            if self.fetches[other] is not None and self.fetches[other].leader == broker:
                self.fetches[other] = None
                self.parked.discard(other)
            if self.fetches_of_former_connections > 0:
                self.former_fetches[other] = [
                    request for request in self.former_fetches[other] if request.leader != broker
                ]
            if self.questions[other] is not None and self.questions[other].leader == broker:
                self.questions[other] = None

    @action
    def broker_restart(self, broker: Replica):
        """A broker restarts and registers with the controller. It knows no leader until it has read the metadata.

        Normally the controller has fenced it before. With `quick_restarts` it returns before it is missed. That was
        possible with ZooKeeper. With KRaft a registered broker is fenced until it has read the metadata. Its high
        watermark is that of its checkpoint (default: the last one).

        Source: ClusterControlManager.registerBroker, OffsetCheckpointFile; KAFKA-10432.
        """
        require(broker not in self.alive)
        require(
            self.acts_before_registration
            or broker in self.fenced
            or (self.quick_restarts and self.registers_unfenced_broker())
        )
        self.alive.add(broker)
        if self.starts_behind:
            self.read_at_start[broker] = IsrChange(
                partition_epoch=self.partition_epoch, leader_epoch=len(self.requests) - 1, isr=self.quorum.isr
            )
        self.pending[broker] = None
        if self.late_checkpoints:
            self.high_watermark[broker] = min(self.checkpoint[broker], len(self.log[broker]))
        if self.forgets_first_epoch:
            self.epoch_starts[broker] = [found for found in self.epoch_starts[broker] if found.epoch > 0]
        if not self.keeps_epochs_without_records:
            self.epoch_starts[broker] = [
                found for found in self.epoch_starts[broker] if found.start < len(self.log[broker])
            ]
        if self.acts_before_registration:
            self.unregistered.add(broker)
        else:
            self.register(broker)

    @action
    def broker_register(self, broker: Replica):
        """The controller registers a restarted broker, after the session of its previous process has expired.

        Until then it answers DUPLICATE_BROKER_REGISTRATION, and the broker tries again.
        Source: ClusterControlManager.registerBroker, BrokerLifecycleManager.
        """
        require(broker in self.unregistered)
        require(broker in self.fenced)
        self.unregistered.discard(broker)
        self.register(broker)

    def register(self, broker):
        """Register a broker with the controller. Source: ClusterControlManager.registerBroker."""
        if self.controller == "kraft":
            self.fenced.add(broker)
        else:
            self.fenced.discard(broker)
        if self.checks_broker_epochs:
            self.broker_epoch[broker] += 1
        if self.eligible_leader_replicas:
            self.detect_unclean_shutdown(broker)

    def registers_unfenced_broker(self):
        """Return whether a restarted broker may register before the controller has taken it out of the ISR.

        KRaft rejects the registration until the session of the previous process has expired
        (DUPLICATE_BROKER_REGISTRATION). Up to 3.9 a registration after that, but before the broker was fenced, changed
        neither ISR nor leader. Source: ClusterControlManager.registerBroker; KAFKA-18106.
        """
        return self.controller == "zookeeper" or not self.registration_leaves_isr

    def detect_unclean_shutdown(self, broker):
        """Remove a broker without the mark of a clean shutdown from ISR and ELR: it may have lost records.

        Source: ReplicationControlManager.handleBrokerUncleanShutdown; KIP-966.
        """
        if broker not in self.stopped_cleanly:
            was_eligible = broker in self.eligible
            self.take_out(broker)
            self.eligible.discard(broker)
            if was_eligible and self.numbers_eligible_changes:
                self.change(self.quorum.leader, self.quorum.isr)
        self.stopped_cleanly.discard(broker)

    @action
    def broker_checkpoint(self, broker: Replica):
        """A broker writes its high watermark to disk, as it does at intervals.

        Source: ReplicaManager.checkpointHighWatermarks.
        """
        require(self.late_checkpoints)
        require(broker in self.alive)
        require(self.checkpoint[broker] != self.high_watermark[broker])
        self.checkpoint[broker] = self.high_watermark[broker]

    @action
    def broker_reconnect(self, broker: Replica):
        """A live broker that is fenced reaches the controller, which unfences it.

        With KRaft the broker has read the metadata up to its registration. It may lag behind everything after that.
        Source: BrokerHeartbeatManager.calculateNextBrokerState, ReplicationControlManager.handleBrokerUnfenced.
        """
        require(self.session_timeouts or self.controller == "kraft")
        require(broker in self.alive and broker in self.fenced and broker not in self.unregistered)
        require(self.controller == "zookeeper" or self.leader_epoch[broker] >= 0)
        self.fenced.discard(broker)

    @action
    def leader_move_log(self, leader: Replica):
        """A leader moves its log to another directory. The new log has the epochs of its records.

        A follower that moves its log reports an older epoch with its next fetch, which its leader knows.
        Source: ReplicaAlterLogDirsThread, LogManager.replaceCurrentWithFutureLog; KAFKA-15608, KAFKA-20961.
        """
        require(self.leads(leader))
        require(self.log_moves_left > 0)
        self.log_moves_left -= 1
        if not self.moves_epochs_without_records:
            self.epoch_starts[leader] = [
                found
                for found in self.epoch_starts[leader]
                if any(record.epoch == found.epoch for record in self.log[leader])
            ]

    # 9. A consumer that reads the log once, record by record.

    @action
    def consumer_read(self, replica: Replica):
        """The consumer reads the next record below a replica's high watermark.

        Source: Partition.fetchRecords with the isolation HIGH_WATERMARK; KIP-392 (`reads_from_followers`).
        """
        require(self.consumers)
        require(self.leads(replica) or (self.reads_from_followers and self.follows(replica)))
        offset = len(self.consumed)
        require(offset < self.high_watermark[replica])
        self.consumed.append(self.log[replica][offset].id)

    # Properties, besides those of the published models in `state`.

    @invariant(says="record r{record} was acknowledged, and the leader {leader} has {self.log[leader]}")
    def no_acked_loss(self):
        """The leader in the newest leader epoch has every acknowledged record."""
        return all(
            any(found.id == record for found in self.log[leader])
            for leader in Replica
            if self.is_true_leader(leader)
            for record in self.acked
        )

    @invariant(
        says="a consumer has read r{self.consumed[offset]} at offset {offset}, and {leader} has {self.log[leader]}"
    )
    def reads_are_stable(self):
        """The leader in the newest leader epoch has every record that was read, at the same offset."""
        return all(
            offset < len(self.log[leader]) and self.log[leader][offset].id == self.consumed[offset]
            for leader in Replica
            if self.is_true_leader(leader)
            for offset in range(len(self.consumed))
        )

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

    @invariant(says="{replica} has {self.log[replica][offset]} at offset {offset}, and its cache has e{epoch} there")
    def cache_matches_the_log(self):
        """For each record the cache has the epoch in which it was appended."""
        return all(
            epoch == self.log[replica][offset].epoch
            for replica in Replica
            for offset in range(len(self.log[replica]))
            for epoch in [self.epoch_at(replica, offset)]
        )

    def epoch_at(self, replica, offset):
        """Return the last epoch that starts at an offset or before it, UNDEFINED if there is none."""
        return max((found.epoch for found in self.epoch_starts[replica] if found.start <= offset), default=UNDEFINED)

    @invariant(says="{self.quorum.leader} leads in the metadata although it is fenced")
    def leader_is_not_fenced(self):
        """The leader in the metadata is not fenced."""
        return self.quorum.leader is None or self.quorum.leader not in self.fenced

    @invariant(says="{self.quorum.leader} leads in the metadata, and its ISR there is {self.quorum.isr}")
    def leader_is_in_sync(self):
        """A leader is a member of its ISR: in the metadata, and in its own view."""
        return (self.quorum.leader is None or self.quorum.leader in self.quorum.isr) and all(
            leader in self.isr[leader] for leader in Replica if self.leads(leader)
        )

    # Guards: evidence that something happens.

    @reachable
    def record_is_acknowledged(self):
        """A record is acknowledged."""
        return len(self.acked) > 0

    @reachable
    def another_replica_leads(self):
        """If another epoch is within the bound, the leadership moves."""
        return self.max_leader_epoch == 0 or any(
            self.is_true_leader(replica) and self.leader_epoch[replica] > 0 for replica in Replica
        )

    @reachable
    def replica_learns_that_there_is_no_leader(self):
        """With KRaft, if failures or timeouts may leave the partition without a leader, a replica learns of it."""
        may_have_no_leader = self.max_leader_epoch > 0 and (self.crashes > 0 or self.session_timeouts)
        return (
            self.controller == "zookeeper"
            or not may_have_no_leader
            or any(self.leader[replica] is None and self.leader_epoch[replica] >= 0 for replica in Replica)
        )

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

    @reachable
    def follower_asks_to_come_back(self):
        """If the ISR may shrink and grow again, a follower that has left it catches up."""
        may_come_back = self.lagging and self.max_partition_epoch > 1
        return not may_come_back or any(self.is_joining(leader) for leader in Replica)

    def is_joining(self, leader):
        """Return whether a leader asks to add a replica."""
        request = self.pending[leader]
        return request is not None and request.joining is not None

    @reachable
    def everything_is_read(self):
        """If there is a consumer, it reads to the end."""
        return not self.consumers or len(self.consumed) == min(self.log_size, self.max_records)
