"""The counterexamples of the pipeline say what brokers and clients do, and nothing that only the model does."""

import pytest

from checker.engines.native.engine import explore
from checker.explain.step_events import step_event
from checker.explain.step_sentences import step_sentences
from checker.run import registry
from checker.run.plan import Plan
from kafka_tools.pages.scenario_runs import run_scenario
from specs.pipeline.pipeline import Pipeline

SCENARIOS = {
    f"{entry.name}/{scenario.name}": scenario
    for entry in registry.load_family("pipeline").entries
    for scenario in entry.scenarios
    if isinstance(scenario.expect, dict)
}

TRUNCATING = {"broker_restart", "controller_elect", "controller_move_leader"}
LOSING_POWER = {"broker_lose_power", "all_brokers_lose_power"}


def counterexamples(target):
    spec = SCENARIOS[target].configured_spec()
    return [(spec, violation) for violation in run_scenario(target).result.violations if violation.trace]


@pytest.mark.slow
@pytest.mark.parametrize("target", SCENARIOS)
def test_a_log_gets_shorter_only_where_a_broker_truncates_or_loses_power(target):
    for spec, violation in counterexamples(target):
        brokers = list(spec.variables["log"].key.values())
        for before, step in zip(violation.trace, violation.trace[1:], strict=False):
            for broker in brokers:
                old, new = list(before.state["log"][broker]), list(step.state["log"][broker])
                if new[: len(old)] != old:
                    assert step.action in TRUNCATING | LOSING_POWER, f"{step}: {old} becomes {new}"


@pytest.mark.slow
@pytest.mark.parametrize("target", SCENARIOS)
def test_every_step_has_a_declared_sentence(target):
    for spec, violation in counterexamples(target):
        for before, step in zip(violation.trace, violation.trace[1:], strict=False):
            assert spec.draws.event_of(step.action).says, step.action
            assert step_event(spec, spec.draws, before.state, step).lane


def story(target):
    ((spec, violation), *_) = counterexamples(f"pipeline/pipeline/{target}")
    return [sentence.text for sentence in step_sentences(spec, violation)]


BOOKKEEPING = ("queued ", "appended, not answered", "at the former leader", "late requests", "alive {", "leader: ")


@pytest.mark.slow
@pytest.mark.parametrize("target", SCENARIOS)
def test_no_sentence_is_bookkeeping(target):
    """What a sentence says is not repeated as a change of a variable: "queued + 1", "leader: none"."""
    for spec, violation in counterexamples(target):
        for sentence in step_sentences(spec, violation):
            assert not any(word in sentence.text for word in BOOKKEEPING), sentence.text


def test_a_connection_that_closes_loses_the_answers():
    assert story("lost_response_duplicate")[3] == (
        "The producer's connection closes before an answer about record 1 arrives."
    )
    dies = [text for text in story("i7_rolling_restart_duplicate") if "dies" in text]
    assert "answer" not in dies[0] and dies[1].startswith("The process of n1 dies before an answer about record 1, 2")


def test_a_refusal_names_its_error():
    assert "n1 refuses record 1: OUT_OF_ORDER_SEQUENCE_NUMBER." in story("i7_outage_duplicate")


def test_a_success_that_counts_earlier_records_says_so():
    assert story("implicit_acks_loss")[-1].startswith("n3 acknowledges record 2, and the producer takes the records")
    assert "for acknowledged" not in " ".join(story("i2_first_record_refused"))


def test_an_answer_that_was_sent_arrives():
    assert story("leader_change_loss")[-1].endswith("; before that, the producer gets the success of record 1.")


def test_a_broker_that_dies_keeps_its_log():
    assert "The process of n1 dies: partition's ISR" in " ".join(story("acks_1_loss_at_failover"))
    assert not any("gone" in text for text in story("acks_1_loss_at_failover"))
    removed = next(text for text in story("last_replica_standing") if "lags" in text)
    assert "gone" not in removed


def test_the_truncation_is_in_the_story():
    text = " ".join(story("leader_change_loss"))
    assert (
        "and the other brokers truncate their logs to what they share with its log: r1(e0 s0) is gone from n1" in text
    )


def test_a_successor_without_a_committed_offset_begins_at_the_log_end():
    last = story("latest_before_first_commit_gap")[-1]
    assert last == (
        "The consumer dies, and its successor has no committed offset and begins at the log end 1"
        " (auto.offset.reset=latest)."
    )


def test_a_record_that_times_out_before_it_is_sent_was_not_sent():
    text = story("delivery_timeout_leaves_out")[1]
    assert (
        text == "delivery.timeout.ms passes for record 1, which was not sent yet, and it fails with a TimeoutException."
    )


def test_a_record_that_fails_has_an_error():
    """Without retries no sentence promises another attempt."""
    spec = Pipeline(records=2, leader_moves=1, retries=False, acks="all", idempotent=False)
    (violation,) = explore(spec, Plan(("no_missing_earlier",))).violations
    text = " ".join(sentence.text for sentence in step_sentences(spec, violation))
    assert "the application gets an error for record 1" in text and "send it again" not in text
