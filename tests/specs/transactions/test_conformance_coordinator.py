"""Cases of Kafka's tests of the coordinator, in our words: the spec gives the same answers.

Each case has the name of the test that it stands for, in `TransactionCoordinatorTest` unless another class is named.
The largest epoch is 12 here, so that the largest one of a client is 11. A producer has the id 1 and the epoch 5 unless
the case says otherwise. Errors of a broker that is not the coordinator, or that is loading, are not modelled.
"""

from dataclasses import dataclass, field

import pytest

from checker.testing import state_with
from specs.transactions.state import Decision, Error, Identity, Metadata, Partition, TransactionState
from tests.specs.transactions.coordinator_requests import CoordinatorRequests

LARGEST = 12
EXHAUSTED = LARGEST - 1
BOTH = (1, 2)
COMMIT, ABORT = Decision.COMMIT, Decision.ABORT
EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
SPECS = {
    version: CoordinatorRequests(partitions=2, max_producer_id=3, max_epoch=LARGEST, transaction_version=version)
    for version in BOTH
}


@dataclass(frozen=True)
class Case:
    """A case of Kafka's tests: the state of the coordinator, requests, the last answer, and the state afterwards.

    `given` and `then` have fields of the metadata, `partitions` as numbers. Of `then` the fields that are named are
    compared. An empty `then` says that nothing changes.
    """

    test: str
    given: dict
    requests: list
    answer: Error = Error.NONE
    then: dict = field(default_factory=dict)
    versions: tuple = BOTH


def init(producer_id=None, epoch=None):
    return ("initialize", None if producer_id is None else (producer_id, epoch))


def add(partition=0, producer_id=1, epoch=5):
    return ("add", producer_id, epoch, f"p{partition + 1}")


def verify(partition=0, producer_id=1, epoch=5):
    return ("verify", producer_id, epoch, f"p{partition + 1}")


def end(decision, producer_id=1, epoch=5):
    return ("end", producer_id, epoch, decision)


def given(state=EMPTY, **changed):
    return {"state": state, **changed}


NEW = given(epoch=None)
BUMPED = dict(state=EMPTY, producer_id=1, epoch=6)

INITIALIZE = [
    Case("shouldInitPidWithEpochZeroForNewTransactionalId", NEW, [init()], then=dict(state=EMPTY, epoch=0)),
    Case(
        "shouldGenerateNewProducerIdIfNoStateAndProducerIdAndEpochProvided",
        NEW,
        [init(3, 7)],
        then=dict(producer_id=1, epoch=0),
    ),
    Case(
        "shouldGenerateNewProducerIdIfEpochsExhausted",
        given(epoch=EXHAUSTED),
        [init()],
        then=dict(producer_id=2, epoch=0),
    ),
    Case(
        "shouldIncrementEpochAndUpdateMetadataOnHandleInitPidWhenExistingEmptyTransaction",
        given(EMPTY),
        [init()],
        then=BUMPED,
    ),
    Case(
        "shouldIncrementEpochAndUpdateMetadataOnHandleInitPidWhenExistingCompleteTransaction",
        given(COMPLETE_ABORT),
        [init()],
        then=BUMPED,
    ),
    Case(
        "shouldIncrementEpochAndUpdateMetadataOnHandleInitPidWhenExistingCompleteCommitTransaction",
        given(COMPLETE_COMMIT),
        [init()],
        then=BUMPED,
    ),
    Case(
        "shouldWaitForCommitToCompleteOnHandleInitPidAndExistingTransactionInPrepareCommitState",
        given(PREPARE_COMMIT),
        [init()],
        Error.CONCURRENT_TRANSACTIONS,
    ),
    Case(
        "shouldWaitForCommitToCompleteOnHandleInitPidAndExistingTransactionInPrepareAbortState",
        given(PREPARE_ABORT),
        [init()],
        Error.CONCURRENT_TRANSACTIONS,
    ),
    Case(
        "shouldAbortTransactionOnHandleInitPidWhenExistingTransactionInOngoingState",
        given(ONGOING, partitions=[0, 1]),
        [init()],
        Error.CONCURRENT_TRANSACTIONS,
        dict(state=PREPARE_ABORT, epoch=6, partitions=[0, 1]),
    ),
    Case(
        "shouldUseLastEpochToFenceWhenEpochsAreExhausted",
        given(ONGOING, epoch=EXHAUSTED, partitions=[0]),
        [init()],
        Error.CONCURRENT_TRANSACTIONS,
        dict(state=PREPARE_ABORT, epoch=LARGEST, last_epoch=None),
        versions=(1,),
    ),
    Case("testInitProducerIdWithNoLastProducerData", given(epoch=6), [init(1, 5)], Error.PRODUCER_FENCED),
    Case("testFenceProducerWhenMappingExistsWithDifferentProducerId", given(), [init(2, 5)], Error.PRODUCER_FENCED),
    Case(
        "testInitProducerIdWithCurrentEpochProvided",
        given(epoch=8, last_epoch=7),
        [init(1, 8)],
        then=dict(epoch=9, last_epoch=8),
    ),
    Case(
        "testInitProducerIdWithCurrentEpochProvided, the retry",
        given(epoch=8, last_epoch=7),
        [init(1, 8), init(1, 8)],
        then=dict(epoch=9, last_epoch=8),
    ),
    Case(
        "testInitProducerIdStaleCurrentEpochProvided",
        given(epoch=8, last_epoch=7),
        [init(), init(1, 8)],
        Error.PRODUCER_FENCED,
        dict(epoch=9, last_epoch=None),
    ),
    Case(
        "testRetryInitProducerIdAfterProducerIdRotation",
        given(epoch=EXHAUSTED, last_epoch=EXHAUSTED - 1),
        [init(1, EXHAUSTED), init(1, EXHAUSTED)],
        then=dict(producer_id=2, epoch=0),
    ),
    Case(
        "testInitProducerIdWithInvalidEpochAfterProducerIdRotation",
        given(epoch=EXHAUSTED, last_epoch=EXHAUSTED - 1),
        [init(1, EXHAUSTED), init(1, EXHAUSTED - 1)],
        Error.PRODUCER_FENCED,
        dict(producer_id=2, epoch=0),
    ),
    Case(
        "shouldAbortExpiredTransactionsInOngoingStateAndBumpEpoch",
        given(ONGOING, partitions=[0]),
        [("time_out",)],
        then=dict(state=PREPARE_ABORT, epoch=6, partitions=[0]),
    ),
]

ADD = [
    Case(
        "shouldRespondWithInvalidPidMappingOnAddPartitionsToTransactionWhenTransactionalIdNotPresent",
        NEW,
        [add()],
        Error.INVALID_PRODUCER_ID_MAPPING,
    ),
    Case(
        "shouldRespondWithConcurrentTransactionsOnAddPartitionsWhenStateIsPrepareCommit",
        given(PREPARE_COMMIT),
        [add()],
        Error.CONCURRENT_TRANSACTIONS,
    ),
    Case(
        "shouldRespondWithConcurrentTransactionOnAddPartitionsWhenStateIsPrepareAbort",
        given(PREPARE_ABORT),
        [add()],
        Error.CONCURRENT_TRANSACTIONS,
    ),
    Case(
        "shouldRespondWithProducerFencedOnAddPartitionsWhenEpochsAreDifferent",
        given(PREPARE_COMMIT, epoch=10),
        [add()],
        Error.PRODUCER_FENCED,
    ),
    Case(
        "shouldAppendNewMetadataToLogOnAddPartitionsWhenPartitionsAdded",
        given(EMPTY),
        [add(0)],
        then=dict(state=ONGOING, epoch=5, partitions=[0]),
    ),
    Case(
        "shouldRespondWithSuccessOnAddPartitionsWhenStateIsOngoing",
        given(ONGOING, partitions=[0]),
        [add(1)],
        then=dict(state=ONGOING, epoch=5, partitions=[0, 1]),
    ),
    Case(
        "shouldRespondWithSuccessOnAddPartitionsWhenStateIsCompleteCommit",
        given(COMPLETE_COMMIT),
        [add(0)],
        then=dict(state=ONGOING, partitions=[0]),
    ),
    Case(
        "shouldRespondWithSuccessOnAddPartitionsWhenStateIsCompleteAbort",
        given(COMPLETE_ABORT),
        [add(0)],
        then=dict(state=ONGOING, partitions=[0]),
    ),
    Case(
        "shouldRespondWithErrorsNoneOnAddPartitionWhenNoErrorsAndPartitionsTheSame",
        given(ONGOING, partitions=[0]),
        [add(0)],
    ),
]

VERIFY = [
    Case(
        "testVerifyPartitionHandling, another id",
        given(PREPARE_COMMIT),
        [verify(producer_id=2)],
        Error.INVALID_PRODUCER_ID_MAPPING,
    ),
    Case("testVerifyPartitionHandling, another epoch", given(PREPARE_COMMIT), [verify(epoch=6)], Error.PRODUCER_FENCED),
    Case(
        "testVerifyPartitionHandling, the transaction is ending",
        given(PREPARE_COMMIT, partitions=[0]),
        [verify()],
        Error.CONCURRENT_TRANSACTIONS,
    ),
    Case("testVerifyPartitionHandling, no partition", given(ONGOING), [verify()], Error.TRANSACTION_ABORTABLE),
    Case(
        "shouldRespondWithErrorsNoneOnAddPartitionWhenOngoingVerifyOnlyAndPartitionsTheSame",
        given(ONGOING, partitions=[0]),
        [verify(0)],
    ),
    Case(
        "shouldRespondWithInvalidTxnStateWhenVerifyOnlyAndPartitionNotPresent",
        given(ONGOING, partitions=[0]),
        [verify(1)],
        Error.TRANSACTION_ABORTABLE,
    ),
]

END = [
    Case(
        "shouldReplyWithInvalidPidMappingOnEndTxnWhenTxnIdDoesntExist",
        NEW,
        [end(COMMIT)],
        Error.INVALID_PRODUCER_ID_MAPPING,
    ),
    Case(
        "shouldReplyWithInvalidPidMappingOnEndTxnWhenPidDosentMatchMapped",
        given(ONGOING),
        [end(COMMIT, producer_id=2)],
        Error.INVALID_PRODUCER_ID_MAPPING,
    ),
    Case(
        "shouldReplyWithProducerFencedOnEndTxnWhenEpochIsNotSameAsTransaction",
        given(ONGOING),
        [end(COMMIT, epoch=0)],
        Error.PRODUCER_FENCED,
    ),
    Case(
        "shouldReturnInvalidEpochOnEndTxnWhenEpochIsLarger",
        given(COMPLETE_COMMIT),
        [end(COMMIT, epoch=6)],
        Error.PRODUCER_FENCED,
    ),
    Case(
        "shouldReturnInvalidEpochOnEndTxnWhenEpochIsSmaller",
        given(COMPLETE_COMMIT),
        [end(COMMIT, epoch=3)],
        Error.PRODUCER_FENCED,
    ),
    Case(
        "shouldReturnOkOnEndTxnV2IfEndTxnV2RetryEpochOverflow",
        given(COMPLETE_COMMIT, producer_id=2, epoch=0, last_epoch=EXHAUSTED, previous_producer_id=1),
        [end(COMMIT, epoch=EXHAUSTED)],
        versions=(2,),
    ),
    Case(
        "shouldReturnInvalidTxnRequestOnEndTxnV2IfNotEndTxnV2Retry",
        given(PREPARE_COMMIT),
        [end(COMMIT)],
        Error.PRODUCER_FENCED,
        versions=(2,),
    ),
    Case(
        "TransactionMetadataTest.testEpochBumpOnEndTxnOverflow",
        given(ONGOING, epoch=EXHAUSTED, partitions=[0]),
        [end(COMMIT, epoch=EXHAUSTED)],
        then=dict(state=PREPARE_COMMIT, producer_id=1, epoch=LARGEST, last_epoch=EXHAUSTED, next_producer_id=2),
        versions=(2,),
    ),
    Case(
        "TransactionMetadataTest.testEpochBumpOnEndTxnOverflow, the completion",
        given(ONGOING, epoch=EXHAUSTED, partitions=[0]),
        [end(COMMIT, epoch=EXHAUSTED), ("mark_all",)],
        then=dict(
            state=COMPLETE_COMMIT,
            producer_id=2,
            epoch=0,
            last_epoch=EXHAUSTED,
            previous_producer_id=1,
            next_producer_id=None,
            partitions=[],
        ),
        versions=(2,),
    ),
    # The epoch of a retry is that of the request with version 1, and one below the stored one with version 2.
    *(
        Case(test, given(state), [end(decision, epoch=6 - version)], answer, versions=(version,))
        for version in BOTH
        for test, state, decision, answer in (
            ("shouldReturnOkOnEndTxnWhenStatusIsCompleteCommitAndResultIsCommit", COMPLETE_COMMIT, COMMIT, Error.NONE),
            ("shouldReturnOkOnEndTxnWhenStatusIsCompleteAbortAndResultIsAbort", COMPLETE_ABORT, ABORT, Error.NONE),
            (
                "shouldReturnInvalidTxnRequestOnEndTxnRequestWhenStatusIsCompleteAbortAndResultIsNotAbort",
                COMPLETE_ABORT,
                COMMIT,
                Error.INVALID_TXN_STATE,
            ),
            (
                "shouldReturnInvalidTxnRequestOnEndTxnRequestWhenStatusIsCompleteCommitAndResultIsNotCommit",
                COMPLETE_COMMIT,
                ABORT,
                Error.INVALID_TXN_STATE,
            ),
            (
                "shouldReturnConcurrentTransactionsOnEndTxnRequestWhenStatusIsPrepareCommit",
                PREPARE_COMMIT,
                COMMIT,
                Error.CONCURRENT_TRANSACTIONS,
            ),
            (
                "shouldReturnInvalidTxnRequestOnEndTxnRequestWhenStatusIsPrepareAbort",
                PREPARE_ABORT,
                COMMIT,
                Error.INVALID_TXN_STATE,
            ),
        )
    ),
    # Version 2 raises the epoch with the decision.
    *(
        Case(
            test,
            given(ONGOING, partitions=[0, 1]),
            [end(decision)],
            then=dict(state=state, epoch=4 + version, partitions=[0, 1]),
            versions=(version,),
        )
        for version in BOTH
        for test, decision, state in (
            ("shouldAppendPrepareCommitToLogOnEndTxnWhenStatusIsOngoingAndResultIsCommit", COMMIT, PREPARE_COMMIT),
            ("shouldAppendPrepareAbortToLogOnEndTxnWhenStatusIsOngoingAndResultIsAbort", ABORT, PREPARE_ABORT),
        )
    ),
]

ALL = [(case, version) for case in [*INITIALIZE, *ADD, *VERIFY, *END] for version in case.versions]


@pytest.mark.parametrize(("case", "version"), ALL, ids=[f"{case.test} (version {version})" for case, version in ALL])
def test_the_coordinator_answers_as_kafka_does(case, version):
    spec = SPECS[version]
    before = state_with(spec, metadata=metadata(spec, case.given))
    state = before
    for action, *arguments in case.requests:
        state = spec.step(state, action, *(argument(spec, action, value) for value in arguments))
    assert state.answer == case.answer
    if not case.then:
        assert state.metadata == before.metadata
    for name, wanted in case.then.items():
        found = getattr(state.metadata, name)
        assert found == (partitions(spec, wanted) if name == "partitions" else wanted), name


def metadata(spec, fields):
    """Return the coordinator's metadata with some fields; the others are those of a producer without a transaction."""
    usual = dict(
        producer_id=1, epoch=5, last_epoch=None, previous_producer_id=None, next_producer_id=None, next_epoch=None
    )
    with spec.bound():
        return Metadata(**usual | fields | {"partitions": partitions(spec, fields.get("partitions", ()))})


def partitions(spec, numbers):
    """Return a set of partitions by their numbers."""
    with spec.bound():
        return {list(Partition)[number] for number in numbers}


def argument(spec, action, value):
    """Return an argument of a request as a value of the spec."""
    with spec.bound():
        if isinstance(value, tuple):
            return Identity(producer_id=value[0], epoch=value[1])
    return value


def test_each_case_names_a_test_and_enough_are_covered():
    names = {case.test.split(",")[0] for case, _ in ALL}
    assert len(names) >= 40
    assert all(name.split(".")[-1].startswith(("should", "test")) for name in names)
