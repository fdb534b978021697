"""The transaction coordinator: producer ids and epochs, the decision, its log, and the markers.

Sources: `TransactionCoordinator` (`prepareInitProducerIdTransit`, `endTransactionWithTV1`, `endTransaction`,
`handleAddPartitionsToTransaction`, `handleVerifyPartitionsInTransaction`, `abortTimedOutTransactions`),
`TransactionMetadata` (`prepareAbortOrCommit`, `prepareComplete`, `prepareFenceProducerEpoch`,
`prepareIncrementProducerEpoch`, `prepareProducerIdRotation`), `TransactionMarkerChannelManager` and
`TransactionMarkerRequestCompletionHandler` of Apache Kafka 3.9.1, 4.0.0 to 4.3.1; KIP-98, KIP-360, KIP-890.
"""

from checker.language import Bug, Constant, Option, Range, Scenario, SetOf, Spec, Struct, replace
from checker.language.drawing import Arrow, Drawing, Event, Lane
from checker.language.roles import action, assume, invariant, leads_to, reachable, require, step_invariant
from specs.transactions.state import (
    CoordinatorEpoch,
    Decision,
    Error,
    Identity,
    Metadata,
    Partition,
    ProducerEpoch,
    ProducerId,
    TransactionState,
)

PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
COMPLETE = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


class CoordinatorRules(Spec, abstract=True):
    """The coordinator's answers for one transactional id; a method that answers NONE has changed the state.

    The coordinator writes each change to its log before it answers. Here both are one step; `Coordinator` separates
    them. A request is answered by the rules of its transaction version; the coordinator's own aborts are those of the
    cluster's version. Timeouts are actions of the specs that use these rules.
    """

    partitions = Constant(1, at_least=1)
    max_producer_id = Constant(1, at_least=0)
    max_epoch = Constant(3, at_least=2)
    max_coordinator_epoch = Constant(0, at_least=0)
    transaction_version = Constant(2, at_least=1, at_most=2)
    """The version of the clients' requests. Version 2 raises the epoch with every transaction (KIP-890, part 2). Kafka
    up to 3.9 has version 1."""
    old_clients = Constant(False)
    """Whether clients that know only version 1 use a cluster with version 2."""
    end_epoch = Constant("equal", one_of=("equal", "not_lower"))
    """Which epochs of EndTxn the coordinator accepts. Before KAFKA-9600 also higher ones than its own."""
    timeout_raises_epoch = Constant(True)
    """Whether a timeout fences the producer by a higher epoch (KAFKA-6119)."""
    fence_raises_epoch_twice = Constant(False)
    """KAFKA-19367: with version 2, fencing raised the epoch, and the abort raised it again."""
    fence_rotates_id = Constant(True)
    """Whether an abort of the coordinator replaces an exhausted producer id (KAFKA-20090)."""
    aborts_at_largest_epoch = Constant(True)
    """Whether a transaction with the largest epoch can be aborted (KAFKA-20090): it keeps the epoch."""
    keeps_prepared = Constant(False)
    """Whether InitProducerId with keepPreparedTxn keeps an open transaction (KIP-939). Kafka up to 4.4 refuses it."""
    end_raises_kept_epoch = Constant(True)
    """Whether the end of a transaction that was kept raises the epoch that its producer has got meanwhile (KIP-939)."""

    metadata = Metadata
    coordinator_epoch = CoordinatorEpoch

    @assume
    def old_clients_have_version_1(self):
        """Old clients send requests of version 1."""
        return self.transaction_version == 1 or not self.old_clients

    def begin_transition(self, following):
        """Write a change of the metadata to the log of the coordinator."""
        self.metadata = self.successor(following)

    def successor(self, following):
        """Return a change with the producer id before it. Source: `prepareTransitionTo`."""
        return replace(following, previous_producer_id=self.metadata.producer_id)

    def is_pending(self):
        """Return whether a change is being written."""
        return False

    def is_exhausted(self, epoch):
        """Return whether no client may get a higher epoch. Source: `TransactionMetadata.isEpochExhausted`."""
        return epoch is not None and epoch >= self.max_epoch - 1

    def client_producer_id(self):
        """Return the producer id that a client has to send: that of the transaction, or a newer one (KIP-939)."""
        current = self.metadata
        return current.producer_id if current.next_epoch is None else current.next_producer_id

    def client_epoch(self):
        """Return the epoch that a client has to send; None before the first InitProducerId."""
        current = self.metadata
        return current.epoch if current.next_epoch is None else current.next_epoch

    def new_producer_id(self):
        """Return an unused producer id."""
        return self.client_producer_id() + 1

    def aborts_with_version_2(self):
        """Return whether the coordinator's own aborts are those of version 2. Source: `transactionVersionLevel`."""
        return self.transaction_version == 2 or self.old_clients

    # InitProducerId.

    def answer_init(self, expected, keeps_prepared=False):
        """Answer InitProducerId; a client that continues after an error sends its identity as `expected`.

        `keeps_prepared` is keepPreparedTxn: the open transaction stays open, and its producer gets a newer identity.
        """
        if keeps_prepared and not self.keeps_prepared:
            return Error.UNSUPPORTED_VERSION
        current = self.metadata
        if self.is_pending():
            return Error.CONCURRENT_TRANSACTIONS
        if expected is not None and not self.is_own_identity(expected):
            return Error.PRODUCER_FENCED
        if current.state in PREPARED:
            return Error.CONCURRENT_TRANSACTIONS
        if current.state == TransactionState.ONGOING and keeps_prepared:
            self.begin_transition(self.with_newer_client(current))
            return Error.NONE
        if current.state == TransactionState.ONGOING:
            self.fence(True)
            return Error.CONCURRENT_TRANSACTIONS
        if self.is_exhausted(current.epoch) and (expected is None or expected.epoch == current.epoch):
            self.begin_transition(self.with_new_id(expected))
            return Error.NONE
        return self.raise_epoch(expected)

    def with_newer_client(self, following):
        """Return a change after which only the next identity of the client is accepted; markers keep theirs."""
        epoch = self.client_epoch()
        if self.is_exhausted(epoch):
            return replace(following, next_producer_id=self.new_producer_id(), next_epoch=0)
        return replace(following, next_producer_id=self.client_producer_id(), next_epoch=epoch + 1)

    def is_own_identity(self, identity):
        """Return whether an id is the current one, or the exhausted one before it. Source: `isValidProducerId`."""
        current = self.metadata
        if current.epoch is None or identity.producer_id == current.producer_id:
            return True
        return identity.producer_id == current.previous_producer_id and self.is_exhausted(identity.epoch)

    def with_new_id(self, expected):
        """Return the metadata with the next producer id. Source: `prepareProducerIdRotation`."""
        current = self.metadata
        return replace(
            current,
            state=TransactionState.EMPTY,
            producer_id=self.new_producer_id(),
            epoch=0,
            last_epoch=current.epoch if expected is not None else None,
            partitions=set(),
        )

    def raise_epoch(self, expected):
        """Answer InitProducerId with the next epoch, or a retry with the current one."""
        current = self.metadata
        is_retry = expected is not None and current.epoch is not None and expected.epoch != current.epoch
        if is_retry and expected is not None and expected.epoch != current.last_epoch:
            return Error.PRODUCER_FENCED
        if self.is_exhausted(current.epoch):
            return Error.UNKNOWN_SERVER_ERROR
        following = replace(current, state=TransactionState.EMPTY, partitions=set())
        if not is_retry:
            last = current.epoch if expected is not None else None
            following = replace(following, epoch=0 if current.epoch is None else current.epoch + 1, last_epoch=last)
        self.begin_transition(following)
        return Error.NONE

    # The abort by the coordinator.

    def fence(self, raises_epoch):
        """Abort an ongoing transaction under a higher epoch. Sources: `prepareFenceProducerEpoch`, `endTransaction`."""
        current = self.metadata
        aborted = replace(current, state=TransactionState.PREPARE_ABORT)
        if not self.aborts_with_version_2():
            if not raises_epoch:
                self.begin_transition(aborted)
            elif current.epoch < self.max_epoch:
                self.begin_transition(replace(aborted, epoch=current.epoch + 1, last_epoch=None))
        elif self.fence_raises_epoch_twice:
            self.abort_at(current.epoch + 1)
        elif current.epoch < self.max_epoch:
            rotates = self.fence_rotates_id and self.is_exhausted(current.epoch)
            next_id = self.new_producer_id() if rotates else None
            self.begin_transition(
                self.keeping_client(
                    replace(aborted, epoch=current.epoch + 1, last_epoch=current.epoch, next_producer_id=next_id)
                )
            )
        elif self.aborts_at_largest_epoch:
            self.begin_transition(replace(aborted, last_epoch=current.epoch, next_producer_id=self.new_producer_id()))

    def keeping_client(self, decided):
        """Return a decision after which the client of a kept transaction continues with a newer identity (KIP-939)."""
        current = self.metadata
        if current.next_epoch is None:
            return decided
        if self.end_raises_kept_epoch:
            return self.with_newer_client(decided)
        return replace(decided, next_producer_id=current.next_producer_id, next_epoch=current.next_epoch)

    def abort_at(self, fenced):
        """Raise the epoch to `fenced`, and once more for the abort: beyond the largest epoch the abort fails."""
        current = self.metadata
        if fenced < self.max_epoch:
            self.begin_transition(
                replace(current, state=TransactionState.PREPARE_ABORT, epoch=fenced + 1, last_epoch=fenced)
            )
        elif fenced == self.max_epoch:
            self.metadata = replace(current, epoch=fenced, last_epoch=None)

    # Partitions.

    def refusal(self, producer_id, epoch):
        """Return why a request about a partition is refused, NONE if it is not."""
        if self.client_producer_id() != producer_id or self.metadata.epoch is None:
            return Error.INVALID_PRODUCER_ID_MAPPING
        if self.client_epoch() != epoch:
            return Error.PRODUCER_FENCED
        return Error.CONCURRENT_TRANSACTIONS if self.metadata.state in PREPARED else Error.NONE

    def answer_add(self, producer_id, epoch, partition):
        """Answer AddPartitionsToTxn for one partition."""
        current = self.metadata
        if self.is_pending():
            return Error.CONCURRENT_TRANSACTIONS
        refusal = self.refusal(producer_id, epoch)
        if refusal != Error.NONE:
            return refusal
        if current.state != TransactionState.ONGOING or partition not in current.partitions:
            self.begin_transition(
                replace(current, state=TransactionState.ONGOING, partitions=current.partitions | {partition})
            )
        return Error.NONE

    def answer_verify(self, producer_id, epoch, partition):
        """Answer a leader that asks whether a partition is part of the transaction (KIP-890, part 1)."""
        refusal = self.refusal(producer_id, epoch)
        if refusal != Error.NONE:
            return refusal
        return Error.NONE if partition in self.metadata.partitions else Error.TRANSACTION_ABORTABLE

    # EndTxn.

    def answer_end(self, producer_id, epoch, decision):
        """Answer EndTxn of a client."""
        if self.transaction_version == 2:
            return self.answer_end_2(producer_id, epoch, decision)
        return self.answer_end_1(producer_id, epoch, decision)

    def answer_end_1(self, producer_id, epoch, decision):
        """Answer EndTxn of transaction version 1. Source: `endTransactionWithTV1`."""
        current = self.metadata
        if current.producer_id != producer_id or current.epoch is None:
            return Error.INVALID_PRODUCER_ID_MAPPING
        if epoch < current.epoch or (self.end_epoch == "equal" and epoch != current.epoch):
            return Error.PRODUCER_FENCED
        if self.is_pending():
            return Error.CONCURRENT_TRANSACTIONS
        if current.state == TransactionState.ONGOING:
            self.decide(decision)
            return Error.NONE
        return self.repeated_end(decision)

    def repeated_end(self, decision):
        """Return the answer to an EndTxn of a transaction that is decided, or that has not begun."""
        current = self.metadata
        is_commit = decision == Decision.COMMIT
        if current.state == (TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT):
            return Error.CONCURRENT_TRANSACTIONS
        if current.state == (TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT):
            return Error.NONE
        return Error.INVALID_TXN_STATE

    def answer_end_2(self, producer_id, epoch, decision):
        """Answer EndTxn of transaction version 2, in which a retry and the next transaction differ by epoch."""
        current = self.metadata
        is_kept = current.next_epoch is not None
        if self.is_pending() or (is_kept and current.state in PREPARED):
            return Error.CONCURRENT_TRANSACTIONS
        retries_rotation = (
            current.previous_producer_id == producer_id and epoch == self.max_epoch - 1 and current.epoch == 0
        )
        if current.epoch is None or (self.client_producer_id() != producer_id and not retries_rotation):
            return Error.INVALID_PRODUCER_ID_MAPPING
        is_retry = current.epoch == epoch + 1 or retries_rotation
        if not self.is_valid_end(epoch, is_retry):
            return Error.PRODUCER_FENCED
        if current.state == TransactionState.ONGOING:
            return self.decide_and_raise(decision)
        if is_retry:
            return self.repeated_end(decision)
        if decision == Decision.ABORT:
            return self.decide_and_raise(decision)
        return Error.INVALID_TXN_STATE

    def is_valid_end(self, epoch, is_retry):
        """Return whether the epoch of EndTxn is the current one, or that of a retry, as the state demands."""
        current = self.metadata
        if current.state in PREPARED:
            return current.epoch == epoch + 1
        if current.state in COMPLETE:
            return is_retry or epoch == current.epoch
        return epoch == self.client_epoch()

    def decide(self, decision):
        """Write the decision: the transaction is then committed or aborted, whatever happens next."""
        self.begin_transition(replace(self.metadata, state=prepared(decision)))

    def decide_and_raise(self, decision):
        """Write the decision with the next epoch; an exhausted id is replaced. Source: `prepareAbortOrCommit`."""
        current = self.metadata
        if current.epoch == self.max_epoch and (decision == Decision.COMMIT or not self.aborts_at_largest_epoch):
            return Error.UNKNOWN_SERVER_ERROR
        self.begin_transition(
            self.keeping_client(
                replace(
                    current,
                    state=prepared(decision),
                    epoch=min(current.epoch + 1, self.max_epoch),
                    last_epoch=current.epoch,
                    next_producer_id=self.new_producer_id() if self.is_exhausted(current.epoch) else None,
                )
            )
        )
        return Error.NONE

    def next_identity(self):
        """Return the identity with which the client continues; that of the next transaction if the id is replaced."""
        current = self.metadata
        if current.next_producer_id is None:
            return Identity(producer_id=current.producer_id, epoch=current.epoch)
        return Identity(
            producer_id=current.next_producer_id, epoch=0 if current.next_epoch is None else current.next_epoch
        )

    # Completion.

    def complete(self):
        """Write the completion: every partition has its marker. Source: `prepareComplete`."""
        current = self.metadata
        is_commit = current.state == TransactionState.PREPARE_COMMIT
        state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
        following = replace(current, state=state, partitions=set(), next_producer_id=None, next_epoch=None)
        if current.next_producer_id is not None:
            replacement = self.next_identity()
            following = replace(following, producer_id=replacement.producer_id, epoch=replacement.epoch)
        self.begin_transition(following)


def prepared(decision):
    """Return the state in which a decision is written."""
    return TransactionState.PREPARE_COMMIT if decision == Decision.COMMIT else TransactionState.PREPARE_ABORT


class MarkerRequest(Struct):
    """A WriteTxnMarkers request in the network: the coordinator with this epoch waits for the answer."""

    partition: Partition
    coordinator_epoch: CoordinatorEpoch
    shows = "{partition} c{coordinator_epoch}"


class Write(Struct):
    """A change that is written to the log.

    `answers` is true if a client waits for it; `end_epoch` is the epoch of the EndTxn that caused it.
    """

    following: Metadata
    answers: bool
    end_epoch: Option(ProducerEpoch)
    shows = "{following}"


class Coordinator(CoordinatorRules):
    """A coordinator under every request of clients with the identities that it gave out, late ones included.

    A change is written, and only then valid. A broker is elected with the changes that are written, and it may have the
    one that is being written. The same broker may be elected again: it keeps its table of waiting markers, and answers
    to markers of its former epoch arrive. Leaders write every marker, sooner or later; `Transactions` contains the
    leaders' rules.
    """

    clients = Constant("given", one_of=("given", "any"))
    """Whether requests have identities that the coordinator gave out, or any."""
    lost_completion = Constant(False)
    """KAFKA-9777: the test for completion was skipped if another thread held the lock."""
    stale_answer_removes = Constant("own", one_of=("own", "any"))
    """Which entry of waiting markers the answer to a former epoch removes. Before KAFKA-16352 any, also a newer one."""
    returned_identity = Constant("next", one_of=("next", "prepared"))
    """What EndTxn returns when the id is replaced. Before KAFKA-18660 the exhausted id with the largest epoch."""
    expirations = Constant(0, at_least=0)
    """How often transactional.id.expiration.ms passes: the coordinator forgets the transactional id."""

    expirations_left = Range(0, "expirations")
    pending = Option(Write)
    given = SetOf(Identity)
    unmarked = SetOf(Partition)
    requests = SetOf(MarkerRequest)
    waiting = Option(CoordinatorEpoch)

    draws = Drawing(
        Lane("clients", facts={"given": "identities"}),
        Lane("coordinator", facts={"coordinator_epoch": "coordinator epoch", "metadata": "transaction",
            "pending": "being written", "unmarked": "partitions without marker", "waiting": "waiting entry of epoch"}),
        Lane("leaders", boxes={"requests": "marker requests"}),
        arrows=(Arrow("end", "'clients'", "'coordinator'", "EndTxn"),),
    ).with_events(
        Event("init", "No client has an identity yet"),
        Event("initialize", "A client sends InitProducerId {'with ' + str(expected) if expected is not None else "
            "'without an identity'}", "InitProducerId", "'clients'"),
        Event("add", "Client id{producer_id} e{epoch} adds {partition} to its transaction", "add {partition}",
            "'clients'"),
        Event("end",
            "A client with id{producer_id} e{epoch}{'' if any(one.producer_id == producer_id and one.epoch == epoch "
                "for one in given) else ', an epoch that no client was given,'} sends EndTxn({str(decision)}){'; the "
                "coordinator refuses only lower epochs, and ' + str(decision) + 's the transaction of e' + "
                "str(metadata.epoch) if str(metadata.state) == 'ongoing' and epoch > metadata.epoch else ''}", "",
            "'coordinator'", "{'abort' if str(decision) == 'abort' else ''}"),
        Event("write", "{pending.following} is in the coordinator's log", "written", "'coordinator'"),
        Event("marker_answered",
            "The answer of {partition} to the marker of coordinator epoch {coordinator_epoch} arrives{', while another "
                "thread holds the lock' if locked else ''}", "marker of {partition}", "'coordinator'"),
        Event("expire", "The unused transactional id expires", "expiry", "'coordinator'", "lost state"),
        Event("elect", "Another broker becomes the coordinator, and loads the log {'with' if has_pending else "
            "'without'} the change that is being written", "election", "'coordinator'", "election"),
        Event("time_out", "The transaction times out: it is to be aborted{'. The fence raises epoch ' + "
            "str(metadata.epoch) + ', and the abort is to raise it again' if fence_raises_epoch_twice and "
            "aborts_with_version_2() else ''}", "timeout", "'coordinator'", "timeout"))  # fmt: skip

    def init(self):
        """Begin with no request sent, and with the expirations that may occur."""
        self.expirations_left = self.expirations

    def is_pending(self):
        """Return whether a change is being written. Source: `pendingTransitionInProgress`."""
        return self.pending is not None

    def begin_transition(self, following):
        """Begin to write a change. A client waits for it, unless the caller says otherwise afterwards."""
        self.pending = Write(following=self.successor(following), answers=True, end_epoch=None)

    def may_use(self, producer_id, epoch):
        """Return whether a request may have an identity."""
        return self.clients == "any" or Identity(producer_id=producer_id, epoch=epoch) in self.given

    def has_unused_id(self):
        """Return whether a producer id is left for a rotation: the bound of this model."""
        return not self.is_exhausted(self.metadata.epoch) or self.metadata.producer_id < self.max_producer_id

    @action
    def add(self, producer_id: ProducerId, epoch: ProducerEpoch, partition: Partition):
        """A client adds a partition to its transaction."""
        require(self.may_use(producer_id, epoch) and partition not in self.metadata.partitions)
        answer = self.answer_add(producer_id, epoch, partition)
        require(answer == Error.NONE)

    @action
    def end(self, producer_id: ProducerId, epoch: ProducerEpoch, decision: Decision):
        """A client sends EndTxn; a retry gets the answer again."""
        require(self.may_use(producer_id, epoch) and self.has_unused_id())
        answer = self.answer_end(producer_id, epoch, decision)
        require(answer == Error.NONE)
        if self.pending is not None:
            self.pending.end_epoch = epoch
        else:
            self.give(self.metadata)

    @action(fair="weak")
    def time_out(self):
        """The transaction times out: the coordinator aborts it."""
        require(self.metadata.state == TransactionState.ONGOING and not self.is_pending() and self.has_unused_id())
        self.fence(self.timeout_raises_epoch)
        if self.pending is not None:
            self.pending.answers = False

    @action
    def initialize(self, expected: Option(Identity)):
        """An instance sends InitProducerId, with the identity that it has (KIP-360) or without."""
        require(expected is None or self.may_use(expected.producer_id, expected.epoch))
        require(self.has_unused_id() and not self.is_pending())
        fences = self.metadata.state == TransactionState.ONGOING
        answer = self.answer_init(expected)
        require(answer == Error.NONE or self.is_pending())
        if fences and self.pending is not None:
            self.pending.answers = False

    @action(fair="weak")
    def write(self):
        """The change is in the log of the coordinator: it is valid, and the client gets its answer."""
        require(self.pending is not None)
        written = self.pending
        self.pending = None
        self.load(written.following)
        if self.metadata.state in PREPARED:
            self.send_markers()
        if written.answers and self.metadata.state not in COMPLETE:
            self.give(self.metadata)

    def load(self, metadata):
        """Take over metadata from the log. Dead metadata is a tombstone: the next instance gets a new producer id."""
        if metadata.state == TransactionState.DEAD:
            self.metadata.producer_id += 1
            self.metadata.epoch = None
            self.metadata.last_epoch = None
            self.metadata.previous_producer_id = None
            self.metadata.state = TransactionState.EMPTY
        else:
            self.metadata = metadata

    @action
    def expire(self):
        """The transactional id was not used for a long time, and has no transaction. Source: `prepareDead`."""
        require(self.expirations_left > 0 and not self.is_pending() and self.may_expire())
        require(self.metadata.epoch is not None and self.metadata.producer_id < self.max_producer_id)
        self.expirations_left -= 1
        self.begin_transition(replace(self.metadata, state=TransactionState.DEAD))
        self.pending.answers = False

    def may_expire(self):
        """Return whether no transaction is open or incomplete. Source: `removeExpiredTransactionalIds`."""
        return self.metadata.state == TransactionState.EMPTY or self.metadata.state in COMPLETE

    def give(self, metadata):
        """Return the identity to the client, with version 2 already that of the next transaction."""
        if metadata.next_producer_id is not None and self.returned_identity == "next":
            self.given.add(Identity(producer_id=metadata.next_producer_id, epoch=0))
        elif metadata.epoch is not None:
            self.given.add(Identity(producer_id=metadata.producer_id, epoch=metadata.epoch))

    def send_markers(self):
        """Send a marker to the leader of each partition. Source: `addTxnMarkersToSend`."""
        self.unmarked = self.metadata.partitions
        self.waiting = self.coordinator_epoch
        for partition in Partition:
            if partition in self.metadata.partitions:
                self.requests.add(MarkerRequest(partition=partition, coordinator_epoch=self.coordinator_epoch))
        self.complete_if_marked()

    def complete_if_marked(self):
        """Complete the transaction if no marker is missing and its entry waits. Source: `maybeWriteTxnCompletion`."""
        if len(self.unmarked) == 0 and self.waiting is not None and self.pending is None:
            self.waiting = None
            self.complete()

    @action(fair="weak")
    def marker_answered(self, partition: Partition, coordinator_epoch: CoordinatorEpoch, locked: bool):
        """A leader has written a marker, and its answer arrives; `locked`: another thread holds the lock."""
        require(self.lost_completion or not locked)
        request = MarkerRequest(partition=partition, coordinator_epoch=coordinator_epoch)
        require(request in self.requests)
        self.requests.remove(request)
        if coordinator_epoch == self.coordinator_epoch:
            self.unmarked.discard(partition)
            if not locked:
                self.complete_if_marked()
        elif self.stale_answer_removes == "any" or self.waiting == coordinator_epoch:
            self.waiting = None

    @action
    def elect(self, has_pending: bool):
        """A broker is elected and loads the log, with or without the change that is being written."""
        require(self.coordinator_epoch < self.max_coordinator_epoch and (self.is_pending() or not has_pending))
        self.coordinator_epoch += 1
        if has_pending and self.pending is not None:
            self.load(self.pending.following)
        self.pending = None
        if self.metadata.state in PREPARED:
            self.send_markers()

    @invariant(says="the transaction has the largest epoch and cannot end: {self.metadata}")
    def ongoing_can_end(self):
        """An ongoing transaction has an epoch that can be raised: it can be aborted."""
        return self.metadata.state != TransactionState.ONGOING or self.metadata.epoch != self.max_epoch

    @invariant(says="a client has the largest epoch: {self.given}")
    def largest_epoch_is_reserved(self):
        """No client gets the largest epoch, so that every client can be fenced."""
        return all(identity.epoch < self.max_epoch for identity in self.given)

    @step_invariant(says="{old.metadata}, then {self.metadata}")
    def identity_never_goes_back(self, old):
        """A later change never has an older producer id or epoch."""
        before = old.metadata
        after = self.metadata
        if before.producer_id != after.producer_id or before.epoch is None:
            return before.producer_id <= after.producer_id
        return after.epoch is not None and before.epoch <= after.epoch

    @step_invariant(says="{old.metadata}, then {self.metadata}")
    def decision_is_final(self, old):
        """A decision in the log never changes: a prepared transaction completes with the same outcome."""
        before = old.metadata.state
        after = self.metadata.state
        if before == TransactionState.PREPARE_COMMIT:
            return after in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
        if before == TransactionState.PREPARE_ABORT:
            return after in (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
        return True

    @invariant(says="EndTxn with epoch {self.pending.end_epoch} ends {self.metadata}")
    def ends_only_its_own_epoch(self):
        """Only EndTxn with the epoch of the transaction ends it."""
        return self.pending is None or self.pending.end_epoch in (None, self.metadata.epoch)

    def is_prepared(self):
        """Return whether the decision is written and not complete."""
        return self.metadata.state in PREPARED

    def is_ongoing(self):
        """Return whether a transaction is open. Without an unused producer id, the model ends here."""
        return self.metadata.state == TransactionState.ONGOING and self.has_unused_id()

    @step_invariant(says="{old.metadata} is forgotten")
    def forgets_no_transaction(self, old):
        """Only a transactional id without an open or incomplete transaction expires."""
        had_none = old.metadata.state == TransactionState.EMPTY or old.metadata.state in COMPLETE
        return self.metadata.epoch is not None or old.metadata.epoch is None or had_none

    @invariant(says="{identity} is accepted, and the coordinator has {self.metadata}")
    def forgotten_is_refused(self):
        """No identity that was given before the transactional id expired begins or ends a transaction."""
        return all(
            self.metadata.epoch is not None or identity.producer_id < self.metadata.producer_id
            for identity in self.given
        )

    @leads_to("is_prepared", says="the transaction stays {self.metadata}")
    def completes(self):
        """Every decided transaction completes."""
        return self.metadata.state in COMPLETE

    @leads_to("is_ongoing", says="the transaction stays {self.metadata}")
    def is_decided(self):
        """Every transaction is decided: by its client, or by the timeout."""
        return self.metadata.state != TransactionState.ONGOING

    @reachable
    def rotated_at_end(self):
        """EndTxn of an exhausted epoch returns the next producer id (version 2)."""
        next_id = self.metadata.next_producer_id
        return next_id is not None and Identity(producer_id=next_id, epoch=0) in self.given

    @reachable
    def rotated(self):
        """A client gets a second producer id."""
        return any(identity.producer_id > 0 for identity in self.given)


SAFETY = ["ongoing_can_end", "largest_epoch_is_reserved", "identity_never_goes_back", "decision_is_final",
    "ends_only_its_own_epoch", "forgets_no_transaction", "forgotten_is_refused"]  # fmt: skip
PROMISES = [*SAFETY, "completes", "is_decided"]

scenarios = [
    Scenario(Coordinator, "version_2", dict(max_epoch=2, max_coordinator_epoch=1),
        description="Transaction version 2, with an election of another coordinator."),
    Scenario(Coordinator, "version_1", dict(max_epoch=2, max_coordinator_epoch=1, transaction_version=1),
        properties=[*PROMISES, "rotated"],
        description="Transaction version 1, with an election of another coordinator."),
    Scenario(Coordinator, "expired_id", dict(max_epoch=2, max_producer_id=2, expirations=1, max_coordinator_epoch=1),
        properties=PROMISES,
        description="The transactional id expires once, also while another coordinator is elected."),
    Bug("t4_lost_completion", Coordinator, {"completes": 8}, size=dict(max_epoch=2, max_producer_id=0),
        larger=dict(partitions=2, max_epoch=2), faulty=dict(lost_completion=True), promises=PROMISES,
        description="T4 (KAFKA-9777): the last marker is answered while another thread holds the lock, and nothing "
        "tests again whether the transaction is complete.",
        remedy="T4 with a test that waits for the lock, from 2.6 on."),
    Bug("t4_stale_answer", Coordinator, {"completes": 10},
        size=dict(max_epoch=2, max_producer_id=0, max_coordinator_epoch=1),
        larger=dict(max_epoch=2, partitions=2, max_coordinator_epoch=1), faulty=dict(stale_answer_removes="any"),
        promises=PROMISES,
        description="T4 (KAFKA-16352): the answer to a marker of the former epoch removes the entry that the same "
        "broker made when it was elected again.",
        remedy="T4 from 3.8 on: an answer removes only the entry of its own epoch."),
    Bug("t6_fence_raises_epoch_twice", Coordinator, {"ongoing_can_end": 8}, size=dict(max_epoch=2),
        larger=dict(max_epoch=3, max_coordinator_epoch=1), faulty=dict(fence_raises_epoch_twice=True),
        promises=PROMISES,
        description="T6 (KAFKA-19367): the fence raises the epoch to the largest one, and the abort cannot raise it "
        "again: the transaction stays open.", remedy="T6 with one epoch for the fence and the abort, from 4.0.1 on."),
    Bug("t6_timeout_keeps_exhausted_id", Coordinator, {"largest_epoch_is_reserved": 12, "ongoing_can_end": 14},
        size=dict(max_epoch=2), larger=dict(max_epoch=3, max_coordinator_epoch=1), faulty=dict(fence_rotates_id=False),
        promises=PROMISES,
        description="T6 (KAFKA-20090): a timeout aborts with the largest epoch and the old id. A late EndTxn is taken "
        "for a retry and returns that epoch, under which a transaction begins that cannot end.",
        remedy="T6 with a new producer id for the abort of an exhausted one, from 4.3 on."),
    Bug("t6_largest_epoch_never_ends", Coordinator, {"is_decided": 14}, size=dict(max_epoch=2, fence_rotates_id=False),
        larger=dict(max_epoch=3, max_coordinator_epoch=1, fence_rotates_id=False),
        faulty=dict(aborts_at_largest_epoch=False), promises=["is_decided", "completes", "decision_is_final"],
        description="T6 (KAFKA-20090): a transaction has the largest epoch, and no timeout can abort it.",
        remedy="T6: a transaction that has got the largest epoch in an earlier release is aborted, from 4.3 on."),
    Bug("t6_end_returns_exhausted_id", Coordinator, {"largest_epoch_is_reserved": 7}, size=dict(max_epoch=2),
        larger=dict(max_epoch=3), faulty=dict(returned_identity="prepared"), promises=PROMISES,
        description="T6 (KAFKA-18660): EndTxn returns the exhausted id with the largest epoch instead of the new id.",
        remedy="T6 with the identity of the next transaction in the answer, from 4.0 on."),
    Bug("t8_end_with_higher_epoch", Coordinator, {"ends_only_its_own_epoch": 6},
        size=dict(max_epoch=2, transaction_version=1, clients="any"),
        larger=dict(max_epoch=3, transaction_version=1, clients="any"), faulty=dict(end_epoch="not_lower"),
        promises=["ends_only_its_own_epoch", "decision_is_final"],
        description="T8 (KAFKA-9600): EndTxn with a higher epoch than the coordinator's ends the transaction.",
        remedy="T8 from 2.6 on: EndTxn of a client needs the epoch of the transaction."),
]  # fmt: skip
