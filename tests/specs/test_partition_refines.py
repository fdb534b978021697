"""The message-level model of replication refines the published model, and the partition of producer/acks."""

import pytest

from checker.language import Disabled, action
from checker.testing import play, refine
from specs.producer.acks import Acks
from specs.replication.kip320 import Kip320
from specs.replication.kip320_as_shipped import Kip320AsShipped
from specs.replication.partition import Partition
from specs.replication.state import Replica

TWO_EPOCHS = dict(replicas=2, log_size=1, max_records=2, max_leader_epoch=1)
THREE_EPOCHS = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=2)
SAME = dict(crashes=0, preferred_elections=True, late_metadata=True, max_partition_epoch=2)
"""The events of the published model: no failures, elections at any time, metadata as late as possible."""


class InEpochZero:
    """The published model in the initial state of the other: the first replica leads in epoch 0, and all know it."""

    def init(self):
        self.send_leader_and_isr(Replica[0], set(Replica))
        for replica in Replica:
            self.accept_request(replica, 0)


class AsShipped(InEpochZero, Kip320AsShipped):
    pass


class RecordsOnly(AsShipped):
    """A follower learns the high watermark only with a record, as published."""

    follower_learn_high_watermark = None


class KnowsLogs(AsShipped):
    """The leader knows whether a follower lags, as published."""

    @action
    def leader_shrink_isr(self, follower: Replica):
        Kip320.leader_shrink_isr(self, follower)


def is_same_replica(one, other, replica):
    """Return whether a replica's state may stand for its state in the published model.

    In the published model a follower truncates in the step in which it enters an epoch. So a follower that is
    truncating here may still be in the epoch before there, with the log that it had. The answer to a fetch is appended
    there when it is given. The leader knows every log at once there, so its high watermark may be higher.
    """
    log, published = list(one.log[replica]), list(other.log[replica])
    if other.leader_epoch[replica] < one.leader_epoch[replica]:
        return one.leader[replica] != replica and published[: len(log)] == log
    if (one.leader_epoch[replica], one.leader[replica]) != (other.leader_epoch[replica], other.leader[replica]):
        return False
    answer = one.answers[replica]
    has_log = log == published or (
        answer is not None and answer.record is not None and [*log, answer.record] == published
    )
    return has_log and one.high_watermark[replica] <= other.high_watermark[replica]


def is_same(one, other):
    """Return whether a state may stand for one of the published model: metadata, records and replicas."""
    return (
        one.quorum == other.quorum
        and one.requests == other.requests
        and one.next_record_id == other.next_record_id
        and all(is_same_replica(one, other, replica) for replica in Replica)
    )


def refinement(abstract, size, **switches):
    # between=1: here a leader that is alone in the ISR appends and commits in one step.
    return refine(Partition(**size | SAME | switches), abstract(**size), is_same, between=1)


@pytest.mark.parametrize(
    ("size", "rules"),
    [
        (TWO_EPOCHS, {}),
        pytest.param(TWO_EPOCHS, {"truncation": "kip279"}, marks=pytest.mark.slow),
        pytest.param(THREE_EPOCHS, {"lagging": False}, marks=pytest.mark.slow),
    ],
)
def test_every_behaviour_is_one_of_the_published_model_as_shipped(size, rules):
    found = refinement(AsShipped, size, **rules)
    assert found.holds, [str(step) for step in found.trace]
    assert found.concrete_states > 500 and found.abstract_states > 50


@pytest.mark.parametrize(
    ("size", "wrong", "last"),
    [
        (TWO_EPOCHS, {"counts_diverging_fetch": True}, "leader_handle_fetch(b1)"),
        (dict(TWO_EPOCHS, max_leader_epoch=2), {"fences_fetches": False}, "follower_receive(b2)"),
        (THREE_EPOCHS, {"truncation": "high_watermark"}, "become_leader(2)"),
    ],
)
def test_a_wrong_rule_breaks_the_refinement(size, wrong, last):
    found = refinement(AsShipped, size, **wrong)
    assert not found.holds
    assert str(found.trace[-1]) == last


@pytest.mark.parametrize(
    ("published", "last"),
    [(RecordsOnly, "follower_receive(b2)"), (KnowsLogs, "controller_handle_alter_partition(b1)")],
)
def test_the_published_model_is_stricter_than_the_code(published, last):
    found = refinement(published, TWO_EPOCHS)
    assert not found.holds
    assert str(found.trace[-1]) == last


BEHIND = [
    "controller_elect_leader b1",
    "become_leader 0",
    "become_follower b2 0",
    "leader_shrink_isr b3",
    "leader_write b1",
    "follower_fetch b2",
    "controller_elect_leader b2",
    "become_leader 1",
    "become_follower b3 1",
    "follower_fetch b3",
]


def test_a_follower_joins_before_its_log_is_committed():
    """b3 has the log with which epoch 1 began; b1 has not fetched from b2 yet, so none of it is committed."""
    with pytest.raises(Disabled):
        play(Kip320(log_size=1, max_records=1), *BEHIND, "leader_expand_isr b3")
    state = play(Kip320AsShipped(log_size=1, max_records=1), *BEHIND, "leader_expand_isr b3")
    assert (len(state.quorum.isr), state.high_watermark[Replica(1)]) == (3, 0)
    shipped = Partition(replicas=3, log_size=1, max_records=1, **SAME | dict(max_partition_epoch=3))
    fetches = ["follower_fetch {}", "leader_handle_fetch {}", "follower_receive {}"]
    shrink = ["leader_ask_to_shrink_isr b1 b3", "controller_handle_alter_partition b1"]
    behind = ["leader_append b1", *shrink, *[call.format("b2") for call in fetches], "controller_elect b2"]
    joins = [*[call.format("b3") for call in fetches], "follower_fetch b3", "leader_handle_fetch b3"]
    state = play(shipped, *behind, "become_leader 1", "become_follower b3 1", *joins)
    state = play(shipped, "controller_handle_alter_partition b2", state=state)
    assert (len(state.quorum.isr), state.high_watermark[Replica(1)]) == (3, 0)


def test_a_leader_counts_a_fetch_of_its_successor():
    """b2 has fetched from b1 and leads in epoch 1; b1 does not know that, and commits when b3 has fetched too."""
    calls = [
        "controller_elect_leader b1",
        "become_leader 0",
        "become_follower b2 0",
        "become_follower b3 0",
        "leader_write b1",
        "follower_fetch b2",
        "controller_elect_leader b2",
        "become_leader 1",
        "follower_fetch b3",
        "leader_increment_high_watermark b1",
    ]
    with pytest.raises(Disabled):
        play(Kip320(log_size=1, max_records=1), *calls)
    assert play(Kip320AsShipped(log_size=1, max_records=1), *calls).high_watermark[Replica(0)] == 1
    fetches = ["follower_fetch {}", "leader_handle_fetch {}", "follower_receive {}", "follower_fetch {}"]
    b2, b3 = ([call.format(broker) for call in fetches] for broker in ("b2", "b3"))
    shipped = Partition(replicas=3, log_size=1, max_records=1, **SAME)
    handled = ["leader_handle_fetch b2", "controller_elect b2", "become_leader 1", *b3, "leader_handle_fetch b3"]
    state = play(shipped, "leader_append b1", *b2, *handled)
    assert (state.high_watermark[Replica(0)], state.acked) == (1, {0})


# The partition without message delays (`specs.pipeline.partition`), which producer/acks and the pipeline share.

ONE_RECORD = dict(replicas=2, log_size=1, max_records=1, max_leader_epoch=1)
BETWEEN = 4
"""In one step of the message-level model a leader that is alone in the ISR appends, commits and acknowledges.

The other model takes five steps for that: send, append, shrink the ISR, raise the high watermark, acknowledge.
"""


def true_leader(state):
    """Return the live replica that leads in the newest leader epoch, None if there is none."""
    newest = len(state.requests) - 1
    leaders = [
        replica
        for replica in Replica
        if replica in state.alive and state.leader[replica] == replica and state.leader_epoch[replica] == newest
    ]
    return leaders[0] if leaders else None


def clients_see_the_same(one, other):
    """Return whether clients cannot tell the two states apart.

    They see the acknowledged records, the consumed ones, and, if a replica leads, which one and its log. Records are
    numbered from 0 here and from 1 there.
    """
    if {record + 1 for record in one.acked} != set(other.acked):
        return False
    if [record + 1 for record in one.consumed] != list(other.consumed):
        return False
    leader = true_leader(one)
    if leader is None:
        return True
    return (
        other.leader is not None
        and list(Replica).index(leader) == int(str(other.leader).removeprefix("n")) - 1
        and [record.id + 1 for record in one.log[leader]] == list(other.log[other.leader])
    )


def refinement_of_acks(settings, **switches):
    settings = dict(acks="all", min_insync_replicas=1, unclean_elections=False, starts_in_sync=True) | settings
    crashes = switches.pop("crashes", 1)
    concrete = Partition(**ONE_RECORD | settings | switches, crashes=crashes, consumers=True)
    abstract = Acks(**settings, records=1, replication_factor=2, broker_crashes=crashes)
    return refine(concrete, abstract, clients_see_the_same, between=BETWEEN)


@pytest.mark.parametrize(
    "settings",
    [
        dict(acks="all", min_insync_replicas=2),
        pytest.param(dict(acks="1"), marks=pytest.mark.slow),
        pytest.param(dict(unclean_elections=True, starts_in_sync=False), marks=pytest.mark.slow),
        pytest.param(dict(acks="all", min_insync_replicas=1), marks=pytest.mark.slow),
        pytest.param(dict(unclean_elections=True), marks=pytest.mark.slow),
        pytest.param(dict(acks="1", unclean_elections=True, starts_in_sync=False), marks=pytest.mark.slow),
    ],
)
def test_clients_see_only_what_the_partition_of_acks_allows(settings):
    found = refinement_of_acks(settings)
    assert found.holds, [str(step) for step in found.trace]
    assert found.concrete_states > 400 and found.abstract_states > 80


@pytest.mark.parametrize(
    ("settings", "switches", "last"),
    [
        (
            dict(acks="1", min_insync_replicas=2, unclean_elections=True, starts_in_sync=False),
            dict(strict_min_isr=False),
            "become_leader(1)",
        ),
        (dict(starts_in_sync=False), dict(crashes=0, power_failures=1), "become_leader(1)"),
    ],
)
def test_clients_notice_events_that_the_partition_of_acks_leaves_out(settings, switches, last):
    """Committing below min.insync.replicas, and power failures, which only the pipeline's partition has."""
    found = refinement_of_acks(settings, **switches)
    assert not found.holds
    assert str(found.trace[-1]) == last
