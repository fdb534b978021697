"""The LLVM module of a spec under construction: its declarations, its numbered sites, and new functions in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from checker.engines.native.llvm import ir
from checker.engines.native.lowering.branches import Branches
from checker.engines.native.lowering.constant_block import ConstantBlock
from checker.engines.native.lowering.emitter import I32, WORD_POINTER, Emitter, Truth
from checker.engines.native.lowering.evaluation import EvaluationContext, Evaluator
from checker.engines.native.lowering.outlining import Outliner
from checker.engines.native.lowering.state_layout import state_layout
from checker.engines.native.lowering.statements import StatementLowering
from checker.engines.native.lowering.step_labels import StepLabels
from checker.ir import nodes

SINK = ir.IntegerType(8).as_pointer()
"""The type of the pointer that `expand_state` passes to `emit` and `fail`: a struct that only the kernel knows."""


class SpecModule:
    """The module of one program: what the lowering of its actions and predicates shares.

    - `emit`, `fail`: declared here; a kernel defines them.
    - `sites`: the places that may leave a type's bounds; the argument `site` of `fail` is a position in this list.
    - `branches`: the record of branches; None if they are not recorded.
    - `labels`: the labels of steps; None if they are not computed.
    - `compare_steps`: compares a step with those of an abstract spec; set before properties are lowered.
    - `constants`: the block of the constants that the code reads at run time.
    - `unordered_folds`: the `all` and `any` of which all items are evaluated, also after one that decides.
    - `prefix`: the beginning of the names of its functions. A module may be part of another one, as the abstract spec
      of a refinement is; `inside` is then the LLVM module of the latter.
    """

    def __init__(
        self,
        program: nodes.Program,
        *,
        record_branches: bool,
        with_labels: bool = False,
        runtime_constants: tuple[str, ...] = (),
        unordered_folds: Collection[nodes.Fold] = (),
        inside: ir.Module | None = None,
        prefix: str = "",
    ):
        self.program = program
        self.layout = state_layout(program.variables)
        self.sites: list[nodes.Site] = []
        self._site_numbers: dict[nodes.Site, int] = {}
        self._lowerings: list[StatementLowering] = []
        self.prefix, self.unordered_folds = prefix, frozenset(unordered_folds)
        self.compare_steps: Callable[[Evaluator, nodes.Refines], Truth] | None = None
        module = self.module = ir.Module() if inside is None else inside
        self.branches = Branches(module, program) if record_branches else None
        self.labels = StepLabels(module) if with_labels else None
        self.constants = ConstantBlock(module, runtime_constants)
        void = ir.VoidType()
        self.emit = ir.IrFunction(module, ir.FunctionType(void, [SINK, WORD_POINTER, I32]), f"{prefix}emit")
        self.fail = ir.IrFunction(module, ir.FunctionType(void, [SINK, I32, I32]), f"{prefix}fail")
        self.outliner = Outliner(program, module, self.number_of, self.new_lowering)

    def new_function(
        self, name: str, result: ir.IrType, arguments: Sequence[ir.IrType]
    ) -> tuple[ir.IrFunction, Emitter]:
        """Return a new function, which the module does not export, and the emitter of its body."""
        function = ir.IrFunction(self.module, ir.FunctionType(result, arguments), f"{self.prefix}{name}")
        function.linkage = "internal"
        return function, Emitter(function)

    def new_lowering(
        self,
        emit: Emitter,
        roots: dict[str, ir.Value],
        fail_at: Callable[[nodes.Site], None],
        disabled: ir.Block | None,
    ) -> StatementLowering:
        """Return the lowering of one evaluation in the function of an emitter, see `EvaluationContext`."""
        context = EvaluationContext(
            emit,
            self.layout,
            roots,
            fail_at,
            disabled,
            constants=self.constants,
            unordered_folds=self.unordered_folds,
            outliner=self.outliner,
            branches=self.branches,
            compare_steps=self.compare_steps,
        )
        lowering = StatementLowering(context)
        self._lowerings.append(lowering)
        return lowering

    def release(self) -> None:
        """Break the circles of references between the objects that lowered the program; nothing is lowered any more.

        Otherwise they, the program and the module would stay in memory until a collection of garbage, which takes a
        tenth of the time of many small runs.
        """
        for lowering in self._lowerings:
            vars(lowering.expressions).clear()
        self._lowerings.clear()
        vars(self.outliner).clear()
        self.compare_steps = None

    def number_of(self, site: nodes.Site) -> int:
        """Return the number of a site."""
        # Sites are equal by content: copies of an inlined or unrolled expression share one number.
        if site not in self._site_numbers:
            self._site_numbers[site] = len(self.sites)
            self.sites.append(site)
        return self._site_numbers[site]
