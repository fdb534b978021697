"""Concatenated sequences are canonical: unused items are blank, whatever the length of the left sequence."""

from checker.engines.smt.induction import prove
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.language import Range, Seq, Spec, action, invariant


class Concatenation(Spec):
    """Two sequences and their concatenation."""

    left = Seq(Range(0, 3), 5)
    right = Seq(Range(0, 3), 3)
    both = Seq(Range(0, 3), 8)

    def init(self):
        self.left = []
        self.right = [1, 2, 3]
        self.both = [1, 2, 3]

    @action
    def concatenate(self):
        self.both = self.left + self.right

    @invariant
    def an_empty_left_adds_nothing(self):
        return len(self.left) > 0 or self.both == self.right


def test_a_short_left_sequence_leaves_unused_items_blank():
    proof = prove(
        TransitionSystem(Concatenation(), ["an_empty_left_adds_nothing"]),
        ["an_empty_left_adds_nothing"],
        [],
        QueryLimits(),
    )
    assert proof.verdict == "proved"
