"""The second part of Jack Vanlightly's transaction diary, AddPartitionsToTxnRequest, for a comparison with TLC.

Source: Vanlightly/kafka-tlaplus at 823615e, transactions/diary/02_AddPartitionsToTxn/tlaplus/kafka_transactions.tla and
network.tla. Every action here has the name of an action of that text.

Quirks of the text are kept. A broker that neither led a partition nor is elected never learns of an election, and then
no entry of that partition is committed any more (three brokers). An elected broker forgets the metadata of the ids of
all other partitions. The counter of producer ids falls when an id with an older producer id is used again.
"""

import enum

from checker.language import (
    Constant,
    Map,
    Option,
    Range,
    Seq,
    SetOf,
    Spec,
    Struct,
    action,
    eventually_always,
    invariant,
    replace,
    require,
)
from tests.golden.transaction_diary_1 import Broker, Client, LogPartition, Tid


class TopicPartition(Range):
    low, high = 0, "topic_partitions - 1"


class Pid(Range):
    low, high = -1, "tids * (elections + 1)"


class Epoch(Range):
    low, high = -1, "2 * clients"


class LeaderEpoch(Range):
    """The epoch of a partition of the transaction log, also called coordinator epoch."""

    low, high = 1, "elections + 1"


class Offset(Range):
    low, high = 0, "clients * (3 + topic_partitions) + tids"


class ClientStage(enum.Enum):
    READY = "ready"
    SENT_INIT_PID_REQUEST = "sent InitPidRequest"
    HAS_PID = "has pid"
    BEGUN_TXN = "begun txn"
    TERMINATED = "terminated"


class TxnState(enum.Enum):
    EMPTY = "empty"
    ONGOING = "ongoing"
    PREPARE_COMMIT = "prepare commit"
    PREPARE_ABORT = "prepare abort"
    COMPLETE_COMMIT = "complete commit"
    COMPLETE_ABORT = "complete abort"
    PREPARE_EPOCH_FENCE = "prepare epoch fence"
    DEAD = "dead"


class Code(enum.Enum):
    OK = "ok"
    NOT_COORDINATOR = "not coordinator"
    CONCURRENT = "concurrent transactions"
    FENCED = "producer fenced"
    INVALID_MAPPING = "invalid producer id mapping"
    ILLEGAL_STATE = "illegal state"
    INVALID_TRANSITION = "invalid transition"


class Callback(enum.Enum):
    """The type of an entry's callback."""

    INIT_PID = "InitPidRequest"
    ADD_PARTITIONS = "AddPartitionsToTxnRequest"
    PREPARE_ABORT = "prepare abort"
    COMPLETE_ABORT = "complete abort"
    COMPLETE_COMMIT = "complete commit"


class ClientState(Struct):
    stage: ClientStage
    coordinator: Option(Broker)
    tid: Option(Tid)
    pid: Pid
    epoch: Epoch
    last_stage: Option(ClientStage)
    last_error: Option(Code)
    pending: SetOf(TopicPartition)
    partitions: SetOf(TopicPartition)


class Metadata(Struct):
    """The metadata of a transactional id; the text's last_pid is present exactly if the epoch is -1."""

    pid: Pid
    epoch: Epoch
    last_epoch: Epoch
    state: TxnState
    partitions: SetOf(TopicPartition)


class Entry(Struct):
    """An entry of the transaction log.

    The two responses of the text's callback follow from its type, the transition, and the broker and the client of the
    request.
    """

    tid: Tid
    transition: Metadata
    callback: Callback
    broker: Option(Broker)
    client: Option(Client)


class Replica(Struct):
    """What a broker knows of a partition of the transaction log, and its copy of the log."""

    epoch: LeaderEpoch
    leader: Broker
    log: Seq(Entry, "clients * (3 + topic_partitions) + tids")
    high_watermark: Offset


class InitPidRequest(Struct):
    tid: Tid
    dest: Broker
    source: Client


class InitPidResponse(Struct):
    code: Code
    pid: Pid
    epoch: Epoch
    dest: Client
    source: Broker


class AddPartitionsRequest(Struct):
    """The text sends one partition with each request."""

    tid: Tid
    pid: Pid
    epoch: Epoch
    partition: TopicPartition
    dest: Broker
    source: Client


class AddPartitionsResponse(Struct):
    code: Code
    partitions: SetOf(TopicPartition)
    dest: Client
    source: Broker


INIT_RESPONSES = "clients * (2 * brokers + 1)"
ADD_REQUESTS = "clients * brokers * topic_partitions"
ADD_RESPONSES = "clients * brokers * (4 + topic_partitions)"
"""Numbers of different messages of a behaviour."""


class TransactionDiary2(Spec):
    """Clients get a producer id and add partitions to a transaction, while the coordinator moves."""

    clients = Constant(2, at_least=1)
    brokers = Constant(2, at_least=1)
    partitions = Constant(1, at_least=1)
    topic_partitions = Constant(1, at_least=1)
    tids = Constant(1, at_least=1)
    elections = Constant(1, at_least=0)

    client = Map(Client, ClientState)
    metadata = Map(Broker, Map(Tid, Option(Metadata)))
    transition = Map(Broker, Map(Tid, Option(Metadata)))
    replica = Map(Broker, Map(LogPartition, Replica))
    leader = Map(LogPartition, Broker)
    leader_epoch = Map(LogPartition, LeaderEpoch)
    elected = Range(0, "elections")
    pid_source = Range(0, "tids * (elections + 1)")
    init_requests = SetOf(InitPidRequest)
    init_responses = SetOf(InitPidResponse, INIT_RESPONSES)
    add_requests = SetOf(AddPartitionsRequest, ADD_REQUESTS)
    add_responses = SetOf(AddPartitionsResponse, ADD_RESPONSES)
    discarded_init_requests = SetOf(InitPidRequest)
    discarded_init_responses = SetOf(InitPidResponse, INIT_RESPONSES)
    discarded_add_requests = SetOf(AddPartitionsRequest, ADD_REQUESTS)
    discarded_add_responses = SetOf(AddPartitionsResponse, ADD_RESPONSES)

    def init(self):
        for client in Client:
            self.client[client] = ClientState(
                stage=ClientStage.READY,
                coordinator=None,
                tid=None,
                pid=-1,
                epoch=-1,
                last_stage=None,
                last_error=None,
                pending=set(),
                partitions=set(),
            )
        for partition in LogPartition:
            self.leader[partition] = self.share(partition, self.partitions, self.brokers)
            for broker in Broker:
                self.replica[broker][partition].leader = self.leader[partition]

    def share(self, item, items, owners):
        """Return the owner of an item in the first balanced mapping: the first owners have one item more."""
        if item < items % owners * (items // owners + 1):
            return item // (items // owners + 1)
        return (item - items % owners) // max(items // owners, 1)

    def partition_for(self, tid):
        """PartitionFor."""
        return self.share(tid, self.tids, self.partitions)

    # The client.

    @action(fair="strong", for_each="client")
    def send_init_pid_request(self, client: Client, tid: Tid):
        require(self.client[client].stage == ClientStage.READY)
        require(self.client[client].tid is None or self.client[client].tid == tid)
        self.init_requests.add(InitPidRequest(tid=tid, dest=self.leader[self.partition_for(tid)], source=client))
        self.client[client].tid = tid
        self.client[client].stage = ClientStage.SENT_INIT_PID_REQUEST

    @action(fair="weak", for_each=("client", "broker"))
    def receive_init_pid_response(self, client: Client, broker: Broker, response: InitPidResponse):
        require(response in self.init_responses)
        require(response.dest == client and response.source == broker)
        require(self.client[client].stage == ClientStage.SENT_INIT_PID_REQUEST)
        if response.code == Code.OK:
            self.client[client].stage = ClientStage.HAS_PID
            self.client[client].coordinator = broker
            self.client[client].pid = response.pid
            self.client[client].epoch = response.epoch
            self.client[client].last_stage = None
            self.client[client].last_error = None
        else:
            self.remember_error(client, response.code)
            self.client[client].stage = ClientStage.READY
        self.init_responses.remove(response)
        self.discarded_init_responses.add(response)

    def remember_error(self, client, code):
        self.client[client].last_stage = self.client[client].stage
        self.client[client].last_error = code

    @action(fair="strong", for_each="client")
    def send_add_partitions_to_txn_request(self, client: Client, partition: TopicPartition):
        sender = self.client[client]
        require(sender.stage in (ClientStage.HAS_PID, ClientStage.BEGUN_TXN))
        require(len(sender.pending) == 0 and partition not in sender.partitions)
        require(sender.tid is not None and sender.coordinator is not None)
        self.add_requests.add(
            AddPartitionsRequest(
                tid=sender.tid,
                pid=sender.pid,
                epoch=sender.epoch,
                partition=partition,
                dest=sender.coordinator,
                source=client,
            )
        )
        self.client[client].pending.add(partition)
        self.client[client].stage = ClientStage.BEGUN_TXN

    @action(fair="weak", for_each=("client", "broker"))
    def receive_add_partitions_to_txn_response(self, client: Client, broker: Broker, response: AddPartitionsResponse):
        require(response in self.add_responses)
        require(response.dest == client and response.source == broker)
        require(self.client[client].stage == ClientStage.BEGUN_TXN)
        tid = self.client[client].tid
        require(tid is not None)
        if response.code == Code.OK:
            self.client[client].pending = self.client[client].pending - response.partitions
            self.client[client].partitions = self.client[client].partitions | response.partitions
        elif response.code in (Code.CONCURRENT, Code.NOT_COORDINATOR):
            self.remember_error(client, response.code)
            self.client[client].pending.clear()
            if response.code == Code.NOT_COORDINATOR:
                self.client[client].coordinator = self.leader[self.partition_for(tid)]
        else:
            self.remember_error(client, response.code)
            self.client[client].stage = ClientStage.TERMINATED
            self.client[client].pending.clear()
            self.client[client].partitions.clear()
        self.add_responses.remove(response)
        self.discarded_add_responses.add(response)

    # Transitions of a transactional id.

    def leads(self, broker, partition):
        """IsPartitionLeader, as far as the broker knows."""
        return self.replica[broker][partition].leader == broker

    def append(self, broker, tid, transition, callback, requester, client):
        """LocalTxnLogEntryAppend; `requester` is the broker of the callback's responses, if it has any."""
        self.replica[broker][self.partition_for(tid)].log.append(
            Entry(tid=tid, transition=transition, callback=callback, broker=requester, client=client)
        )
        self.transition[broker][tid] = transition

    def is_prepared(self, metadata):
        """Return whether a transaction is being aborted or committed."""
        return metadata.state in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)

    def completed(self, prepared):
        """GenCompleteTransition, of PrepareCommit or PrepareAbort."""
        is_commit = prepared.state == TxnState.PREPARE_COMMIT
        return replace(prepared, state=TxnState.COMPLETE_COMMIT if is_commit else TxnState.COMPLETE_ABORT)

    def completion(self, transition):
        """Return the type of the callback of a complete transition."""
        return Callback.COMPLETE_COMMIT if transition.state == TxnState.COMPLETE_COMMIT else Callback.COMPLETE_ABORT

    def refuse(self, broker, client, code):
        """MakeErrorPidResponse."""
        self.init_responses.add(InitPidResponse(code=code, pid=-1, epoch=-1, dest=client, source=broker))

    def refuse_partitions(self, broker, client, code):
        """MakeAddPartsResponse with an error."""
        self.add_responses.add(AddPartitionsResponse(code=code, partitions=set(), dest=client, source=broker))

    # The transaction coordinator.

    @action
    def elect_leader(self, broker: Broker, partition: LogPartition):
        require(self.elected < self.elections)
        require(not self.leads(broker, partition))
        former = self.metadata[self.leader[partition]]
        for tid in Tid:
            self.metadata[broker][tid] = former[tid] if self.partition_for(tid) == partition else None
        self.elected += 1
        self.leader[partition] = broker
        self.leader_epoch[partition] += 1
        self.replica[broker][partition].epoch = self.leader_epoch[partition]
        self.replica[broker][partition].leader = broker

    @action(fair="weak")
    def complete_partial_txn(self, broker: Broker, tid: Tid):
        require(self.leads(broker, self.partition_for(tid)))
        prepared = self.metadata[broker][tid]
        require(prepared is not None and self.transition[broker][tid] is None)
        require(self.is_prepared(prepared))
        following = self.completed(prepared)
        self.append(broker, tid, following, self.completion(following), None, None)

    @action(fair="weak")
    def become_follower(self, broker: Broker, partition: LogPartition):
        require(self.replica[broker][partition].epoch < self.leader_epoch[partition])
        require(self.leads(broker, partition) and self.leader[partition] != broker)
        end = self.replica[broker][partition].high_watermark
        for entry in self.replica[broker][partition].log[end:]:
            self.report_not_coordinator(entry)
        del self.replica[broker][partition].log[end:]
        self.replica[broker][partition].epoch = self.leader_epoch[partition]
        self.replica[broker][partition].leader = self.leader[partition]
        for tid in Tid:
            if self.partition_for(tid) == partition:
                self.metadata[broker][tid] = None
                self.transition[broker][tid] = None

    def report_not_coordinator(self, entry):
        """Send the error response of an entry's callback, if it has one."""
        broker = entry.broker
        client = entry.client
        if broker is not None and client is not None:
            if entry.callback == Callback.ADD_PARTITIONS:
                self.refuse_partitions(broker, client, Code.NOT_COORDINATOR)
            else:
                self.refuse(broker, client, Code.NOT_COORDINATOR)

    @action(fair="weak", for_each=("broker", "client"))
    def receive_init_pid_request(self, broker: Broker, client: Client, request: InitPidRequest):
        require(request in self.init_requests)
        require(request.dest == broker and request.source == client)
        self.init_requests.remove(request)
        self.discarded_init_requests.add(request)
        if not self.leads(broker, self.partition_for(request.tid)):
            self.refuse(broker, client, Code.NOT_COORDINATOR)
        else:
            current = self.known_or_new(broker, request.tid)
            self.pid_source = current.pid
            self.metadata[broker][request.tid] = current
            self.start_epoch(broker, client, request.tid, current)

    def known_or_new(self, broker, tid):
        """GetOrCreateTxnMetadata."""
        known = self.metadata[broker][tid]
        if known is not None:
            return known
        return Metadata(pid=self.pid_source + 1, epoch=-1, last_epoch=-1, state=TxnState.EMPTY, partitions=set())

    def start_epoch(self, broker, client, tid, current):
        """Append a transition to the next producer epoch, or refuse; an ongoing transaction is aborted first."""
        if self.is_prepared(current):
            self.refuse(broker, client, Code.CONCURRENT)
        elif current.state in (TxnState.PREPARE_EPOCH_FENCE, TxnState.DEAD):
            self.refuse(broker, client, Code.ILLEGAL_STATE)
        elif self.transition[broker][tid] is not None:
            self.refuse(broker, client, Code.CONCURRENT)
        elif current.state == TxnState.ONGOING:
            following = replace(current, state=TxnState.PREPARE_ABORT, epoch=current.epoch + 1, last_epoch=-1)
            self.append(broker, tid, following, Callback.PREPARE_ABORT, broker, client)
        else:
            following = replace(
                current, state=TxnState.EMPTY, epoch=current.epoch + 1, last_epoch=current.epoch, partitions=set()
            )
            self.append(broker, tid, following, Callback.INIT_PID, broker, client)

    @action(fair="weak", for_each=("broker", "client"))
    def receive_add_partitions_to_txn_request(self, broker: Broker, client: Client, request: AddPartitionsRequest):
        require(request in self.add_requests)
        require(request.dest == broker and request.source == client)
        self.add_requests.remove(request)
        self.discarded_add_requests.add(request)
        current = self.metadata[broker][request.tid]
        if not self.leads(broker, self.partition_for(request.tid)):
            self.refuse_partitions(broker, client, Code.NOT_COORDINATOR)
        elif current is None or current.pid != request.pid:
            self.refuse_partitions(broker, client, Code.INVALID_MAPPING)
        elif current.epoch != request.epoch:
            self.refuse_partitions(broker, client, Code.FENCED)
        elif self.transition[broker][request.tid] is not None or current.state in (
            TxnState.PREPARE_COMMIT,
            TxnState.PREPARE_ABORT,
        ):
            self.refuse_partitions(broker, client, Code.CONCURRENT)
        elif current.state in (TxnState.PREPARE_EPOCH_FENCE, TxnState.DEAD):
            self.refuse_partitions(broker, client, Code.INVALID_TRANSITION)
        else:
            following = replace(current, state=TxnState.ONGOING, partitions=current.partitions | {request.partition})
            self.append(broker, request.tid, following, Callback.ADD_PARTITIONS, broker, client)

    @action(fair="weak")
    def commit_txn_log_append(self, broker: Broker, partition: LogPartition):
        end = self.replica[broker][partition].high_watermark
        require(end < len(self.replica[broker][partition].log))
        require(self.leader[partition] == broker)
        require(all(self.replica[other][partition].epoch == self.replica[broker][partition].epoch for other in Broker))
        entry = self.replica[broker][partition].log[end]
        for other in Broker:
            self.replica[other][partition].high_watermark = end + 1
            if other != broker:
                self.replica[other][partition].log.append(entry)
        self.metadata[broker][entry.tid] = entry.transition
        self.transition[broker][entry.tid] = None
        self.answer(entry)
        if entry.callback == Callback.PREPARE_ABORT:
            following = self.completed(entry.transition)
            self.append(broker, entry.tid, following, self.completion(following), None, None)

    def answer(self, entry):
        """Send the response of a committed entry's callback, if it has one."""
        broker = entry.broker
        client = entry.client
        if broker is not None and client is not None:
            if entry.callback == Callback.ADD_PARTITIONS:
                self.add_responses.add(
                    AddPartitionsResponse(
                        code=Code.OK, partitions=entry.transition.partitions, dest=client, source=broker
                    )
                )
            elif entry.callback == Callback.INIT_PID:
                self.init_responses.add(
                    InitPidResponse(
                        code=Code.OK,
                        pid=entry.transition.pid,
                        epoch=entry.transition.epoch,
                        dest=client,
                        source=broker,
                    )
                )
            else:
                self.refuse(broker, client, Code.CONCURRENT)

    # Properties.

    @invariant
    def type_ok(self):
        return (
            all(response.code in (Code.OK, Code.CONCURRENT, Code.NOT_COORDINATOR) for response in self.init_responses)
            and all(
                response.code not in (Code.ILLEGAL_STATE, Code.INVALID_TRANSITION) for response in self.add_responses
            )
            and all(request.pid >= 0 and request.epoch >= 0 for request in self.add_requests)
        )

    @invariant
    def no_bad_state_response(self):
        return not any(
            response.code in (Code.ILLEGAL_STATE, Code.INVALID_TRANSITION) for response in self.init_responses
        )

    @invariant
    def clients_have_different_producer_epochs(self):
        return not any(
            first != second
            and self.client[first].pid != -1
            and self.client[first].pid == self.client[second].pid
            and self.client[first].epoch == self.client[second].epoch
            for first in Client
            for second in Client
        )

    @invariant
    def tcs_have_different_epochs(self):
        return not any(
            first != second
            and self.leads(first, partition)
            and self.leads(second, partition)
            and self.replica[first][partition].epoch == self.replica[second][partition].epoch
            for partition in LogPartition
            for first in Broker
            for second in Broker
        )

    @eventually_always
    def eventually_all_clients_get_pid(self):
        return all(self.client[client].pid > -1 for client in Client)

    @eventually_always
    def eventually_one_client_adds_all_partitions(self):
        return any(
            self.client[client].stage == ClientStage.BEGUN_TXN
            and len(self.client[client].partitions) == self.topic_partitions
            for client in Client
        )
