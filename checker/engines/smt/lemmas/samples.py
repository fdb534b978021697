"""What atoms are true in which of the states that the explorer reaches: a matrix of bits."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import threading
from dataclasses import dataclass

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from checker.engines.native.engine import compile_native
from checker.engines.native.explore.search import explore
from checker.engines.native.explore.store import Words
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.lowering.emitter import I64
from checker.engines.native.lowering.program import FAILED_BIT, lower
from checker.engines.native.results import MOST_PROPERTIES
from checker.engines.smt.lemmas.lemma_source import pasted
from checker.engines.smt.lemmas.vocabulary import Atom
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.spec import Spec
from checker.language.types import DomainType, EnumType, Type

MOST_EXPLORED = 1_000_000
"""The exploration stops here; what is not true of these states is not always true."""

MOST_SAMPLED = 20_000
"""So many of the explored states are looked at, evenly chosen."""

Bits = NDArray[np.bool_]
"""A truth value for each sampled state (states,)."""


@dataclass(frozen=True)
class PlacedAtom:
    """An atom with values in its slots, as the property of a spec that states it."""

    atom: Atom
    values: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Samples:
    """Sampled states, and the truth of each atom with each choice of values for its slots in them.

    `stated` is the spec with a property for each of `placed`; `explored` counts the states that were explored,
    `is_complete` says that these are all.
    """

    stated: Spec
    placed: dict[tuple[Atom, tuple[str, ...]], PlacedAtom]
    bits: dict[str, Bits]
    explored: int
    is_complete: bool

    def column(self, atom: Atom, values: tuple[str, ...]) -> Bits:
        """Return the truth of an atom with values in its slots."""
        return self.bits[self.placed[atom, values].name]


def names_of_values(kind: Type) -> list[str]:
    """Return the text of each value that a slot may have."""
    if isinstance(kind, DomainType):
        return [f"{kind.declared.__name__}[{number}]" for number in range(kind.cardinality())]
    if isinstance(kind, EnumType):
        return [f"{kind.declared.__name__}.{member.name}" for member in kind.declared]
    return [str(value) for value in kind.values()]


def choices(slots: tuple[Type, ...]) -> list[tuple[str, ...]]:
    """Return all values for some slots; two slots of one type have different ones."""
    combinations = itertools.product(*(names_of_values(kind) for kind in slots))
    is_distinct = len(slots) == 2 and slots[0] == slots[1]
    return [values for values in combinations if not is_distinct or values[0] != values[1]]


def sample(spec: Spec, atoms: list[Atom], workers: int, cancelled: threading.Event | None = None) -> Samples:
    """Explore a spec and evaluate atoms in states of it; atoms that cannot be evaluated everywhere are left out.

    Raises SpecError where the spec cannot be explored to the end because an action leaves its bounds.
    """
    states, explored, is_complete = _states(spec, workers, cancelled)
    placed = [
        PlacedAtom(atom, values, f"atom_{number}")
        for number, (atom, values) in enumerate((atom, values) for atom in atoms for values in choices(atom.slots))
    ]
    text = "\n\n".join(f"@invariant\ndef {p.name}(self):\n    return {p.atom.put(p.values)}" for p in placed)
    stated = pasted(spec, text)
    program = compile_spec(stated, [p.name for p in placed])
    bits: dict[str, Bits] = {}
    for first in range(0, len(placed), MOST_PROPERTIES - 1):
        bits |= _evaluated(program, program.properties[first : first + MOST_PROPERTIES - 1], states)
    unusable = {p.atom for p in placed if p.name not in bits}
    usable = {(p.atom, p.values): p for p in placed if p.atom not in unusable}
    return Samples(stated, usable, bits, explored, is_complete)


def _states(spec: Spec, workers: int, cancelled: threading.Event | None) -> tuple[Words, int, bool]:
    compiled = compile_native(spec, [])
    initial = spec.initial_states()
    if not initial:
        raise SpecError(f"{spec.name} has no initial state: `init` is disabled for every choice of its parameters")
    words = np.array([compiled.words_of(state) for state in initial], dtype=np.uint64)
    found = explore(
        compiled.kernels,
        words,
        workers=workers,
        max_states=MOST_EXPLORED,
        cancelled=cancelled or threading.Event(),
    )
    if found.outcome == "interrupted":
        raise KeyboardInterrupt
    if found.outcome == "error":
        raise SpecError(f"{spec.name}: an action leaves a type's bounds, so nothing is proved: `run` shows it")
    states = found.all_states()
    step = max(1, -(-len(states) // MOST_SAMPLED))
    return np.concatenate([words, states[::step]]), found.distinct, found.outcome == "complete"


def _evaluated(program: nodes.Program, properties: list[nodes.Predicate], states: Words) -> dict[str, Bits]:
    """Return the truth of each property in each state, without those that leave their bounds in one."""
    masks = _masks(dataclasses.replace(program, actions=[], properties=properties), states)
    if (masks >> np.uint64(FAILED_BIT) & np.uint64(1)).any():
        if len(properties) == 1:
            return {}
        halves = properties[: len(properties) // 2], properties[len(properties) // 2 :]
        return {name: bits for half in halves for name, bits in _evaluated(program, half, states).items()}
    # The mask has the invariants that are false.
    return {p.name: (masks >> np.uint64(bit) & np.uint64(1)) == 0 for bit, p in enumerate(properties)}


def _masks(program: nodes.Program, states: Words) -> NDArray[np.uint64]:
    """Return the mask of `check_state` for each state (states,)."""
    native = lower(program)
    for declared in (native.emit, native.fail):
        ir.IRBuilder(declared.append_basic_block("entry")).ret_void()
    kind = ir.FunctionType(I64, [argument.type for argument in native.check_state.args])
    outer = ir.Function(native.module, kind, "sample.check_state")
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    builder.ret(builder.call(native.check_state, outer.args))
    code = MachineCode(native.module)
    check = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)(code.address_of(outer.name))
    everything = (1 << len(program.properties)) - 1
    width = states.dtype.itemsize * states.shape[1]
    first = states.ctypes.data
    return np.fromiter((check(first + width * n, everything) for n in range(len(states))), np.uint64, len(states))
