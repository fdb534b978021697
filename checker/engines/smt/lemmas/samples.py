"""The truth of ground atoms in a sample of the reachable states, as bits."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import threading

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.engine import compile_native
from checker.engines.native.explore.search import breadth_first_search
from checker.engines.native.explore.search_store import Words
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.lowered_spec import MOST_PROPERTIES
from checker.engines.native.lowering.emitter import I64
from checker.engines.native.lowering.native_spec import lower
from checker.engines.native.lowering.predicates import FAILED_BIT
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.lemmas.vocabulary import Atom
from checker.engines.smt.vacuity import no_initial_state
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.spec import Spec
from checker.language.types import DomainType, EnumType, Type
from checker.records import dataclass

MAX_EXPLORED = 1_000_000
"""Limit of the exploration. An atom that is false in one of these states is no invariant; the converse is for Z3."""

MAX_SAMPLED = 20_000
"""Limit of the sample; its states are evenly spaced in the order of exploration."""

Bits = NDArray[np.bool_]
"""A truth value per sampled state; shape (states,)."""


@dataclass(frozen=True)
class GroundAtom:
    """An atom with values in its slots; `name` is the property of `Samples.spec` that states it."""

    atom: Atom
    values: tuple[str, ...]
    name: str


@dataclass(frozen=True)
class Samples:
    """The truth of each ground atom in the sampled states.

    `spec` is the spec with one property per ground atom; `explored` is the number of explored states, `is_complete`
    whether these are all reachable states.
    """

    spec: Spec
    ground: dict[tuple[Atom, tuple[str, ...]], GroundAtom]
    bits: dict[str, Bits]
    explored: int
    is_complete: bool

    def column(self, atom: Atom, values: tuple[str, ...]) -> Bits:
        """Return the truth of an atom with values in its slots; shape (states,)."""
        return self.bits[self.ground[atom, values].name]


def names_of_values(kind: Type) -> list[str]:
    """Return the text of each value of a slot's type."""
    if isinstance(kind, DomainType):
        return [f"{kind.declared.__name__}[{number}]" for number in range(kind.cardinality())]
    if isinstance(kind, EnumType):
        return [f"{kind.declared.__name__}.{member.name}" for member in kind.declared]
    return [str(value) for value in kind.values()]


def choices(slots: tuple[Type, ...]) -> list[tuple[str, ...]]:
    """Return all combinations of values for some slots; two slots of one type get different values."""
    combinations = itertools.product(*(names_of_values(kind) for kind in slots))
    is_distinct = len(slots) == 2 and slots[0] == slots[1]
    return [values for values in combinations if not is_distinct or values[0] != values[1]]


def sample(spec: Spec, atoms: list[Atom], workers: int, cancelled: threading.Event | None = None) -> Samples:
    """Explore a spec and evaluate atoms in a sample of its states; omit atoms that leave the bounds of a type.

    Raises SpecError if an action of the spec leaves the bounds of a type, and KeyboardInterrupt if cancelled.
    """
    states, explored, is_complete = _states(spec, workers, cancelled)
    ground = [
        GroundAtom(atom, values, f"atom_{number}")
        for number, (atom, values) in enumerate((atom, values) for atom in atoms for values in choices(atom.slots))
    ]
    text = "\n\n".join(f"@invariant\ndef {p.name}(self):\n    return {p.atom.text_with(p.values)}" for p in ground)
    spec_with_atoms = with_methods(spec, text)
    program = compile_spec(spec_with_atoms, [p.name for p in ground])
    bits: dict[str, Bits] = {}
    for first in range(0, len(ground), MOST_PROPERTIES - 1):
        bits |= _evaluated(program, program.properties[first : first + MOST_PROPERTIES - 1], states)
    unusable = {p.atom for p in ground if p.name not in bits}
    usable = {(p.atom, p.values): p for p in ground if p.atom not in unusable}
    return Samples(spec_with_atoms, usable, bits, explored, is_complete)


def _states(spec: Spec, workers: int, cancelled: threading.Event | None) -> tuple[Words, int, bool]:
    compiled = compile_native(spec, [])
    initial = spec.initial_states()
    if not initial:
        raise no_initial_state(spec)
    words = np.array([compiled.words_of(state) for state in initial], dtype=np.uint64)
    found = breadth_first_search(
        compiled.kernels,
        words,
        workers=workers,
        max_states=MAX_EXPLORED,
        cancelled=cancelled or threading.Event(),
    )
    if found.outcome == "interrupted":
        raise KeyboardInterrupt
    if found.outcome == "error":
        raise SpecError(f"{spec.name}: an action leaves a type's bounds, so nothing can be proved: see `run`")
    states = found.all_states()
    step = max(1, -(-len(states) // MAX_SAMPLED))
    return np.concatenate([words, states[::step]]), found.distinct, found.outcome == "complete"


def _evaluated(program: nodes.Program, properties: list[nodes.Predicate], states: Words) -> dict[str, Bits]:
    """Return the truth of each property in each state, without properties that leave the bounds of a type in one.

    The mask has one failure bit for all properties, so a failing batch is halved until the failing ones are single.
    """
    masks = _masks(dataclasses.replace(program, actions=[], properties=properties), states)
    if (masks >> np.uint64(FAILED_BIT) & np.uint64(1)).any():
        if len(properties) == 1:
            return {}
        halves = properties[: len(properties) // 2], properties[len(properties) // 2 :]
        return {name: bits for half in halves for name, bits in _evaluated(program, half, states).items()}
    # A bit of the mask is set if the invariant is false.
    return {p.name: (masks >> np.uint64(bit) & np.uint64(1)) == 0 for bit, p in enumerate(properties)}


def _masks(program: nodes.Program, states: Words) -> NDArray[np.uint64]:
    """Return the mask of `check_state` for each state; shape (states,)."""
    native = lower(program)
    for declared in (native.emit, native.fail):
        ir.IRBuilder(declared.append_basic_block("entry")).ret_void()
    kind = ir.FunctionType(I64, [argument.type for argument in native.check_state.args])
    outer = ir.IrFunction(native.module, kind, "sample.check_state")
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    builder.ret(builder.call(native.check_state, outer.args))
    code = MachineCode(native.module)
    check = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)(code.address_of(outer.name))
    everything = (1 << len(program.properties)) - 1
    width = states.dtype.itemsize * states.shape[1]
    first = states.ctypes.data
    return np.fromiter((check(first + width * n, everything) for n in range(len(states))), np.uint64, len(states))
