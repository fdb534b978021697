"""Z3 terms agree with the interpreter on every action instance and property, in reachable and random states."""

import random
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.engines.smt.lowering import arithmetic, arrays, integers, logic
from checker.engines.smt.lowering.evaluation import SymbolicContext, SymbolicEvaluator
from checker.engines.smt.lowering.statements import SymbolicStatements
from checker.language import BoundsError
from checker.language.roles import Role
from checker.run import registry
from tests.agreement.engines import compare_state, compare_states, random_state
from tests.engines.smt.single_state import SymbolicStateEngine
from tests.support.random_specs import THOROUGH, profile, sources
from tests.support.source_modules import load

SECONDS, MORE_SECONDS = 10.0 if THOROUGH else 0.1, 1.0
"""Time for comparing states of one real spec, in the usual suite and in the slow tests."""

FEW = ("broker", "examples", "replication", "producer/acks", "producer/drain", "producer/idempotent_failover")
"""Specs that are compared in the default profile. The others take seconds each to lower."""

SLOW = ("replication/beliefs",)
"""One state of five replicas takes ten seconds to compare."""

LOWERED_SLOWLY = (
    "broker/plain_check",
    "broker/sequence_check",
    "replication/high_watermark_walk",
    "replication/log_start",
    "replication/old_formats",
    "replication/partition",
    "replication/torn_reads",
)
"""Specs of FEW that take more than a second each to lower: the slow tests compare them."""

SCENARIOS = {
    entry.name: entry.scenarios[0]
    for family in registry.families()
    for entry in family.entries
    if entry.scenarios and (THOROUGH or (entry.name.startswith(FEW) and entry.name not in SLOW))
}


def compare_for(spec, seconds):
    """Compare reachable and random states in turn for some seconds, at least one of each."""
    probe, chooser = SymbolicStateEngine(spec), random.Random(0)
    try:
        frontier = spec.initial_states()[:1]
    except BoundsError:
        frontier = []
    end, compared = time.perf_counter() + seconds, 0
    while compared < 1 or time.perf_counter() < end:
        compared += 1
        compare_state(spec, probe, random_state(spec, chooser))
        if frontier:
            found = compare_state(spec, probe, frontier.pop(chooser.randrange(len(frontier))))
            frontier.extend(found[:5])


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        *((name, SECONDS) for name in SCENARIOS if THOROUGH or name not in LOWERED_SLOWLY),
        *(pytest.param(name, MORE_SECONDS, marks=pytest.mark.slow) for name in SCENARIOS),
    ],
)
def test_real_specs_agree(name, seconds):
    scenario = SCENARIOS[name]
    compare_for(scenario.spec(**scenario.constants), seconds)


def compare_on_states(folder, source, seed):
    """A proof evaluates no view, so the specs have none: a view without a value would be a difference."""
    without_view = re.sub(r"    @view.*\n    def .*\n(?:        .*\n)+", "", source)
    spec = load(without_view, folder).Random()
    assert not spec.names_of(Role.VIEW)
    compare_states(spec, SymbolicStateEngine(spec), seed, reached=3, invented=3)


@profile(4, thorough=1000)
@given(source=sources(), seed=st.integers(0, 999))
def test_random_specs_agree(folder, source, seed):
    compare_on_states(folder, source, seed)


@pytest.mark.slow
@profile(25, thorough=1000)
@given(source=sources(), seed=st.integers(0, 999))
def test_more_random_specs_agree(folder, source, seed):
    compare_on_states(folder, source, seed)


# Deliberate bugs in the lowering: the comparison must detect each of them.


def _ignores_path(self, node):
    test = self.expressions.truth(node.test)
    self.context.alive = logic.both(self.context.alive, test)


def _without_checks(self, test, site):
    """Record no failure."""


def _evaluated_everywhere(self, test, node):
    return self.evaluate(node)


BUGS = {
    "a require applies to paths that do not reach it": (SymbolicStatements, "require", _ignores_path),
    "failures are dropped": (SymbolicContext, "check", _without_checks),
    "an operand that is not evaluated changes the state": (SymbolicEvaluator, "evaluate_where", _evaluated_everywhere),
    "a deleted item stays": (arrays, "deleted", lambda array, index, unused: array),
    "a minimum is a maximum": (
        arithmetic,
        "extremum",
        lambda operator, left, right: integers.choose(integers.compare("<", left, right), right, left),
    ),
}

SPEC = """
from checker.language import Range, Seq, Spec, action, require

class Random(Spec):
    items = Seq(Range(0, 5), 3)
    number = Range(0, 5)

    def take(self):
        self.number += 1
        return self.number > 2

    @action
    def change(self, value: Range(0, 5)):
        if value > 2 and self.take():
            require(len(self.items) > 1)
            self.items.pop(0)
        self.number = min(value, self.number)

    @action
    def fail(self, value: Range(0, 5)):
        self.items.append(value + self.number)
"""


def test_the_comparison_detects_no_bug_where_there_is_none(folder):
    spec = load(SPEC, folder).Random()
    compare_states(spec, SymbolicStateEngine(spec), 0, reached=5, invented=80)


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_the_comparison_detects_a_bug_in_the_lowering(folder, monkeypatch, name):
    spec = load(SPEC, folder).Random()
    monkeypatch.setattr(*BUGS[name])
    with pytest.raises((AssertionError, BoundsError)):
        compare_states(spec, SymbolicStateEngine(spec), 0, reached=5, invented=80)
