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
