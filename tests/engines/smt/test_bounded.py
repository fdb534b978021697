"""Bounded search finds the violations and lengths that the explorer finds, with traces that can be replayed."""

import json
import os
from pathlib import Path

import pytest

from checker.engines.smt.bounded import search
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Constant, Range, Spec, SpecError, action, constraint, invariant, require
from checker.output import proof_text
from specs.examples.die_hard import DieHard
from specs.examples.peterson import Peterson, PetersonHasty
from specs.replication.kip101 import Kip101
from specs.replication.kip279 import Kip279
from specs.replication.kip320_first_try import Kip320FirstTry
from specs.replication.truncate_to_high_watermark import TruncateToHighWatermark
from traces.replay import replay

THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"
GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafka-replication.json").read_text())["replication"]
VIOLATED = {
    "KafkaTruncateToHighWatermark": TruncateToHighWatermark,
    "Kip101": Kip101,
    "Kip279": Kip279,
    "Kip320FirstTry": Kip320FirstTry,
}
CONSTANTS = ("replicas", "log_size", "max_records", "max_leader_epoch")
QUICK = 2_000
"""Rows of the published table with more states take minutes."""

ROWS = [
    (row, name)
    for row in GOLDEN
    for name in ("weak_isr", "strong_isr")
    if "length" in row[name] and (THOROUGH or row["distinct_states"] < QUICK)
]


class Overflow(Spec):
    number = Range(0, 3)

    @action
    def increment(self):
        self.number += 1

    @invariant
    def is_small(self):
        return self.number < 4


class Stuck(Spec):
    number = Range(0, 3)

    def init(self):
        require(self.number > 0)

    @action
    def stay(self):
        self.number = 1

    @invariant
    def is_small(self):
        return self.number < 2


def found_in(spec, names, depth, **options):
    return search(TransitionSystem(spec, names), names, depth, QueryLimits(), **options)


@pytest.mark.parametrize(
    ("spec", "name", "length"),
    [
        (DieHard(), "big_jug_never_holds_four", 7),
        (PetersonHasty(), "mutual_exclusion", 7),
    ],
)
def test_the_shortest_counterexample_can_be_replayed(spec, name, length):
    found = found_in(spec, [name], 10)
    assert [(violation.property, violation.length) for violation in found.violations] == [(name, length)]
    replay(spec, found.violations[0])


@pytest.mark.parametrize(
    ("row", "name"), [pytest.param(*row, id=f"{row[0]['module']}-{row[0]['replicas']}-{row[1]}") for row in ROWS]
)
def test_lengths_match_the_published_ones(row, name):
    spec = VIOLATED[row["module"]](**{constant: row[constant] for constant in CONSTANTS})
    found = found_in(spec, [name], row[name]["length"])
    assert [(violation.property, violation.length) for violation in found.violations] == [(name, row[name]["length"])]


def test_a_true_invariant_has_no_violation():
    found = found_in(Peterson(), ["mutual_exclusion"], 8)
    assert (found.violations, found.unknown, found.depth) == ([], [], 8)


def test_an_action_that_leaves_the_bounds_is_found():
    (violation,) = found_in(Overflow(), ["is_small"], 6).violations
    assert (violation.kind, violation.length, str(violation.failed_action)) == ("bounds_error", 4, "increment()")


def test_a_spec_without_initial_state_is_rejected():
    with pytest.raises(SpecError, match="no initial state"):
        found_in(Stuck(), ["is_small"], 3)


class Fenced(Overflow):
    """A constraint ends every trace."""

    last = Constant(3)

    @constraint
    def is_inside(self):
        return self.number < self.last


@pytest.mark.parametrize(("last", "longest"), [(0, 1), (1, 2), (2, 3)])
def test_a_constraint_that_ends_all_traces_is_reported(last, longest):
    found = found_in(Fenced(last=last), ["is_small"], 4)
    assert (found.violations, found.depth, found.longest) == ([], longest, longest)
    ((warning, _),) = proof_text.search_lines(found, [])[1]
    states = f"{longest} state{'s' if longest > 1 else ''}"
    assert warning == f"  no trace has more than {states}: the constraints exclude every step after that"


def test_a_constraint_that_ends_no_trace_is_not_reported():
    found = found_in(Fenced(last=3), ["is_small"], 3)
    assert (found.depth, found.longest) == (3, None)
