"""The searches over Kafka's controller: events, ghosts, properties and counts with scripted answers, and Kafka's."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import pytest

from checker.cli.app import main
from checker.errors import InternalError
from kafka_tools.lab.conformance import bridge, explore_command
from kafka_tools.lab.conformance.controller_events import ControllerEvents, ControllerSetting
from kafka_tools.lab.conformance.controller_search import (
    ALL_PROPERTIES,
    ANSWERS,
    AS_ASKED,
    COMPLETES,
    COPIES,
    HAS_LEADER,
    LAST_KNOWN,
    NO_LOSS,
    PROPERTIES,
    REVERSE_MAP,
    ControllerExploration,
)
from kafka_tools.lab.conformance.controller_searches import CONTROL, SEARCHES, setting_of
from kafka_tools.lab.conformance.controller_state import state_of
from kafka_tools.lab.conformance.registration import Registration
from specs.hazards import hazards
from tests.kafka_tools.lab.cluster.real_brokers import why_no_brokers_run

ELIGIBLE = "every eligible leader has every acknowledged record"
FIELDS = dict(brokers="aA0,aA0,aA0", level="1", min_isr="2", replicas="1,2,3", places="AAA", isr="1,2,3", elr="")
FIELDS |= dict(last_known="", leader="1", adding="", removing="", recovering="0")
STOPS = ControllerSetting({"stop": 1}, depth=3, brokers=3)


def line(**fields):
    """Return an answer of three active brokers, with other fields."""
    return ";".join((FIELDS | fields).values())


class ScriptedController:
    """Answers a sequence of events as a function of its events after the first one says; None: as at the start."""

    name = "a script"

    def __init__(self, answer):
        self.answer, self.calls = answer, []

    def answer_lines(self, calls):
        self.calls += calls
        return [self.answer(call.split(";")[1:]) or line() for call in calls]


def run(answer, setting=STOPS, most_states=10_000):
    return ControllerExploration(ScriptedController(answer), setting, most_states).run()


def after(event, **fields):
    """Return a script in which an event has an effect, and later ones have none."""
    return lambda events: line(**fields) if event in events else None


def test_an_answer_is_read():
    state = state_of("aA0,fAB1,sB0;0;3;3,1;UB;3;1;2;3;1;3;1")
    assert (state.active, state.fenced, state.online) == ({1}, {2}, {1: "A", 2: "AB", 3: "B"})
    assert (state.mapped, state.has_elr, state.is_recovering) == ((2,), False, True)
    assert (state.configured_min_isr, state.min_isr) == (3, 2)
    assert state.registration == Registration(
        (3, 1), frozenset({3}), frozenset({1}), frozenset({2}), 3, frozenset({1}), frozenset({3})
    )
    assert str(state) == (
        "replicas 3, 1; leader 3, ISR 3, ELR 1, last known leader 2, adding 1, removing 3; directories U, B; "
        "active 1; min ISR 3; ELR off"
    )
    deleted = state_of("aA0,fA2;1")
    assert (deleted.registration, deleted.mapped, str(deleted)) == (None, (2, 2), "the topic is deleted")


def test_a_replica_leads_with_an_online_directory():
    state = state_of(line(brokers="aA0,aB0,fA0", places="AAU"))
    assert [state.may_lead(broker) for broker in (1, 2, 3)] == [True, False, False]
    assert state_of(line(places="AAU")).may_lead(3)
    assert not state_of(line(replicas="1,2", places="AA", isr="1,2")).may_lead(3)


def steps(setting, ghost=None, **fields):
    events = ControllerEvents(setting)
    return {step.sentence: step for step in events.steps(state_of(line(**fields)), ghost or events.first_ghost())}


def ghost_of(setting, **brokers):
    """Return the first ghost of a setting, with other fields of the brokers b1, b2, ..."""
    ghost = ControllerEvents(setting).first_ghost()
    for name, fields in brokers.items():
        ghost = ghost.change(int(name[1:]), **fields)
    return ghost


EVERY = ControllerSetting(
    dict.fromkeys(("stop", "kill", "session", "produce", "reassign", "cancel", "min-isr", "elr", "delete")),
    depth=1,
    brokers=3,
    targets=((1, 2, 3), (2, 3)),
    min_isrs=(1, 2),
)


def test_the_events_of_a_healthy_partition():
    first = steps(EVERY)
    assert {sentence: step.event for sentence, step in first.items() if "roker 2" in sentence} == {
        "Broker 2 is stopped cleanly.": "stop 2",
        "Broker 2 is killed.": None,
        "Broker 2 loses its session, and runs on.": "fence 2",
    }
    assert {sentence: step.event for sentence, step in first.items() if "roker" not in sentence} == {
        "The ISR acknowledges a record.": None,
        "The operator reassigns the partition to 2, 3.": "reassign 2,3",
        "The operator sets min.insync.replicas=1.": "min-isr 1",
        "The operator sets eligible.leader.replicas.version=0.": "elr 0",
        "The operator deletes the topic.": "delete",
    }
    assert first["Broker 2 is killed."].ghost.at(2).process == "killed"
    acknowledged = first["The ISR acknowledges a record."].ghost
    assert (acknowledged.acknowledged, acknowledged.copies, acknowledged.has_all(3)) == (2, 2, True)


def test_the_events_of_brokers_that_are_down_and_fenced():
    ghost = ghost_of(EVERY, b1=dict(process="stopped"), b2=dict(process="killed"))
    down = steps(EVERY, ghost, brokers="fA0,aA0,fA0", isr="2", elr="1", leader="2")
    assert {sentence: step.event for sentence, step in down.items() if "roker" in sentence} == {
        "Broker 1 starts and registers, after a clean stop.": "register 1 clean A",
        "The session of broker 2 ends.": "fence 2",
        "Broker 2 starts and registers, after an unclean stop.": "register 2 unclean A",
        # It is fenced already, so that the controller gets no request.
        "Broker 3 is stopped cleanly.": None,
        "Broker 3 is killed.": None,
        "The controller unfences broker 3.": "unfence 3",
    }


def test_a_replica_that_has_caught_up_joins_if_both_work():
    joins = "Broker 3 has caught up and joins the ISR."
    ghost = ghost_of(STOPS, b3=dict(records=0, is_lost=True))
    step = steps(STOPS, ghost, isr="1,2")[joins]
    assert (step.event, step.ghost.at(3).records, step.ghost.at(3).is_lost) == ("isr 1,2,3", 1, False)
    assert joins not in steps(STOPS, ghost, isr="1,2", brokers="fA0,aA0,aA0")
    assert joins not in steps(STOPS, ghost, isr="1,2", brokers="aA0,aA0,fA0")
    assert joins not in steps(STOPS, ghost, isr="1,2", leader="")
    assert joins not in steps(STOPS, ghost_of(STOPS, b1=dict(process="killed")), isr="1,2")


def test_an_event_happens_as_often_as_its_limit():
    events = ControllerEvents(STOPS)
    state = state_of(line())
    stop = next(events.steps(state, events.first_ghost()))
    assert stop.sentence == "Broker 1 is stopped cleanly."
    assert not [each for each in events.steps(state, stop.ghost) if "stopped" in each.sentence]


def test_no_record_is_acknowledged_below_min_isr():
    acknowledges = "The ISR acknowledges a record."
    assert acknowledges not in steps(EVERY, isr="1")
    assert acknowledges in steps(EVERY, isr="1", min_isr="1")
    assert acknowledges not in steps(EVERY, ghost_of(EVERY, b2=dict(process="killed")))


def test_the_events_of_directories():
    setting = ControllerSetting({"disk": 1, "disk-fails": 1}, depth=1, brokers=3, directories="AB")
    two = dict(brokers="fAB0,aAB0,aAB0")
    ghost = ghost_of(setting, b1=dict(process="stopped"))
    fails = steps(setting, ghost, **two)
    removed = fails["Directory A of broker 1 fails and is taken out of log.dirs."].ghost
    assert (removed.at(1).disk, removed.at(1).is_lost, removed.at(1).records) == ("removed", True, 0)
    assert fails["Directory A of broker 2 fails while it runs."].event == "offline 2 A"
    # One log is lost of two that must have the records: no other one may be lost.
    assert not [sentence for sentence in steps(setting, removed, **two) if sentence.startswith("Directory")]
    start = steps(setting, removed, **two)["Broker 1 starts and registers without directory A, after a clean stop."]
    assert start.event == "register 1 clean B"
    again = "Broker 1 starts and registers without directory A, after an unclean stop."
    assert steps(replace(setting, is_careful=True), removed, **two)[again].event == "register 1 unclean B"
    makes = "Broker 1 makes an empty log in directory B, and reports it."
    assert steps(setting, start.ghost, brokers="fB0,aAB0,aAB0")[makes].event == "assign 1 B"
    assert makes not in steps(setting, start.ghost, brokers="fB0,aAB0,aAB0", places="BAA")
    # While the failed directory is configured, the broker makes no log elsewhere.
    failed = fails["Directory A of broker 2 fails while it runs."].ghost
    assert not [each for each in steps(setting, failed, brokers="fAB0,aB0,aAB0") if "empty log" in each]


def test_a_careful_operator_waits():
    careful = replace(EVERY, is_careful=True)
    running = dict(adding="3", isr="2,3", leader="2")
    cancels, reassigns = "The operator cancels the reassignment.", "The operator reassigns the partition to 2, 3."
    assert {cancels, reassigns} <= steps(EVERY, **running).keys()
    assert not {cancels, reassigns} & steps(careful, **running).keys()
    assert cancels in steps(careful, **running | dict(isr="1,2,3"))
    changes = {"The operator sets min.insync.replicas=1.", "The operator sets eligible.leader.replicas.version=0."}
    assert changes <= steps(careful).keys()
    assert changes <= steps(EVERY, leader="", isr="").keys()
    assert not changes & steps(careful, leader="", isr="").keys()


def test_a_removed_replica_deletes_its_log_when_it_runs():
    events = ControllerEvents(STOPS)
    removed = state_of(line(replicas="1,2", places="AA", isr="1,2"))
    assert events.ghost_after(events.first_ghost(), removed).at(3).records == 0
    assert events.ghost_after(ghost_of(STOPS, b3=dict(process="killed")), removed).at(3).records == 1


def test_fewer_replicas_have_fewer_copies():
    events = ControllerEvents(STOPS)
    alone = state_of(line(replicas="1", places="A", isr="1"))
    assert events.ghost_after(events.first_ghost(), alone).copies == 1


def test_an_unclean_election_truncates_and_may_lose():
    elected = state_of(line(isr="3", leader="3", recovering="1"))
    ghost = ghost_of(STOPS, b3=dict(records=0))
    clean = ControllerEvents(STOPS).ghost_after(ghost, elected)
    assert ([each.records for each in clean.brokers], clean.acknowledged) == ([0, 0, 0], 1)
    unclean = ControllerEvents(replace(STOPS, is_unclean=True)).ghost_after(ghost, elected)
    assert (unclean.acknowledged, unclean.copies) == (0, 1)


def test_a_controller_that_changes_nothing_violates_nothing():
    script = ScriptedController(lambda events: None)
    result = ControllerExploration(script, replace(STOPS, events={"stop": None}, depth=9), 10_000).run()
    assert (result.violations, result.states, result.is_complete, result.is_bounded) == ({}, 8, True, False)
    assert result.properties_that_hold == ALL_PROPERTIES
    assert result.calls == len(script.calls)
    assert script.calls[0] == "start 3 1,2,3 2 1 0 A"


def test_the_depth_and_the_limit_end_a_search():
    setting = replace(STOPS, events={"stop": None}, depth=1)
    assert run(lambda events: None, setting).is_bounded
    limited = run(lambda events: None, replace(setting, depth=9), most_states=3)
    assert (limited.is_complete, limited.is_bounded) == (False, False)


def test_a_refused_event_is_no_step():
    result = run(lambda events: "-INVALID_REQUEST" if events else None)
    assert (result.states, result.violations) == (1, {})


def test_an_exception_is_a_violation_with_its_place():
    result = run(lambda events: "!Class.method: java.lang.Error: no" if events == ["stop 2"] else None)
    name = f"{ANSWERS}: Class.method"
    assert result.violations[name][1:] == [("Broker 2 is stopped cleanly.", "Class.method: java.lang.Error: no")]
    assert ANSWERS not in result.properties_that_hold


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        (REVERSE_MAP, dict(brokers="fA0,aA1,aA0")),
        (LAST_KNOWN, dict(last_known="4")),
        ("every member of the ISR and the ELR is a replica", dict(replicas="1,2", places="AA")),
        ("every member of the ISR and the ELR is a replica", dict(brokers="aA0,aA0,aA0,aA1", elr="4")),
        (COPIES, dict(replicas="1,4", places="AA", isr="1")),
        (ELIGIBLE, dict(brokers="aA0,aA0,aA0,aA1", elr="4")),
        (NO_LOSS, dict(replicas="4", places="A", isr="4", leader="4", brokers="aA0,aA0,aA0,aA0")),
    ],
)
def test_each_property_can_be_violated(name, fields):
    result = run(after("stop 1", **fields), replace(STOPS, brokers=4))
    assert [sentence for sentence, _ in result.violations[name]] == ["", "Broker 1 is stopped cleanly."]


def test_a_log_whose_broker_is_down_does_no_harm():
    lost, dead = dict(records=0, is_lost=True), dict(records=0, is_lost=True, process="killed")
    leads, eligible = state_of(line(isr="3", leader="3")), state_of(line(brokers="aA0,aA0,aA1", isr="1", elr="3"))
    for name, state in [(NO_LOSS, leads), (ELIGIBLE, eligible)]:
        assert not PROPERTIES[name](state, ghost_of(STOPS, b3=lost))
        assert PROPERTIES[name](state, ghost_of(STOPS, b3=dead))
    # The controller does not elect a broker that is fenced.
    assert PROPERTIES[ELIGIBLE](state_of(line(brokers="aA0,aA0,fA1", isr="1", elr="3")), ghost_of(STOPS, b3=lost))


def test_a_reassignment_that_ends_elsewhere_is_a_violation():
    setting = ControllerSetting({"reassign": 1}, depth=2, brokers=3, targets=((2, 3),))
    result = run(after("reassign 2,3", replicas="1,3", places="AA", isr="1,3"), setting)
    assert len(result.violations[AS_ASKED]) == 2
    assert (
        AS_ASKED not in run(after("reassign 2,3", replicas="3,2", places="AA", isr="2", leader="2"), setting).violations
    )
    assert AS_ASKED not in run(after("reassign 2,3", removing="1"), setting).violations


def test_a_lost_record_ends_a_sequence():
    def answer(events):
        lost = dict(replicas="1,4", places="AA", isr="4", leader="4") if "stop 1" in events else {}
        return line(brokers="aA0,aA0,aA0,aA0", **lost)

    script = ScriptedController(answer)
    setting = replace(STOPS, brokers=4, events={"stop": None})
    assert len(ControllerExploration(script, setting, 10_000).run().violations[NO_LOSS]) == 2
    assert "start 4 1,2,3 2 1 0 A;stop 2;stop 1" in script.calls
    assert not [call for call in script.calls if "A;stop 1;" in call]


def without_leader(settled):
    """Return a script in which no leader is left once broker 1 is fenced, and the controller settles as given."""

    def answer(events):
        if events[-1:] == ["settle"]:
            return settled
        return line(leader="", isr="1") if "fence 1" in events else None

    return answer


def test_an_election_is_due_when_every_replica_is_active():
    setting = ControllerSetting({"session": 1}, depth=1, brokers=3)
    stuck = run(without_leader(line(leader="", isr="1")), setting)
    assert [sentence for sentence, _ in stuck.violations[HAS_LEADER]][1:] == [
        "Broker 1 loses its session, and runs on."
    ]
    assert HAS_LEADER in run(without_leader(line(isr="1")), setting).properties_that_hold
    # The election makes a completion due, which is another question.
    assert HAS_LEADER in run(without_leader(line(adding="3")), setting).properties_that_hold
    failed = run(without_leader("!Class.method: no"), setting)
    assert failed.violations[f"{ANSWERS}: Class.method"][-1] == (
        "The controller looks at the partition.",
        "Class.method: no",
    )
    # No election is due while a replica is fenced.
    fenced = line(leader="", isr="1", brokers="aA0,aA0,fA0")
    script = ScriptedController(lambda events: fenced if events else None)
    assert HAS_LEADER in ControllerExploration(script, setting, 100).run().properties_that_hold
    assert not [call for call in script.calls if call.endswith("settle")]


def test_a_completion_is_due_when_every_replica_is_in_the_isr():
    setting = ControllerSetting({"reassign": 1}, depth=1, brokers=3, targets=((2, 3),))

    def answer(settled):
        return lambda events: settled if events[-1:] == ["settle"] else line(removing="1") if events else None

    assert len(run(answer(line(removing="1")), setting).violations[COMPLETES]) == 2
    done = line(replicas="2,3", places="AA", isr="2,3", leader="2")
    assert COMPLETES in run(answer(done), setting).properties_that_hold
    waits = run(lambda events: line(removing="1", isr="1,2") if events else None, setting)
    assert COMPLETES in waits.properties_that_hold


def test_a_new_controller_must_give_the_same_answers():
    answers = iter([line(last_known="4"), line()])
    changing = ScriptedController(lambda events: next(answers) if events == ["stop 1"] else None)
    with pytest.raises(InternalError, match=r"a new controller answers start .*;stop 1 with "):
        ControllerExploration(changing, replace(STOPS, depth=1), 10_000).run()


def test_every_search_has_an_entry_and_another_setting_as_its_control():
    for name, each in SEARCHES.items():
        assert hazards()[each.entry].classes.endswith(f": conform --explore {name}")
        assert each.violated in ALL_PROPERTIES
        assert setting_of(name) == each.setting != setting_of(name + CONTROL)
    assert hazards()["C-1"].classes.endswith(": conform --explore")
    assert set(PROPERTIES) < set(ALL_PROPERTIES)


@pytest.fixture
def use_script(monkeypatch):
    def use(answer):
        monkeypatch.setattr(explore_command, "java_bridge", lambda *names: nullcontext(ScriptedController(answer)))

    return use


@pytest.mark.parametrize(
    ("answer", "status", "texts"),
    [
        (lambda events: None, 0, ["holds: no acknowledged record is lost"]),
        (after("stop 3", last_known="4"), 1, [f"violated after 1 step: {LAST_KNOWN}", "holds: "]),
    ],
)
def test_the_command_prints_sequences_and_counts(use_script, answer, status, texts, capsys):
    use_script(answer)
    assert main(["conform", "--explore", "feature"]) == status
    output = capsys.readouterr().out
    assert output.startswith("ReplicationControlManager of a script, 3 brokers, replicas 1, 2, 3, min ISR 2; ELR on")
    assert all(text in output for text in [*texts, " steps a second"])


def test_a_search_that_reaches_the_limit_is_undecided(use_script, monkeypatch, capsys):
    use_script(lambda events: None)
    monkeypatch.setattr(explore_command, "_MOST_STATES", 5)
    assert main(["conform", "--explore", "feature"]) == 3
    assert "not violated so far: " in capsys.readouterr().out


COMPILES_NOTHING = """#!/bin/sh
case "$*" in
  *javac*) echo 'X.java:7: error: cannot find symbol' >&2; exit 1;;
  *) touch "$0.started"; echo ready;;
esac
"""


def test_a_driver_that_does_not_compile_is_reported(monkeypatch, tmp_path, capsys):
    script = tmp_path / "java"
    script.touch(0o755)
    script.write_text(COMPILES_NOTHING)
    monkeypatch.setattr(bridge, "require_java", lambda: str(script))
    monkeypatch.setattr(bridge, "class_path", lambda *given: "")
    assert main(["conform", "--explore", "rollback"]) == 2
    assert "Kafka 4.3.1 cannot be called: X.java:7: error: cannot find symbol" in capsys.readouterr().err
    assert not (tmp_path / "java.started").exists()


STEPS = dict(rollback=3, replace=3, delete=6, feature=10, disks=7, cancel=6, unclean=10) | {"min-isr": 7}


def require_jars(version):
    if reason := why_no_brokers_run(version):
        pytest.skip(reason)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHES)
def test_each_search_finds_its_entry_in_kafka(name, capsys):
    require_jars("4.3.1")
    assert main(["conform", "--explore", name]) == 1
    assert f"violated after {STEPS[name]} steps: {SEARCHES[name].violated}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rollback/control", "feature/control", "cancel/control"])
def test_a_control_finds_nothing(name, capsys):
    require_jars("4.3.1")
    assert main(["conform", "--explore", name]) == 0
    assert "violated" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_rollback_completes_before_4_3():
    require_jars("4.2.0")
    assert main(["conform", "--explore", "rollback", "--kafka", "4.2.0"]) == 0
