"""The comparison with the interpreter detects every one of these deliberate mistakes in the lowering."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.engines.native.lowering import conversion
from checker.engines.native.lowering import state_layout as layout
from checker.engines.native.lowering.arrays import ArrayEmitter
from checker.engines.native.lowering.comprehensions import ComprehensionLowering
from checker.engines.native.lowering.emitter import Emitter, PackedValue
from checker.engines.native.lowering.places import PlaceLowering
from checker.engines.native.lowering.predicates import PredicateLowering
from checker.engines.native.lowering.scalars import ScalarLowering
from checker.engines.native.lowering.statements import StatementLowering
from checker.errors import SpecError
from checker.ir import nodes
from checker.run.plan import Plan
from tests.agreement.engines import compare_runs, compare_states
from tests.agreement.spec_source import HEADER
from tests.support.source_modules import load

SPEC = """
class Node(Domain):
    size, prefix = 3, "n"

class Small(Range):
    low, high = 0, 5

class Signed(Range):
    low, high = -3, 4

class Message(Struct):
    sender: Node
    number: Range(-20, 400)

class Random(Spec):
    small = Small
    signed = Signed
    leader = Option(Node)
    head = Option(Message)
    line = Seq(Signed, 3)
    wide = Map(Node, Seq(Message, 4))
    nodes = SetOf(Node)
    seen = SetOf(Message, 3)
    net = Bag(Message, 3)

    @action
    def counts(self, n: Node):
        require(self.small < 5 and n != self.leader)
        self.small += 1
        self.signed = self.small - 2
        self.leader = n

    @action
    def divides(self, x: Signed):
        require(x != 0)
        self.signed = self.signed // x + self.signed % x

    @action
    def overflows(self, x: Signed):
        self.small = self.small - x

    @action
    def inserts(self, i: Small):
        self.line.insert(i, self.signed)

    @action
    def deletes(self, i: Small):
        del self.line[i : self.small]

    @action
    def sends(self, n: Node):
        message = Message(n, self.small * 7)
        self.net.add(message)
        self.seen.add(message)
        self.wide[n].append(message)
        self.head = message

    @action
    def receives(self, message: Message):
        require(message in self.net)
        self.net.remove(message)
        self.seen.discard(message)
        self.wide[message.sender] = self.wide[message.sender][1:]
        self.head = None

    @action
    def joins(self, n: Node):
        self.nodes = self.nodes ^ {n} | {m for m in Node if m == self.leader}
        for m in self.nodes:
            if m == n:
                break
            self.small = min(self.small + 1, 5)

    @action
    def picks(self):
        self.signed = max(x for x in self.line if x < self.signed or x == self.small or x == 4)

    @action
    def marks(self):
        self.head.number += 1

    @action
    def shortens(self, n: Node):
        self.wide[n].pop()
        self.line.pop(0)

    @invariant
    def ordered(self):
        return all(m.number <= self.small * 9 for n in Node for m in self.wide[n]) and self.seen <= {
            m for m in self.net
        }

    @invariant
    def extremes(self):
        return max((x for x in self.line), default=-3) >= self.signed or sum(self.line) == len(self.nodes)

    @step_invariant
    def rises(self, old):
        return old.small <= self.small

    @reachable
    def led(self):
        return self.head is not None and self.head.sender == self.leader

    @constraint
    def short(self):
        return len(self.line) < 3
"""

Patch = Callable[[pytest.MonkeyPatch], None]


def replaced(owner: Any, name: str, wrong: Callable[..., Any]) -> Patch:
    """Return the replacement of a function by `wrong`, which gets the original as its first argument."""
    right = getattr(owner, name)
    return lambda patch: patch.setattr(owner, name, lambda *given, **named: wrong(right, *given, **named))


def swapped(right: Any, emit: Any, operator: str, left: Any, other: Any) -> Any:
    return right(emit, {"<": "<=", ">": ">="}.get(operator, operator), left, other)


def towards_zero(right: Any, self: Any, node: Any, left: Any, other: Any) -> Any:
    if isinstance(left, int) and isinstance(other, int):
        return right(self, node, left, other)
    builder, sides = self.emit.builder, (self.emit.value(left), self.emit.value(other))
    return builder.sdiv(*sides) if node.operator == "//" else builder.srem(*sides)


def no_constraint(right: Any, self: Any) -> Any:
    program = self.module.program
    constraints, program.constraints = program.constraints, []
    try:
        return right(self)
    finally:
        program.constraints = constraints


BUGS: dict[str, Patch] = {
    "< for <=": replaced(Emitter, "compare", swapped),
    "and for or": replaced(Emitter, "either", lambda right, emit, one, other: emit.both(one, other)),
    "a number off by one": replaced(
        Emitter,
        "bits_of",
        lambda right, emit, value: emit.add(right(emit, value), 1) if _is_signed(value) else right(emit, value),
    ),
    "division towards zero": replaced(ScalarLowering, "_division", towards_zero),
    "insert at the next position": replaced(
        ArrayEmitter, "insert", lambda right, self, place, index, item, fail: right(self, place, 0, item, fail)
    ),
    "items shifted out are left": replaced(Emitter, "clear", lambda right, emit, place: None),
    "a bag in the order of adding": replaced(
        ArrayEmitter, "rank_of", lambda right, self, place, bits: self.length(place)
    ),
    "an append over the capacity is dropped": replaced(
        ArrayEmitter,
        "append",
        lambda right, self, place, item, fail: self.emit.when(
            self.emit.compare("<", self.length(place), self.capacity(place)), lambda: right(self, place, item, fail)
        ),
    ),
    "conversion without a check": lambda patch: patch.setattr(
        conversion.ConversionLowering,
        "_integer",
        lambda self, value, source, target, fail: PackedValue(target, value.number),
    ),
    "None is never wrong": lambda patch: patch.setattr(PlaceLowering, "_unwrap_place", _unchecked_place),
    "a slice is one short": replaced(
        ArrayEmitter,
        "cut",
        lambda right, self, place, low, high, inverted: right(
            self, place, low, self.emit.subtract(high, 1), inverted=inverted
        ),
    ),
    "break goes on": lambda patch: patch.setattr(StatementLowering, "break_", StatementLowering.continue_),
    "the old state is the new one": replaced(
        PredicateLowering,
        "_predicate",
        lambda right, self, emit, predicate, roots, *blocks: right(
            self, emit, predicate, dict.fromkeys(roots, roots["self"]), *blocks
        ),
    ),
    "no constraint": replaced(PredicateLowering, "define_within_constraint", no_constraint),
    "tests of comprehensions are left out": replaced(
        ComprehensionLowering,
        "_for_each_element",
        lambda right, self, clauses, innermost: right(
            self, tuple(clause for clause in clauses if isinstance(clause, nodes.ForClause)), innermost
        ),
    ),
    "items overlap": replaced(layout, "item_place", lambda right, items, index: right(items, max(index - 1, 0))),
    "an item of a set is any item": replaced(ArrayEmitter, "contains", lambda right, self, place, item: True),
    "nothing is equal": replaced(Emitter, "equal", lambda right, emit, left, other: False),
}


def _is_signed(value: Any) -> bool:
    return isinstance(value.type, nodes.IntType) and value.type.low == -3


def _unchecked_place(self: PlaceLowering, node: nodes.Convert) -> Any:
    base = self.place_of(node.base)
    if not base.layout.parts:
        return self.emit.spill(self.context.conversion.convert(self.emit.load(base), node.type, lambda: None))
    return self.emit.part(base, base.layout.parts[1])


def compare(folder: Path) -> None:
    spec = load(HEADER + SPEC, folder).Random()
    compare_states(spec, SingleStateEngine(spec), seed=3, reached=30, invented=30)
    compare_runs(spec, [Plan(tuple(spec.properties), "all", max_depth=3, quick=True)])


def test_engines_agree_without_a_bug(tmp_path: Path) -> None:
    compare(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_bug_is_detected(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS[bug](monkeypatch)
    with pytest.raises((AssertionError, SpecError)):
        compare(tmp_path)
