"""The stories of the clients name the actor of Kafka, and tell no list of the model as if it were a log."""

import pytest

from checker.explain.step_sentences import step_sentences
from kafka_tools.pages.catalogue_scenarios import all_scenarios
from kafka_tools.pages.scenario_runs import run_scenario

SPECS = {each.target: each.scenario for each in all_scenarios()}


def story(target):
    """Return the sentences of the first counterexample of a scenario."""
    spec = SPECS[target].configured_spec()
    violation = next(each for each in run_scenario(target).result.violations if each.trace)
    return [sentence.text for sentence in step_sentences(spec, violation)]


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("consumer/consumer_group/c3_zombie", "max.poll.interval.ms passes, and the heartbeat thread of c"),
        ("producer/transaction/i14_new_transaction", "InitProducerId: the coordinator aborts what was sent"),
        ("producer/idempotent_failover/i7_failover", "The leader fails, and the follower, which has copied 2 of its"),
    ],
)
def test_a_sentence_names_who_acts(target, sentence):
    assert any(each.startswith(sentence) for each in story(target)), story(target)


@pytest.mark.parametrize(
    "target",
    [
        "consumer/consumer_group/c3_zombie",
        "consumer/poll_loop/c2_commit_after_processing",
        "consumer/worker_pool/keys_round_robin",
    ],
)
def test_effects_are_no_log(target):
    """A processed record has no offset among the effects."""
    assert any("processes record" in each for each in story(target))
    assert not any("effects" in each for each in story(target))


def test_a_batch_is_named_with_its_partition_if_there_are_several():
    """Batches are numbered for each partition."""
    text = story("producer/stale_sequences/i6_idle_partition")
    assert {"The client sends batch 1 of p1.", "The client sends batch 1 of p2."} <= {*text}
    assert " of p1" not in " ".join(story("producer/failing_append/i15_state_before_append")[1:])


def test_a_commit_in_a_rebalance_is_in_the_story():
    """KAFKA-12983: the committed offset moves back, so both commits are named."""
    last, next_owner = story("consumer/cooperative_group/c5_stale_owner_commits")[-2:]
    assert last.endswith("gives the partition up after a commit of offset 1.")
    assert next_owner.endswith("gives the partition up after a commit of offset 0.")
    assert "after a commit of offset" not in story("consumer/consumer_group/c3_zombie")[5]
