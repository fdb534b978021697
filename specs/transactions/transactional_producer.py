"""The transactional producer, and all parts of a transaction together: instances, coordinator, leaders and network.

Sources: `TransactionManager` (`State`, `beginCompletingTransaction`, `maybeTransitionToErrorState`,
`handleFailedBatch`, the request handlers), `Sender` of the clients, `ReplicaManager`
(`maybeSendPartitionToTransactionCoordinator`), `AddPartitionsToTxnManager` of Apache Kafka 3.9.1 and 4.3.1; KIP-98,
KIP-360, KIP-890; KAFKA-14402, KAFKA-17754, KAFKA-18579.
"""

from checker.language import Bag, Bug, Constant, Map, OneOf, Option, Range, Scenario, SetOf, Struct
from checker.language.drawing import Arrow, Drawing, Event, Lane, Log
from checker.language.roles import action, assume, invariant, leads_to, reachable, require, step_invariant
from specs.scenario_forms import violates
from specs.transactions.coordinator import PREPARED, CoordinatorRules
from specs.transactions.partition_leader import Arrival, Guard, PartitionRules
from specs.transactions.state import (
    Batch,
    ClientState,
    Decision,
    Error,
    Fate,
    Generation,
    Identity,
    Instance,
    Marker,
    Outcome,
    Partition,
    ProducerId,
    TransactionNumber,
    TransactionState,
    Version,
)


class Client(Struct):
    """The transaction manager of an instance.

    `added` are the partitions of which the coordinator has confirmed that they are part of the transaction (version
    1), `acknowledged` those whose record is acknowledged. `sending` is the partition of the produce request that is
    not yet answered. `raises_epoch`: after the end of the transaction the client sends InitProducerId (KIP-360).

    `version` is the transaction version of its requests. `has_learned`: it knows that the cluster has version 2.
    `is_upgrading`: it has changed to version 2, but its EndTxn still has version 1.
    """

    state: ClientState
    identity: Option(Identity)
    transaction: Option(TransactionNumber)
    added: SetOf(Partition)
    acknowledged: SetOf(Partition)
    sending: Option(Partition)
    raises_epoch: bool
    version: Version
    has_learned: bool
    is_upgrading: bool
    shows = "{state} ({identity})"


class LateProduce(Struct):
    """A copy of a produce request in the network, whose client does not wait for it."""

    partition: Partition
    batch: Batch
    version: Version
    shows = "produce {batch} to {partition}"


class LateInit(Struct):
    """A copy of an InitProducerId request, with the identity of a client that continues after an error."""

    expected: Option(Identity)
    shows = "init ({expected})"


class LateAdd(Struct):
    """A copy of an AddPartitionsToTxn request."""

    identity: Identity
    partition: Partition
    shows = "add {partition} ({identity})"


class LateEnd(Struct):
    """A copy of an EndTxn request."""

    identity: Identity
    decision: Decision
    version: Version
    shows = "end with {decision} ({identity})"


class LateMarker(Struct):
    """A copy of a WriteTxnMarkers request."""

    partition: Partition
    marker: Marker
    version: Version
    shows = "marker {marker} to {partition}"


LateMessage = OneOf(LateProduce, LateInit, LateAdd, LateEnd, LateMarker)


class Transactions(PartitionRules, CoordinatorRules):
    """Instances of an application write a record to each partition in every transaction, and commit or abort it.

    A request that the client waits for is handled and answered in one step. A connection may break: then a copy of the
    request stays in the network, where it arrives at any time or never. The client sends the request again, or gives
    up. This covers lost answers: the copy arrives, and the client has to repeat the request. `max_late` bounds the
    copies in the network at the same time. A crashed instance is one that does nothing any more.

    With `max_generation`, the first partition is one of `__consumer_offsets`. sendOffsetsToTransaction adds it to the
    transaction (AddOffsetsToTxn, version 1) and writes to it (TxnOffsetCommit). The leader verifies the transaction,
    and the group coordinator compares the generation (KIP-447). These writes have no sequence. `ExactlyOnceLoop` has
    the members of the group. Expiry of transactional ids is not modelled here.

    A partition is one log that never loses an entry (`SinglePartition`). `ReplicatedPartition` refines that: its
    replicated log changes in the same steps, also with clean elections. An election also drops requests that wait for
    their verification, which here are late copies that are never appended.

    Each request has the transaction version of its client. The coordinator's own aborts have that of the cluster.
    """

    max_producer_id = Constant(0)
    instances = Constant(1, at_least=1)
    max_arrivals = Constant(2, at_least="instances")
    max_late = Constant(1, at_least=0)
    times_out = Constant(False)
    """Whether a transaction may exceed transaction.timeout.ms."""
    gives_up = Constant(True)
    """Whether a batch may exceed delivery.timeout.ms."""
    aborts = Constant(True)
    """Whether the application may abort a transaction without an error."""
    raises_epoch_after_error = Constant(True)
    """KIP-360: after an abortable error a client of version 1 raises its epoch. It does not if the error comes while it
    commits or aborts."""
    commit_timeout = Constant("retried", one_of=("retried", "repeated"))
    """What the application does if commitTransaction throws TimeoutException: it calls commitTransaction again, which
    is the normal course of this model, or it takes the transaction for lost and repeats it with a new instance."""
    late_markers = Constant("none", one_of=("none", "former", "any"))
    """Which markers may arrive late: only one of a former coordinator, which got no answer, or any copy."""
    max_marker_copies = Constant(0, at_least=0)
    """The number of markers whose answer is lost, or of which a copy arrives late."""
    max_init_copies = Constant(0, at_least=0)
    """The number of copies of InitProducerId that arrive late. One without an identity fences every instance."""
    producers_expire = Constant(False)
    """Whether the state of a producer may expire while its copies are in the network (before KAFKA-9144)."""

    upgrades = Constant(False)
    """Whether the feature transaction.version is raised from 1 to 2 while the clients run."""

    max_generation = Constant(0, at_least=0)
    """The number of rebalances of the group that has its offsets in the first partition; 0: no group."""
    max_offset_copies = Constant(1, at_least=0)
    """The number of copies of TxnOffsetCommit that arrive late: no leader recognizes them as copies."""
    fences_generations = Constant(True)
    """Whether TxnOffsetCommit carries the generation of the group (KIP-447)."""

    client = Map(Instance, Client)
    next_sequence = Map(Instance, Map(Partition, Range(0, "transactions")))
    outcome = Map(TransactionNumber, Outcome)
    begun = Range(0, "transactions")
    repeated = Option(TransactionNumber)
    fenced = SetOf(TransactionNumber)
    late = Bag(LateMessage, "max_late")
    unmarked = SetOf(Partition)
    gave_up_markers = bool
    marker_copies = Range(0, "max_marker_copies")
    init_copies = Range(0, "max_init_copies")
    generation = Generation
    offset_copies = Range(0, "max_offset_copies")
    joined = Map(TransactionNumber, Generation)
    """The generation in which the instance of a transaction was a member of the group when it began."""
    cluster_version = Version
    marker_version = Version
    """The transaction version of the markers of the decided transaction (`clientTransactionVersion`)."""

    draws = Drawing(
        Lane("instance", each=Instance, facts={"client": "client"}),
        Lane("network", boxes={"late": "late copies"}),
        Lane("coordinator", facts={"metadata": "transaction", "unmarked": "partitions without marker",
            "coordinator_epoch": "coordinator epoch"}),
        Lane("leader of", each=Partition, logs=(Log("log", markers={"last_stable_offset": "LSO"},
            called=("transaction=transaction",)),), boxes={"arrivals": "verified requests"}),
        Lane("application", facts={"outcome": "outcomes"}),
        arrows=(
            Arrow("init_producer_id", "instance", "'coordinator'", "InitProducerId"),
            Arrow("add_partition", "instance", "'coordinator'", "AddPartitionsToTxn {partition}"),
            Arrow("end", "instance", "'coordinator'", "EndTxn"),
            Arrow("produce", "instance", "client[instance].sending", "Produce"),
            Arrow("mark", "'coordinator'", "partition", "marker"),
            Arrow("end_late", "'network'", "'coordinator'", "late EndTxn"),
            Arrow("produce_late", "'network'", "late.partition", "late Produce"),
            Arrow("mark_late", "'network'", "late.partition", "late marker"),
            Arrow("init_late", "'network'", "'coordinator'", "late InitProducerId"),
            Arrow("add_late", "'network'", "'coordinator'", "late AddPartitionsToTxn"),
        ),
        gains={"arrivals": "the leader verifies"},
        item_labels={"arrivals": "{item.batch}"},
    ).with_events(
        Event("init", "No instance of the application has started"),
        Event("start", "{instance} starts", "starts", "instance", "restart"),
        Event("init_producer_id", "{instance} sends InitProducerId: "
            "{str(answer_init(client[instance].identity)).replace('none', 'it gets ' + str(next_identity()))}", "",
            "'coordinator'", "{'new epoch' if str(answer_init(client[instance].identity)) == 'none' else 'refusal'}"),
        Event("delay_init", "A copy of InitProducerId of {instance} stays in the network", "copy", "'network'"),
        Event("begin", "{instance} begins transaction t{begun if repeated is None else repeated}",
            "begin t{begun if repeated is None else repeated}", "instance"),
        Event("add_partition", "{instance} adds {partition} to its transaction"),
        Event("delay_add", "A copy of AddPartitionsToTxn of {instance} stays in the network", "copy", "'network'"),
        Event("send", "{instance} sends its record for {partition}", "", "instance"),
        Event("produce", "The produce request of {instance} reaches the leader of {client[instance].sending}"),
        Event("append_verified", "The leader of {partition} handles {arrival.batch}, which is verified: "
            "{('ILLEGAL_GENERATION' if is_former_member(partition, arrival.batch) else str(append_as(arrival.version, "
            "partition, arrival.batch, arrival.guard))).replace('none', 'success')}", "handles", "partition",
            "{'refusal' if ('ILLEGAL_GENERATION' if is_former_member(partition, arrival.batch) else "
                "str(append_as(arrival.version, partition, arrival.batch, arrival.guard))) != 'none' else ''}"),
        Event("rebalance", "The group begins generation {generation + 1}, in which another instance has the input",
            "generation {generation + 1}", "'coordinator'", "new epoch"),
        Event("delay_produce", "A copy of {batch_of(instance)} stays in the network", "copy", "'network'"),
        Event("give_up", "{instance} gives up the batch (delivery.timeout.ms)", "timeout", "instance", "timeout"),
        Event("commit", "{instance} calls commitTransaction", "commit", "instance"),
        Event("abort", "{instance} calls abortTransaction", "abort", "instance", "abort"),
        Event("upgrade_cluster", "The cluster is upgraded to transaction version 2", "upgrade", "'coordinator'"),
        Event("learn_version", "{instance} learns of transaction version 2", "learns of version 2", "instance"),
        Event("end", "{instance} {'ends an empty transaction without a request' if len(client[instance].added) == 0 "
            "else 'sends EndTxn: ' + str(answer_end_of(client[instance])).replace('none', 'success')}", "",
            "'coordinator'", "{'refusal' if len(client[instance].added) > 0 and str(answer_end_of(client[instance])) "
            "!= 'none' else ''}"),
        Event("delay_end", "A copy of EndTxn of {instance} stays in the network", "copy", "'network'"),
        Event("time_out_commit", "commitTransaction of {instance} times out", "timeout", "instance", "timeout"),
        Event("produce_late", "A late copy of {late.batch} reaches the leader of {late.partition}{', and passes, as a "
            "transaction of the same epoch is open' if late.version == 1 and str(metadata.state) == 'ongoing' and "
            "metadata.epoch == late.batch.epoch and late.partition in metadata.partitions else ''}", "late copy"),
        Event("init_late", "A late copy of InitProducerId reaches the coordinator", "late copy"),
        Event("add_late", "A late copy of AddPartitionsToTxn reaches the coordinator", "late copy"),
        Event("end_late", "A late EndTxn({str(late.decision)}) of {late.identity} reaches the coordinator",
            "late copy"),
        Event("mark_late", "A late copy of marker {late.marker} reaches {late.partition}", "late copy"),
        Event("time_out", "The transaction times out: it is to be aborted", "timeout", "'coordinator'", "timeout"),
        Event("mark", "The leader of {partition} gets the marker {marker()}{(': ' + str(write_marker_as("
            "marker_version, partition, marker()))).replace(': none', '')}{'' if answered else ', and its answer is "
            "lost'}", "", "partition", "{'' if answered else 'disconnect'}"),
        Event("complete_transaction", "Every partition has its marker: it is complete", "complete", "'coordinator'"),
        Event("delay_marker", "A copy of the marker for {partition} stays in the network", "copy", "'network'"),
        Event("elect_coordinator", "Another broker becomes the coordinator", "election", "'coordinator'", "election"),
        Event("expire", "{partition} forgets producer id {producer_id}", "forgets the producer", "partition",
            "lost state"))  # fmt: skip

    @assume
    def an_upgrade_begins_with_version_1(self):
        """The clients and the cluster have version 1 before an upgrade."""
        return not self.upgrades or (self.transaction_version == 1 and not self.old_clients)

    def init(self):
        """Begin with the versions of the clients and the cluster."""
        self.cluster_version = 2 if self.old_clients else self.transaction_version
        self.marker_version = self.transaction_version
        for instance in Instance:
            self.client[instance].version = self.transaction_version

    # The coordinator's transitions.

    def aborts_with_version_2(self):
        """Return whether the coordinator's own aborts are those of version 2."""
        return self.cluster_version == 2

    def begin_transition(self, following):
        """Write a change; a decision makes the coordinator send markers."""
        if following.state in PREPARED and (self.old_clients or self.upgrades):
            # Version 1 raises the epoch only in its own aborts, which a cluster of version 2 makes with version 2.
            has_raised = self.metadata.epoch != following.epoch
            self.marker_version = 2 if has_raised and self.cluster_version == 2 else 1
        self.metadata = self.successor(following)
        if self.metadata.state in PREPARED:
            self.unmarked = self.metadata.partitions

    # An instance: InitProducerId.

    @action
    def start(self, instance: Instance):
        """An instance starts, and the former ones do not know it."""
        require(self.client[instance].state == ClientState.UNINITIALIZED)
        self.client[instance].state = ClientState.INITIALIZING
        if not self.old_clients:
            self.client[instance].version = self.cluster_version

    @action(fair="weak", for_each="instance")
    def init_producer_id(self, instance: Instance):
        """An instance sends InitProducerId and gets its answer."""
        client = self.client[instance]
        require(client.state == ClientState.INITIALIZING)
        is_new = client.identity is None
        answer = self.answer_init(client.identity)
        if answer == Error.NONE:
            if is_new:
                self.fence_others()
            self.adopt(instance, self.next_identity())
            self.client[instance].state = ClientState.READY
        elif answer != Error.CONCURRENT_TRANSACTIONS:
            self.client[instance].state = ClientState.FATAL_ERROR

    @action
    def delay_init(self, instance: Instance):
        """A copy of InitProducerId stays in the network, and the client sends it again."""
        require(self.client[instance].state == ClientState.INITIALIZING)
        require(self.init_copies < self.max_init_copies and len(self.late) < self.max_late)
        self.init_copies += 1
        self.late.add(LateInit(expected=self.client[instance].identity))

    def adopt(self, instance, identity):
        """Continue with an identity: sequences begin at 0 again if it is a new one. Source: `resetSequenceNumbers`."""
        if self.client[instance].identity != identity:
            for partition in Partition:
                self.next_sequence[instance][partition] = 0
        self.client[instance].identity = identity

    def fence_others(self):
        """Note the transactions that the former instances must not commit any more."""
        self.fenced = {t for t in TransactionNumber if t < self.begun and not self.is_committed_somewhere(t)}

    def is_committed_somewhere(self, transaction):
        """Return whether a record of a transaction is committed."""
        return any(self.has_fate(p, transaction, Fate.COMMITTED) for p in Partition)

    # A transaction.

    def reset(self, instance, state):
        """End the transaction of an instance."""
        self.client[instance].state = state
        self.client[instance].transaction = None
        self.client[instance].added = set()
        self.client[instance].acknowledged = set()
        self.client[instance].sending = None

    @action
    def begin(self, instance: Instance):
        """The application begins its next transaction, or one that it repeats."""
        require(self.client[instance].state == ClientState.READY)
        require(self.begun < self.transactions or self.repeated is not None)
        if self.repeated is not None:
            self.client[instance].transaction = self.repeated
            self.repeated = None
        else:
            self.client[instance].transaction = self.begun
            self.joined[self.begun] = self.generation
            self.begun += 1
        self.client[instance].state = ClientState.IN_TRANSACTION

    @action(fair="weak", for_each="instance")
    def add_partition(self, instance: Instance, partition: Partition):
        """An instance adds a partition to its transaction before it writes to it (version 1)."""
        client = self.client[instance]
        require(client.version == 1)
        require(client.state == ClientState.IN_TRANSACTION and partition not in client.added and client.sending is None)
        require(client.identity is not None)
        answer = self.answer_add(client.identity.producer_id, client.identity.epoch, partition)
        if answer == Error.NONE:
            self.client[instance].added.add(partition)
        elif answer != Error.CONCURRENT_TRANSACTIONS:
            self.client[instance].state = ClientState.FATAL_ERROR

    @action
    def delay_add(self, instance: Instance, partition: Partition):
        """A copy of AddPartitionsToTxn stays in the network."""
        client = self.client[instance]
        require(client.version == 1 and len(self.late) < self.max_late)
        require(client.state == ClientState.IN_TRANSACTION and partition not in client.added and client.sending is None)
        require(client.identity is not None)
        self.late.add(LateAdd(identity=client.identity, partition=partition))

    @action(fair="weak", for_each="instance")
    def send(self, instance: Instance, partition: Partition):
        """An instance sends its record for a partition."""
        client = self.client[instance]
        require(client.state == ClientState.IN_TRANSACTION and client.sending is None)
        require(partition not in client.acknowledged)
        require(client.version == 2 or partition in client.added)
        self.client[instance].sending = partition
        self.client[instance].added.add(partition)
        self.next_sequence[instance][partition] += 1

    def batch_of(self, instance):
        """Return the batch that an instance sends."""
        client = self.client[instance]
        return Batch(
            producer_id=client.identity.producer_id,
            epoch=client.identity.epoch,
            sequence=self.next_sequence[instance][client.sending] - 1,
            transaction=client.transaction,
        )

    @action(fair="weak", for_each="instance")
    def produce(self, instance: Instance):
        """The produce request reaches the leader, which appends the batch or verifies it first."""
        client = self.client[instance]
        require(client.sending is not None and client.identity is not None and client.transaction is not None)
        partition = client.sending
        batch = self.batch_of(instance)
        require(not self.is_verifying(partition, batch))
        self.handle_produce(partition, batch, client.version, True)

    def is_verifying(self, partition, batch):
        """Return whether the leader holds the request of a client that waits for it."""
        return any(arrival.is_live and arrival.batch == batch for arrival in self.arrivals[partition])

    def handle_produce(self, partition, batch, version, is_live):
        """Verify a batch with the coordinator, or append it. Source: `maybeSendPartitionToTransactionCoordinator`."""
        is_checked = self.verification or version == 2
        if not is_checked:
            self.finish(partition, batch, Guard.NONE, version, is_live)
        elif self.is_stale(partition, batch):
            self.answer_produce(partition, batch, Error.INVALID_PRODUCER_EPOCH, is_live)
        elif self.is_ongoing(partition, batch):
            self.hold(partition, batch, Guard.NONE, version, is_live)
        else:
            answer = self.ask_coordinator(partition, batch, version)
            if answer == Error.NONE:
                self.hold(partition, batch, Guard.CURRENT, version, is_live)
            else:
                self.answer_produce(partition, batch, answer, is_live)

    def hold(self, partition, batch, guard, version, is_live):
        """Keep a request that is verified until it is appended."""
        self.arrivals[partition].append(Arrival(batch=batch, guard=guard, is_live=is_live, version=version))

    def ask_coordinator(self, partition, batch, version):
        """Return the coordinator's answer to a leader: version 2 adds the partition, version 1 verifies it."""
        if version == 2:
            return self.answer_add(batch.producer_id, batch.epoch, partition)
        return self.answer_verify(batch.producer_id, batch.epoch, partition)

    @action(fair="weak", for_each="partition")
    def append_verified(self, partition: Partition, arrival: Arrival):
        """The leader appends a batch that is verified, if the guard is still valid."""
        require(arrival in self.arrivals[partition])
        del self.arrivals[partition][self.arrivals[partition].index(arrival)]
        self.finish(partition, arrival.batch, arrival.guard, arrival.version, arrival.is_live)

    def finish(self, partition, batch, guard, version, is_live):
        """Append a batch and answer its client."""
        if self.is_former_member(partition, batch):
            self.answer_produce(partition, batch, Error.ILLEGAL_GENERATION, is_live)
        else:
            answer = self.append_as(version, partition, batch, guard)
            self.answer_produce(partition, batch, answer, is_live)

    def has_offsets(self, partition):
        """Return whether a partition has the offsets of the group."""
        return self.max_generation > 0 and partition == Partition[0]

    def has_sequences(self, partition):
        """Return whether the batches of a partition have sequences: not those of the group coordinator."""
        return not self.has_offsets(partition)

    def is_former_member(self, partition, batch):
        """Return whether the group refuses the offsets of a transaction. Source: `validateOffsetCommit`."""
        is_checked = self.has_offsets(partition) and self.fences_generations
        return is_checked and self.joined[batch.transaction] < self.generation

    @action
    def rebalance(self):
        """The group begins a generation in which another application instance has the input partitions."""
        require(self.generation < self.max_generation)
        self.generation += 1

    def answer_produce(self, partition, batch, error, is_live):
        """Handle the answer in the instance that waits for it; CONCURRENT_TRANSACTIONS makes it send again."""
        for instance in Instance:
            client = self.client[instance]
            if is_live and client.sending == partition and self.is_batch_of(client, batch):
                if error == Error.NONE:
                    self.client[instance].sending = None
                    self.client[instance].acknowledged.add(partition)
                elif error == Error.ILLEGAL_GENERATION:
                    self.client[instance].sending = None
                    if client.state == ClientState.IN_TRANSACTION:
                        self.client[instance].state = ClientState.ABORTABLE_ERROR
                elif error != Error.CONCURRENT_TRANSACTIONS:
                    self.fail_batch(instance)

    def is_batch_of(self, client, batch):
        """Return whether a batch has the identity and the transaction of an instance."""
        return (
            client.identity is not None
            and client.identity.producer_id == batch.producer_id
            and client.identity.epoch == batch.epoch
            and client.transaction == batch.transaction
        )

    def fail_batch(self, instance):
        """Fail the batch: the transaction has to be aborted. Source: `maybeTransitionToErrorState`."""
        self.client[instance].sending = None
        if self.client[instance].state == ClientState.IN_TRANSACTION:
            self.client[instance].state = ClientState.ABORTABLE_ERROR
            if self.raises_epoch_after_error and self.client[instance].version == 1:
                self.client[instance].raises_epoch = True

    @action
    def delay_produce(self, instance: Instance):
        """A copy of the produce request stays in the network; the client sends it again, or gives up."""
        client = self.client[instance]
        require(client.sending is not None and client.identity is not None and client.transaction is not None)
        require(len(self.late) < self.max_late and not self.is_verifying(client.sending, self.batch_of(instance)))
        if self.has_offsets(client.sending):
            require(self.offset_copies < self.max_offset_copies)
            self.offset_copies += 1
        batch = self.batch_of(instance)
        self.late.add(LateProduce(partition=client.sending, batch=batch, version=client.version))

    @action
    def give_up(self, instance: Instance):
        """The batch expires (delivery.timeout.ms) before an answer arrives."""
        client = self.client[instance]
        require(self.gives_up and client.sending is not None)
        require(client.identity is not None and client.transaction is not None)
        require(not self.is_verifying(client.sending, self.batch_of(instance)))
        self.fail_batch(instance)

    # The end of a transaction.

    @action
    def commit(self, instance: Instance):
        """The application commits: every record is acknowledged."""
        require(self.client[instance].state == ClientState.IN_TRANSACTION)
        require(len(self.client[instance].acknowledged) == self.partitions)
        self.client[instance].state = ClientState.COMMITTING_TRANSACTION
        self.change_version(instance)

    @action
    def abort(self, instance: Instance):
        """The application aborts its transaction, after an error or because it wants to."""
        state = self.client[instance].state
        require(state == ClientState.ABORTABLE_ERROR or (self.aborts and state == ClientState.IN_TRANSACTION))
        self.client[instance].state = ClientState.ABORTING_TRANSACTION
        self.change_version(instance)

    def change_version(self, instance):
        """Change to version 2 if the client knows of it. The EndTxn of this transaction keeps version 1.

        Sources: `beginCompletingTransaction`, `maybeUpdateTransactionV2Enabled` of `TransactionManager`.
        """
        if self.client[instance].has_learned and self.client[instance].version == 1:
            self.client[instance].version = 2
            self.client[instance].is_upgrading = True
            self.client[instance].raises_epoch = True

    @action
    def upgrade_cluster(self):
        """The feature transaction.version becomes 2."""
        require(self.upgrades and self.cluster_version == 1)
        self.cluster_version = 2

    @action
    def learn_version(self, instance: Instance):
        """A client gets the finalized features from a broker."""
        require(self.upgrades and self.cluster_version == 2 and not self.client[instance].has_learned)
        require(self.client[instance].version == 1)
        self.client[instance].has_learned = True

    def version_of_end(self, client):
        """Return the transaction version of the EndTxn of a client."""
        return 1 if client.is_upgrading else client.version

    def answer_end_as(self, version, identity, decision):
        """Answer EndTxn of a transaction version."""
        if version == 2:
            return self.answer_end_2(identity.producer_id, identity.epoch, decision)
        return self.answer_end_1(identity.producer_id, identity.epoch, decision)

    def answer_end_of(self, client):
        """Answer the EndTxn of a client that has an identity."""
        is_commit = client.state == ClientState.COMMITTING_TRANSACTION
        decision = Decision.COMMIT if is_commit else Decision.ABORT
        return self.answer_end_as(self.version_of_end(client), client.identity, decision)

    def may_end(self, client):
        """Return whether EndTxn is sent: the client completes its transaction, and no batch waits for its answer."""
        return (
            client.state in (ClientState.COMMITTING_TRANSACTION, ClientState.ABORTING_TRANSACTION)
            and client.sending is None
        )

    @action(fair="weak", for_each="instance")
    def end(self, instance: Instance):
        """An instance sends EndTxn and gets its answer; a transaction without a partition needs no request."""
        client = self.client[instance]
        require(self.may_end(client) and client.identity is not None and client.transaction is not None)
        is_commit = client.state == ClientState.COMMITTING_TRANSACTION
        if len(client.added) == 0:
            self.end_answered(instance, Outcome.ABORTED, client.identity)
            return
        answer = self.answer_end_of(client)
        if answer == Error.NONE:
            identity = self.next_identity() if self.version_of_end(client) == 2 else client.identity
            self.end_answered(instance, Outcome.COMMITTED if is_commit else Outcome.ABORTED, identity)
        elif answer != Error.CONCURRENT_TRANSACTIONS:
            self.reset(instance, ClientState.FATAL_ERROR)

    def end_answered(self, instance, outcome, identity):
        """Return from commitTransaction or abortTransaction, or raise the epoch first."""
        client = self.client[instance]
        if client.transaction is not None:
            self.outcome[client.transaction] = outcome
        self.adopt(instance, identity)
        self.client[instance].raises_epoch = False
        self.client[instance].is_upgrading = False
        self.reset(instance, ClientState.INITIALIZING if client.raises_epoch else ClientState.READY)

    @action
    def delay_end(self, instance: Instance):
        """A copy of EndTxn stays in the network, and the client sends it again."""
        client = self.client[instance]
        require(self.may_end(client) and len(client.added) > 0 and len(self.late) < self.max_late)
        require(client.identity is not None)
        is_commit = client.state == ClientState.COMMITTING_TRANSACTION
        decision = Decision.COMMIT if is_commit else Decision.ABORT
        self.late.add(LateEnd(identity=client.identity, decision=decision, version=self.version_of_end(client)))

    @action
    def time_out_commit(self, instance: Instance):
        """commitTransaction throws TimeoutException. The application takes the transaction for lost."""
        client = self.client[instance]
        require(self.commit_timeout == "repeated" and client.state == ClientState.COMMITTING_TRANSACTION)
        self.repeated = client.transaction
        self.reset(instance, ClientState.FATAL_ERROR)

    # Late copies.

    @action
    def produce_late(self, late: LateMessage):
        """A copy of a produce request reaches the leader."""
        require(late in self.late)
        require(isinstance(late, LateProduce))
        require(self.has_room(late.partition))
        self.late.remove(late)
        self.handle_produce(late.partition, late.batch, late.version, False)

    def has_room(self, partition):
        """Return whether the leader may verify one more copy: room for the instances' own requests remains."""
        copies = sum(1 for arrival in self.arrivals[partition] if not arrival.is_live)
        return copies + self.instances < self.max_arrivals

    @action
    def init_late(self, late: LateMessage):
        """A copy of InitProducerId reaches the coordinator."""
        require(late in self.late)
        require(isinstance(late, LateInit))
        self.late.remove(late)
        _answer = self.answer_init(late.expected)

    @action
    def add_late(self, late: LateMessage):
        """A copy of AddPartitionsToTxn reaches the coordinator."""
        require(late in self.late)
        require(isinstance(late, LateAdd))
        self.late.remove(late)
        _answer = self.answer_add(late.identity.producer_id, late.identity.epoch, late.partition)

    @action
    def end_late(self, late: LateMessage):
        """A copy of EndTxn reaches the coordinator."""
        require(late in self.late)
        require(isinstance(late, LateEnd))
        self.late.remove(late)
        _answer = self.answer_end_as(late.version, late.identity, late.decision)

    @action
    def mark_late(self, late: LateMessage):
        """A copy of a marker reaches the leader."""
        require(late in self.late)
        require(isinstance(late, LateMarker))
        require(self.late_markers == "any" or late.marker.coordinator_epoch < self.coordinator_epoch)
        self.late.remove(late)
        _answer = self.write_marker_as(late.version, late.partition, late.marker)

    # The coordinator.

    @action(fair="weak")
    def time_out(self):
        """The transaction exceeds its timeout: the coordinator aborts it."""
        require(self.times_out and self.metadata.state == TransactionState.ONGOING)
        self.fence(self.timeout_raises_epoch)

    def marker(self):
        """Return the marker of the decided transaction."""
        is_commit = self.metadata.state == TransactionState.PREPARE_COMMIT
        return Marker(
            producer_id=self.metadata.producer_id,
            epoch=self.metadata.epoch,
            decision=Decision.COMMIT if is_commit else Decision.ABORT,
            coordinator_epoch=self.coordinator_epoch,
        )

    @action(fair="weak", for_each="partition")
    def mark(self, partition: Partition, answered: bool):
        """The leader gets the marker; the answer may be lost, and the coordinator sends it again."""
        require(answered or self.marker_copies < self.max_marker_copies)
        require(self.metadata.state in PREPARED and partition in self.unmarked and not self.gave_up_markers)
        require(self.late_markers == "any" or not self.is_delayed(partition))
        answer = self.write_marker_as(self.marker_version, partition, self.marker())
        if not answered:
            self.marker_copies += 1
            return
        if answer == Error.NONE:
            self.unmarked.discard(partition)
        else:
            self.gave_up_markers = True

    def is_delayed(self, partition):
        """Return whether this coordinator's marker for a partition is still in the network."""
        return any(
            isinstance(late, LateMarker)
            and late.partition == partition
            and late.marker.coordinator_epoch == self.coordinator_epoch
            for late in self.late
        )

    @action(fair="weak")
    def complete_transaction(self):
        """Every partition has its marker: it is complete."""
        require(self.metadata.state in PREPARED and len(self.unmarked) == 0)
        self.complete()

    @action
    def delay_marker(self, partition: Partition):
        """A copy of a marker stays in the network."""
        require(self.late_markers != "none" and len(self.late) < self.max_late)
        require(self.marker_copies < self.max_marker_copies)
        require(self.metadata.state in PREPARED and partition in self.unmarked and not self.gave_up_markers)
        self.marker_copies += 1
        self.late.add(LateMarker(partition=partition, marker=self.marker(), version=self.marker_version))

    @action
    def elect_coordinator(self):
        """Another coordinator is elected and sends the markers of a decided transaction again."""
        require(self.coordinator_epoch < self.max_coordinator_epoch)
        self.coordinator_epoch += 1
        self.gave_up_markers = False
        if self.metadata.state in PREPARED:
            self.unmarked = self.metadata.partitions

    @action
    def expire(self, partition: Partition, producer_id: ProducerId):
        """A leader forgets a producer without an open transaction. Source: `removeExpiredProducers`."""
        require(self.producers_expire and self.producers[partition][producer_id] is not None)
        require(not self.has_open(partition, producer_id))
        self.producers[partition][producer_id] = None

    # Properties.

    @invariant(says="transaction {transaction} is partly committed and partly aborted: {self.log}")
    def all_or_nothing(self):
        """The records of a transaction are all committed, or none is, as soon as all are decided."""
        return all(
            not self.is_committed_somewhere(transaction)
            or not any(self.has_fate(p, transaction, Fate.ABORTED) for p in Partition)
            for transaction in TransactionNumber
        )

    @invariant(says="commitTransaction of {transaction} returned, and a record is aborted or missing: {self.log}")
    def committed_is_never_lost(self):
        """If commitTransaction returned, every record of the transaction is in the log and not aborted."""
        return all(
            self.outcome[transaction] != Outcome.COMMITTED
            or all(
                self.has_fate(p, transaction, Fate.COMMITTED) or self.has_fate(p, transaction, Fate.OPEN)
                for p in Partition
            )
            for transaction in TransactionNumber
        )

    @invariant(says="abortTransaction of t{transaction} returned, and its record is committed")
    def aborted_is_never_read(self):
        """If abortTransaction returned, no record of the transaction is committed."""
        return all(
            self.outcome[transaction] != Outcome.ABORTED or not self.is_committed_somewhere(transaction)
            for transaction in TransactionNumber
        )

    @invariant(says="a record of a fenced instance is committed: {self.log}")
    def fenced_is_never_committed(self):
        """No transaction of a former instance is committed after a newer one is initialized."""
        return all(not self.is_committed_somewhere(transaction) for transaction in self.fenced)

    @invariant(says="transaction {transaction} is committed twice: {self.log}")
    def committed_once(self):
        """No record is committed twice in a partition."""
        return all(
            sum(
                1
                for offset, entry in enumerate(self.log[p])
                if isinstance(entry, Batch)
                and entry.transaction == transaction
                and self.fate(p, entry.producer_id, offset) == Fate.COMMITTED
            )
            <= 1
            for transaction in TransactionNumber
            for p in Partition
        )

    @invariant(says="{p} has an open transaction, and the coordinator will send no marker to it")
    def open_is_known(self):
        """The coordinator knows every partition with an open transaction, so that a marker ends it."""
        return all(not self.has_open(p, id) or self.will_mark(p, id) for p in Partition for id in ProducerId)

    def will_mark(self, partition, producer_id):
        """Return whether the coordinator has a partition in its transaction and its marker is missing."""
        if self.metadata.producer_id != producer_id:
            return False
        if self.metadata.state in PREPARED:
            return partition in self.unmarked
        return self.metadata.state == TransactionState.ONGOING and partition in self.metadata.partitions

    @step_invariant(says="offsets of a former generation are written in generation {self.generation}: {self.log}")
    def former_members_write_no_offsets(self, old):
        """After a rebalance, no offsets of a transaction that began before are written."""
        return all(
            not self.has_offsets(p)
            or all(
                offset < len(old.log[p])
                or not isinstance(entry, Batch)
                or self.joined[entry.transaction] == self.generation
                for offset, entry in enumerate(self.log[p])
            )
            for p in Partition
        )

    @step_invariant(says="the last stable offset of {p} goes back")
    def stable_offset_never_goes_back(self, old):
        """The last stable offset of a partition never goes back."""
        return all(self.last_stable_offset(p) >= old.last_stable_offset(p) for p in Partition)

    @invariant(says="{instance} has to abort, and nothing has failed")
    def no_spurious_error(self):
        """Without a fault, no instance has to abort its transaction."""
        return all(
            self.client[instance].state not in (ClientState.ABORTABLE_ERROR, ClientState.FATAL_ERROR)
            for instance in Instance
        )

    def is_decided(self):
        """Return whether a transaction is decided and not complete."""
        return self.metadata.state in PREPARED

    @leads_to("is_decided", says="the transaction stays {self.metadata}")
    def completes(self):
        """Every decided transaction completes: its partitions get their markers."""
        return self.metadata.state not in PREPARED

    def is_ending(self, instance):
        """Return whether commitTransaction or abortTransaction waits."""
        return self.client[instance].state in (ClientState.COMMITTING_TRANSACTION, ClientState.ABORTING_TRANSACTION)

    @leads_to("is_ending", says="{instance} waits for ever: {self.client[instance]}")
    def end_returns(self, instance: Instance):
        """Every commitTransaction and abortTransaction returns."""
        return self.client[instance].state not in (ClientState.COMMITTING_TRANSACTION, ClientState.ABORTING_TRANSACTION)

    def is_unstable(self, partition):
        """Return whether a transaction is open in a partition."""
        return any(self.has_open(partition, id) for id in ProducerId)

    @leads_to("is_unstable", says="the last stable offset of {partition} stays {self.last_stable_offset(partition)}")
    def no_transaction_hangs(self, partition: Partition):
        """The last stable offset passes every transaction: by its end, or by its timeout."""
        return not self.is_unstable(partition)

    @reachable
    def second_commit(self):
        """A transaction is committed after one that was committed."""
        return sum(1 for t in TransactionNumber if self.outcome[t] == Outcome.COMMITTED) > 1


ATOMIC = ["all_or_nothing", "committed_is_never_lost", "aborted_is_never_read", "fenced_is_never_committed",
    "stable_offset_never_goes_back"]  # fmt: skip
SAFETY = [*ATOMIC, "open_is_known"]
LIVENESS = ["completes", "end_returns", "no_transaction_hangs"]
VERSION_1 = dict(transaction_version=1)
UNVERIFIED = dict(transaction_version=1, verification=False)
FORMER_MARKER = dict(transaction_version=1, gives_up=False, late_markers="former", max_marker_copies=1)
OLD_CLIENTS = dict(transaction_version=1, old_clients=True)
UPGRADE = dict(transaction_version=1, upgrades=True)
OFFSETS = dict(max_generation=1)
LATE_MARKER = dict(gives_up=False, late_markers="any", max_marker_copies=1)

scenarios = [
    Scenario(Transactions, "version_2", dict(partitions=2, max_epoch=6),
        properties=[*SAFETY, "committed_once", "second_commit"],
        description="Transaction version 2: one instance, two transactions, two partitions, and a late copy."),
    Scenario(Transactions, "version_2_zombie",
        dict(instances=2, times_out=True, max_epoch=8, max_arrivals=3, log_size=8), properties=SAFETY,
        description="Transaction version 2: two instances with the same transactional.id, and timeouts."),
    Scenario(Transactions, "version_2_late_init", dict(max_init_copies=2, max_epoch=8), properties=SAFETY,
        description="Transaction version 2: copies of InitProducerId arrive late and fence the instance."),
    Scenario(Transactions, "version_1_late_init", dict(VERSION_1, max_init_copies=2, max_epoch=6, transactions=1),
        properties=SAFETY,
        description="Transaction version 1: copies of InitProducerId arrive late, also those after an error."),
    Scenario(Transactions, "version_2_liveness", dict(times_out=True, max_epoch=8), properties=LIVENESS,
        description="Transaction version 2: the last stable offset passes every transaction, and every commit "
        "returns."),
    Scenario(Transactions, "version_1_zombie",
        dict(VERSION_1, instances=2, times_out=True, max_epoch=8, max_late=0, max_arrivals=3, log_size=8),
        properties=SAFETY,
        description="Transaction version 1 without late copies: two instances with the same transactional.id."),
    Scenario(Transactions, "version_1_liveness", dict(VERSION_1, times_out=True, max_epoch=8), properties=LIVENESS,
        description="Transaction version 1 with verification (3.6 to 3.9): the last stable offset passes every "
        "transaction, and every commit returns."),
    Scenario(Transactions, "offsets_liveness", dict(OFFSETS, times_out=True, max_epoch=8), properties=LIVENESS,
        description="A transaction writes offsets of a group that is rebalanced: every commit or abort returns."),
    Bug("offsets_without_generation", Transactions, {"former_members_write_no_offsets": 8},
        size=dict(OFFSETS, transactions=1, max_epoch=4), larger=dict(max_generation=2, max_epoch=6),
        faulty=dict(fences_generations=False), promises=[*SAFETY, "former_members_write_no_offsets"],
        description="sendOffsetsToTransaction without group metadata: after a rebalance, the former owner of the input "
        "writes its offsets.",
        remedy="KIP-447: TxnOffsetCommit has the generation, and the group coordinator refuses it."),
    Bug("late_offsets_join", Transactions, {"aborted_is_never_read": 22}, size=dict(OFFSETS, max_epoch=4),
        larger=dict(max_generation=2, max_epoch=6), faulty=VERSION_1, fixed=dict(transaction_version=2),
        promises=SAFETY,
        description="T2 with offsets: a late TxnOffsetCommit of an aborted transaction is committed with the next one. "
        "The generation is the same, and offsets have no sequence.",
        remedy="T2 with offsets and transaction version 2: the epoch of the late TxnOffsetCommit is a former one."),
    Scenario(Transactions, "old_clients_zombie",
        dict(OLD_CLIENTS, instances=2, times_out=True, max_epoch=8, max_late=0, max_arrivals=3, log_size=8),
        properties=SAFETY,
        description="Clients of version 1 in a cluster of version 2, without late copies: two instances."),
    violates(Transactions, "old_clients_late_end", dict(OLD_CLIENTS, partitions=2, max_epoch=4, gives_up=False),
        {"all_or_nothing": 25},
        "T3 with clients of 3.9 in a cluster of version 2: their transactions keep one epoch."),
    Scenario(Transactions, "upgrade", dict(UPGRADE, partitions=2, max_epoch=8, max_late=0, times_out=True),
        properties=[*SAFETY, "second_commit"],
        description="The feature transaction.version is raised while a producer runs, without late copies."),
    Bug("upgrade_late_produce_hangs", Transactions, {"open_is_known": 15},
        size=dict(UPGRADE, transactions=1, max_epoch=6),
        larger=dict(UPGRADE, transactions=1, partitions=2, max_epoch=6), fixed=dict(version_1_marker_ends_guard=True),
        promises=SAFETY,
        description="The feature transaction.version is raised in a transaction: a batch is sent again with version 2, "
        "and EndTxn and the marker still have version 1. The marker leaves the guard valid, and the batch opens a "
        "transaction that nothing ends.",
        remedy="A marker of version 1 also ends guards of version 2. No release has this rule."),
    Bug("t1_late_produce_hangs", Transactions, {"open_is_known": 12}, size=dict(transactions=1, max_epoch=3),
        larger=dict(transactions=1, partitions=2, max_epoch=4), faulty=UNVERIFIED, fixed=VERSION_1, promises=SAFETY,
        description="T1: a produce request arrives after the abort of its transaction and opens one that nothing ends.",
        remedy="T1 with verification (KIP-890, part 1; 3.6)."),
    violates(Transactions, "t1_late_produce_hangs_for_ever",
        dict(UNVERIFIED, transactions=1, max_epoch=3, times_out=True), {"no_transaction_hangs": 13},
        "T1: the last stable offset never passes the late batch. No timeout helps: the coordinator does not know the "
        "partition."),
    Bug("t2_late_produce_joins", Transactions, {"aborted_is_never_read": 22}, size=dict(max_epoch=4),
        larger=dict(transactions=3, max_epoch=6), faulty=VERSION_1, fixed=dict(transaction_version=2), promises=SAFETY,
        description="T2: a late batch of an aborted transaction arrives in the next one and commits with it. "
        "Verification does not help: the epoch is the same.",
        remedy="T2 with transaction version 2: each transaction has its epoch (KIP-890, part 2; 4.0)."),
    Bug("t3_late_end_decides_next", Transactions, {"aborted_is_never_read": 29, "all_or_nothing": 25},
        size=dict(partitions=2, max_epoch=4, gives_up=False),
        larger=dict(partitions=2, max_late=2, max_epoch=6, gives_up=False), faulty=VERSION_1,
        fixed=dict(transaction_version=2), promises=SAFETY,
        description="T3 (KAFKA-17754): a late EndTxn of the first transaction commits the half of the second one that "
        "is written so far. The other half is aborted.",
        remedy="T3 with transaction version 2: the late EndTxn has the epoch of the first transaction."),
    Bug("t5_next_transaction_while_completing", Transactions, {"no_spurious_error": 14},
        size=dict(max_epoch=4, max_late=0, gives_up=False, aborts=False),
        larger=dict(partitions=2, transactions=3, max_epoch=6, max_late=0, gives_up=False, aborts=False),
        faulty=dict(ongoing_has_epoch=False), promises=[*SAFETY, "no_spurious_error"],
        description="T5 (KAFKA-18575): the leader checks the first batch of the next transaction before the marker and "
        "appends it afterwards: the batch is refused.",
        remedy="T5 (KAFKA-18654, 4.0): an open transaction of an older epoch is another one."),
    Bug("t7_marker_retry_refused", Transactions, {"completes": 11},
        size=dict(transactions=1, max_epoch=3, max_late=0, max_marker_copies=1),
        larger=dict(partitions=2, transactions=1, max_epoch=4, log_size=4, max_late=0, max_marker_copies=1),
        faulty=dict(markers="higher"), promises=["completes", *SAFETY],
        description="T7 (KAFKA-19999): the answer to a marker is lost, and the leader refuses the repeated marker. The "
        "transaction never completes.",
        remedy="T7 (4.2): the leader accepts a marker of the known epoch if no transaction is open."),
    Bug("t7_late_marker_ends_next", Transactions, {"committed_is_never_lost": 19}, size=dict(LATE_MARKER, max_epoch=4),
        larger=dict(LATE_MARKER, partitions=2, max_epoch=5), faulty=dict(markers="not_lower"), promises=SAFETY,
        description="KAFKA-19446, in 4.0 and 4.1: a late marker has the epoch of the next transaction and ends it.",
        remedy="KAFKA-19446 (4.2): the leader refuses a marker of the epoch of an open transaction."),
    violates(Transactions, "version_1_late_marker", dict(LATE_MARKER, transaction_version=1, max_epoch=3),
        {"committed_is_never_lost": 18},
        "Transaction version 1: a copy of a marker has the epoch of the next transaction and ends it. The leader "
        "cannot tell it from the right marker."),
    Bug("t8_timeout_keeps_epoch", Transactions, {"committed_is_never_lost": 17, "all_or_nothing": 18},
        size=dict(VERSION_1, partitions=2, transactions=1, max_epoch=4, max_late=0, times_out=True),
        larger=dict(VERSION_1, partitions=2, transactions=2, max_epoch=4, max_late=0, times_out=True),
        faulty=dict(timeout_raises_epoch=False), promises=SAFETY,
        description="T8 (KAFKA-6119): the transaction times out, and its producer continues with the same epoch. The "
        "records before the timeout are aborted, those after it committed.",
        remedy="T8 (1.0 and 0.11.0.2): the timeout raises the epoch, and the producer is fenced."),
    Bug("t8_expired_state_accepts_old_marker", Transactions, {"committed_is_never_lost": 20},
        size=dict(FORMER_MARKER, max_epoch=3, max_coordinator_epoch=1),
        larger=dict(FORMER_MARKER, max_epoch=3, max_coordinator_epoch=2, log_size=8),
        faulty=dict(producers_expire=True), promises=SAFETY,
        description="T8 (KAFKA-9144): a leader forgets the producer, and the coordinator's epoch with it. Then a late "
        "marker of the former coordinator aborts the next transaction.",
        remedy="T8 (2.4.1): markers delay the expiry, and the leader refuses the marker."),
    Bug("commit_timeout_repeated", Transactions, {"committed_once": 22},
        size=dict(instances=2, transactions=1, max_epoch=6, max_arrivals=3, gives_up=False),
        larger=dict(instances=2, transactions=2, max_epoch=8, max_arrivals=3, log_size=8, gives_up=False),
        faulty=dict(commit_timeout="repeated"), promises=[*SAFETY, "committed_once"],
        description="commitTransaction times out, the application repeats the transaction with a new producer, and "
            "both are committed.", remedy="After a TimeoutException the application calls commitTransaction again."),
]  # fmt: skip
