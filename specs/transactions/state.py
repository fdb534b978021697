"""The values that the transaction specs share: states, decisions, errors, log entries and requests.

Sources (Apache Kafka 4.3.1): `TransactionState`, `TransactionMetadata`, `TransactionManager.State` (the client's),
`EndTransactionMarker`, `Errors`.

A spec that uses these types declares the constants that bound them: `partitions`, `max_producer_id`, `max_epoch`,
`max_coordinator_epoch` and `transactions`, with `Instance` and `Generation` also `instances` and `max_generation`.
"""

from checker.language import Domain, Enum, OneOf, Option, Range, SetOf, Struct


class Partition(Domain):
    """A partition to which transactions write."""

    size, prefix = "partitions", "p"


class Instance(Domain):
    """An instance of the application. Each one succeeds another and has the same transactional.id."""

    size, prefix = "instances", "i"


class Generation(Range):
    """A generation of the consumer group that has its offsets in the transactions."""

    low, high = 0, "max_generation"


class ProducerId(Range):
    """A producer id. The coordinator gives out the ids in order."""

    low, high = 0, "max_producer_id"


class ProducerEpoch(Range):
    """A producer epoch. `max_epoch` stands for Kafka's Short.MAX_VALUE, which no client gets."""

    low, high = 0, "max_epoch"


class CoordinatorEpoch(Range):
    """The leader epoch of the coordinator's partition of `__transaction_state`."""

    low, high = 0, "max_coordinator_epoch"


class TransactionNumber(Range):
    """The number of a transaction of the application, over all instances, in the order of their begin."""

    low, high = 0, "transactions - 1"


class Sequence(Range):
    """The sequence of a batch. A batch has one record, and a transaction one batch in each partition."""

    low, high = 0, "transactions - 1"


class Version(Range):
    """A transaction version. Version 0 has the rules of version 1."""

    low, high = 1, 2


class TransactionState(Enum):
    """The states of a transactional id at its coordinator. Source: `TransactionState`."""

    EMPTY = "empty"
    ONGOING = "ongoing"
    PREPARE_COMMIT = "prepare commit"
    PREPARE_ABORT = "prepare abort"
    COMPLETE_COMMIT = "complete commit"
    COMPLETE_ABORT = "complete abort"
    DEAD = "dead"


class Decision(Enum):
    """The outcome of a transaction. Source: `TransactionResult`."""

    COMMIT = "commit"
    ABORT = "abort"


class Outcome(Enum):
    """The end of a transaction as its application sees it."""

    NONE = "none"
    COMMITTED = "committed"  # commitTransaction returned
    ABORTED = "aborted"  # abortTransaction returned


class Fate(Enum):
    """Whether consumers with isolation.level=read_committed get a record or a batch of the log."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Error(Enum):
    """The errors of the transactional requests, with Kafka's names."""

    NONE = "none"
    CONCURRENT_TRANSACTIONS = "CONCURRENT_TRANSACTIONS"
    PRODUCER_FENCED = "PRODUCER_FENCED"
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    INVALID_PRODUCER_ID_MAPPING = "INVALID_PRODUCER_ID_MAPPING"
    INVALID_TXN_STATE = "INVALID_TXN_STATE"
    TRANSACTION_ABORTABLE = "TRANSACTION_ABORTABLE"
    TRANSACTION_COORDINATOR_FENCED = "TRANSACTION_COORDINATOR_FENCED"
    NOT_COORDINATOR = "NOT_COORDINATOR"
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
    UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"
    UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR"


class Identity(Struct):
    """A producer id with an epoch."""

    producer_id: ProducerId
    epoch: ProducerEpoch
    shows = "id{producer_id} e{epoch}"


class Batch(Struct):
    """A transactional batch of a log; `transaction` is the transaction in which the application sent it."""

    producer_id: ProducerId
    epoch: ProducerEpoch
    sequence: Sequence
    transaction: TransactionNumber
    shows = "t{transaction}(id{producer_id} e{epoch} s{sequence})"


class Marker(Struct):
    """A control batch that ends the producer's transaction in a partition. Source: `EndTransactionMarker`."""

    producer_id: ProducerId
    epoch: ProducerEpoch
    decision: Decision
    coordinator_epoch: CoordinatorEpoch
    shows = "{decision}(id{producer_id} e{epoch} c{coordinator_epoch})"


LogEntry = OneOf(Batch, Marker)


class Metadata(Struct):
    """`TransactionMetadata` of a transactional id: what the coordinator's log stores.

    `epoch` is None until the first InitProducerId. `last_epoch` and `previous_producer_id` recognize a retry;
    `next_producer_id` replaces an exhausted id when the transaction is complete. `next_epoch` is None, or the epoch of
    the producer of a kept transaction; `next_producer_id` is then its id (KIP-939).
    """

    state: TransactionState
    producer_id: ProducerId
    epoch: Option(ProducerEpoch)
    last_epoch: Option(ProducerEpoch)
    previous_producer_id: Option(ProducerId)
    next_producer_id: Option(ProducerId)
    next_epoch: Option(ProducerEpoch)
    partitions: SetOf(Partition)
    shows = "{state} (id{producer_id} e{epoch}) {partitions}"


class ClientState(Enum):
    """The states of a transactional producer. Source: `TransactionManager.State`."""

    UNINITIALIZED = "uninitialized"
    INITIALIZING = "initializing"
    READY = "ready"
    IN_TRANSACTION = "in transaction"
    COMMITTING_TRANSACTION = "committing"
    ABORTING_TRANSACTION = "aborting"
    ABORTABLE_ERROR = "abortable error"
    FATAL_ERROR = "fatal error"
