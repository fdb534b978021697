"""Findings of complete explorations: the same from packed states and from the interpreter."""

from pathlib import Path

import pytest

from checker.engines.native import engine
from checker.evidence import interpreted_evidence, native_evidence
from checker.run.finding import Finding, common_findings
from checker.run.plan import Plan
from tests.evidence.toys import PartlyUnused

ENGINES = [native_evidence.explore, interpreted_evidence.explore]


def findings(spec, explore, **plan):
    return explore(spec, Plan(tuple(spec.properties), stop="all", **plan)).findings


def messages(found, kind):
    return {finding.message for finding in found if finding.kind == kind}


@pytest.mark.parametrize("explore", ENGINES)
def test_actions_and_reachable_properties(explore):
    found = findings(PartlyUnused(), explore)
    assert messages(found, "never_enabled") == {"finish is never enabled"}
    assert messages(found, "never_changes_anything") == {
        "rewrite never changes a variable: each of its steps leads back to the same state"
    }
    assert messages(found, "never_reached") == {"is_three is never reached"}
    assert messages(findings(PartlyUnused(may_finish=True), explore), "never_enabled") == set()


@pytest.mark.parametrize("explore", ENGINES)
def test_variables_that_never_change(explore):
    assert messages(findings(PartlyUnused(), explore), "never_changes") == {
        "never_touched never changes: it is 0 in every reachable state",
        "flag never changes: it is no in every reachable state",
        "head never changes: it is none in every reachable state",
        "leader never changes: it is none in every reachable state",
        "letters never changes: it is <> in every reachable state",
    }


@pytest.mark.parametrize("explore", ENGINES)
def test_values_never_taken(explore):
    assert messages(findings(PartlyUnused(), explore), "never_taken") == {
        "count is never above 2: its type ends at 5",
        "phase[Node] is never done",
        "queue has at most 2 items: its capacity is 3",
        "queue[].owner is always None",
        "queue[].weight is always 1",
        "seen never contains 0, 3",
    }


@pytest.mark.parametrize("explore", ENGINES)
def test_findings_have_a_location(explore):
    found = {finding.subject: finding for finding in findings(PartlyUnused(), explore)}
    lines = Path(found["count"].file).read_text().splitlines()
    assert lines[found["count"].line - 1] == "    count = Range(0, 5)"
    assert lines[found["finish"].line - 1] == "    def finish(self, node: Node):"
    assert found["finish"].place.endswith(f"toys.py:{found['finish'].line}")


@pytest.mark.parametrize("explore", ENGINES)
def test_incomplete_exploration_has_no_findings(explore):
    assert findings(PartlyUnused(), explore, max_depth=2) is None


def test_plain_exploration_has_no_findings():
    assert engine.explore(PartlyUnused(), Plan(())).findings is None


def test_findings_do_not_depend_on_the_number_of_workers():
    assert findings(PartlyUnused(), native_evidence.explore, workers=2) == findings(
        PartlyUnused(), native_evidence.explore
    )


def test_common_findings_of_several_runs():
    a, b = (Finding("never_enabled", name, f"{name} is never enabled", "f.py", 1) for name in "ab")
    few = Finding("never_taken", "x", "x is never above 2", "f.py", 3, key="highest")
    more = Finding("never_taken", "x", "x is never above 3", "f.py", 3, key="highest")
    assert common_findings([[a, b, few], [more, a]]) == [a, few]
    assert common_findings([[a], []]) == []
    assert common_findings([]) == []


def test_engines_agree_on_a_real_spec():
    from specs.replication.kip279 import Kip279

    spec = Kip279(replicas=2, max_leader_epoch=1, log_size=3)
    by_packed_states, by_interpreter = (
        {found for found in findings(spec, explore) if found.kind != "premise_never_true"} for explore in ENGINES
    )
    assert by_packed_states == by_interpreter
    assert messages(by_packed_states, "never_taken")
