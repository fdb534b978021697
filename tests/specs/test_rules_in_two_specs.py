"""Rules that two specs write down, compared over all inputs that both can have.

The model of the pipeline and that of the messages between replicas share no code for the ISR, the eligible leader
replicas (ELR), elections and the high watermark. The leaders of transactions do not use the sequence rules of the
idempotent producer. `test_pipeline_producer_refines` compares the producer states of the pipeline and of the broker.
"""

import itertools
from dataclasses import dataclass

import pytest

from checker.errors import Disabled
from checker.testing import state_with
from specs.broker.leader_state import LeaderState
from specs.pipeline.failures import Entry
from specs.pipeline.partition import Broker
from specs.pipeline.pipeline import Pipeline
from specs.replication.partition import Partition
from specs.replication.state import LeaderAndIsr, Record, Replica
from tests.specs.transactions.leader_requests import LeaderRequests

ALL = (0, 1, 2)
SUBSETS = [frozenset(members) for size in range(4) for members in itertools.combinations(ALL, size)]
ELECTIONS = ("controller_elect", "controller_elect_uncleanly", "controller_elect_last_known")
MIN_ISR = (1, 2, 3, 4)


@dataclass(frozen=True)
class Quorum:
    """What the controller knows of a partition with three replicas; brokers are numbers."""

    leader: int | None
    isr: frozenset[int]
    eligible: frozenset[int]
    last_known_leader: int | None
    alive: frozenset[int]


def quorums(min_isr, *, has_elr):
    """Yield every state of a partition that the rules of Kafka may reach.

    The leader is alive and in the ISR. An ELR exists only below min.insync.replicas and beside the ISR. With an ELR a
    broker that is not alive is in no ISR; without one the last member stays, and then nobody leads.
    """
    for isr, eligible, alive, last in itertools.product(SUBSETS, SUBSETS, SUBSETS, (None, *ALL)):
        for leader in (None, *(isr & alive)):
            stays = not has_elr and len(isr) == 1 and leader is None
            if (
                (isr <= alive or stays)
                and not isr & eligible
                and not (eligible and (not has_elr or len(isr) >= min(min_isr, 3)))
                and (isr or has_elr)
                and (last is None) == bool(isr)
            ):
                yield Quorum(leader, isr, eligible, last, alive)


def message_model(min_isr, *, has_elr, is_unclean=False):
    return Partition(
        **dict(replicas=3, min_insync_replicas=min_isr, eligible_leader_replicas=has_elr, crashes=0),
        **dict(unclean_elections=is_unclean, max_leader_epoch=3, max_partition_epoch=4, session_timeouts=True),
    )


def pipeline(min_isr, *, has_elr, is_unclean=False):
    return Pipeline(
        **dict(replication_factor=3, min_insync_replicas=min_isr, eligible_leader_replicas=has_elr),
        **dict(unclean_elections=is_unclean, broker_crashes=3, acks="all"),
    )


def in_messages(spec, quorum):
    leader = None if quorum.leader is None else Replica(quorum.leader)
    isr = {Replica(member) for member in quorum.isr}
    return state_with(
        spec,
        quorum=LeaderAndIsr(leader=leader, isr=isr),
        eligible={Replica(member) for member in quorum.eligible},
        last_known_leader=None if quorum.last_known_leader is None else Replica(quorum.last_known_leader),
        fenced={Replica(member) for member in ALL if member not in quorum.alive},
    )


def in_pipeline(spec, quorum):
    return state_with(
        spec,
        leader=None if quorum.leader is None else Broker(quorum.leader),
        isr={Broker(member) for member in quorum.isr},
        eligible={Broker(member) for member in quorum.eligible},
        last_known_leader=None if quorum.last_known_leader is None else Broker(quorum.last_known_leader),
        alive={Broker(member) for member in quorum.alive},
    )


def numbers(members):
    return frozenset(member.index for member in members)


def number(member):
    return None if member is None else member.index


def of_messages(state):
    return (
        number(state.quorum.leader),
        numbers(state.quorum.isr),
        numbers(state.eligible),
        number(state.last_known_leader),
    )


def of_pipeline(state):
    return number(state.leader), numbers(state.isr), numbers(state.eligible), number(state.last_known_leader)


def after(spec, state, action, *arguments):
    """Return the state after an action, None if it is not enabled."""
    try:
        return spec.step(state, action, *arguments)
    except Disabled:
        return None


@pytest.mark.parametrize("min_isr", [2, *(pytest.param(size, marks=pytest.mark.slow) for size in (1, 3, 4))])
@pytest.mark.parametrize("is_unclean", [False, True])
@pytest.mark.parametrize("has_elr", [False, True])
def test_elections(has_elr, is_unclean, min_isr):
    """PartitionChangeBuilder.electAnyLeader: who may be elected, and the ISR and the ELR afterwards."""
    messages = message_model(min_isr, has_elr=has_elr, is_unclean=is_unclean)
    coarse = pipeline(min_isr, has_elr=has_elr, is_unclean=is_unclean)
    compared = 0
    for quorum in quorums(min_isr, has_elr=has_elr):
        if quorum.leader is not None:
            continue
        for broker_number in ALL:
            state = in_messages(messages, quorum)
            found = [after(messages, state, name, Replica(broker_number)) for name in ELECTIONS]
            fine = {of_messages(state) for state in found if state is not None}
            state = after(coarse, in_pipeline(coarse, quorum), "controller_elect", Broker(broker_number))
            assert fine == (set() if state is None else {of_pipeline(state)}), (quorum, broker_number)
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("min_isr", MIN_ISR)
@pytest.mark.parametrize("has_elr", [False, True])
def test_a_broker_leaves_the_isr(has_elr, min_isr):
    """PartitionChangeBuilder.maybePopulateTargetElr; the message model elects another leader in the same step."""
    messages, coarse = message_model(min_isr, has_elr=has_elr), pipeline(min_isr, has_elr=has_elr)
    for quorum in quorums(min_isr, has_elr=has_elr):
        for leaving in quorum.isr & quorum.alive:
            if quorum.leader is None:
                continue  # the message model elects as soon as a member of the ISR is alive
            fine = of_messages(after(messages, in_messages(messages, quorum), "controller_fence", Replica(leaving)))
            state = after(coarse, in_pipeline(coarse, quorum), "broker_crash", Broker(leaving))
            elected = [after(coarse, state, "controller_elect", Broker(other)) for other in ALL]
            outcomes = {of_pipeline(found) for found in elected if found is not None} or {of_pipeline(state)}
            if quorum.leader != leaving:
                outcomes = {of_pipeline(state)}
            assert fine in outcomes, (quorum, leaving)


def grant(asked):
    return lambda found: found.change(asked.leader, asked.isr)


@pytest.mark.parametrize("min_isr", MIN_ISR)
@pytest.mark.parametrize("has_elr", [False, True])
def test_a_broker_joins_the_isr(has_elr, min_isr):
    """PartitionChangeBuilder.maybePopulateTargetElr after a granted AlterPartition."""
    messages, coarse = message_model(min_isr, has_elr=has_elr), pipeline(min_isr, has_elr=has_elr)
    for quorum in quorums(min_isr, has_elr=has_elr):
        for joining in quorum.alive - quorum.isr:
            if quorum.leader is not None:
                asked = LeaderAndIsr(leader=Replica(quorum.leader), isr={Replica(n) for n in quorum.isr | {joining}})
                granted = messages.changed(in_messages(messages, quorum), grant(asked))
                state = after(coarse, in_pipeline(coarse, quorum), "leader_expand_isr", Broker(joining))
                assert of_messages(granted) == of_pipeline(state), (quorum, joining)


LOGS = [(leader, *followers) for leader in range(3) for followers in itertools.product(range(leader + 1), repeat=2)]
"""The log ends of a leader and two followers that have the first records of its log."""


@pytest.mark.parametrize("min_isr", MIN_ISR)
@pytest.mark.parametrize("is_strict", [False, True])
def test_the_high_watermark(is_strict, min_isr):
    """Partition.maybeIncrementLeaderHW, effectiveMinIsr; whether acks=all is refused (appendRecordsToLeader)."""
    messages = Partition(replicas=3, min_insync_replicas=min_isr, strict_min_isr=is_strict, log_size=3, max_records=3)
    coarse = Pipeline(replication_factor=3, min_insync_replicas=min_isr, strict_min_isr=is_strict, acks="all")
    leader = Replica(0)
    for isr, ends in itertools.product([members for members in SUBSETS if 0 in members], LOGS):
        for committed in range(min(ends[member] for member in isr) + 1):
            fine = state_with(
                messages,
                log={Replica(n): [Record(id=i, epoch=0) for i in range(end)] for n, end in enumerate(ends)},
                remote_end={leader: {Replica(n): end if n > 0 else 0 for n, end in enumerate(ends)}},
                high_watermark={leader: committed},
                isr={leader: {Replica(member) for member in isr}},
                next_record_id=ends[0],
            )
            records = [Entry(record=i + 1, session=0, epoch=0, sequence=i, resend=0) for i in range(ends[0])]
            state = state_with(
                coarse,
                log={Broker(n): records[:end] for n, end in enumerate(ends)},
                high_watermark=committed,
                isr={Broker(member) for member in isr},
            )
            raised = messages.changed(fine, lambda found: found.advance_high_watermark(leader))
            known = coarse.changed(state, lambda found: found.advance_high_watermark())
            assert raised.high_watermark[leader] == known.high_watermark, (isr, ends, committed)
            with coarse.bound():
                is_refused = coarse.in_state(state).has_too_few_replicas()
            assert (after(messages, fine, "leader_append", leader) is None) == is_refused, (isr, ends)


BATCHES = list(itertools.product(range(3), range(3)))
"""The epochs and sequences of batches with one record."""


@pytest.mark.parametrize(("needs_sequence_0", "no_state"), [(True, "full"), (False, "any")])
def test_the_sequence_of_a_transactional_batch(needs_sequence_0, no_state):
    """ProducerAppendInfo.checkSequence, checkProducerEpoch: after every history of up to three batches.

    A leader of transactions that checks first sequences is one that takes only sequence 0 without state.
    """
    idempotent = LeaderState(no_state=no_state, max_epoch=2, log_size=4, cache_size=5)
    transactional = LeaderRequests(
        **dict(needs_sequence_0=needs_sequence_0, max_epoch=2, max_producer_id=0, log_size=4, transactions=3),
        **dict(max_coordinator_epoch=0, partitions=1),
    )
    histories = [(state_with(idempotent), state_with(transactional))]
    answers = set()
    while histories:
        one, two = histories.pop()
        for epoch, sequence in BATCHES:
            first = idempotent.step(one, "produce", "p1", epoch, sequence, 1)
            second = transactional.step(two, "produce", "p1", 0, epoch, sequence, True)
            assert first.answer.error.name == second.answer.name, (epoch, sequence, one, two)
            answers.add(second.answer.name)
            if length(one) < length(first) <= 3:
                assert length(first) == length(second)
                histories.append((first, second))
    assert answers == {"NONE", "INVALID_PRODUCER_EPOCH", "OUT_OF_ORDER_SEQUENCE_NUMBER"}


def length(state):
    """Return the number of entries of the only log."""
    (log,) = state.log.items_in_order()
    return len(log)
