"""Counterexamples to induction have small values."""

from checker.engines.smt import small_models
from checker.engines.smt.induction import prove
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Option, Range, Seq, Spec, action, invariant, require


class Number(Range):
    low, high = 0, 2147483647


class Large(Spec):
    """`add` can break the invariant from any state in which `total` is at least 5."""

    total = Number
    unused = Number
    below = Range(-100, -3)
    seen = Seq(Number, 4)
    last = Option(Number)

    @action
    def add(self, amount: Number, ignored: Number):
        require(self.total >= 5 and amount > 2)
        require(len(self.seen) > 1)
        self.total = amount

    @invariant
    def is_not_nine(self):
        return self.total != 9


class Traded(Large):
    """With a sequence that is not shorter than necessary, `total` can be smaller."""

    @action
    def add(self, amount: Number):
        require(self.total >= 7 or (self.total >= 5 and len(self.seen) > 1))
        self.total = amount


def counterexample_of(spec):
    proof = prove(TransitionSystem(spec, ["is_not_nine"]), ["is_not_nine"], [], QueryLimits(10))
    (cell,) = [cell for cell in proof.cells if cell.outcome == "fails"]
    return cell.counterexample


def test_a_counterexample_has_the_smallest_values_that_violate_the_conjunct():
    found = counterexample_of(Large())
    before = found.before
    assert (before.total, before.unused, before.below, before.last) == (5, 0, -3, None)
    assert list(before.seen) == [0, 0]
    assert found.arguments == (9, 0)


def test_without_time_the_first_model_remains(monkeypatch):
    monkeypatch.setattr(small_models, "MAX_SECONDS", -1.0)
    found = counterexample_of(Large())
    assert found.before.total >= 5 and found.arguments[0] == 9


def test_sequences_are_as_short_as_they_can_be_before_numbers_are_small():
    before = counterexample_of(Traded()).before
    assert (before.total, list(before.seen), before.last) == (7, [], None)
