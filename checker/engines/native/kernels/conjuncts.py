"""A kernel that finds the first false operand of a property's outermost `and`, for many states at once.

Its results group violations of one property by cause: see `Walks.conjunct`.
"""

from __future__ import annotations

import ctypes
import dataclasses

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I64, WORD_POINTER, LocalVariable, endless_loop, for_loop, word
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.words import item
from checker.engines.native.lowering.native_spec import NativeSpec, lower
from checker.engines.native.lowering.predicates import STEP_ROLES
from checker.ir import nodes

FIND = "conjuncts.find"
NONE = -1
"""The number for a property without conjuncts, or with only true ones."""

MOST_CONJUNCTS = 63
"""Each conjunct is a property of the module, and a mask has 63 bits for properties; later operands are ignored."""


def conjuncts_of(predicate: nodes.Predicate) -> list[nodes.Predicate]:
    """Return the operands of the `and` that a property's last statement returns, as properties; else an empty list."""
    function = predicate.function
    last = function.body[-1] if function.body else None
    if not isinstance(last, nodes.Return) or not isinstance(last.value, nodes.Logical):
        return []
    # The property itself must be a bool: otherwise `and` returns an operand's value, and its truth is not the
    # property's.
    if last.value.operator != "and" or function.result != nodes.BOOL:
        return []
    return [
        dataclasses.replace(
            predicate,
            name=f"{predicate.name} conjunct {number}",
            function=dataclasses.replace(
                function, body=(*function.body[:-1], dataclasses.replace(last, value=operand)), result=nodes.BOOL
            ),
        )
        for number, operand in enumerate(last.value.operands)
        # Each part keeps the statements before the `return`, which may bind locals that the operand reads.
        if operand.type == nodes.BOOL
    ]


class Conjuncts:
    """One property of a program, as machine code that finds its first false conjunct."""

    def __init__(self, program: nodes.Program, predicate: nodes.Predicate):
        parts = conjuncts_of(predicate)[:MOST_CONJUNCTS]
        # No constraints: `check_state` would evaluate them whatever the mask is.
        native = lower(nodes.Program(program.name, program.variables, properties=parts))
        _define_empty(native)
        _define_find(native, len(parts), is_of_step=predicate.role in STEP_ROLES)
        self._words = native.layout.words
        self._code = MachineCode(native.module)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
        self._find = kind(self._code.address_of(FIND))

    def first_false(self, states: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of the first false conjunct, or NONE, for each of n states (n,).

        `states` (n, 2, words): each state, and the state before it.
        """
        pairs = np.ascontiguousarray(states, dtype=np.uint64)
        numbers = np.full(len(pairs), NONE, dtype=np.int64)
        self._find(pairs.ctypes.data, len(pairs), numbers.ctypes.data)
        return numbers


def _define_empty(native: NativeSpec) -> None:
    """Give `emit` and `fail` empty bodies: a program without actions does not call them."""
    for function in (native.emit, native.fail):
        ir.IRBuilder(function.append_basic_block("entry")).ret_void()


def _define_find(native: NativeSpec, conjuncts: int, *, is_of_step: bool) -> None:
    """Define `void conjuncts.find(i64* pairs, i64 count, i64* found)`."""
    kind = ir.FunctionType(ir.VoidType(), [WORD_POINTER, I64, WORD_POINTER])
    function = ir.IrFunction(native.module, kind, FIND)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    pairs, count, results = function.args
    words = native.layout.words
    with for_loop(builder, word(0), count) as index:
        state = item(builder, pairs, index, 2 * words)
        # A pair holds the state first and then the state before it; a property of states ignores the second.
        old = builder.gep(state, [word(words)], inbounds=True)
        number = LocalVariable(builder, word(0))
        # In order, and no further than the first false one: as with `and`, a later operand may leave its bounds.
        with endless_loop(builder) as search:
            search.leave_if(builder.icmp_unsigned("==", number.get(), word(conjuncts)))
            alone = builder.shl(word(1), number.get())
            if is_of_step:
                assert native.check_step is not None
                false = builder.call(native.check_step, [old, state, alone])
            else:
                false = builder.call(native.check_state, [state, alone])
            search.leave_if(builder.icmp_unsigned("!=", false, word(0)))
            number.add(1)
        is_none = builder.icmp_unsigned("==", number.get(), word(conjuncts))
        at = builder.gep(results, [index], inbounds=True)
        builder.store(builder.select(is_none, word(NONE), number.get()), at)
    builder.ret_void()
