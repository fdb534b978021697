"""Branch coverage of steps: both sides of every `if` and `x if c else y` of the actions and their helpers."""

from __future__ import annotations

from collections.abc import Iterable

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I64, word
from checker.engines.native.llvm.words import read_words
from checker.ir import nodes
from checker.ir.parts import Node, parts_of

_WORD = 64


def branches_of(program: nodes.Program) -> list[nodes.Site]:
    """Return the conditions on which a program's actions branch, in source order."""
    sites: dict[nodes.Site, None] = {}
    helpers: set[nodes.Function] = set()

    def visit(parts: Iterable[Node]) -> None:
        for node in parts:
            if isinstance(node, (nodes.If, nodes.Conditional)):
                # A dict in place of a set keeps the order, which numbers the conditions. Copies of a condition share
                # one site.
                sites[node.test.site] = None
            if isinstance(node, nodes.HelperCall) and node.function not in helpers:
                helpers.add(node.function)
                visit(node.function.body)
            visit(parts_of(node))

    for action in program.actions:
        visit(action.body)
    return list(sites)


class Branches:
    """The branches that the current action instance took, as bits of a global variable of the module.

    Bit 2i is the true side of condition i of `branches_of`, bit 2i + 1 the false side. The variable is not thread-safe:
    only one thread at a time may run code of the module.
    """

    def __init__(self, module: ir.Module, program: nodes.Program):
        self._numbers = {site: number for number, site in enumerate(branches_of(program))}
        self.words = branch_words(len(self._numbers))
        kind = ir.ArrayType(I64, self.words)
        self._taken = ir.GlobalVariable(module, kind, "branches")
        self._taken.linkage = "internal"
        self._taken.initializer = ir.ConstantValue(kind, None)

    def clear(self, builder: ir.IRBuilder) -> None:
        """Emit the reset of all bits, at the start of an action instance."""
        for number in range(self.words):
            builder.store(word(0), self._word(builder, number))

    def mark(self, builder: ir.IRBuilder, site: nodes.Site, is_true: bool) -> None:
        """Emit the mark of one side of a condition; a condition that occurs only in properties is ignored."""
        # Helpers are shared: properties use them too, but only branches of steps are counted.
        if site not in self._numbers:
            return
        bit = 2 * self._numbers[site] + (not is_true)
        place = self._word(builder, bit // _WORD)
        builder.store(builder.or_(builder.load(place), word(1 << bit % _WORD)), place)

    def taken(self, builder: ir.IRBuilder) -> list[ir.Value]:
        """Return the words with the branches that were taken since `clear`."""
        return read_words(builder, self._word(builder, 0), self.words)

    def _word(self, builder: ir.IRBuilder, number: int) -> ir.Value:
        return builder.gep(self._taken, [word(0), word(number)], inbounds=True)


def branch_words(conditions: int) -> int:
    """Return the number of words for the bits of some conditions."""
    return -(-2 * conditions // _WORD)
