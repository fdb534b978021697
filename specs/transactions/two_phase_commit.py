"""Two-phase commit with a store outside of Kafka (KIP-939): the store decides, and Kafka's transaction has to follow.

Sources: KIP-939; `TransactionManager` (`prepareTransaction`, `initializeTransactions`, `State.PREPARED_TRANSACTION`),
`TransactionCoordinator.handleInitProducerId`, `TransactionStateManager.timedOutTransactions` of Apache Kafka 4.3.1.
"""

from checker.language import Bag, Bug, Constant, Enum, Map, Option, Range, Scenario, SetOf, Struct
from checker.language.drawing import Arrow, Drawing, Event, Lane
from checker.language.roles import action, assume, invariant, leads_to, reachable, require
from specs.scenario_forms import violates
from specs.transactions.coordinator import PREPARED, CoordinatorRules
from specs.transactions.state import Decision, Error, Identity, Instance, Partition, TransactionNumber, TransactionState


class Phase(Enum):
    """The state of an instance."""

    NOT_STARTED = "not started"
    INITIALIZING = "initializing"
    READY = "ready"
    WRITING = "writing"
    PREPARED = "prepared"  # the state of prepareTransaction: only the end of the transaction may follow
    RECOVERING = "recovering"  # initTransactions has returned; the store is read next
    COMMITTING = "committing"
    ABORTING = "aborting"
    STOPPED = "stopped"


class LateEndTxn(Struct):
    """A copy of an EndTxn request in the network."""

    identity: Identity
    decision: Decision
    shows = "end with {decision} ({identity})"


class TwoPhaseCommit(CoordinatorRules):
    """An application writes to a store and to Kafka, and wants both writes or none.

    An instance writes records, prepares the transaction (`prepareTransaction`), commits its data in the store together
    with the identity of the prepared transaction, and ends Kafka's transaction. An instance that succeeds another one
    calls initTransactions with keepPreparedTxn and compares the identity of the kept transaction with that in the
    store: if they are equal it commits, else it aborts (`completeTransaction`). A coordinator that does not keep
    prepared transactions aborts them.

    The partitions are left out: a transaction has the outcome that the coordinator has written. A request and its
    answer are one step, and copies of EndTxn stay in the network.
    """

    transaction_version = Constant(2, at_least=1, at_most=2)
    max_producer_id = Constant(1)
    max_epoch = Constant(8)
    keeps_prepared = Constant(True)
    transactions = Constant(2, at_least=1)
    instances = Constant(2, at_least=1)
    max_late = Constant(1, at_least=0)
    times_out = Constant(False)
    """Whether a transaction may exceed transaction.timeout.ms. KIP-939 excludes that (Enable2Pc). Clients of 4.1 to 4.4
    have the setting transaction.two.phase.commit.enable and send InitProducerId without Enable2Pc."""
    store_fences = Constant(True)
    """Whether the store refuses an instance after one with a newer producer id or epoch has read the store."""
    last_may_crash = Constant(False)
    """Whether the last instance may crash, so that no instance decides its transaction."""

    phase = Map(Instance, Phase)
    identity = Map(Instance, Option(Identity))
    transaction = Map(Instance, Option(TransactionNumber))
    token = Map(Instance, Option(Identity))
    """The identity of the prepared or kept transaction (`PreparedTxnState`)."""
    begun = Range(0, "transactions")

    open = Option(TransactionNumber)
    outcome = Map(TransactionNumber, Option(Decision))
    prepared = SetOf(TransactionNumber)
    aborted_alone = SetOf(TransactionNumber)
    """The prepared transactions that the coordinator has aborted although no client asked for it."""
    late = Bag(LateEndTxn, "max_late")

    stored = SetOf(TransactionNumber)
    stored_token = Option(Identity)
    reader = Option(Identity)

    draws = Drawing(
        Lane("instance", each=Instance, facts={"phase": "phase", "identity": "identity", "token": "prepared"}),
        Lane("store", facts={"stored": "committed", "stored_token": "identity", "reader": "read by"}),
        Lane("network", boxes={"late": "late copies"}),
        Lane("coordinator", facts={"metadata": "transaction", "outcome": "outcomes"}),
        arrows=(
            Arrow("initialize", "instance", "'coordinator'", "InitProducerId"),
            Arrow("write", "instance", "'coordinator'", "the first record"),
            Arrow("store_data", "instance", "'store'", "data and identity"),
            Arrow("read_store", "'store'", "instance", "identity"),
            Arrow("end", "instance", "'coordinator'", "EndTxn"),
            Arrow("end_late", "'network'", "'coordinator'", "late EndTxn"),
        ),
    ).with_events(
        Event("start", "{instance} starts, while a former one may still run", "starts", "instance", "restart"),
        Event("initialize", "{instance} calls initTransactions", "init", "'coordinator'"),
        Event("read_store", "{instance} takes over the store, and reads the identity in it: {stored_token}"),
        Event("write", "{instance} begins a transaction and writes its first record"),
        Event("prepare", "{instance} calls prepareTransaction; no request is sent", "prepare", "instance"),
        Event("store_data", "{instance} commits its data in the store, with the identity {token[instance]}"),
        Event("give_up", "The store refuses the data of {instance}, which aborts", "abort", "instance", "abort"),
        Event("end", "{instance} sends EndTxn({str(decision(instance))})"),
        Event("delay_end", "A copy of EndTxn of {instance} stays in the network", "copy", "'network'"),
        Event("end_late", "A late copy of EndTxn({str(late.decision)}) of {late.identity} reaches the coordinator"),
        Event("complete_transaction", "Every partition has its marker", "complete", "'coordinator'"),
        Event("time_out", "The transaction times out", "timeout", "'coordinator'", "timeout"),
        Event("crash", "{instance} dies", "crash", "instance", "crash"))  # fmt: skip

    @assume
    def epochs_are_raised(self):
        """Only transaction version 2 keeps prepared transactions."""
        return self.transaction_version == 2 or not self.keeps_prepared

    # The coordinator.

    def begin_transition(self, following):
        """Write a change; a decision is the outcome of the open transaction."""
        self.metadata = self.successor(following)
        if self.metadata.state in PREPARED:
            if self.open is not None:
                is_commit = self.metadata.state == TransactionState.PREPARE_COMMIT
                self.outcome[self.open] = Decision.COMMIT if is_commit else Decision.ABORT
            self.open = None

    def abort_alone(self):
        """Note that no client has asked for the abort that follows."""
        if self.open is not None and self.open in self.prepared:
            self.aborted_alone.add(self.open)

    @action(fair="weak")
    def complete_transaction(self):
        """Every partition has its marker, and t is complete."""
        require(self.metadata.state in PREPARED)
        self.complete()

    @action
    def time_out(self):
        """The transaction exceeds its timeout: the coordinator aborts it."""
        require(self.times_out and self.metadata.state == TransactionState.ONGOING)
        self.abort_alone()
        self.fence(True)

    # An instance.

    @action(fair="weak", for_each="instance")
    def start(self, instance: Instance):
        """An instance starts. A former one may still run."""
        require(self.phase[instance] == Phase.NOT_STARTED)
        self.phase[instance] = Phase.INITIALIZING

    @action(fair="weak", for_each="instance")
    def initialize(self, instance: Instance):
        """The application calls initTransactions, and keeps a prepared transaction if the coordinator can."""
        require(self.phase[instance] == Phase.INITIALIZING)
        is_open = self.metadata.state == TransactionState.ONGOING
        if is_open and not self.keeps_prepared:
            self.abort_alone()
        kept = Identity(producer_id=self.metadata.producer_id, epoch=self.metadata.epoch) if is_open else None
        answer = self.answer_init(self.identity[instance], self.keeps_prepared)
        if answer == Error.NONE:
            self.identity[instance] = Identity(producer_id=self.client_producer_id(), epoch=self.client_epoch())
            self.token[instance] = kept
            self.transaction[instance] = self.open
            self.phase[instance] = Phase.RECOVERING

    @action(fair="weak", for_each="instance")
    def read_store(self, instance: Instance):
        """A new instance takes over the store and reads the identity in it, which decides a kept transaction."""
        require(self.phase[instance] == Phase.RECOVERING)
        if self.is_refused_by_store(instance):
            self.phase[instance] = Phase.STOPPED
            return
        self.reader = self.identity[instance]
        if self.token[instance] is None:
            self.phase[instance] = Phase.READY
        else:
            is_stored = self.stored_token == self.token[instance]
            self.phase[instance] = Phase.COMMITTING if is_stored else Phase.ABORTING

    def is_refused_by_store(self, instance):
        """Return whether the store knows a newer identity than that of an instance."""
        if not self.store_fences or self.reader is None:
            return False
        own = self.identity[instance]
        return own.producer_id < self.reader.producer_id or (
            own.producer_id == self.reader.producer_id and own.epoch < self.reader.epoch
        )

    @action(fair="weak", for_each="instance")
    def write(self, instance: Instance):
        """The application begins a transaction and writes its first record."""
        require(self.phase[instance] == Phase.READY and self.begun < self.transactions)
        answer = self.answer_add(self.identity[instance].producer_id, self.identity[instance].epoch, Partition[0])
        if answer == Error.NONE:
            self.open = self.begun
            self.transaction[instance] = self.begun
            self.phase[instance] = Phase.WRITING
            self.begun += 1
        elif answer != Error.CONCURRENT_TRANSACTIONS:
            self.phase[instance] = Phase.STOPPED

    @action(fair="weak", for_each="instance")
    def prepare(self, instance: Instance):
        """The application calls prepareTransaction: every record is acknowledged. No request is sent."""
        require(self.phase[instance] == Phase.WRITING)
        self.phase[instance] = Phase.PREPARED
        self.token[instance] = self.identity[instance]
        if self.open == self.transaction[instance]:
            self.prepared.add(self.transaction[instance])

    @action(fair="weak", for_each="instance")
    def store_data(self, instance: Instance):
        """The application commits its data in the store, together with the identity of the prepared transaction."""
        require(self.phase[instance] == Phase.PREPARED)
        if self.is_refused_by_store(instance):
            self.phase[instance] = Phase.STOPPED
        else:
            self.stored.add(self.transaction[instance])
            self.stored_token = self.token[instance]
            self.phase[instance] = Phase.COMMITTING

    @action
    def give_up(self, instance: Instance):
        """The store refuses the data: the application aborts."""
        require(self.phase[instance] == Phase.PREPARED)
        self.phase[instance] = Phase.ABORTING

    def decision(self, instance):
        """Return the decision that an instance sends."""
        return Decision.COMMIT if self.phase[instance] == Phase.COMMITTING else Decision.ABORT

    @action(fair="weak", for_each="instance")
    def end(self, instance: Instance):
        """An instance sends EndTxn and gets its answer."""
        require(self.phase[instance] in (Phase.COMMITTING, Phase.ABORTING))
        identity = self.identity[instance]
        answer = self.answer_end(identity.producer_id, identity.epoch, self.decision(instance))
        if answer == Error.NONE:
            self.identity[instance] = self.next_identity()
            self.transaction[instance] = None
            self.token[instance] = None
            self.phase[instance] = Phase.READY
        elif answer != Error.CONCURRENT_TRANSACTIONS:
            self.phase[instance] = Phase.STOPPED

    @action
    def delay_end(self, instance: Instance):
        """A copy of EndTxn stays in the network, and the client sends it again."""
        require(self.phase[instance] in (Phase.COMMITTING, Phase.ABORTING) and len(self.late) < self.max_late)
        self.late.add(LateEndTxn(identity=self.identity[instance], decision=self.decision(instance)))

    @action
    def end_late(self, late: LateEndTxn):
        """A copy of EndTxn reaches the coordinator."""
        require(late in self.late)
        self.late.remove(late)
        _answer = self.answer_end(late.identity.producer_id, late.identity.epoch, late.decision)

    @action
    def crash(self, instance: Instance):
        """An instance dies. Another one starts later, unless it was the last."""
        require(self.phase[instance] not in (Phase.NOT_STARTED, Phase.STOPPED))
        require(self.last_may_crash or any(self.phase[other] == Phase.NOT_STARTED for other in Instance))
        self.phase[instance] = Phase.STOPPED

    # Properties.

    @invariant(says="transaction {transaction}: stored {self.stored}, and Kafka decided {self.outcome[transaction]}")
    def store_and_kafka_agree(self):
        """Kafka commits a transaction only if the store has its data, and aborts it only if the store does not."""
        return all(
            self.outcome[transaction] is None
            or (self.outcome[transaction] == Decision.COMMIT) == (transaction in self.stored)
            for transaction in TransactionNumber
        )

    @invariant(says="the coordinator has aborted {self.aborted_alone}, which was prepared")
    def prepared_is_kept(self):
        """The coordinator aborts no prepared transaction by itself: not for a timeout, and not for initTransactions."""
        return len(self.aborted_alone) == 0

    def is_stored(self):
        """Return whether the store has the data of a transaction that Kafka has not decided."""
        return any(self.outcome[transaction] is None for transaction in self.stored)

    @leads_to("is_stored", says="stored {self.stored}, and Kafka's outcomes stay {self.outcome}")
    def stored_is_decided(self):
        """Kafka decides every transaction that has its data in the store."""
        return not self.is_stored()

    def is_open(self):
        """Return whether a transaction is open."""
        return self.open is not None

    @leads_to("is_open", says="transaction {self.open} stays open")
    def no_transaction_stays_open(self):
        """Every transaction is decided, so that read_committed consumers pass it."""
        return self.open is None

    @reachable
    def recovered_commit(self):
        """A new instance commits the transaction that the former one has prepared and stored."""
        return any(
            self.phase[instance] == Phase.COMMITTING
            and self.token[instance] is not None
            and self.token[instance] != self.identity[instance]
            for instance in Instance
        )

    @reachable
    def kept_under_another_id(self):
        """The producer of a kept transaction has a newer producer id than the transaction."""
        return self.metadata.next_epoch is not None and self.metadata.next_producer_id != self.metadata.producer_id


SAFETY = ["store_and_kafka_agree", "prepared_is_kept"]
PROMISES = [*SAFETY, "stored_is_decided", "no_transaction_stays_open"]

scenarios = [
    Scenario(TwoPhaseCommit, "kept", properties=[*PROMISES, "recovered_commit"],
        description="KIP-939: a crash, a former instance that runs on, and a late EndTxn. The store decides."),
    Scenario(TwoPhaseCommit, "epochs_run_out", dict(max_epoch=2, max_producer_id=5),
        properties=[*PROMISES, "kept_under_another_id"],
        description="KIP-939 with few epochs: a kept transaction and its producer have different producer ids."),
    Bug("restart_aborts_prepared", TwoPhaseCommit, {"prepared_is_kept": 8, "store_and_kafka_agree": 9},
        larger=dict(instances=3, transactions=1), faulty=dict(keeps_prepared=False), promises=PROMISES,
        description="Up to 4.4: initTransactions of the next instance aborts a prepared transaction whose data is in "
            "the store.", remedy="KIP-939: initTransactions with keepPreparedTxn keeps it."),
    Bug("timeout_aborts_prepared", TwoPhaseCommit, {"prepared_is_kept": 7, "store_and_kafka_agree": 8},
        larger=dict(instances=3, transactions=1), faulty=dict(times_out=True), promises=PROMISES,
        description="The client does not ask for a transaction without timeout, and the coordinator aborts it after "
            "its data is stored.", remedy="KIP-939: a transaction with two-phase commit has no timeout."),
    Bug("store_does_not_fence", TwoPhaseCommit, {"store_and_kafka_agree": 11}, larger=dict(instances=3, transactions=1),
        faulty=dict(store_fences=False), promises=PROMISES,
        description="A former instance commits in the store after its successor has read the store and has aborted. "
        "Kafka fences requests to Kafka only.",
        remedy="The store keeps the newest producer id and epoch, and refuses instances with an older one."),
    Bug("kept_epoch_not_raised", TwoPhaseCommit, {"store_and_kafka_agree": 15},
        larger=dict(transactions=3, max_epoch=12), faulty=dict(end_raises_kept_epoch=False), promises=PROMISES,
        description="The end of a kept transaction does not raise the epoch of its producer: a late EndTxn decides the "
        "next transaction, as in T3.",
        remedy="The end raises the epoch that the producer has got when the transaction was kept."),
    violates(TwoPhaseCommit, "producer_does_not_return", dict(instances=1, last_may_crash=True),
        {"no_transaction_stays_open": 6},
        "Without a timeout, a transaction whose producer does not return stays open for ever."),
]  # fmt: skip
