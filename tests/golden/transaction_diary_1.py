"""The first part of Jack Vanlightly's transaction diary, InitPidRequest, for a comparison with TLC.

Source: Vanlightly/kafka-tlaplus at 823615e, transactions/diary/01_InitPidRequest/tlaplus/kafka_transactions.tla and
network.tla. Every action here has the name of an action of that text. TypeOK is the types of the variables here.

Three quirks of the text are kept. The last broker leads every partition, whatever the numbers are. A new transition of
one transactional id sets the transitions of all others to their metadata. The counter of producer ids falls when an id
with an older producer id is used again.
"""

import enum

from checker.language import (
    Constant,
    Domain,
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


class Client(Domain):
    size, prefix = "clients", "c"


class Broker(Range):
    low, high = 0, "brokers - 1"


class Tid(Range):
    """A transactional id."""

    low, high = 0, "tids - 1"


class LogPartition(Range):
    """A partition of the transaction log."""

    low, high = 0, "partitions - 1"


class Pid(Range):
    low, high = -1, "tids"


class Epoch(Range):
    low, high = -1, "clients"


class ClientStage(enum.Enum):
    READY = "ready"
    SENT_INIT_PID_REQUEST = "sent InitPidRequest"
    HAS_PID = "has pid"


class TxnState(enum.Enum):
    EMPTY = "empty"


class Code(enum.Enum):
    OK = "ok"
    NOT_COORDINATOR = "not coordinator"
    CONCURRENT = "concurrent transactions"
    ILLEGAL_STATE = "illegal state"
    INVALID_TRANSITION = "invalid transition"


class ClientState(Struct):
    stage: ClientStage
    tid: Option(Tid)
    pid: Pid
    epoch: Epoch
    last_stage: Option(ClientStage)
    last_error: Option(Code)


class Metadata(Struct):
    """The metadata of a transactional id. The text's last_pid and partitions follow from the other fields here."""

    pid: Pid
    epoch: Epoch
    last_epoch: Epoch
    state: TxnState


class Entry(Struct):
    """An entry of the transaction log."""

    client: Client
    tid: Tid
    transition: Metadata


class Request(Struct):
    tid: Tid
    dest: Broker
    source: Client


class Response(Struct):
    code: Code
    pid: Pid
    epoch: Epoch
    dest: Client
    source: Broker


RESPONSES = "clients * (4 * brokers + 1)"
"""Four errors of each broker to each client, and one success for each client."""


class TransactionDiary1(Spec):
    """A client gets a producer id from the transaction coordinator, which it finds by trying."""

    clients = Constant(1, at_least=1)
    brokers = Constant(2, at_least=1)
    partitions = Constant(1, at_least=1)
    tids = Constant(1, at_least=1)

    client = Map(Client, ClientState)
    metadata = Map(Broker, Map(Tid, Option(Metadata)))
    transition = Map(Broker, Map(Tid, Option(Metadata)))
    txn_log = Map(LogPartition, Seq(Entry, "clients"))
    high_watermark = Map(LogPartition, Range(0, "clients"))
    pid_source = Range(0, "tids")
    requests = SetOf(Request)
    responses = SetOf(Response, RESPONSES)
    discarded_requests = SetOf(Request)
    discarded_responses = SetOf(Response, RESPONSES)

    def init(self):
        for client in Client:
            self.client[client] = ClientState(
                stage=ClientStage.READY, tid=None, pid=-1, epoch=-1, last_stage=None, last_error=None
            )

    def partition_for(self, tid):
        """PartitionFor: the first balanced mapping, in which the first partitions have one id more."""
        size = self.tids // self.partitions
        larger = self.tids % self.partitions
        if tid < larger * (size + 1):
            return tid // (size + 1)
        return (tid - larger) // max(size, 1)

    def leads(self, broker, partition):
        """Whether the partition is in the domain of tc_part_metadata."""
        return broker == self.brokers - 1

    def discard_request(self, request):
        self.requests.remove(request)
        self.discarded_requests.add(request)

    # The client.

    @action(fair="strong", for_each=("client", "broker"))
    def send_init_pid_request(self, client: Client, broker: Broker, tid: Tid):
        require(self.client[client].stage == ClientStage.READY)
        require(self.client[client].tid is None or self.client[client].tid == tid)
        self.requests.add(Request(tid=tid, dest=broker, source=client))
        self.client[client].tid = tid
        self.client[client].stage = ClientStage.SENT_INIT_PID_REQUEST

    @action(fair="weak", for_each="client")
    def receive_init_pid_response(self, client: Client, response: Response):
        require(response in self.responses)
        require(response.dest == client and self.client[client].stage == ClientStage.SENT_INIT_PID_REQUEST)
        if response.code == Code.OK:
            self.client[client].stage = ClientStage.HAS_PID
            self.client[client].pid = response.pid
            self.client[client].epoch = response.epoch
        else:
            self.client[client].stage = ClientStage.READY
            self.client[client].last_stage = ClientStage.SENT_INIT_PID_REQUEST
            self.client[client].last_error = response.code
        self.responses.remove(response)
        self.discarded_responses.add(response)

    # The transaction coordinator.

    @action(fair="weak", for_each=("broker", "client"))
    def receive_init_pid_request(self, broker: Broker, client: Client, request: Request):
        require(request in self.requests)
        require(request.dest == broker and request.source == client)
        self.discard_request(request)
        if self.metadata[broker][request.tid] is None and not self.leads(broker, self.partition_for(request.tid)):
            self.refuse(broker, client, Code.NOT_COORDINATOR)
        else:
            current = self.known_or_new(broker, request.tid)
            self.pid_source = current.pid
            if self.transition[broker][request.tid] is not None:
                self.metadata[broker][request.tid] = current
                self.refuse(broker, client, Code.CONCURRENT)
            else:
                following = replace(current, epoch=current.epoch + 1, last_epoch=current.epoch)
                self.transition = self.metadata
                self.transition[broker][request.tid] = following
                self.metadata[broker][request.tid] = current
                self.txn_log[self.partition_for(request.tid)].append(
                    Entry(client=client, tid=request.tid, transition=following)
                )

    def known_or_new(self, broker, tid):
        """GetTxnMetadata, unless the broker does not lead."""
        known = self.metadata[broker][tid]
        if known is not None:
            return known
        return Metadata(pid=self.pid_source + 1, epoch=-1, last_epoch=-1, state=TxnState.EMPTY)

    def refuse(self, broker, client, code):
        self.responses.add(Response(code=code, pid=-1, epoch=-1, dest=client, source=broker))

    @action(fair="weak")
    def complete_init_pid_request(self, broker: Broker, partition: LogPartition):
        require(self.leads(broker, partition))
        require(len(self.txn_log[partition]) > self.high_watermark[partition])
        entry = self.txn_log[partition][self.high_watermark[partition]]
        self.metadata[broker][entry.tid] = entry.transition
        self.transition[broker][entry.tid] = None
        self.high_watermark[partition] += 1
        self.responses.add(
            Response(
                code=Code.OK,
                pid=entry.transition.pid,
                epoch=entry.transition.epoch,
                dest=entry.client,
                source=broker,
            )
        )

    @invariant
    def no_bad_state_response(self):
        return not any(response.code in (Code.ILLEGAL_STATE, Code.INVALID_TRANSITION) for response in self.responses)

    @eventually_always
    def eventually_all_clients_get_pid(self):
        return all(self.client[client].stage == ClientStage.HAS_PID for client in Client)
