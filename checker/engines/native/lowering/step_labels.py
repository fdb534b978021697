"""The label of a step: a hash of its action and of the values of its arguments."""

from __future__ import annotations

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I64, word
from checker.engines.native.llvm.words import read_words, write_words
from checker.engines.native.lowering.emitter import Emitter, PackedValue, Value
from checker.engines.python.graph_digest import FIRST_FACTOR, GAMMA, SECOND_FACTOR, SHIFTS, action_label
from checker.ir import nodes
from checker.language.types import IntType


class StepLabels:
    """The label of the current action instance, in a global variable of the module.

    The number of an instance is no label: it is the position of an argument in a collection of the state. The variable
    is not thread-safe: only one thread at a time may run code of the module.
    """

    def __init__(self, module: ir.Module):
        kind = ir.ArrayType(I64, 2)
        self._lanes = ir.GlobalVariable(module, kind, "step_label")
        self._lanes.linkage = "internal"
        self._lanes.initializer = ir.ConstantValue(kind, None)

    def set(self, emit: Emitter, action: nodes.Action, arguments: list[Value]) -> None:
        """Emit the computation of the label of an action instance, at its start."""
        lanes: list[ir.Value] = [
            word(lane) for lane in action_label(action.name, [parameter.local.type for parameter in action.parameters])
        ]
        for argument in arguments:
            for part in _words_of(emit, argument):
                lanes = [absorb(emit.builder, lane, part) for lane in lanes]
        write_words(emit.builder, self._address(emit.builder), lanes)

    def get(self, builder: ir.IRBuilder) -> list[ir.Value]:
        """Return the lanes of the label."""
        return read_words(builder, self._address(builder), 2)

    def _address(self, builder: ir.IRBuilder) -> ir.Value:
        return builder.gep(self._lanes, [word(0), word(0)], inbounds=True)


def absorb(builder: ir.IRBuilder, lane: ir.Value, part: ir.Value) -> ir.Value:
    """Return a lane after a word, as `checker.engines.python.graph_digest.absorb` defines it."""
    mixed = builder.add(builder.xor(lane, part), word(GAMMA))
    for shift, factor in zip(SHIFTS, (FIRST_FACTOR, SECOND_FACTOR, None), strict=True):
        mixed = builder.xor(mixed, builder.lshr(mixed, word(shift)))
        if factor is not None:
            mixed = builder.mul(mixed, word(factor))
    return mixed


def _words_of(emit: Emitter, argument: Value) -> list[ir.Value]:
    """Return an integer itself, or the packed words of any other argument."""
    if isinstance(argument, PackedValue):
        is_integer = isinstance(argument.type, IntType)
        return [emit.value(argument.number if is_integer else emit.bits_of(argument))]
    address = emit.word_pointer(argument.place.pointer, argument.place.word)
    return read_words(emit.builder, address, argument.place.layout.words)
