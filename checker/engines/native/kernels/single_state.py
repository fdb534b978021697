"""A spec's machine code for one state at a time, without a store: the interface by which engines are compared.

`emit` and `fail` append an entry each to a buffer: one word with the number of entries, followed by the entries.

    +------------------+-----------------------------+---------------------------------+
    | action instance  | 0, or the site's number + 1 | words of the successor          |
    +------------------+-----------------------------+---------------------------------+
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, field

from checker.engines.native.llvm import ir
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.lowering.emitter import I1, I32, I64, WORD_POINTER
from checker.engines.native.lowering.lane_emitter import LANES
from checker.engines.native.lowering.native_spec import NativeSpec, lower
from checker.engines.native.lowering.predicates import FAILED_BIT
from checker.frontend import compile_spec
from checker.language.interpreter import State
from checker.language.spec import Spec

_INSTANCE, _SITE, _HEADER = range(3)
"""The words of an entry before the successor's, and their number."""


@dataclass
class ExpandedState:
    """The outcome of each action instance in a state: the words of its successor, or the source text that failed."""

    words: dict[int, list[int]] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CheckedState:
    """The (step) invariants that are false and the reachables that are true. `failed`: one of them left its bounds."""

    names: frozenset[str]
    failed: bool


class SingleStateEngine:
    """A spec as machine code that expands and checks single states. Raises SpecError as `compile_native` does.

    `with_lanes`: use the functions that look at several states at once. The other lanes have the states before.
    """

    def __init__(self, spec: Spec, properties: list[str] | None = None, *, with_lanes: bool = False):
        self.spec = spec
        program = compile_spec(spec, properties)
        self._native = lower(program, with_view=True, with_lanes=with_lanes)
        self._lane_states = (ctypes.c_uint64 * (LANES * self._native.layout.words))()
        self._lane = 0
        self.layout = self._native.layout
        self._names = [predicate.name for predicate in program.properties]
        self._entry = _HEADER + self._native.layout.words
        _define_buffer(self._native, self._entry)
        exported = _export(self._native)
        self._code = MachineCode(self._native.module)
        self._functions = {name: self._callable(name, count) for name, count in exported.items()}

    def _callable(self, name: str, arguments: int) -> ctypes._FuncPointer:
        kind = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_void_p] * arguments)
        return kind(self._code.address_of(f"single.{name}"))

    def words_of(self, state: State) -> list[int]:
        """Return the packed words of a state."""
        return self._native.layout.encode(state.values)

    def state_of(self, words: Iterable[int]) -> State:
        """Return the state that is packed in some words."""
        return State(self._native.layout.decode(list(words)))

    def expand(self, state: State) -> ExpandedState:
        """Return the outcome of every action instance in a state."""
        return self.expand_words(self.words_of(state))

    def expand_words(self, words: Iterable[int]) -> ExpandedState:
        """Return the outcome of every action instance in a packed state."""
        buffer = (ctypes.c_uint64 * (1 + self._entry * self._native.instances))()
        state = self._words(words)
        self._functions["expand_state"](state, buffer, *self._candidates(state))
        expanded = ExpandedState()
        for number in range(buffer[0]):
            entry = list(buffer[1 + number * self._entry : 1 + (number + 1) * self._entry])
            if entry[_SITE]:
                expanded.failures[entry[_INSTANCE]] = self._native.sites[entry[_SITE] - 1].text
            else:
                expanded.words[entry[_INSTANCE]] = entry[_HEADER:]
        return expanded

    def check(self, state: State, names: Iterable[str]) -> CheckedState:
        """Check the named invariants and reachables in a state, and that every constraint can be evaluated in it."""
        return self.check_words(self.words_of(state), names)

    def check_words(self, words: Iterable[int], names: Iterable[str]) -> CheckedState:
        """Check the same in a packed state."""
        state, mask = self._words(words), self._mask(names)
        return self._finding(self._functions["check_state"](state, mask & self._suspects(state)))

    def check_step(self, old: State, new: State, names: Iterable[str]) -> CheckedState:
        """Check the named step invariants on the step between two states."""
        return self._finding(self._functions["check_step"](self._array(old), self._array(new), self._mask(names)))

    def within_constraints(self, state: State) -> bool:
        """Return whether every constraint is true in a state; false if one leaves its bounds."""
        if "within_constraint" not in self._functions:
            return True
        return bool(self._functions["within_constraint"](self._array(state)))

    def key_of(self, state: State) -> tuple[int, ...]:
        """Return the words that distinguish a state from others, as the view of the spec computes them."""
        words, view = self.words_of(state), self._native.view
        if view is None:
            return tuple(words)
        kept = [word & mask for word, mask in zip(words, view.mask, strict=True)]
        if view.compute is None:
            return tuple(kept)
        value = (ctypes.c_uint64 * view.words)()
        failed = self._functions[view.compute.name](self._words(words), value)
        return (*kept, *value, failed)

    def _candidates(self, state: ctypes.Array[ctypes.c_uint64]) -> list[ctypes.Array[ctypes.c_uint64]]:
        """Return the third argument of `expand_state`, if it has one: the candidates of a state."""
        lanes = None if self._native.lanes is None else self._native.lanes.candidates
        if lanes is None or lanes.function is None:
            return []
        masks = (ctypes.c_uint64 * (LANES * lanes.words))()
        lane = self._next_lane(state)
        self._functions["candidates"](self._lane_states, masks)
        return [(ctypes.c_uint64 * lanes.words)(*masks[lane * lanes.words : (lane + 1) * lanes.words])]

    def _suspects(self, state: ctypes.Array[ctypes.c_uint64]) -> int:
        """Return the bits of the properties that `check_state` has to check in a state."""
        if self._native.lanes is None or self._native.lanes.suspects.function is None or self._checks_every_state:
            return 2**64 - 1
        bits = (ctypes.c_uint64 * LANES)()
        lane = self._next_lane(state)
        self._functions["suspects"](self._lane_states, bits)
        return bits[lane]

    @property
    def _checks_every_state(self) -> bool:
        """Whether `check_state` has to evaluate more than the properties: the view may leave its bounds."""
        return self._native.view is not None and self._native.view.may_fail

    def _next_lane(self, state: ctypes.Array[ctypes.c_uint64]) -> int:
        """Write a state to the next lane, and return the lane."""
        words = self._native.layout.words
        self._lane = (self._lane + 1) % LANES
        for position, word in enumerate(state):
            self._lane_states[self._lane * words + position] = word
        return self._lane

    def _array(self, state: State) -> ctypes.Array[ctypes.c_uint64]:
        return self._words(self.words_of(state))

    def _words(self, words: Iterable[int]) -> ctypes.Array[ctypes.c_uint64]:
        return (ctypes.c_uint64 * self._native.layout.words)(*words)

    def _mask(self, names: Iterable[str]) -> int:
        return sum(1 << self._names.index(name) for name in names)

    def _finding(self, mask: int) -> CheckedState:
        violated = frozenset(name for bit, name in enumerate(self._names) if mask >> bit & 1)
        return CheckedState(violated, bool(mask >> FAILED_BIT & 1))


def _define_buffer(native: NativeSpec, entry: int) -> None:
    """Give `emit` and `fail` their bodies: append an entry to the buffer."""
    emit = ir.IRBuilder(native.emit.append_basic_block("entry"))
    sink, successor, instance = native.emit.args
    target = _append_header(emit, sink, entry, instance, ir.ConstantValue(I64, 0))
    for word in range(native.layout.words):
        loaded = emit.load(emit.gep(successor, [ir.ConstantValue(I32, word)]))
        emit.store(loaded, emit.gep(target, [ir.ConstantValue(I32, _HEADER + word)]))
    emit.ret_void()
    fail = ir.IRBuilder(native.fail.append_basic_block("entry"))
    sink, instance, site = native.fail.args
    _append_header(fail, sink, entry, instance, fail.add(fail.zext(site, I64), ir.ConstantValue(I64, 1)))
    fail.ret_void()


def _append_header(builder: ir.IRBuilder, sink: ir.Value, entry: int, instance: ir.Value, site: ir.Value) -> ir.Value:
    """Emit the first words of a new entry, and return its address."""
    buffer = builder.bitcast(sink, WORD_POINTER)
    count = builder.load(buffer)
    offset = builder.add(builder.mul(count, ir.ConstantValue(I64, entry)), ir.ConstantValue(I64, 1))
    target = builder.gep(buffer, [offset])
    builder.store(builder.zext(instance, I64), builder.gep(target, [ir.ConstantValue(I32, _INSTANCE)]))
    builder.store(site, builder.gep(target, [ir.ConstantValue(I32, _SITE)]))
    builder.store(builder.add(count, ir.ConstantValue(I64, 1)), buffer)
    return target


def _export(native: NativeSpec) -> dict[str, int]:
    """Add functions of external linkage that call the spec's own; return the number of arguments of each."""
    compute_view = None if native.view is None else native.view.compute
    counts = {}
    of_lanes = () if native.lanes is None else (native.lanes.candidates.function, native.lanes.suspects.function)
    of_states = (native.expand_state, native.check_state, native.check_step, native.within_constraint, compute_view)
    for inner in (*of_states, *of_lanes):
        if inner is None:
            continue
        arguments = [argument.type for argument in inner.args]
        outer = ir.IrFunction(native.module, ir.FunctionType(I64, arguments), f"single.{inner.name}")
        builder = ir.IRBuilder(outer.append_basic_block("entry"))
        result = builder.call(inner, outer.args)
        if inner.type.pointee.return_type == I1:
            result = builder.zext(result, I64)
        builder.ret(result if inner.type.pointee.return_type != ir.VoidType() else ir.ConstantValue(I64, 0))
        counts[inner.name] = len(arguments)
    return counts
