"""Strongly connected components, in machine code that is compiled once a process.

Tarjan's algorithm (1972) without recursion. `order` numbers the states as they are reached, from 1 on; `low` is the
least order that a state reaches within its component, as far as it is known. `path` has the states of which steps are
left to follow, `open` those without a component so far.

    for root in states, if order[root] == 0:
        reach(root)
        while path is not empty:
            state = top of path
            if a step is left:
                if order[its target] == 0:  reach(target)
                else:                       low[state] = min(low[state], order[target])
            else:
                if low[state] == order[state]:
                    pop the states of open down to this one: they are a component; their order becomes DONE
                pop path; low[top of path] = min(low[top of path], low[state])

DONE is larger than every order, so a step to a finished component lowers nothing.
"""

from __future__ import annotations

import ctypes
import functools

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.control_flow import I32, I64, LocalVariable, endless_loop, for_loop, word
from checker.engines.native.llvm.machine_code import MachineCode

_NAME = "liveness.strong_components"
_DONE = ir.ConstantValue(I32, 2**32 - 1)
_NONE = ir.ConstantValue(I32, 0)


def strong_components(starts: NDArray[np.int64], targets: NDArray[np.int32]) -> tuple[int, NDArray[np.int32]]:
    """Return the number of strongly connected components, and that of each state (n,), in the order of completion.

    State s has the steps starts[s] .. starts[s + 1] - 1 (n + 1,); a target (m,) is a state, or negative: it is ignored.
    """
    count = len(starts) - 1
    component = np.empty(count, np.int32)
    order, low = np.zeros(count, np.uint32), np.empty(count, np.uint32)
    path, still_open = np.empty(count, np.uint32), np.empty(count, np.uint32)
    cursors = starts[:-1].copy()
    arrays = (
        np.ascontiguousarray(starts),
        np.ascontiguousarray(targets),
        component,
        order,
        low,
        path,
        still_open,
        cursors,
    )
    code = _machine_code()
    function = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * (len(arrays) + 1))(code.address_of(_NAME))
    return function(count, *(array.ctypes.data for array in arrays)), component


@functools.cache
def _machine_code() -> MachineCode:
    module = ir.Module()
    function = ir.IrFunction(module, ir.FunctionType(I64, [I64] * 9), _NAME)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _Tarjan(builder, function.args).define()
    return MachineCode(module)


class _Array:
    """An array at an address, in a function under construction."""

    def __init__(self, builder: ir.IRBuilder, address: ir.Value, kind: ir.IntegerType):
        self._builder = builder
        self._pointer = builder.inttoptr(address, kind.as_pointer())

    def get(self, index: ir.Value) -> ir.Value:
        """Return an item."""
        return self._builder.load(self._builder.gep(self._pointer, [index], inbounds=True))

    def set(self, index: ir.Value, value: ir.Value) -> None:
        """Replace an item."""
        self._builder.store(value, self._builder.gep(self._pointer, [index], inbounds=True))


class _Tarjan:
    """The function of `strong_components` under construction; its arguments are the count and the arrays."""

    def __init__(self, builder: ir.IRBuilder, arguments: tuple[ir.Value, ...]):
        self._builder = builder
        self._count, starts, targets, component, order, low, path, still_open, cursors = arguments
        self._starts, self._cursors = _Array(builder, starts, I64), _Array(builder, cursors, I64)
        self._targets, self._component = _Array(builder, targets, I32), _Array(builder, component, I32)
        self._order, self._low = _Array(builder, order, I32), _Array(builder, low, I32)
        self._path, self._open = _Array(builder, path, I32), _Array(builder, still_open, I32)
        self._reached = LocalVariable(builder, _NONE, "reached")
        self._found = LocalVariable(builder, _NONE, "found")
        self._depth, self._open_count = (
            LocalVariable(builder, word(0), "depth"),
            LocalVariable(builder, word(0), "open"),
        )

    def define(self) -> None:
        """Emit the body of the function; it returns the number of components."""
        builder = self._builder
        with for_loop(builder, word(0), self._count, name="roots") as root:
            is_new = builder.icmp_unsigned("==", self._order.get(root), _NONE)
            with builder.if_then(is_new):
                self._reach(root)
                with endless_loop(builder, "path") as path:
                    depth = self._depth.get()
                    path.leave_if(builder.icmp_unsigned("==", depth, word(0)))
                    self._advance(self._index(self._path.get(builder.sub(depth, word(1)))))
        builder.ret(self._index(self._found.get()))

    def _advance(self, state: ir.Value) -> None:
        """Emit the next step from the last state of the path or, if none is left, the end of its visit."""
        builder = self._builder
        cursor = self._cursors.get(state)
        is_left = builder.icmp_unsigned("<", cursor, self._starts.get(builder.add(state, word(1))))
        with builder.if_else(is_left) as (follow, leave):
            with follow:
                self._cursors.set(state, builder.add(cursor, word(1)))
                target = self._targets.get(cursor)
                with builder.if_then(builder.icmp_signed(">=", target, _NONE)):
                    self._follow(state, self._index(target))
            with leave:
                self._leave(state)

    def _reach(self, state: ir.Value) -> None:
        """Emit the first visit of a state: it becomes the last one of the path."""
        builder = self._builder
        self._reached.add(1)
        order = self._reached.get()
        self._order.set(state, order)
        self._low.set(state, order)
        number = builder.trunc(state, I32)
        self._path.set(self._depth.get(), number)
        self._depth.add(1)
        self._open.set(self._open_count.get(), number)
        self._open_count.add(1)

    def _follow(self, state: ir.Value, target: ir.Value) -> None:
        builder = self._builder
        order = self._order.get(target)
        is_new = builder.icmp_unsigned("==", order, _NONE)
        with builder.if_else(is_new) as (new, known):
            with new:
                self._reach(target)
            with known:
                self._lower(state, order)

    def _leave(self, state: ir.Value) -> None:
        """Emit the end of the visit of a state of which all steps were followed."""
        builder = self._builder
        low = self._low.get(state)
        with builder.if_then(builder.icmp_unsigned("==", low, self._order.get(state))):
            self._complete(state)
        self._depth.add(-1)
        depth = self._depth.get()
        with builder.if_then(builder.icmp_unsigned("!=", depth, word(0))):
            self._lower(self._index(self._path.get(builder.sub(depth, word(1)))), low)

    def _complete(self, first: ir.Value) -> None:
        """Emit the end of a component: the open states from its first one on."""
        builder = self._builder
        number = self._found.get()
        with endless_loop(builder, "component") as loop:
            self._open_count.add(-1)
            state = self._index(self._open.get(self._open_count.get()))
            self._component.set(state, number)
            self._order.set(state, _DONE)
            is_first = builder.icmp_unsigned("==", state, first)
            loop.leave_if(is_first)
        self._found.add(1)

    def _lower(self, state: ir.Value, order: ir.Value) -> None:
        builder = self._builder
        low = self._low.get(state)
        self._low.set(state, builder.select(builder.icmp_unsigned("<", order, low), order, low))

    def _index(self, number: ir.Value) -> ir.Value:
        """Return a number of 32 bits as an index."""
        return self._builder.zext(number, I64)
