"""Trace files: writing, reading, replay, and refusal with one sentence."""

import json
from dataclasses import replace

import pytest

from checker.engines.python.explorer import explore
from checker.errors import UserError
from checker.language import constraint
from checker.run.plan import Plan
from tests.toy import Counter, Log, Overflow
from traces import trace_file
from traces.replay import replay

COMMAND = "python -m checker run 'my toys/toy.py/spec'"


def written(tmp_path, spec, *properties, **plan):
    violation = explore(spec, Plan(properties=properties, **plan)).violations[0]
    path = tmp_path / "trace.json"
    origin = trace_file.origin_of(spec, "toy/spec", None, "toy.py/spec", COMMAND)
    path.write_text(json.dumps(trace_file.trace_to_json(spec, violation, origin)))
    return path, violation


def edited(path, **changed):
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | changed))
    return path


@pytest.mark.parametrize(
    ("spec", "property", "plan"),
    [
        (Log(log_size=2), "logs_agree", {}),
        (Counter(resets=True), "never_falls", {}),
        (Counter(), "is_two", {"deadlock": True}),
        (Overflow(), "is_two", {}),
        (Counter(), "is_over", {}),
    ],
)
def test_round_trip_and_replay(tmp_path, spec, property, plan):
    path, violation = written(tmp_path, spec, property, **plan)
    file = trace_file.read_trace(path)
    again = trace_file.rebuild_violation(file, spec)
    assert again == violation
    assert file.origin.constants == spec.constants
    assert file.origin.command == COMMAND
    assert replay(spec, again) == again


def test_file_is_self_contained(tmp_path):
    path, _ = written(tmp_path, Log(), "logs_agree")
    content = json.loads(path.read_text())
    assert (content["format"], content["version"], content["spec"]) == ("tidemark-trace", 1, "toy/spec")
    assert (content["property"], content["kind"], content["length"]) == ("logs_agree", "invariant", 5)
    assert content["steps"][2] == {
        "action": "write",
        "arguments": {"leader": "b1"},
        "changed": ["log[b1]"],
        "state": {
            "log": {"b1": [{"id": 0, "epoch": 1}], "b2": []},
            "role": {"b1": "leader", "b2": "follower"},
            "head": {"leader": "b1", "epoch": 1},
            "isr": ["b1", "b2"],
        },
    }


def test_fingerprint_depends_on_the_source_files():
    assert trace_file.fingerprint_of(Counter) == trace_file.fingerprint_of(Overflow)
    assert len(trace_file.fingerprint_of(Log)) == 64


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda path: path.write_text(path.read_text()[:200]), "not a complete trace file"),
        (lambda path: path.write_text("[]"), "is not a trace"),
        (lambda path: edited(path, version=9), "has version 9"),
        (lambda path: edited(path, steps=[{"action": None}]), "not a complete trace file"),
        (lambda path: path.unlink(), "cannot be read"),
    ],
)
def test_damaged_file_is_refused(tmp_path, change, says):
    path, _ = written(tmp_path, Counter(), "below_limit")
    change(path)
    with pytest.raises(UserError, match=says):
        trace_file.read_trace(path)


def test_trace_of_another_spec_is_refused(tmp_path):
    path, _ = written(tmp_path, Counter(), "below_limit")
    with pytest.raises(UserError, match="step 1: the state is not one of toy/spec"):
        trace_file.rebuild_violation(trace_file.read_trace(path), Log())


def test_wrong_state_is_refused(tmp_path):
    _, violation = written(tmp_path, Counter(), "below_limit")
    wrong = replace(violation, trace=(*violation.trace[:2], *violation.trace[3:]))
    with pytest.raises(UserError, match=r"step 3, increment\(\), cannot be replayed: value becomes 2, the trace has 3"):
        replay(Counter(), wrong)


def test_disabled_step_is_refused():
    spec = Counter()
    violation = explore(spec, Plan(properties=("below_limit",))).violations[0]
    wrong = replace(violation, trace=(*violation.trace, replace(violation.trace[-1], action="stay")))
    with pytest.raises(UserError, match=r"step 5, stay\(\), cannot be replayed: it is not enabled"):
        replay(spec, wrong)


def test_trace_without_the_violation_is_refused():
    spec = Counter()
    violation = explore(spec, Plan(properties=("below_limit",))).violations[0]
    with pytest.raises(UserError, match="below_limit is not violated at its end"):
        replay(spec, replace(violation, trace=violation.trace[:-1]))


class Narrow(Counter):
    @constraint
    def is_small(self):
        return self.value < 2


def test_step_from_outside_the_constraints_is_refused():
    violation = explore(Counter(), Plan(properties=("below_limit",))).violations[0]
    with pytest.raises(UserError, match="step 4 cannot be replayed: state 3 is outside the constraints"):
        replay(Narrow(), violation)


def test_trace_from_a_wrong_initial_state_is_refused():
    spec = Counter()
    violation = explore(spec, Plan(properties=("below_limit",))).violations[0]
    with pytest.raises(UserError, match="not an initial state"):
        replay(spec, replace(violation, trace=violation.trace[1:]))
