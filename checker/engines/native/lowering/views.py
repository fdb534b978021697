"""Lowering of views: the words that distinguish the states of a spec with a view.

The key of a state consists of its words without the bits of the variables that the view does not keep as a whole, and
of the words of the value that the view computes. If its evaluation can leave a type's bounds, a last word is 1 where it
does, and those words are 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I64, WORD_POINTER
from checker.engines.native.llvm.words import read_words, write_words
from checker.engines.native.lowering.emitter import Emitter, MemoryPlace
from checker.engines.native.lowering.module import SpecModule
from checker.engines.native.lowering.state_layout import layout_of
from checker.ir import nodes


@dataclass(frozen=True)
class NativeView:
    """The view of a spec in LLVM's representation.

    - `mask`: the bits of the kept variables in each word of a state.
    - `compute`: the function `i64 view(i64* state, i64* value)`, which writes the `words` of the computed value and
      returns whether its evaluation left a type's bounds. None if all parts of the view are kept variables.
    - `may_fail`: whether it ever returns 1.
    """

    mask: tuple[int, ...]
    compute: ir.IrFunction | None = None
    words: int = 0
    may_fail: bool = False

    def key_of(self, builder: ir.IRBuilder, state: list[ir.Value]) -> list[ir.Value]:
        """Emit the key of a state; return its words."""
        masked = [(part, mask) for part, mask in zip(state, self.mask, strict=True) if mask]
        key = [builder.and_(part, ir.ConstantValue(part.type, mask)) for part, mask in masked]
        if self.compute is None:
            return key
        # In the entry block: an alloca inside a loop would take new stack memory in every iteration.
        with builder.goto_entry_block():
            memory, value = builder.alloca(I64, len(state)), builder.alloca(I64, self.words)
        write_words(builder, memory, state)
        failed = builder.call(self.compute, [memory, value])
        return [*key, *read_words(builder, value, self.words), *([failed] if self.may_fail else [])]


def define_view(module: SpecModule, view: nodes.View) -> NativeView:
    """Define the function of a view in the module of its spec, and return the view."""
    mask = module.layout.mask_of(view.kept)
    if view.computed is None:
        return NativeView(mask)
    layout = layout_of(view.computed.type)
    function, emit = module.new_function("view", I64, [WORD_POINTER, WORD_POINTER])
    state, words = function.args
    place = MemoryPlace(layout, words, 0, 0)
    failures: list[ir.Block] = []

    def end(status: int) -> None:
        emit.builder.ret(ir.ConstantValue(I64, status))

    def fail() -> None:
        if not failures:
            failures.append(emit.block("failed"))
        emit.jump(failures[0])

    lowering = module.new_lowering(emit, {"self": state}, lambda site: fail(), None)
    lowering.context.fail_with = lambda number: fail()
    value = lowering.expressions.evaluate(view.computed)
    _clear(emit, place)
    emit.store(place, value)
    end(0)
    for block in failures:
        emit.position(block)
        _clear(emit, place)
        end(1)
    emit.finish()
    return NativeView(mask, function, layout.storage, bool(failures))


def _clear(emit: Emitter, place: MemoryPlace) -> None:
    """Emit zeros for the words of a place: a packed value leaves the bits that it does not use as they are."""
    for word in range(place.layout.storage):
        emit.builder.store(ir.ConstantValue(I64, 0), emit.word_pointer(place.pointer, word))
