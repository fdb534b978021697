"""The terms of unbounded specs agree with the interpreter at single values of the open constants."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.engines.smt.lowering import logic
from checker.engines.smt.lowering.evaluation import SymbolicContext
from checker.engines.smt.lowering.symbolic_values import UnboundedSequence
from checker.engines.smt.unbounded.lowering import collections, evaluation, sequences
from checker.engines.smt.unbounded.lowering.evaluation import QuantifiedContext
from checker.engines.smt.unbounded.lowering.loops import QuantifiedLoops
from checker.language import BoundsError, SpecError
from specs.producer.idempotent.log import IdempotentLog, OldTakenForLast
from tests.agreement.engines import compare_state, compare_states
from tests.engines.smt.unbounded.single_state import UnboundedProbe, UndecidedError
from tests.support.random_specs import THOROUGH, profile, sources
from tests.support.source_modules import load

SIZES = ["batches", "log_size", "max_sequence", "max_batch_records"]

WHOLE = """
from checker.language import Constant, Option, Range, Seq, Spec, Struct, action, invariant, reachable, require
from checker.language import step_invariant

class Number(Range):
    low, high = 0, "most"

class Item(Struct):
    number: Number
    other: Option(Number)

class Random(Spec):
    most = Constant(3, at_least=0)
    size = Constant(3, at_least=0)
    items = Seq(Item, "size")
    numbers = Seq(Number, "size + 1")
    pair = Seq(Number, 2)
    number = Number

    @action
    def append(self, number: Number):
        self.numbers.append(number + self.number)

    @action
    def insert(self, at: Range(0, "size"), number: Number):
        self.numbers.insert(at, number)

    @action
    def write(self, at: Range(0, "size"), other: Number):
        self.items[at].other = other
        self.numbers[at] = self.items[at].number - 1

    @action
    def delete(self, at: Range(0, "size")):
        self.numbers.pop(at)
        self.items.pop()

    @action
    def cut(self, low: Range(0, "size"), high: Range(0, "size")):
        if low in self.numbers:
            self.numbers = self.numbers[low:high]
        elif high > low:
            del self.numbers[low:high]
        else:
            self.numbers = self.numbers + self.pair

    @action
    def fill(self):
        require(self.number in Number)
        self.pair = self.numbers
        self.items.extend([Item(number=self.number, other=None)])

    @action
    def extremes(self):
        self.number = max((i for i in range(len(self.numbers)) if self.numbers[i] == self.number), default=self.number)
        self.numbers[self.number] = min(n for n in self.numbers if n > 0)

    @action
    def divide(self, by: Number):
        self.number = self.most // by + self.number % by

    @invariant
    def ascending(self):
        return all(self.numbers[i] <= self.numbers[i + 1] for i in range(len(self.numbers) - 1))

    @invariant
    def stops_early(self):
        return all(item.other is not None and item.number <= item.other for item in self.items)

    @invariant
    def reads_too_far(self):
        return any(self.items[i].number == n for n in self.numbers for i in range(self.number))

    @invariant
    def same(self):
        return self.numbers[:2] == self.pair or any(i == n for i, n in enumerate(self.numbers))

    @invariant
    def nested(self):
        return all(any(n == item.number for n in self.numbers if n > i) for i, item in enumerate(self.items))

    @step_invariant
    def grows(self, old):
        return len(self.numbers) >= len(old.numbers) and all(n in self.numbers for n in old.numbers)

    @reachable
    def full(self):
        return len(self.items) == self.size and max(self.numbers, default=0) == self.most
"""


@pytest.mark.parametrize(
    "constants", [{}, dict(most=1, size=2), dict(most=0, size=0)] if THOROUGH else [dict(most=2, size=2)]
)
def test_all_unbounded_operations_agree(folder, constants):
    spec = load(WHOLE, folder).Random(**constants)
    compare_states(spec, UnboundedProbe(spec, ["most", "size"]), 1, reached=2, invented=20 if THOROUGH else 2)


@pytest.mark.parametrize("kind", [IdempotentLog, OldTakenForLast])
def test_real_specs_agree(kind):
    spec = kind()
    compare_states(spec, UnboundedProbe(spec, SIZES), 0, reached=40 if THOROUGH else 4, invented=1)


@profile(5, thorough=400)
@given(source=sources(), seed=st.integers(0, 999))
def test_random_specs_agree(folder, source, seed):
    spec = load(source, folder).Random()
    try:
        probe = UnboundedProbe(spec, ["limit"])
        compare_states(spec, probe, seed, reached=2, invented=2)
    except (SpecError, UndecidedError):
        return  # An endless loop with effects, or quantifiers nested too deeply for Z3.


# Deliberate bugs in the lowering: the comparison must detect each of them.


def _without_checks(self, test, site):
    """Record no failure."""


def _always_present(self, clause):
    return dataclasses.replace(_bound_item(self, clause), is_present=True)


_bound_item = QuantifiedLoops.bind_item

BUGS = {
    "failures are dropped": (QuantifiedContext, "check", _without_checks),
    "capacities are ignored": (collections, "fits", lambda length, kind: True),
    "a quantifier ignores the length of its sequence": (QuantifiedLoops, "bind_item", _always_present),
    "the items after a deleted one do not move": (
        sequences,
        "without_span",
        lambda base, start, size: UnboundedSequence(sequences.arithmetic.subtract(base.length, size), base.at),
    ),
    "an item is found past the end": (
        sequences,
        "contains",
        lambda base, item: logic.exists([(index := sequences.new_index()).term], sequences.equal(base.at(index), item)),
    ),
    "a failure after the deciding item counts": (evaluation, "_none_before", lambda index, decides: True),
    "a minimum is not attained": (QuantifiedContext, "define", lambda self, truth: None),
    "every check is discharged": (
        QuantifiedContext,
        "check",
        lambda self, test, site: SymbolicContext.check(self, True, site),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_the_comparison_detects_a_bug_in_the_lowering(folder, monkeypatch, name):
    spec = load(WHOLE, folder).Random()
    item = spec.variables["items"].item.declared(number=1, other=None)
    state = spec.state_of({"items": [item], "numbers": [1, 2, 3, 1], "pair": [], "number": 2})
    monkeypatch.setattr(*BUGS[name])
    with pytest.raises((AssertionError, BoundsError, UndecidedError)):
        compare_state(spec, UnboundedProbe(spec, ["most", "size"]), state)
