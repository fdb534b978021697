"""`conform` without Java: the lines of the bridge, the cases of a spec, the comparison, and wrong input.

With Java and the jars of a release, the slow tests call Kafka's own class.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.cli.app import main
from checker.errors import InputError
from kafka_tools.lab.cluster import distribution
from kafka_tools.lab.conformance import bridge, conform_command
from kafka_tools.lab.conformance.bridge import partition_bridge
from kafka_tools.lab.conformance.comparison import ConformResult, ConformScenario, Difference, compare, scenarios_of
from kafka_tools.lab.conformance.controller_cases import ELECTIONS, Case, ControllerCases, without_records
from kafka_tools.lab.conformance.registration import BuilderCall, Change, Registration, change_of, no_change
from specs.replication.partition import Partition
from specs.replication.versions import replication_rules
from tests.kafka_tools.lab.cluster.real_brokers import why_no_brokers_run

KEEPS_ELIGIBLE = '''
from checker.language import action, require
from specs.replication.partition import Partition
from specs.replication.state import Replica


class KeepsEligible(Partition):
    """An unclean election keeps the eligible leader replicas."""

    @action
    def controller_elect_uncleanly(self, replica: Replica):
        """The rule before."""
        require(self.unclean_elections)
        require(self.quorum.leader is None)
        require(replica not in self.fenced)
        require(not any(self.is_electable(other) for other in Replica))
        self.elect(replica, {replica})
'''

SMALL = replication_rules("4.3.1") | dict(replicas=2, log_size=1, max_records=1, late_requests=False, lagging=False)
SMALL |= dict(max_leader_epoch=2, max_partition_epoch=3, crashes=1, shutdowns=1, min_insync_replicas=2)
BOTH = frozenset({1, 2})


class ScriptedBridge:
    """Answers as a function says."""

    name = "a script"

    def __init__(self, answer):
        self.answer = answer

    def answers(self, calls):
        return [self.answer(call) for call in calls]


@pytest.fixture(scope="module")
def cases():
    return ControllerCases(without_records(Partition)(**SMALL))


def spec_answers(cases):
    """Return a bridge that gives the spec's answers, and elects a leader at once where the spec may."""
    called = sorted((case for case in cases.cases if case.call is not None), key=lambda case: case.action in ELECTIONS)
    return ScriptedBridge({case.call: min(case.allowed, key=str)[0] for case in called}.get)


BROKERS = st.frozensets(st.integers(1, 5))
REGISTRATIONS = st.builds(
    Registration,
    replicas=st.lists(st.integers(1, 5), unique=True).map(tuple),
    isr=BROKERS,
    elr=BROKERS,
    last_known=BROKERS,
    leader=st.none() | st.integers(1, 5),
    adding=BROKERS,
    removing=BROKERS,
)


@given(REGISTRATIONS, st.booleans(), st.booleans())
def test_an_answer_is_read_as_it_was_written(registration, leader_epoch, partition_epoch):
    line = BuilderCall(registration, frozenset(), 1, has_elr=True).line.split(";")[:7]
    answer = ";".join([*line, str(int(leader_epoch)), str(int(partition_epoch))])
    assert change_of(answer) == Change(registration, leader_epoch, partition_epoch)


def test_a_call_is_one_line():
    call = BuilderCall(
        Registration((3, 1, 2), BOTH, frozenset({3}), leader=2),
        inactive=frozenset({3}),
        min_isr=2,
        has_elr=False,
        election="UNCLEAN",
        target_isr=frozenset(),
        unclean=frozenset({3}),
        target=(4, 1),
    )
    assert call.line == "3,1,2;1,2;3;;2;;;3;2;0;UNCLEAN;;3;4,1"
    assert BuilderCall(call.before, BOTH, 1, has_elr=True).line == "3,1,2;1,2;3;;2;;;1,2;1;1;ONLINE;=;;"
    assert change_of("!java.lang.Error: no") == "java.lang.Error: no"


def test_the_cases_have_the_calls_of_the_controller(cases):
    def calls(action):
        return {case.call for case in cases.cases if case.action == action}

    full, alone = Registration((1, 2), BOTH, leader=1), Registration((1, 2), frozenset({1}), frozenset({2}), leader=1)
    first, second = frozenset({1}), frozenset({2})
    assert BuilderCall(full, first, 2, True, target_isr=second) in calls("controller_fence")
    assert BuilderCall(full, second, 2, True, target_isr=first) in calls("broker_shut_down")
    assert BuilderCall(alone, second, 2, True, target_isr=first, unclean=second) in calls("broker_restart")
    assert BuilderCall(alone, frozenset(), 2, True, target_isr=BOTH) in calls("controller_handle_alter_partition")
    # A broker that was shut down cleanly is in the ELR and stays there: the controller does not call the class.
    assert None in calls("broker_restart")
    assert cases.left_out == []


def test_a_change_that_stands_for_no_call_is_named():
    spec = without_records(Partition)(**SMALL | dict(new_min_insync_replicas=1))
    assert ControllerCases(spec).left_out == ["operator_change_min_isr"]


def test_the_answers_of_the_spec_are_equal(cases):
    result = compare(cases, spec_answers(cases))
    assert (result.differences, result.undecided) == ([], 0)
    assert result.equal >= 20
    assert result.without_call > 5
    assert result.states == cases.states


def test_other_answers_are_differences(cases):
    result = compare(cases, ScriptedBridge(lambda call: no_change(call.before)))
    assert {"controller_fence", "broker_restart"} <= {each.case.action for each in result.differences}
    result = compare(cases, ScriptedBridge(lambda call: "java.lang.Error: no"))
    assert result.equal == result.in_two_steps == result.undecided == 0
    assert {each.answer for each in result.differences} == {"java.lang.Error: no"}


def test_epochs_are_compared(cases):
    spec = spec_answers(cases)

    def with_other_epoch(call):
        (change,) = spec.answers([call])
        return Change(change.after, not change.raises_leader_epoch, change.raises_partition_epoch)

    assert compare(cases, ScriptedBridge(with_other_epoch)).equal == 0


def test_one_more_election_is_counted_apart():
    cases = ControllerCases(without_records(Partition)(**SMALL | dict(unclean_elections=True, crashes=2)))
    spec = spec_answers(cases)
    later = {each.call: sorted(each.later, key=str)[0] for each in cases.cases if each.call is not None and each.later}

    def elect_at_once(call):
        return Change(later[call], True, True) if call in later else spec.answers([call])[0]

    result = compare(cases, ScriptedBridge(elect_at_once))
    assert result.in_two_steps >= len(later) > 0
    assert result.differences == []


@pytest.mark.parametrize(
    ("answer", "undecided", "different"),
    [(dict(leader=2, isr=frozenset({2})), 1, 0), (dict(elr=BOTH), 0, 1)],
)
def test_bounds_explain_nothing_but_an_election(answer, undecided, different):
    alone = Registration((1, 2), frozenset({1}), leader=1)
    after = Registration((1, 2), frozenset())
    call = BuilderCall(alone, frozenset({1}), 2, has_elr=True, target_isr=frozenset())
    allowed = frozenset([(Change(after, True, True), "controller_fence(b1)")])
    case = Case("controller_fence", call, alone, allowed, later=frozenset(), is_open=False)
    script = ScriptedBridge(lambda call: Change(replace(after, **answer), True, True))
    result = compare(SimpleNamespace(states=1, cases={case}), script)
    assert (result.equal, result.undecided, len(result.differences)) == (0, undecided, different)


def test_a_difference_shows_the_further_election(cases):
    (case, *_) = sorted((each for each in cases.cases if each.later), key=str)
    text = conform_command._difference_text(Partition, "a script", Difference(case, "java.lang.Error: no"))
    elected = [line for line in text.splitlines() if line.startswith("  then   leader ")]
    assert len(elected) == len(case.later) and all(line.endswith("[one more election]") for line in elected)


def test_releases_have_their_rules():
    constants = {version: scenarios_of(version)[-1].constants for version in ("3.9.2", "4.0.0", "4.1.0")}
    assert not any(scenario.constants["eligible_leader_replicas"] for scenario in scenarios_of("3.9.2"))
    assert constants["4.0.0"]["eligible_leader_replicas"]
    assert constants["4.0.0"]["elects_fenced_last_leader"]
    assert not constants["4.1.0"]["elects_fenced_last_leader"]
    assert {scenario.constants["controller"] for scenario in scenarios_of("3.9.2")} == {"kraft"}


@pytest.fixture
def use_script(monkeypatch, cases):
    """Let `conform` compare one small scenario with a use_script class."""

    def use(answer, name="small"):
        def provide(version, library):
            return conform_command.nullcontext(ScriptedBridge(answer))

        monkeypatch.setattr(conform_command, "partition_bridge", provide)
        monkeypatch.setattr(conform_command, "scenarios_of", lambda version: [ConformScenario(name, SMALL)])

    return use


def test_equal_answers_end_with_0(use_script, cases, capsys, tmp_path):
    use_script(spec_answers(cases).answer)
    assert main(["conform", "--junit", str(tmp_path / "report.xml")]) == 0
    output = capsys.readouterr().out
    assert "PartitionChangeBuilder of a script beside replication/partition" in output
    assert "not compared" in output
    assert "equal: " in output
    suite = ElementTree.parse(tmp_path / "report.xml").find("testsuite")
    assert suite.attrib | {"time": ""} == {
        "name": "PartitionChangeBuilder of a script",
        "time": "",
        "tests": "1",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }


def test_a_difference_is_shown_with_both_answers_and_the_line(use_script, capsys, tmp_path):
    use_script(lambda call: no_change(call.before))
    assert main(["conform", "--junit", str(tmp_path / "report.xml")]) == 1
    # Without the breaks of long lines.
    output = capsys.readouterr().out.replace("\n" + " " * 9, " ")
    line = 1 + conform_command.Path("specs/replication/controller_elections.py").read_text().splitlines().index(
        "    def controller_fence(self, broker: Replica):"
    )
    block = output[output.index("controller_fence, ") :].splitlines()
    assert block[0] == f"controller_fence, specs/replication/controller_elections.py:{line}"
    assert block[1].startswith("  input  replicas 1, 2; ")
    assert block[2].startswith("  spec   ")
    assert block[2].endswith("[controller_fence(b1)]")
    assert block[3].startswith("  class  ")
    assert block[3].endswith("[a script]")
    assert "different: " in output
    failure = ElementTree.parse(tmp_path / "report.xml").find("testsuite/testcase/failure")
    assert block[0] in failure.text


@pytest.mark.parametrize("is_equal", [True, False])
def test_the_output_fits_a_terminal(use_script, cases, capsys, is_equal):
    use_script(spec_answers(cases).answer if is_equal else lambda call: no_change(call.before), "a_long_name" * 5)
    assert main(["conform"]) == (0 if is_equal else 1)
    lines = capsys.readouterr().out.split("\n")
    assert max(map(len, lines)) <= 80
    assert any(line == "a_long_name" * 5 for line in lines)
    assert any(line.startswith("not compared: ") for line in lines)


def test_nothing_compared_is_not_equal(use_script, monkeypatch, capsys):
    use_script(None)
    monkeypatch.setattr(conform_command, "scenarios_of", lambda version: [ConformScenario("still", STILL)])
    assert main(["conform"]) == 3
    assert "undecided: nothing was compared" in capsys.readouterr().out


def test_undecided_steps_are_counted_beside_equal_ones(use_script, monkeypatch, capsys):
    use_script(None)
    monkeypatch.setattr(conform_command, "compare", lambda *_: ConformResult(states=9, equal=2, undecided=3))
    assert main(["conform"]) == 0
    assert "equal: 2 steps of 9 states; undecided at the bounds of a scenario: 3\n" in capsys.readouterr().out


STILL = SMALL | dict(crashes=0, shutdowns=0)


def test_the_list_is_data(capsys):
    assert main(["conform", "--list", "--kafka", "3.9.2,4.3.1"]) == 0
    listed, controller = json.loads(capsys.readouterr().out)
    assert controller["class"] == "org.apache.kafka.controller.ReplicationControlManager"
    assert {search["finds"] for search in controller["searches"]} == {
        f"controller H-{number}" for number in range(1, 9)
    }
    assert all(search["violates"] in controller["properties"] for search in controller["searches"])
    assert [search["finds"] for search in listed["searches"]] == ["C-1"]
    assert listed["class"] == "org.apache.kafka.controller.PartitionChangeBuilder"
    assert {scenario["kafka"] for scenario in listed["scenarios"]} == {"3.9.2", "4.3.1"}
    assert all(":" in rule["source"] for rule in listed["rules"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replication/kip320"], "replication/kip320 is neither"),
        (["replication"], "has several specs"),
        (["replication/partition/kafka_4_0"], "name the spec"),
        (["nothing"], "unknown spec family"),
        (["--kafka", "4.3"], "is not like 4.3.1"),
        (["--kafka", "3.8.0"], "the oldest is 3.9"),
        (["--kafka", "4.3.1,"], "is not like 4.3.1"),
        (["--kafka", "4.3.1,4.0.0", "--lib", "."], "--lib has the jars of one release"),
        (["--lib", "nowhere"], "nowhere is no build of Kafka"),
        (["--explore", "--lib", "nowhere"], "nowhere is no build of Kafka"),
        (["--explore", "--kafka", "4.3"], "is not like 4.3.1"),
        (["--explore", "--list"], "--explore calls the classes alone"),
        (["--explore", "producer/plain"], "has no search producer/plain: name one of reassignment, rollback, "),
        (["--explore", "reassignment/control"], "has no search reassignment/control"),
        (["--explore", "rollback/other"], "has no search rollback/other"),
        (["--explore", "rollback", "--kafka", "4.3.1,3.9.2"], "the controller of Kafka 4.0.0 and later, not of 3.9.2"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, message, capsys):
    assert main(["conform", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_machine_without_java_is_reported(monkeypatch, capsys, tmp_path):
    distribution.require_java.cache_clear()
    monkeypatch.setattr(distribution, "java_command", lambda: None)
    monkeypatch.setattr(bridge, "class_path", lambda *given: "")
    try:
        assert main(["conform"]) == 2
    finally:
        distribution.require_java.cache_clear()
    assert "no java is on the PATH" in capsys.readouterr().err


@pytest.fixture
def java(monkeypatch, tmp_path):
    """Return the file of a script that stands for Java."""
    script = tmp_path / "java"
    script.touch(0o755)
    monkeypatch.setattr(bridge, "require_java", lambda: str(script))
    monkeypatch.setattr(bridge, "class_path", lambda *given: "")
    return script


def test_java_that_ends_is_reported(java):
    java.write_text("#!/bin/sh\necho 'Error: no such class' >&2\n")
    with pytest.raises(InputError, match=r"the controller's classes of Kafka 4\.3\.1 .*: Error: no such class"):
        partition_bridge("4.3.1").__enter__()
    java.write_text("#!/bin/sh\necho ready\nread count\n")
    with pytest.raises(InputError, match="cannot be called: Java ended"), partition_bridge("4.3.1") as started:
        started.answers([BuilderCall(Registration((1,), frozenset({1})), frozenset(), 1, has_elr=True)])


def test_answers_of_a_local_build_have_its_folder(java, tmp_path):
    java.write_text("#!/bin/sh\necho ready\n")
    with partition_bridge("4.3.1", tmp_path) as started:
        assert started.name == f"Kafka in {tmp_path} (like 4.3.1)"


@pytest.fixture
def class_of_release(request):
    """Skip the test where Kafka's jars cannot be used; return the bridge to the release."""
    version = request.param
    if reason := why_no_brokers_run(version):
        pytest.skip(reason)
    with partition_bridge(version) as started:
        yield started


def with_name(version, name):
    return next(each.constants for each in scenarios_of(version) if each.name == name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("class_of_release", "version"), [("3.9.2", "3.9.2"), ("4.3.1", "4.3.1")], indirect=["class_of_release"]
)
def test_the_class_of_a_release_answers_as_the_spec(class_of_release, version):
    total = 0
    for scenario in scenarios_of(version):
        if scenario.constants["replicas"] == 3:
            result = compare(ControllerCases(without_records(Partition)(**scenario.constants)), class_of_release)
            assert result.differences == [], scenario.name
            total += result.equal
    assert total > 290


UNCLEAN = "stops, min ISR 2, ELR on, unclean elections"


@pytest.mark.slow
@pytest.mark.parametrize("class_of_release", ["4.3.1"], indirect=True)
def test_an_unclean_election_that_keeps_the_elr_is_found(class_of_release, tmp_path):
    (tmp_path / "keeps_eligible.py").write_text(KEEPS_ELIGIBLE)
    spec = conform_command._spec_of(str(tmp_path / "keeps_eligible.py"))
    result = compare(ControllerCases(without_records(spec)(**with_name("4.3.1", UNCLEAN))), class_of_release)
    different = [each for each in result.differences if each.case.action == "controller_elect_uncleanly"]
    assert len(different) > 20
    assert all(not each.answer.after.elr for each in different)
    assert all(change.after.elr for each in different for change, _ in each.case.allowed)


@pytest.mark.slow
@pytest.mark.parametrize("class_of_release", ["4.3.1"], indirect=True)
def test_the_rule_of_another_release_is_a_difference(class_of_release):
    """KAFKA-19522: 4.0 elects a last known leader that is fenced, and 4.3.1 does not."""
    constants = with_name("4.0.0", "stops, min ISR 2, ELR on, clean elections")
    result = compare(ControllerCases(without_records(Partition)(**constants)), class_of_release)
    assert "controller_elect_last_known" in {each.case.action for each in result.differences}
