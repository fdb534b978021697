"""Walks that go on after a violation: rows, exact probabilities and reports, compared with the interpreter."""

from collections import Counter

import numpy as np
import pytest

from checker.cli.app import main
from checker.engines.native.walk.walker import Walker, walk_seeds
from checker.language.roles import STEP_ROLES
from spark_analysis.walks.exact_probability import exact_probabilities
from spark_analysis.walks.records import VIOLATIONS, part_paths, pattern_fingerprint, read_parts, read_run, spec_of
from spark_analysis.walks.replay_walk import rebuild_walk
from spark_analysis.walks.row_violations import trace_of_instances, violation_from_row
from spark_analysis.walks.statistics import wilson
from spark_analysis.walks.walk_request import run_of_request
from tests.spark_analysis.walks.walked import request, simulated, spec_file, spec_of_walks

SOURCE = '''
from checker.language import Constant, Range, Spec, action, invariant, require, step_invariant


class Queue(Spec):
    """Tosses of a coin. `few` is violated before the others can be."""

    most = Constant(4)
    heads = Range(0, 4)
    tails = Range(0, 9)

    @action
    def head(self):
        require(self.heads < self.most)
        self.heads += 1

    @action
    def tail(self):
        require(self.tails < 5)
        self.heads = 0
        self.tails += 1

    @action
    def fall(self):
        require(self.heads == 4)
        self.tails += 5

    @invariant
    def few(self):
        return self.heads < 2

    @invariant
    def tails_late(self):
        return self.tails < 9 and (self.heads < 3 or self.tails != 1)

    @step_invariant
    def no_leap(self, old):
        return self.heads + 1 >= old.heads
'''

NAMES = ("few", "tails_late", "no_leap")
DEPTH = 9


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beyond")
    file = spec_file(folder, SOURCE)
    run = run_of_request(request(file, scenario=None, walks=400, depth=DEPTH, beyond=True, deadlock=True))
    return run, simulated(folder / "walks", run)


def rows_of(run, folder, *kind):
    return [row for table in read_parts(part_paths(folder, run, *kind)) for row in table.to_pylist()]


def first_violations(spec, trace):
    """Return the step of the first violation of each property, by the interpreter."""
    found = {}
    for step, entry in enumerate(trace):
        for name in NAMES:
            has_step = spec.roles[name] in STEP_ROLES
            old = trace[step - 1].state if has_step and step else None
            if name not in found and (step or not has_step) and not spec.holds(name, entry.state, old):
                found[name] = step
    return found


def test_rows_are_the_first_violations_of_each_property(walked):
    run, folder = walked
    spec = spec_of(read_run(folder), 0)
    violations = {}
    for row in rows_of(run, folder, VIOLATIONS):
        violations.setdefault(row["walk"], []).append(row)
    endings, several = Counter(), 0
    for row in rows_of(run, folder):
        trace = trace_of_instances(spec, row["initial"], np.frombuffer(row["actions"], "<u2").tolist())
        expected = first_violations(spec, trace)
        if row["ending"] == "deadlock":
            expected["deadlock"] = row["length"]
        own = violations.get(row["walk"], [])
        assert {found["property"]: found["violated_at"] for found in own} == expected
        assert [found["violated_at"] for found in own] == sorted(expected.values())
        assert row["violated"] == sum(1 << found["bit"] for found in own)
        for found in own:
            at, actions = found["violated_at"], [entry.action for entry in trace[1 : found["violated_at"] + 1]]
            assert found["fingerprint"] == pattern_fingerprint(found["property"], found["conjunct"], actions)
            instances = np.frombuffer(row["actions"], "<u2")
            assert found["instance"] == instances[at - 1]
            assert len(violation_from_row(spec, row, found["property"]).trace) == at + 1
        if row["verdict"] == "violated":
            assert (row["property"], row["violated_at"]) == (own[0]["property"], own[0]["violated_at"])
            assert (row["conjunct"], row["fingerprint"]) == (own[0]["conjunct"], own[0]["fingerprint"])
        elif row["verdict"] == "error":
            assert violation_from_row(spec, row).kind == "bounds_error" and row["violated_at"] == row["length"]
        endings[row["ending"]] += 1
        several += len(own) > 1
    assert set(endings) == {"depth", "bounds"} and several > 50


def test_a_replay_shows_every_violation_of_a_walk(walked, capsys):
    run, folder = walked
    replaying = ["traces", "replay", str(folder), "--spec", str(spec_of_walks(folder)), "--walk"]
    row = next(row for row in rows_of(run, folder) if row["violated"].bit_count() > 1 and row["verdict"] == "violated")
    rows = [found for found in rows_of(run, folder, VIOLATIONS) if found["walk"] == row["walk"]]
    own = {found["property"]: found["violated_at"] for found in rows}
    replayed = rebuild_walk(folder, run, row["walk"])
    assert {replayed.violation.property: replayed.violation.length - 1} | replayed.others == own
    assert main([*replaying, str(row["walk"])]) == 0
    shown = capsys.readouterr().out
    for name, steps in replayed.others.items():
        assert f"The walk violates {name} too, after {steps} step" in shown
        assert main([*replaying, str(row["walk"]), "--property", name]) == 0
        other = capsys.readouterr().out
        assert f"{name} is violated" in other and f"violates {row['property']} too" in other
    missing = next(name for name in NAMES if name not in own)
    assert main([*replaying, str(row["walk"]), "--property", missing]) == 2
    assert f"does not violate {missing}: it violates" in capsys.readouterr().err


def test_a_violation_does_not_change_the_walk(walked):
    spec = spec_of(read_run(walked[1]), 0)
    seeds = walk_seeds(3, 0, 500)
    beyond, alone = Walker(spec, list(NAMES)).walk(seeds, DEPTH, beyond=True), Walker(spec, []).walk(seeds, DEPTH)
    assert np.array_equal(beyond.actions, alone.actions) and np.array_equal(beyond.endings, alone.endings)
    ended = Walker(spec, list(NAMES)).walk(seeds, DEPTH)
    assert np.array_equal(ended.first_violated, beyond.first_violated)
    # Walks that end with a violation have none of the later errors.
    assert np.array_equal(ended.violated_at, beyond.violated_at) and len(ended.actions) < len(beyond.actions)


@pytest.mark.parametrize("beyond", [False, True], ids=["until_a_violation", "beyond"])
def test_shares_of_walks_agree_with_exact_probabilities(walked, beyond):
    spec, properties = spec_of(read_run(walked[1]), 0), [*NAMES, "deadlock"]
    exact = exact_probabilities(spec, properties, DEPTH, {}, 1000, beyond=beyond)
    walker, covered = Walker(spec, properties), Counter()
    for seed in range(100):
        walks = walker.walk(walk_seeds(seed, 0, 1000), DEPTH, beyond=beyond)
        for bit, name in enumerate(NAMES):
            share = wilson(int(np.count_nonzero(walks.violated >> np.uint64(bit) & np.uint64(1))), 1000)
            covered[name] += share.low <= exact.get((name, False), 0.0) <= share.high
        share = wilson(int(np.count_nonzero(walks.failed_instance >= 0)), 1000)
        covered["fall"] += share.low <= exact.get(("fall", True), 0.0) <= share.high
    assert set(covered) == {*NAMES, "fall"} and min(covered.values()) >= 89


def test_exact_probability_of_a_property_is_that_without_the_others(walked):
    spec = spec_of(read_run(walked[1]), 0)
    together = exact_probabilities(spec, NAMES, DEPTH, {"head": 2}, 1000, beyond=True)
    for name in NAMES:
        alone = exact_probabilities(spec, [name], DEPTH, {"head": 2}, 1000)
        assert alone[name, False] == pytest.approx(together[name, False])
    hidden = exact_probabilities(spec, NAMES, DEPTH, {"head": 2}, 1000)
    assert hidden.get(("tails_late", False), 0.0) < together["tails_late", False]
