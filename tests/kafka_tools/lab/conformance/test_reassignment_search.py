"""The search over the class: its steps, properties and shortest sequences, with scripted answers and Kafka's."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from checker.cli.app import main
from kafka_tools.lab.conformance import explore_command
from kafka_tools.lab.conformance.reassignment_search import ANSWERS, search
from kafka_tools.lab.conformance.registration import Change, no_change
from tests.kafka_tools.lab.cluster.real_brokers import why_no_brokers_run

STALE, INCOMPLETE, LOST = (
    "every eligible leader is a replica",
    "every eligible leader has every acknowledged record",
    "the leader has every acknowledged record",
)


class ScriptedClass:
    """Answers as a function says; `calls` has every call."""

    name = "a script"

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    def answers(self, calls):
        self.calls += calls
        return [self.answer(call) for call in calls]


def assign(call):
    """Complete a reassignment at once, elect its first replica if the leader is removed, and keep the rest."""
    before = call.before
    if not call.target:
        return no_change(before)
    isr = before.isr & set(call.target) or frozenset(call.target[:1])
    leader = before.leader if before.leader in isr else min(isr)
    return Change(replace(before, replicas=call.target, isr=isr, leader=leader), True, True)


def assign_and_keep_eligible(call):
    change = assign(call)
    return (
        replace(change, after=replace(change.after, elr=call.before.isr - change.after.isr)) if call.target else change
    )


def run(answer, most_states=100_000):
    return search(ScriptedClass(answer), has_elr=True, most_states=most_states)


def test_a_class_that_changes_nothing_violates_nothing():
    script = ScriptedClass(lambda call: no_change(call.before))
    result = search(script, has_elr=True, most_states=10_000)
    assert result.violations == {}
    # Each set of active brokers, 0 to 3 reassignments; and logs of brokers that started outside the replicas.
    assert result.states == 16 * 4
    assert result.is_complete
    assert result.calls == len(script.calls) == len(set(script.calls))


def test_the_limit_ends_a_search():
    assert not run(lambda call: no_change(call.before), most_states=5).is_complete


def test_a_stale_eligible_leader_is_found_after_one_step():
    result = run(assign_and_keep_eligible)
    (start, first), (step, state) = result.violations[STALE]
    assert (start, step) == ("", "The operator reassigns the partition to 1.")
    assert first.startswith("replicas 1, 2, 3; leader 1, ISR 1, 2, 3, ELR none")
    # Active brokers that are no replicas any more delete their logs.
    assert state.endswith("ELR 2, 3; active 1, 2, 3, 4; complete logs 1")
    assert len(result.violations[INCOMPLETE]) == 2


def test_a_leader_without_a_complete_log_is_found():
    sentences = [step for step, _ in run(assign).violations[LOST]]
    assert sentences == [
        "",
        "The operator reassigns the partition to 1.",
        "The operator reassigns the partition to 4, 2, 3.",
    ]


def test_an_exception_of_the_class_is_a_violation():
    result = run(lambda call: "java.lang.Error: no" if call.target == (1,) else no_change(call.before))
    assert result.violations[ANSWERS][-1] == ("The operator reassigns the partition to 1.", "java.lang.Error: no")


def test_calls_have_the_effective_min_isr():
    script = ScriptedClass(assign)
    search(script, has_elr=True, most_states=10_000)
    assert {(len(call.before.replicas), call.min_isr) for call in script.calls} == {(3, 2), (1, 1)}


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (assign_and_keep_eligible, 1, "violated after 1 step: every eligible leader is a replica"),
        (lambda call: no_change(call.before), 0, "holds: every eligible leader is a replica"),
    ],
)
def test_the_command_prints_sequences_and_counts(answer, status, text, monkeypatch, capsys):
    monkeypatch.setattr(explore_command, "partition_bridge", lambda *names: nullcontext(ScriptedClass(answer)))
    assert main(["conform", "--explore"]) == status
    output = capsys.readouterr().out
    assert text in output
    assert " steps a second" in output


def test_a_search_that_reaches_the_limit_is_undecided(monkeypatch, capsys):
    script = ScriptedClass(lambda call: no_change(call.before))
    monkeypatch.setattr(explore_command, "partition_bridge", lambda *names: nullcontext(script))
    monkeypatch.setattr(explore_command, "_MOST_STATES", 5)
    assert main(["conform", "--explore"]) == 3
    output = capsys.readouterr().out
    assert "not violated so far: " in output
    assert "states (the limit)" in output


@pytest.mark.slow
def test_kafka_keeps_a_removed_replica_eligible(capsys):
    """C-1, in one step, and as the loss of acknowledged records in six."""
    if reason := why_no_brokers_run("4.3.1"):
        pytest.skip(reason)
    assert main(["conform", "--explore"]) == 1
    output = capsys.readouterr().out
    assert "  1. The operator reassigns the partition to 1.\n     replicas 1; leader 1, ISR 1, ELR 2, 3; " in output
    assert f"violated after 6 steps: {LOST}" in output
    assert f"violated after 3 steps: {ANSWERS}" in output
    if why_no_brokers_run("3.9.2") == "":
        assert main(["conform", "--explore", "--kafka", "3.9.2"]) == 0
