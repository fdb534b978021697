"""Consumer groups step by step (ClassicGroupTest, ConsumerCoordinatorTest, AbstractStickyAssignorTest); guarantees."""

from pathlib import Path

import pytest

from checker.testing import is_enabled, play
from specs.consumer.cooperative import CooperativeGroup
from specs.consumer.fencing import FencedSink, TransactionalSink
from specs.consumer.group import ConsumerGroup
from tests.support.short_tables import computed_table

PAGE = Path(__file__).parent.parent.parent / "docs" / "consumer.md"

TAKE_OVER = ["join c2", "complete_rebalance c2", "sync c2"]


def effects(state):
    return [str(effect) for effect in state.effects]


# Offset commits: ClassicGroupTest.testValidateOffsetCommit.


def test_commit_of_a_member_is_accepted():
    state = play(ConsumerGroup(), "poll c1 1", "process c1", "commit_position c1")
    assert state.committed == 1


def test_commit_of_an_evicted_consumer_is_refused():
    """UNKNOWN_MEMBER_ID; ConsumerCoordinatorTest.testCommitOffsetUnknownMemberId: the consumer leaves the group."""
    state = play(ConsumerGroup(), "poll c1 1", "evict c1", "process c1", "commit_position c1")
    assert state.committed == 0
    assert str(state.phase).startswith("{c1: out")


def test_commit_of_an_earlier_generation_is_refused():
    """ILLEGAL_GENERATION; OffsetMetadataManagerTest.testGenericGroupOffsetCommitWithIllegalGeneration."""
    spec = CooperativeGroup(joins_without_losing=True)
    state = play(spec, "poll c1 1", "evict c1", *TAKE_OVER, "process c1", "join c1", "commit_position c1")
    assert state.committed == 0


def test_commit_during_a_rebalance_is_accepted():
    """ClassicGroup.validateOffsetCommit: PREPARING_REBALANCE does not refuse a commit."""
    state = play(ConsumerGroup(), "poll c1 1", "process c1", "join c2", "commit_position c1")
    assert (state.preparing, state.committed) == (True, 1)


# Rebalances: ConsumerCoordinatorTest, ClassicGroupTest.


def test_generation_grows_when_all_members_have_joined():
    """ClassicGroupTest.testInitNextGeneration, testStableToPreparingRebalanceTransition."""
    spec = ConsumerGroup()
    state = play(spec, "join c2")
    assert state.preparing
    assert not is_enabled(spec, state, "complete_rebalance c2")
    state = play(spec, "join c1", "complete_rebalance c2", state=state)
    assert (state.generation, state.preparing) == (1, False)


def test_eager_member_gives_its_partition_up_first():
    """ConsumerCoordinatorTest.testNormalJoinGroupFollower (eager): onJoinPrepare commits, then revokes."""
    state = play(ConsumerGroup(), "poll c1 1", "process c1", "join c2", "join c1")
    assert str(state.position) == "{c1: none, c2: none}"
    assert state.committed == 1
    state = play(ConsumerGroup(commits_when_revoked=False), "poll c1 1", "process c1", "join c2", "join c1")
    assert state.committed == 0


def test_eager_member_joins_inside_poll():
    """A consumer that holds records is not in poll."""
    assert not is_enabled(ConsumerGroup(), play(ConsumerGroup(), "poll c1 1", "join c2"), "join c1")


def test_lost_partition_is_not_committed():
    """ConsumerCoordinatorTest.testUnknownMemberId, onPartitionsLost: the consumer commits nothing."""
    spec = ConsumerGroup(session_timeouts=1)
    state = play(spec, "poll c1 1", "process c1", "time_out c1", "learn_of_eviction c1")
    assert (state.committed, str(state.position)) == (0, "{c1: none, c2: none}")


def test_cooperative_member_keeps_its_partition():
    """ConsumerCoordinatorTest (cooperative): onJoinPrepare revokes nothing, and the member polls again."""
    state = play(CooperativeGroup(), "join c2", "join c1", "poll c1 1", "process c1")
    assert effects(state) == ["0@0"]


def test_partition_in_transfer_is_withheld():
    """CooperativeStickyAssignorTest.testUniformSubscriptionTransferOwnershipListIsRight: two rebalances."""
    spec = CooperativeGroup(evictions=0)
    state = play(spec, "join c2", "join c1", "complete_rebalance c2")
    assert str(state.owners) == "{}"
    state = play(spec, "sync c2", "sync c1", state=state)
    assert state.preparing
    state = play(spec, "join c2", "complete_rebalance c2", "sync c2", state=state)
    assert str(state.owners) == "{c2}"
    assert str(state.position) == "{c1: none, c2: 0}"


STALE = ["poll c1 1", "evict c1", *TAKE_OVER, "process c1", "join c1", "join c2"]


@pytest.mark.parametrize(
    ("believes", "chosen", "owners"),
    [
        ("everybody", "c1", "{c1, c2}"),
        ("latest", "c2", "{c2}"),
        ("latest", "c1", "{}"),
        ("one_latest", "c2", "{c2}"),
    ],
)
def test_stale_claim(believes, chosen, owners):
    """AbstractStickyAssignorTest.testOwnedPartitionsAreInvalidatedForConsumerWithStaleGeneration (KAFKA-12984)."""
    spec = CooperativeGroup(believes=believes, joins_without_losing=True)
    assert str(play(spec, *STALE, f"complete_rebalance {chosen}").owners) == owners


def test_claims_of_the_same_generation():
    """testPartitionsTransferringOwnershipIncludeThePartitionClaimedByMultipleConsumersInSameGeneration: no owner."""
    interrupted = ["complete_rebalance c2", "join c3", "join c2", "join c1", "complete_rebalance c1"]
    sizes = dict(members=3, max_generation=3, joins_without_losing=True)
    assert str(play(CooperativeGroup(believes="latest", **sizes), *STALE, *interrupted).owners) == "{c1, c2}"
    assert str(play(CooperativeGroup(**sizes), *STALE, *interrupted).owners) == "{}"


# Zombies.

ZOMBIE = ["poll c1 2", "evict c1", *TAKE_OVER, "poll c2 2", "process c2", "process c2", "commit_position c2"]


def test_zombie_step_by_step():
    """Catalogue C3: c2 has processed and committed; c1 resumes, has an effect, and its commit is refused."""
    spec = ConsumerGroup()
    state = play(spec, *ZOMBIE, "process c1", "process c1")
    assert effects(state) == ["0@1", "1@1", "0@0", "1@0"]
    assert not spec.holds("no_zombie_effect", state)
    state = play(spec, "poll c1 1", *ZOMBIE[1:], "process c1", "commit_position c1")
    assert state.committed == 2
    assert str(state.phase).startswith("{c1: out")


def test_commit_of_a_zombie_without_the_generation_check():
    """Catalogue C3, variant: the zombie moves the committed offset back from 2 to 1."""
    spec = ConsumerGroup(fences_commits=False)
    state = play(spec, "poll c1 1", *ZOMBIE[1:], "process c1")
    assert state.committed == 2
    assert play(spec, "commit_position c1", state=state).committed == 1


def test_sinks_that_fence_zombies():
    state = play(FencedSink(), *ZOMBIE, "process c1")
    assert effects(state) == ["0@1", "1@1"]
    assert str(state.phase).startswith("{c1: out")
    state = play(TransactionalSink(), *ZOMBIE[:-1], "process c1")
    assert (effects(state), state.committed) == (["0@1", "1@1"], 2)


# The table of guarantees.


@pytest.fixture(scope="module")
def computed(tmp_path_factory):
    """The table's exit status, its rows, and the page with its updated section."""
    status, rows, page = computed_table("consumer", PAGE, tmp_path_factory.mktemp("guarantees"))
    answers = {
        tuple(row["settings"].values()): "".join(
            "y" if cell["answer"] == "yes" else "n" for cell in row["cells"].values()
        )
        for row in rows
    }
    return status, answers, page


@pytest.mark.slow
def test_answers(computed):
    """Gap, duplicate, reordering, late copy: at most once, at least once, exactly once."""
    status, answers, _ = computed
    assert status == 0
    assert answers["before", "none", "crash"] == "ynnn"
    assert answers["after", "none", "crash"] == "nyny"
    assert answers["automatically", "none", "exception"] == "ynnn"
    assert answers["before", "none", "eviction"] == "nnyy"
    assert {answer for settings, answer in answers.items() if settings[0] == "with the effect"} == {"nnnn"}
    assert answers["contiguous", "by key", "crash"] == "nyny"
    assert answers["contiguous", "in turn", "crash"] == "nyyy"
    assert answers["automatically", "crash"] == "yy"  # group.protocol=consumer


@pytest.mark.slow
def test_the_page_is_what_the_command_prints(computed):
    assert computed[2] == PAGE.read_text(), (
        "update the section: python -m checker table consumer --update-docs docs/consumer.md"
    )
