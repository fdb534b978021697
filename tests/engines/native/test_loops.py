"""Nested loops are unrolled up to the limit on the product of their sizes."""

import pytest

from checker.engines.native.lowering.loops import MOST_UNROLLED, LoopLowering
from checker.engines.native.lowering.native_spec import lower
from checker.frontend import compile_spec
from checker.language import Domain, Range, Seq, SetOf, Spec, invariant


class Node(Domain):
    size, prefix = 4, "n"


class Loops(Spec):
    chosen = SetOf(Node)
    line = Seq(Range(0, 3), 4)

    @invariant
    def universe(self):
        return all(a != b or b != c for a in Node for b in Node for c in Node)

    @invariant
    def numbers(self):
        return all(a != b or b != c for a in range(4) for b in range(4) for c in range(4))

    @invariant
    def bits(self):
        return all(a != b or b != c for a in self.chosen for b in self.chosen for c in self.chosen)

    @invariant
    def array(self):
        return all(a != b or b != c for a in self.line for b in self.line for c in self.line)


@pytest.mark.parametrize("name", ["universe", "numbers", "bits", "array"])
def test_only_the_outermost_of_nested_loops_of_four_is_unrolled(name, monkeypatch):
    iterations = []
    right = LoopLowering._iteration
    monkeypatch.setattr(LoopLowering, "_iteration", lambda *given: iterations.append(given) or right(*given))
    lower(compile_spec(Loops(), [name]))
    assert len(iterations) == MOST_UNROLLED
