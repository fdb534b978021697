"""The exactly-once loop: applications consume, transform and produce, with the input's offsets in the transaction.

Scenarios: entry T8 of docs/transactions.md, and the mistakes that break the loop.
Sources: KIP-98, KIP-447; KafkaProducer.sendOffsetsToTransaction and TransactionManager (3.9.1, 4.3.1);
TransactionCoordinator (3.9.1, 4.3.1); OffsetMetadataManager and ClassicGroup.validateOffsetCommit (4.3.1),
GroupMetadata (3.9.1); ConsumerCoordinator.sendOffsetFetchRequest (4.3.1).
"""

from checker.language import Domain, Enum, Map, OneOf, Option, Range, Refinement, Seq, SetOf, Struct, step_invariant
from checker.language.declarations import Constant
from checker.language.declared_types import replace
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from checker.language.roles import action, always_eventually, assume, eventually, invariant, reachable, require
from checker.language.spec import Spec
from specs.consumer.consumer import Count, Offset, RecordId
from specs.transactions.state import Decision, Generation, Identity, ProducerEpoch, ProducerId, TransactionState


class Instance(Domain):
    """An instance of the application: one consumer and one transactional producer in one thread."""

    size, prefix = "instances", "app"


class Target(Enum):
    """The partitions to which a transaction of the loop writes."""

    OUTPUT = "output"
    OFFSETS = "offsets"  # the group's partition of __consumer_offsets


class Phase(Enum):
    """The state of an instance, in its own view."""

    DOWN = "down"
    IDLE = "idle"  # has no partition
    ASSIGNED = "assigned"  # has the partition, and does not know the committed offset yet
    PROCESSING = "processing"


class Transaction(Struct):
    """The coordinator's entry of a producer id; `unmarked` are the partitions that lack the marker."""

    epoch: ProducerEpoch
    state: TransactionState
    unmarked: SetOf(Target)
    shows = "e{epoch} {state}"


class OutputRecord(Struct):
    """The result of an input record in the output partition."""

    identity: Identity
    record: RecordId
    shows = "r{record}({identity})"


class OffsetCommit(Struct):
    """A committed offset in the offsets partition; `identity` is None outside of transactions."""

    identity: Option(Identity)
    offset: Offset
    shows = "offset {offset}({identity})"


class EndMarker(Struct):
    """A control batch that ends the transaction of a producer in a partition."""

    identity: Identity
    decision: Decision
    shows = "{decision}({identity})"


OutputEntry = OneOf(OutputRecord, EndMarker)
OffsetsEntry = OneOf(OffsetCommit, EndMarker)


def outcome(log, index, identity):
    """Return the decision of the marker that ends the transaction of an entry, None if the log does not have it."""
    for i in range(index + 1, len(log)):
        entry = log[i]
        if isinstance(entry, EndMarker) and entry.identity.producer_id == identity.producer_id:
            return entry.decision
    return None


def is_fenced(log, identity):
    """Return whether a marker in the log has a later epoch of a producer id.

    Kafka also compares the epochs of batches. An instance that writes has an open transaction, and a later epoch comes
    to the partition with the marker that ends it. Source: ProducerAppendInfo.checkProducerEpoch.
    """
    return any(
        isinstance(entry, EndMarker)
        and entry.identity.producer_id == identity.producer_id
        and entry.identity.epoch > identity.epoch
        for entry in log
    )


class ExactlyOnceProcessing(Spec):
    """The goal: the results of the next records and the offset after them are stored in one step, in order."""

    records = Constant(2, at_least=1)
    max_poll_records = Constant(1, at_least=1)

    results = Seq(RecordId, "2 * records")  # room for the duplicates of a faulty loop
    offset = Offset

    @action
    def process(self, count: Count):
        """The next records have their effect, and the offset passes them."""
        require(self.offset + count <= self.records)
        for record in range(self.offset, self.offset + count):
            self.results.append(record)
        self.offset += count


LANE_OF_TARGET = "str(target)"


class ExactlyOnceLoop(Spec):
    """Instances of an application copy an input partition to an output partition, in transactions.

    An instance takes records from its position, begins a transaction, produces the results, sends the next position to
    the group coordinator (TxnOffsetCommit), and ends the transaction (EndTxn). The decision is final when the
    transaction coordinator has stored it. Markers reach the output and the offsets partition later, in any order.

    `transactional_id` is how the application chooses it. "instance": each instance has an id and keeps it after a
    restart; generations fence (KIP-447, the processing guarantee exactly_once_v2 of Kafka Streams). "partition": the
    owner of the input partition uses the id of that partition; initTransactions fences the earlier owner (the
    processing guarantee exactly_once before KIP-447). "random": a new id at every start. "shared": one id for all.

    What is abstracted, and what follows:

    - A request and its response are one step, except an answer to AddPartitionsToTxn, EndTxn or TxnOffsetCommit that is
      lost: then the instance sends the request again. Late copies are the subject of
      `specs.transactions.transactional_producer`.
    - AddPartitionsToTxn and AddOffsetsToTxn are one step, when the transaction begins. With version 2 that step is the
      addition by the leader that gets the first batch. Kafka adds the second partition later. A partition that is added
      earlier gets a marker that ends nothing, which changes no result.
    - A partition is one log that is never truncated, and its high watermark is its end. `specs.transactions.reader` has
      the high watermark and elections.
    - The coordinators do not fail, and epochs are not exhausted: `specs.transactions.coordinator` has both.
    - Eager and cooperative rebalances are the case in which the earlier owner learns of the rebalance at once.
    """

    records = Constant(2, at_least=1)
    instances = Constant(2, at_least=1)
    max_poll_records = Constant(1, at_least=1)

    rebalances = Constant(1, at_least=0)  # an owner is evicted although it works: it becomes a zombie
    crashes = Constant(1, at_least=0)
    slow_transactions = Constant(0, at_least=0)  # transaction.timeout.ms passes although the instance works
    aborts = Constant(0, at_least=0)  # the application aborts, for example after an abortable error
    expirations = Constant(0, at_least=0)  # transactional.id.expiration.ms passes
    late_initializations = Constant(0, at_least=0)
    """InitProducerId requests for the id of a partition that the instance has already lost, without its knowledge."""

    lost_answers = Constant(0, at_least=0)  # answers to AddPartitionsToTxn, EndTxn(commit) and TxnOffsetCommit
    lost_add = Constant("repeat", one_of=("repeat", "assume", "forget"))
    """What the producer does without an answer to AddPartitionsToTxn: it sends it again, as Kafka's does; it takes the
    partitions for added; or it takes the transaction for not begun."""
    lost_commit = Constant("repeat", one_of=("repeat", "transaction_start"))
    """What the application does without an answer to commitTransaction: it calls it again, or it takes the transaction
    for lost and goes back to its start, with a new producer."""

    transactional_id = Constant("instance", one_of=("instance", "partition", "random", "shared"))
    fences_generations = Constant(True)
    """TxnOffsetCommit carries member and generation (KIP-447)."""
    requires_stable = Constant(True)
    """An offset fetch waits for pending transactional offsets (UNSTABLE_OFFSET_COMMIT, KIP-447)."""
    offsets_in_transaction = Constant(True)
    """Offsets are committed with the transaction; otherwise by commitSync after it."""
    after_abort = Constant("committed", one_of=("committed", "transaction_start", "keep"))
    """The position after an abort: the committed offset, the start of the transaction, or no change."""
    lost_mapping = Constant("fatal", one_of=("fatal", "recover"))
    """INVALID_PRODUCER_ID_MAPPING is fatal (KAFKA-18019, 4.0); before, the producer continued with a new id."""
    transaction_version = Constant(2, at_least=1, at_most=2)
    """Version 2 raises the epoch with every transaction (KIP-890)."""

    # Bounds of types. A run that would exceed one ends with an error.
    max_generation = Constant(4, at_least=0)
    max_producer_id = Constant(3, at_least=0)
    max_epoch = Constant(9, at_least=0)
    log_size = Constant(10, at_least=1)

    # The consumer group.
    generation = Generation
    assigned = Instance
    rebalances_left = Range(0, "rebalances")

    # The transaction coordinator.
    registered = Map(Instance, Option(ProducerId))
    """The producer id of a transactional.id; an id that instances share is that of the first one."""
    transactions = Map(ProducerId, Transaction)
    next_producer_id = Range(0, "max_producer_id + 1")
    expirations_left = Range(0, "expirations")
    slow_left = Range(0, "slow_transactions")
    late_left = Range(0, "late_initializations")

    # The partitions.
    output = Seq(OutputEntry, "log_size")
    offsets = Seq(OffsetsEntry, "log_size")

    # The instances.
    phase = Map(Instance, Phase)
    identity = Map(Instance, Option(Identity))
    known_generation = Map(Instance, Option(Generation))  # None: the instance is no member
    position = Map(Instance, Offset)
    begun_at = Map(Instance, Option(Offset))  # the first offset of the transaction in progress
    unsent = Map(Instance, Seq(RecordId, "max_poll_records"))
    offsets_sent = Map(Instance, bool)
    uncommitted = Map(Instance, bool)  # commitSync has to follow, without `offsets_in_transaction`
    awaits_add = Map(Instance, bool)  # AddPartitionsToTxn was sent, and it or its answer is lost
    awaits_commit = Map(Instance, bool)  # EndTxn(commit) was sent, and its answer is lost
    lost_left = Range(0, "lost_answers")
    crashes_left = Range(0, "crashes")
    aborts_left = Range(0, "aborts")

    refines = Refinement(
        ExactlyOnceProcessing, results=lambda self: self.decided_results(), offset=lambda self: self.decided_offset()
    )

    draws = Drawing(
        Lane("input", logs=(Log("input_records", markers={"committed_offset": "committed"}, called=("record",)),)),
        Lane("group", crowned={"assigned": "has the partition"}, facts={"generation": "generation"}),
        Lane("coordinator", boxes={"known_transactions": "transactions by producer id"}),
        Lane("instance", each=Instance, crowned={"has_partition": "considers itself the owner"},
            boxes={"unsent": "results to send"}, facts={"phase": "phase", "known_generation": "generation",
            "identity": "producer", "position": "position"}, alive="is_up"),
        Lane("output", logs=(Log("output", markers={"last_stable_offset": "LSO"}, end="LEO"),)),
        Lane("offsets", logs=(Log("offsets", end="LEO"),)),
        arrows=(
            Arrow("initialize", "instance", "'coordinator'", "InitProducerId"),
            Arrow("fetch_offset", "'offsets'", "instance", "committed offset"),
            Arrow("begin", "'input'", "instance", "{count} from {position[instance]}"),
            Arrow("lose_answer_of_add", "instance", "'coordinator'", "AddPartitionsToTxn"),
            Arrow("repeat_add", "instance", "'coordinator'", "AddPartitionsToTxn again"),
            Arrow("produce", "instance", "'output'", "result of r{unsent[instance][0]}"),
            Arrow("send_offsets", "instance", "'offsets'", "TxnOffsetCommit {position[instance]}"),
            Arrow("commit", "instance", "'coordinator'", "EndTxn(commit)"),
            Arrow("lose_answer_of_commit", "instance", "'coordinator'", "EndTxn(commit)"),
            Arrow("repeat_commit", "instance", "'coordinator'", "EndTxn(commit) again"),
            Arrow("lose_answer_of_offsets", "instance", "'offsets'", "TxnOffsetCommit {position[instance]}"),
            Arrow("abort", "instance", "'coordinator'", "EndTxn(abort)"),
            Arrow("abort_by_choice", "instance", "'coordinator'", "EndTxn(abort)"),
            Arrow("commit_sync", "instance", "'offsets'", "OffsetCommit {position[instance]}"),
            Arrow("write_marker", "'coordinator'", LANE_OF_TARGET, "marker of id {producer_id}"),
        ),
        item_labels={"input_records": "r{}"},
    ).with_events(
        Event("rebalance", "The partition goes from {assigned} to {instance}", "rebalance", "'group'", "new epoch"),
        Event("reassign", "The group gives the partition of {assigned}, which is down, to {instance}"),
        Event("sync", "{instance} polls and learns of generation {generation}"),
        Event("fetch_offset", "{instance} fetches the committed offset"),
        Event("initialize", "{instance} sends InitProducerId", "InitProducerId", "'coordinator'"),
        Event("begin", "{instance} polls {count} from {position[instance]} and begins a transaction"),
        Event("lose_answer_of_add", "{instance} sends AddPartitionsToTxn, and {'the answer' if arrives else 'the "
            "request'} is lost", "answer lost", "instance", "disconnect"),
        Event("repeat_add", "{instance} sends AddPartitionsToTxn again"),
        Event("learn_of_fencing", "{instance} begins a transaction, and is fenced", "fenced", "instance", "refusal"),
        Event("lose_mapping", "{instance} begins a transaction; its id is unknown", "is refused", "instance",
            "refusal"),
        Event("produce", "{instance} produces the result of r{unsent[instance][0]}"),
        Event("send_offsets", "{instance} sends TxnOffsetCommit with offset {position[instance]}"),
        Event("commit", "{instance} sends EndTxn(commit)"),
        Event("lose_answer_of_commit", "{instance} sends EndTxn(commit); the answer is lost", "no answer", "instance",
            "disconnect"),
        Event("repeat_commit", "{instance} {'sends EndTxn(commit) again' if lost_commit == 'repeat' else 'gives up'}"),
        Event("lose_answer_of_offsets", "{instance} sends TxnOffsetCommit; the answer is lost", "no answer", "instance",
            "disconnect"),
        Event("abort", "{instance} sends EndTxn(abort)", "abort", "instance", "abort"),
        Event("abort_by_choice", "{instance} sends EndTxn(abort)", "abort", "instance", "abort"),
        Event("commit_sync", "{instance} calls commitSync with offset {position[instance]}"),
        Event("write_marker", "The marker of id {producer_id} reaches the {target} partition"),
        Event("time_out", "The transaction of id {producer_id} times out", "timeout", "'coordinator'", "timeout"),
        Event("time_out_slow", "The transaction of id {producer_id} times out", "timeout", "'coordinator'", "timeout"),
        Event("expire", "The coordinator forgets the id of {instance}", "expiry", "'coordinator'", "lost state"),
        Event("crash", "{instance} dies", "crash", "instance", "crash"),
        Event("restart", "{instance} starts again", "restart", "instance", "restart"))  # fmt: skip

    def init(self):
        """All instances run and are members of the group, and the first one has the partition."""
        self.assigned = Instance[0]
        for instance in Instance:
            self.phase[instance] = Phase.ASSIGNED if self.assigned == instance else Phase.IDLE
            self.known_generation[instance] = 0
        self.rebalances_left = self.rebalances
        self.expirations_left = self.expirations
        self.slow_left = self.slow_transactions
        self.late_left = self.late_initializations
        self.crashes_left = self.crashes
        self.lost_left = self.lost_answers
        self.aborts_left = self.aborts

    @assume
    def ids_of_partitions_are_not_fenced_by_generations(self):
        """An application with one transactional.id per partition sends no generation: fences_generations is False."""
        return self.transactional_id != "partition" or not self.fences_generations

    # The consumer group.

    @action(fair="weak", for_each=())
    def reassign(self, instance: Instance):
        """The group has no live owner: its session has timed out, and the partition is assigned to an instance."""
        require(self.phase[self.assigned] == Phase.DOWN)
        self.assign(instance)

    @action
    def rebalance(self, instance: Instance):
        """The owner is evicted (max.poll.interval.ms, lost heartbeats), or another instance joins."""
        require(self.rebalances_left > 0)
        require(self.assigned != instance)
        self.rebalances_left -= 1
        self.assign(instance)

    def assign(self, instance):
        """Begin a generation in which an instance owns the partition."""
        require(self.phase[instance] != Phase.DOWN)
        self.generation += 1
        self.assigned = instance

    @action(fair="weak")
    def sync(self, instance: Instance):
        """An instance without a transaction polls, and learns of the generation and its assignment."""
        require(self.phase[instance] != Phase.DOWN and self.begun_at[instance] is None)
        require(self.known_generation[instance] != self.generation)
        self.known_generation[instance] = self.generation
        self.give_up(instance)
        if self.assigned == instance:
            self.phase[instance] = Phase.ASSIGNED
        if self.transactional_id == "partition":
            self.identity[instance] = None  # the producer of the partition is closed with the partition

    def give_up(self, instance):
        """Give up the partition, and forget the position."""
        self.phase[instance] = Phase.IDLE
        self.position[instance] = 0
        self.uncommitted[instance] = False

    @action(fair="weak")
    def fetch_offset(self, instance: Instance):
        """A new owner fetches the committed offset, from which it starts.

        Source: OffsetMetadataManager.fetchOffsets, ConsumerCoordinator.sendOffsetFetchRequest.
        """
        require(self.phase[instance] == Phase.ASSIGNED and self.identity[instance] is not None)
        require(not self.requires_stable or not self.has_pending_offsets())
        self.phase[instance] = Phase.PROCESSING
        self.position[instance] = self.committed_offset()

    # The producer's identity.

    def id_of(self, instance):
        """Return the first instance that uses the transactional.id of an instance."""
        if self.transactional_id == "partition" or self.transactional_id == "shared":
            return Instance[0]
        return instance

    @action(fair="weak")
    def initialize(self, instance: Instance):
        """InitProducerId: aborts an open transaction of the transactional.id, waits for its end, and raises the epoch.

        With one id per partition, an instance creates the producer when it gets the partition.
        Source: TransactionCoordinator.handleInitProducerId.
        """
        require(self.phase[instance] != Phase.DOWN and self.identity[instance] is None)
        if self.transactional_id == "partition":
            require(self.phase[instance] == Phase.ASSIGNED)
            if not self.is_member(instance):
                require(self.late_left > 0)
                self.late_left -= 1
        registered = self.registered[self.id_of(instance)]
        if registered is None:
            self.register(instance)
        elif self.transactions[registered].state == TransactionState.ONGOING:
            self.abort_and_fence(registered)
        else:
            require(self.is_complete(registered))
            self.transactions[registered].epoch += 1
            self.identity[instance] = Identity(producer_id=registered, epoch=self.transactions[registered].epoch)

    def register(self, instance):
        """Give a new producer id to a transactional.id that the coordinator does not know."""
        producer_id = self.next_producer_id
        self.next_producer_id += 1
        self.registered[self.id_of(instance)] = producer_id
        self.transactions[producer_id].state = TransactionState.EMPTY
        self.identity[instance] = Identity(producer_id=producer_id, epoch=0)

    def is_complete(self, producer_id):
        """Return whether the coordinator has no transaction of the producer id in progress."""
        state = self.transactions[producer_id].state
        return state in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    def abort_and_fence(self, producer_id):
        """Abort a transaction with the next epoch, which fences its producer."""
        self.transactions[producer_id].epoch += 1
        self.transactions[producer_id].state = TransactionState.PREPARE_ABORT

    def is_registered(self, instance):
        """Return whether the coordinator knows the producer id of an instance as that of its transactional.id."""
        return self.registered[self.id_of(instance)] == self.identity[instance].producer_id

    def has_current_epoch(self, instance):
        """Return whether the coordinator accepts the producer id and epoch of an instance."""
        identity = self.identity[instance]
        return self.is_registered(instance) and self.transactions[identity.producer_id].epoch == identity.epoch

    # The transaction of an instance.

    @action(fair="weak", for_each="instance")
    def begin(self, instance: Instance, count: Count):
        """Poll returns records, and the first send adds the partitions to a transaction (AddPartitionsToTxn)."""
        require(self.may_begin(instance) and self.may_add(instance))
        require(self.position[instance] + count <= self.records)
        self.add_partitions(instance)
        self.take(instance, count)

    def may_add(self, instance):
        """Return whether the coordinator adds partitions; it refuses that until a decision is complete.

        Source: TransactionCoordinator.handleAddPartitionsToTransaction, in which a repetition changes nothing.
        """
        producer_id = self.identity[instance].producer_id
        return self.has_current_epoch(instance) and (self.is_complete(producer_id) or self.is_ongoing(producer_id))

    def add_partitions(self, instance):
        """Add both partitions to the transaction of an instance."""
        producer_id = self.identity[instance].producer_id
        self.transactions[producer_id].state = TransactionState.ONGOING
        self.transactions[producer_id].unmarked = {Target.OUTPUT, Target.OFFSETS}

    def take(self, instance, count):
        """Take the next records into a transaction."""
        first = self.position[instance]
        self.begun_at[instance] = first
        for record in range(first, first + count):
            self.unsent[instance].append(record)
        self.position[instance] = first + count

    @action
    def lose_answer_of_add(self, instance: Instance, count: Count, arrives: bool):
        """AddPartitionsToTxn or its answer is lost: the producer sends it again. A faulty producer does not.

        Source: TransactionManager.AddPartitionsToTxnHandler, which stays at the head of the queue of requests.
        """
        require(self.lost_left > 0 and self.may_begin(instance) and self.may_add(instance))
        require(self.position[instance] + count <= self.records)
        self.lost_left -= 1
        if arrives:
            self.add_partitions(instance)
        if self.lost_add != "forget":
            self.take(instance, count)
            self.awaits_add[instance] = self.lost_add == "repeat"

    @action(fair="weak")
    def repeat_add(self, instance: Instance):
        """AddPartitionsToTxn is sent again. A fenced instance stops."""
        require(self.awaits_add[instance])
        if not self.has_current_epoch(instance):
            self.stop(instance)
        else:
            require(self.may_add(instance))
            self.add_partitions(instance)
            self.awaits_add[instance] = False

    def may_begin(self, instance):
        """Return whether an instance has records to process and no transaction."""
        is_idle = self.begun_at[instance] is None and not self.uncommitted[instance]
        is_ready = self.phase[instance] == Phase.PROCESSING and self.identity[instance] is not None
        return is_idle and is_ready and self.position[instance] < self.records

    @action(fair="weak")
    def learn_of_fencing(self, instance: Instance):
        """AddPartitionsToTxn is answered with PRODUCER_FENCED or INVALID_PRODUCER_EPOCH: the instance closes."""
        require(self.may_begin(instance))
        require(self.is_registered(instance) and not self.has_current_epoch(instance))
        self.stop(instance)

    @action(fair="weak")
    def lose_mapping(self, instance: Instance):
        """AddPartitionsToTxn is answered with INVALID_PRODUCER_ID_MAPPING: the instance closes, or recovers.

        A producer that recovers skips EndTxn and asks for a new producer id with its old one. The coordinator refuses
        that if it knows the transactional.id again. Source: TransactionManager.beginCompletingTransaction (3.9.1),
        TransactionCoordinator.prepareInitProducerIdTransit (3.9.1).
        """
        require(self.may_begin(instance))
        require(not self.is_registered(instance))
        if self.lost_mapping == "fatal" or self.registered[self.id_of(instance)] is not None:
            self.stop(instance)
        else:
            self.register(instance)
            self.set_position_after_abort(instance, self.position[instance])

    @action(fair="weak")
    def produce(self, instance: Instance):
        """An instance sends the next result; the leader of the output refuses a producer that a marker has fenced."""
        require(len(self.unsent[instance]) > 0 and not self.awaits_add[instance])
        identity = self.identity[instance]
        if is_fenced(self.output, identity):
            self.stop(instance)
        else:
            record = self.unsent[instance].pop(0)
            self.output.append(OutputRecord(identity=identity, record=record))

    @action(fair="weak")
    def send_offsets(self, instance: Instance):
        """TxnOffsetCommit: the group coordinator checks the generation, the partition's leader the producer epoch.

        An instance whose commit is refused with ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID has to abort.
        Source: ClassicGroup.validateOffsetCommit, OffsetMetadataManager.validateTransactionalOffsetCommit.
        """
        require(self.offsets_in_transaction)
        require(self.may_send_offsets(instance))
        identity = self.identity[instance]
        if self.fences_generations and not self.is_member(instance):
            self.known_generation[instance] = None
        elif is_fenced(self.offsets, identity):
            self.stop(instance)
        else:
            self.offsets.append(OffsetCommit(identity=identity, offset=self.position[instance]))
            self.offsets_sent[instance] = True

    def may_send_offsets(self, instance):
        """Return whether an instance has a transaction without its offsets."""
        is_begun = self.begun_at[instance] is not None and not self.awaits_add[instance]
        return is_begun and not self.offsets_sent[instance] and self.known_generation[instance] is not None

    def is_member(self, instance):
        """Return whether the group accepts a commit of an instance: it is the owner, in the current generation."""
        return self.assigned == instance and self.known_generation[instance] == self.generation

    @action
    def lose_answer_of_offsets(self, instance: Instance):
        """TxnOffsetCommit is written, and its answer is lost: the instance sends it again."""
        require(self.lost_left > 0 and self.offsets_in_transaction)
        require(self.may_send_offsets(instance))
        require(self.is_member(instance) or not self.fences_generations)
        require(not is_fenced(self.offsets, self.identity[instance]))
        self.lost_left -= 1
        self.offsets.append(OffsetCommit(identity=self.identity[instance], offset=self.position[instance]))

    def may_commit(self, instance):
        """Return whether an instance has done everything that belongs to its transaction."""
        is_whole = self.offsets_sent[instance] or not self.offsets_in_transaction
        is_awaiting = self.awaits_add[instance] or self.awaits_commit[instance]
        is_open = self.begun_at[instance] is not None and not is_awaiting
        return is_open and is_whole and len(self.unsent[instance]) == 0

    @action
    def lose_answer_of_commit(self, instance: Instance):
        """EndTxn(commit) is stored, and its answer is lost."""
        require(self.lost_left > 0 and self.may_commit(instance) and self.has_current_epoch(instance))
        producer_id = self.identity[instance].producer_id
        require(self.is_ongoing(producer_id))
        self.lost_left -= 1
        self.store_decision(producer_id, TransactionState.PREPARE_COMMIT)
        self.awaits_commit[instance] = True

    @action(fair="weak")
    def repeat_commit(self, instance: Instance):
        """EndTxn(commit) is sent again. The coordinator recognizes the retry, and answers when it is complete."""
        require(self.awaits_commit[instance])
        identity = self.identity[instance]
        transaction = self.transactions[identity.producer_id]
        if self.lost_commit == "transaction_start":
            self.give_transaction_up(instance)
            return
        retried = identity.epoch + 1 if self.transaction_version == 2 else identity.epoch
        is_own = self.is_registered(instance) and transaction.epoch == retried
        require(not is_own or transaction.state != TransactionState.PREPARE_COMMIT)
        if is_own and transaction.state == TransactionState.COMPLETE_COMMIT:
            self.identity[instance] = replace(identity, epoch=retried)
            self.leave_transaction(instance)
            self.uncommitted[instance] = not self.offsets_in_transaction
        else:
            self.stop(instance)

    def give_transaction_up(self, instance):
        """Go back to the start of the transaction with a new producer."""
        first = self.begun_at[instance]
        self.leave_transaction(instance)
        self.identity[instance] = None
        self.position[instance] = first

    @action(fair="weak")
    def commit(self, instance: Instance):
        """EndTxn(commit): the coordinator stores the decision."""
        require(self.may_commit(instance))
        if self.end_transaction(instance, TransactionState.PREPARE_COMMIT):
            self.uncommitted[instance] = not self.offsets_in_transaction

    @action(fair="weak")
    def abort(self, instance: Instance):
        """EndTxn(abort), because the group has refused the offsets."""
        require(self.begun_at[instance] is not None and self.known_generation[instance] is None)
        if self.end_transaction(instance, TransactionState.PREPARE_ABORT):
            self.give_up(instance)

    @action
    def abort_by_choice(self, instance: Instance):
        """EndTxn(abort), because the application has met an error after which it continues."""
        require(self.aborts_left > 0)
        require(self.begun_at[instance] is not None and self.known_generation[instance] is not None)
        require(not self.awaits_add[instance] and not self.awaits_commit[instance])
        self.aborts_left -= 1
        first = self.begun_at[instance]
        if self.end_transaction(instance, TransactionState.PREPARE_ABORT):
            self.set_position_after_abort(instance, first)

    def set_position_after_abort(self, instance, first):
        """Go back to the committed offset or to the start of the transaction; a faulty application does neither."""
        if self.after_abort == "committed":
            self.phase[instance] = Phase.ASSIGNED
            self.position[instance] = 0
        elif self.after_abort == "transaction_start":
            self.position[instance] = first

    def end_transaction(self, instance, state):
        """Store the decision and return whether the coordinator accepts it; a fenced instance stops."""
        identity = self.identity[instance]
        if not self.has_current_epoch(instance) or not self.is_ongoing(identity.producer_id):
            self.stop(instance)
            return False
        self.store_decision(identity.producer_id, state)
        if self.transaction_version == 2:
            self.identity[instance] = replace(identity, epoch=identity.epoch + 1)
        self.leave_transaction(instance)
        return True

    def store_decision(self, producer_id, state):
        """Store the decision of a client; version 2 raises the epoch with it."""
        self.transactions[producer_id].state = state
        if self.transaction_version == 2:
            self.transactions[producer_id].epoch += 1

    def is_ongoing(self, producer_id):
        """Return whether the coordinator has an open transaction of a producer id."""
        return self.transactions[producer_id].state == TransactionState.ONGOING

    @action(fair="weak")
    def commit_sync(self, instance: Instance):
        """Without offsets in transactions: commitSync after the transaction, fenced by the generation."""
        require(self.uncommitted[instance])
        self.uncommitted[instance] = False
        if self.is_member(instance):
            self.offsets.append(OffsetCommit(identity=None, offset=self.position[instance]))

    # The coordinator.

    @action(fair="weak")
    def write_marker(self, producer_id: ProducerId, target: Target):
        """A marker reaches a partition; the transaction is complete when all partitions have it."""
        transaction = self.transactions[producer_id]
        is_commit = transaction.state == TransactionState.PREPARE_COMMIT
        require(is_commit or transaction.state == TransactionState.PREPARE_ABORT)
        require(target in transaction.unmarked)
        marker = EndMarker(
            identity=Identity(producer_id=producer_id, epoch=transaction.epoch),
            decision=Decision.COMMIT if is_commit else Decision.ABORT,
        )
        if target == Target.OUTPUT:
            self.output.append(marker)
        else:
            self.offsets.append(marker)
        self.transactions[producer_id].unmarked = transaction.unmarked - {target}
        if len(transaction.unmarked) == 1:
            complete = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
            self.transactions[producer_id].state = complete

    @action(fair="weak")
    def time_out(self, producer_id: ProducerId):
        """Transaction.timeout.ms has passed in an open transaction that its instance has left behind."""
        require(self.is_ongoing(producer_id) and not self.is_in_use(producer_id))
        self.abort_and_fence(producer_id)

    @action
    def time_out_slow(self, producer_id: ProducerId):
        """Transaction.timeout.ms has passed, although the instance still works on the transaction."""
        require(self.slow_left > 0)
        require(self.is_ongoing(producer_id) and self.is_in_use(producer_id))
        self.slow_left -= 1
        self.abort_and_fence(producer_id)

    def is_in_use(self, producer_id):
        """Return whether an instance works on the open transaction of a producer id."""
        return any(
            self.begun_at[i] is not None and self.identity[i].producer_id == producer_id and self.has_current_epoch(i)
            for i in Instance
        )

    @action
    def expire(self, instance: Instance):
        """Transactional.id.expiration.ms has passed: the coordinator forgets an id without a transaction."""
        require(self.expirations_left > 0)
        registered = self.registered[instance]
        require(registered is not None)
        require(self.is_complete(registered))
        self.expirations_left -= 1
        self.registered[instance] = None

    # Failures of instances.

    @action
    def crash(self, instance: Instance):
        """An instance dies."""
        require(self.crashes_left > 0 and self.phase[instance] != Phase.DOWN)
        self.crashes_left -= 1
        self.stop(instance)

    @action(fair="weak")
    def restart(self, instance: Instance):
        """An instance starts again; with random ids it has a new transactional.id."""
        require(self.phase[instance] == Phase.DOWN)
        self.phase[instance] = Phase.IDLE
        if self.transactional_id == "random":
            self.registered[instance] = None

    def stop(self, instance):
        """Forget everything: an instance dies, or closes after a fatal error such as PRODUCER_FENCED."""
        self.leave_transaction(instance)
        self.phase[instance] = Phase.DOWN
        self.identity[instance] = None
        self.known_generation[instance] = None
        self.uncommitted[instance] = False
        self.position[instance] = 0

    def leave_transaction(self, instance):
        """Forget the transaction."""
        self.begun_at[instance] = None
        self.unsent[instance].clear()
        self.offsets_sent[instance] = False
        self.awaits_add[instance] = False
        self.awaits_commit[instance] = False

    # What the partitions hold. A transaction takes effect with the decision, before its markers are written.

    def is_decided_commit(self, log, index, identity, target):
        """Return whether an entry of a log belongs to a committed transaction, whose marker may still be missing."""
        decision = outcome(log, index, identity)
        transaction = self.transactions[identity.producer_id]
        is_prepared = transaction.state == TransactionState.PREPARE_COMMIT and target in transaction.unmarked
        return decision == Decision.COMMIT or (decision is None and is_prepared)

    def decided_results(self):
        """Return the results of committed transactions, in the order of the output."""
        return [
            entry.record
            for i, entry in enumerate(self.output)
            if isinstance(entry, OutputRecord) and self.is_decided_commit(self.output, i, entry.identity, Target.OUTPUT)
        ]

    def decided_offset(self):
        """Return the offset that is committed once all markers are written: that of the last commit in the log."""
        return max(
            [
                (i, entry.offset)
                for i, entry in enumerate(self.offsets)
                if isinstance(entry, OffsetCommit)
                and (entry.identity is None or self.is_decided_commit(self.offsets, i, entry.identity, Target.OFFSETS))
            ],
            key=lambda commit: commit[0],
            default=(0, 0),
        )[1]

    def committed_offset(self):
        """Return the offset that the group coordinator answers: that of the last commit whose marker it has.

        Source: OffsetMetadataManager.replayEndTransactionMarker, which keeps the later record of two.
        """
        return max(
            [
                (i, entry.offset)
                for i, entry in enumerate(self.offsets)
                if isinstance(entry, OffsetCommit)
                and (entry.identity is None or outcome(self.offsets, i, entry.identity) == Decision.COMMIT)
            ],
            key=lambda commit: commit[0],
            default=(0, 0),
        )[1]

    def has_pending_offsets(self):
        """Return whether a transaction has committed an offset and has no marker yet."""
        return any(
            isinstance(entry, OffsetCommit)
            and entry.identity is not None
            and outcome(self.offsets, i, entry.identity) is None
            for i, entry in enumerate(self.offsets)
        )

    def last_stable_offset(self):
        """Return the offset of the first record of the output whose transaction is open, or the end."""
        return min(
            [
                i
                for i, entry in enumerate(self.output)
                if isinstance(entry, OutputRecord) and outcome(self.output, i, entry.identity) is None
            ],
            default=len(self.output),
        )

    def readable_results(self):
        """Return the results that a read_committed consumer of the output has received at the last stable offset."""
        return [
            entry.record
            for i, entry in enumerate(self.output)
            if i < self.last_stable_offset()
            and isinstance(entry, OutputRecord)
            and outcome(self.output, i, entry.identity) == Decision.COMMIT
        ]

    # For drawings.

    def input_records(self):
        """Return the records of the input partition."""
        return [record for record in RecordId if record < self.records]

    def known_transactions(self):
        """Return the producer ids that the coordinator has given out, with their transactions."""
        return [(i, self.transactions[i]) for i in ProducerId if i < self.next_producer_id]

    def has_partition(self, instance):
        """Return whether an instance considers itself the owner of the partition."""
        return self.phase[instance] == Phase.ASSIGNED or self.phase[instance] == Phase.PROCESSING

    def is_up(self, instance):
        """Return whether an instance runs."""
        return self.phase[instance] != Phase.DOWN

    # Properties.

    @invariant(says="record {record} has more than one committed result: {self.decided_results()}")
    def no_duplicate(self):
        """A record has at most one committed result."""
        return all(self.decided_results().count(record) <= 1 for record in RecordId)

    @invariant(says="the committed results are not in the order of the input: {self.decided_results()}")
    def no_reorder(self):
        """Committed results are in the order of the input."""
        return all(
            self.decided_results()[i - 1] <= self.decided_results()[i] for i in range(1, len(self.decided_results()))
        )

    @invariant(says="record {record} has no committed result, and the committed offset is {self.decided_offset()}")
    def no_gap(self):
        """Every record below the committed offset has a committed result."""
        return all(record in self.decided_results() for record in RecordId if record < self.decided_offset())

    @invariant(says="{record} in {self.decided_results()}, and the committed offset is {self.decided_offset()}")
    def no_result_above_offset(self):
        """No record from the committed offset on has a committed result: it would be processed again."""
        return all(record < self.decided_offset() for record in self.decided_results())

    @invariant(says="output {self.output}, transactions {self.transactions}")
    def no_fenced_record_committed(self):
        """A record is committed by a marker of its own transaction: with its epoch, or the next one in version 2."""
        step = 1 if self.transaction_version == 2 else 0
        return all(
            outcome(self.output, i, entry.identity) != Decision.COMMIT
            or EndMarker(identity=replace(entry.identity, epoch=entry.identity.epoch + step), decision=Decision.COMMIT)
            in self.output
            for i, entry in enumerate(self.output)
            if isinstance(entry, OutputRecord)
        )

    @step_invariant(says="from {old.last_stable_offset()} to {self.last_stable_offset()}")
    def stable_offset_never_goes_back(self, old):
        """The last stable offset of the output never goes back."""
        return self.last_stable_offset() >= old.last_stable_offset()

    @step_invariant(says="{old.readable_results()}, then {self.readable_results()}")
    def reads_are_stable(self, old):
        """A record that is readable with read_committed stays readable, in the same place."""
        return self.readable_results()[: len(old.readable_results())] == old.readable_results()

    @invariant(says="{instance} owns the partition with {self.identity[instance]}; coordinator: {self.transactions}")
    def owner_is_not_fenced(self):
        """No other instance fences the producer of the owner. A transaction timeout does."""
        return all(
            not self.is_member(instance)
            or self.phase[instance] != Phase.PROCESSING
            or not self.is_registered(instance)
            or self.has_current_epoch(instance)
            for instance in Instance
        )

    @eventually(says="committed results for ever: {self.readable_results()}")
    def every_record_has_a_readable_result(self):
        """Eventually every record has a result that a read_committed consumer receives."""
        return all(record in self.readable_results() for record in RecordId)

    @always_eventually(says="the last stable offset is {self.last_stable_offset()} of {len(self.output)} for ever")
    def output_becomes_stable(self):
        """No transaction hangs: the last stable offset reaches the end of the output again and again."""
        return self.last_stable_offset() == len(self.output)

    @always_eventually(says="offsets {self.offsets} for ever")
    def offsets_become_stable(self):
        """No fetch of an offset is refused for ever: again and again no transactional offset is pending."""
        return not self.has_pending_offsets()

    @reachable
    def everything_is_processed(self):
        """All records have a readable result, and the committed offset is the end of the input."""
        return len(self.readable_results()) == self.records and self.committed_offset() == self.records

    @reachable
    def a_zombie_is_in_a_transaction(self):
        """An instance is in a transaction after the partition was assigned to another one."""
        return self.rebalances + self.crashes == 0 or any(
            self.begun_at[instance] is not None and self.assigned != instance for instance in Instance
        )

    @reachable
    def an_offset_is_unstable(self):
        """A new owner has to wait for a pending transactional offset."""
        return self.rebalances + self.crashes == 0 or any(
            self.phase[instance] == Phase.ASSIGNED and self.has_pending_offsets() for instance in Instance
        )

    @reachable
    def a_transaction_is_aborted(self):
        """A result is in the output, and its transaction is aborted."""
        return self.rebalances + self.crashes == 0 or any(
            isinstance(entry, OutputRecord) and outcome(self.output, i, entry.identity) == Decision.ABORT
            for i, entry in enumerate(self.output)
        )
