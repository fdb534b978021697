"""The context of one evaluation, and the interface through which lowering classes evaluate operands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.arrays import ArrayEmitter
from checker.engines.native.lowering.branches import Branches
from checker.engines.native.lowering.constant_block import ConstantBlock
from checker.engines.native.lowering.conversion import ConversionLowering
from checker.engines.native.lowering.emitter import Emitter, Fail, MemoryPlace, Number, PackedValue, Truth, Value
from checker.engines.native.lowering.state_layout import NUMBER, StateLayout
from checker.ir import nodes
from checker.ir.visitor import SubjectVisitor
from checker.language.types import IntType, Type

NOWHERE = nodes.Site("", 0, "")
"""The site of a conversion that cannot fail: the target type has every value of the source type."""


@dataclass
class NativeFrame:
    """One inlined function.

    - `locals`: the value of a local that is assigned once, or the stack memory of one that is assigned again.
    - `reassigned`: the locals that need memory.
    - `result`, `result_type`, `end`: where `return` stores its value, and the block to which it jumps.
    - `loops`: for each enclosing loop, the targets of `continue` and `break`.
    """

    locals: dict[nodes.Local, Value | MemoryPlace] = field(default_factory=dict)
    reassigned: frozenset[nodes.Local] = frozenset()
    result: MemoryPlace | None = None
    result_type: Type | None = None
    end: ir.Block | None = None
    loops: list[tuple[ir.Block, ir.Block]] = field(default_factory=list)


def _no_site_numbers(number: ir.Value) -> None:
    raise AssertionError("only a caller of outlined helpers fails with a site number that is computed at run time")


class HelperFunctions(Protocol):
    """The helpers that have their own LLVM functions."""

    def is_outlined(self, function: nodes.Function) -> bool:
        """Return whether a helper has its own LLVM function."""

    def call(self, expressions: Evaluator, node: nodes.HelperCall) -> Value:
        """Emit a call of such a helper."""


class EvaluationContext:
    """The evaluation under construction: of an action instance, a property or an outlined helper.

    - `emit`: emits instructions into the function under construction; `arrays` and `conversion` build on it.
    - `roots`: the address of the state that `self` is, and of the one that `old` is.
    - `fail_at(site)` emits the end of an evaluation that leaves a type's bounds at `site`. `fail_with(number)` does the
      same for a site whose number (i32) is known only at run time.
    - `disabled`: the block to which a false `require` jumps; None in properties.
    - `constants`: the addresses of the constants that the code reads at run time.
    - `unordered_folds`: the `all` and `any` of which all items are evaluated.
    - `frame`: the function of which the body is being emitted. A call of an inlined helper replaces it temporarily.
    - `outliner`: calls helpers that have their own LLVM function. `branches`: records the branches that a step takes.
      `compare_steps`: compares a step with the steps of an abstract spec.
    """

    def __init__(
        self,
        emit: Emitter,
        layout: StateLayout,
        roots: dict[str, ir.Value],
        fail_at: Callable[[nodes.Site], None],
        disabled: ir.Block | None,
        *,
        constants: ConstantBlock,
        unordered_folds: frozenset[nodes.Fold] = frozenset(),
        outliner: HelperFunctions | None = None,
        branches: Branches | None = None,
        compare_steps: Callable[[Evaluator, nodes.Refines], Truth] | None = None,
    ):
        self.emit = emit
        self.layout = layout
        self.roots = roots
        self.fail_at = fail_at
        self.fail_with: Callable[[ir.Value], None] = _no_site_numbers
        self.disabled = disabled
        self.constants, self.unordered_folds = constants, unordered_folds
        self.outliner = outliner
        self.branches = branches
        self.compare_steps = compare_steps
        self.arrays = ArrayEmitter(emit)
        self.conversion = ConversionLowering(emit, self.arrays)
        self.frame = NativeFrame()

    # Failures and branches.

    def failure_at(self, site: nodes.Site) -> Fail:
        """Return a function that emits the end of this evaluation because of `site`."""
        return lambda: self.fail_at(site)

    def check(self, test: Truth, site: nodes.Site) -> None:
        """Emit the end of this evaluation, because of `site`, for the case that `test` is false."""
        self.emit.check(test, self.failure_at(site))

    def record_branch(self, test: nodes.Expr, is_true: bool) -> None:
        """Emit the record that one side of a condition is taken, if this module records branches."""
        if self.branches is not None:
            self.branches.mark(self.emit.builder, test.site, is_true)

    def convert(self, value: Value, target: Type, site: nodes.Site = NOWHERE) -> Value:
        """Return a value as one of type `target`; emit a failure because of `site` if that type does not have it."""
        return self.conversion.convert(value, target, self.failure_at(site))

    # Variables in stack memory. An integer takes a whole word, because a local may have no known bounds.

    def new_variable(self, kind: Type) -> MemoryPlace:
        """Return stack memory for a value of a type."""
        # The whole word holds the integer itself, not its distance from a low bound.
        if isinstance(kind, IntType):
            return MemoryPlace(NUMBER, self.emit.slot(), 0, 0)
        return self.emit.temporary(kind)

    def write_variable(self, place: MemoryPlace, value: Value, kind: Type) -> None:
        """Write a value, converted to `kind`, to a place made by `new_variable(kind)`."""
        value = self.convert(value, kind)
        if isinstance(kind, IntType):
            assert isinstance(value, PackedValue)
            self.emit.builder.store(self.emit.value(value.number), place.pointer)
        else:
            self.emit.store(place, value)

    def read_variable(self, place: MemoryPlace, kind: Type, *, copy: bool = False) -> Value:
        """Return the value in a place made by `new_variable(kind)`; `copy`: the place may be written later."""
        if isinstance(kind, IntType):
            return PackedValue(kind, self.emit.builder.load(place.pointer))
        return self.emit.load(place, copy=copy)

    def set_local(self, local: nodes.Local, value: Value) -> None:
        """Give a local of the current frame a value."""
        # Assigned once, so the value itself is kept, which may be known now. No memory is needed.
        if local not in self.frame.reassigned:
            self.frame.locals[local] = self.convert(value, local.type)
            return
        place = self.frame.locals.get(local)
        if not isinstance(place, MemoryPlace):
            place = self.frame.locals[local] = self.new_variable(local.type)
        self.write_variable(place, value, local.type)


class Evaluator(SubjectVisitor[Value]):
    """The ways to evaluate an expression. `ExpressionLowering` implements it by delegating to one class per subject."""

    def __init__(self, context: EvaluationContext):
        self.context = context

    def evaluate(self, node: nodes.Expr) -> Value:
        """Emit an expression and return its value."""
        return self.visit(node)

    def number(self, node: nodes.Expr) -> Number:
        """Emit an integer expression and return the integer."""
        value = self.visit(node)
        assert isinstance(value, PackedValue)
        number: Number = value.number
        return number

    def truth(self, node: nodes.Expr) -> Truth:
        """Emit a bool expression and return the bool."""
        value = self.visit(node)
        assert isinstance(value, PackedValue)
        truth: Truth = value.number
        return truth

    @abstractmethod
    def view(self, node: nodes.Expr) -> Value:
        """Emit an expression that is used at once, before anything is written: a wide value is not copied."""

    @abstractmethod
    def place_of(self, node: nodes.Expr) -> MemoryPlace:
        """Return the memory that holds the value of an expression; a computed value is written to the stack."""

    @abstractmethod
    def branch_on(self, node: nodes.Expr, then: ir.Block, otherwise: ir.Block) -> None:
        """Emit a bool expression as a branch that evaluates only the operands that are needed to decide it."""

    @abstractmethod
    def truth_by_branches(self, node: nodes.Expr) -> Value:
        """Emit `branch_on` and return the result as a value."""


class SubjectLowering:
    """Base of the classes that lower one subject each: the context, and the evaluator for operands."""

    def __init__(self, expressions: Evaluator):
        self.expressions = expressions
        self.context = expressions.context
        self.emit = self.context.emit
        self.arrays = self.context.arrays
