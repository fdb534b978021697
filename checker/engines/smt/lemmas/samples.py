"""The truth of ground atoms in a sample of the reachable states, as bits."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.engine import CompiledSpec, compile_native
from checker.engines.native.explore.exploration import Exploration
from checker.engines.native.explore.lowered_spec import MOST_PROPERTIES
from checker.engines.native.explore.search import breadth_first_search
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.llvm.word_arrays import Words
from checker.engines.native.lowering.emitter import I64
from checker.engines.native.lowering.native_spec import lower
from checker.engines.native.lowering.predicates import FAILED_BIT
from checker.engines.smt.lemmas.lemma_source import with_methods
from checker.engines.smt.lemmas.vocabulary import Atom, CollectionItems, Slot, membership, texts_of
from checker.engines.smt.vacuity import no_initial_state
from checker.errors import SpecError
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.language.interpreter import State
from checker.language.spec import Spec

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

    `program` has one property per ground atom; `explored` is the number of explored states, `is_complete` whether these
    are all reachable states.
    """

    program: nodes.Program
    ground: dict[tuple[Atom, tuple[str, ...]], GroundAtom]
    bits: dict[str, Bits]
    explored: int
    is_complete: bool
    batches: list[_Batch]
    exploration: _Explored

    def truths_in(self, state: State) -> dict[str, bool]:
        """Return the truth of the ground atoms in any state, without those that leave the bounds of a type there."""
        words = np.array([self.exploration.words_of(state)], dtype=np.uint64)
        usable = {name: bool(bits[0]) for batch in self.batches for name, bits in batch.truths(words).items()}
        return {name: truth for name, truth in usable.items() if name in self.bits}

    def is_reachable(self, state: State) -> bool:
        """Return whether the explorer has reached a state."""
        return self.exploration.has(state)

    def column(self, atom: Atom, values: tuple[str, ...]) -> Bits:
        """Return the truth of an atom with values in its slots; shape (states,)."""
        return self.bits[self.ground[atom, values].name]


def choices(slots: tuple[Slot, ...]) -> list[tuple[str, ...]]:
    """Return all combinations of values for some slots; two slots of one type get different values."""
    combinations = itertools.product(*(texts_of(kind) for kind in slots))
    is_distinct = len(slots) == 2 and slots[0] == slots[1]
    return [values for values in combinations if not is_distinct or values[0] != values[1]]


def memberships(slots: tuple[Slot, ...], values: tuple[str, ...]) -> list[tuple[Atom, tuple[str, ...]]]:
    """Return the ground atoms that are true if all values of slots for items are items of their collections."""
    return [
        (membership(slot), (value,))
        for slot, value in zip(slots, values, strict=True)
        if isinstance(slot, CollectionItems)
    ]


def sample(spec: Spec, atoms: list[Atom], workers: int, cancelled: threading.Event | None = None) -> Samples:
    """Explore a spec and evaluate atoms in a sample of its states; omit atoms that leave the bounds of a type.

    Raises SpecError if an action of the spec leaves the bounds of a type, and KeyboardInterrupt if cancelled.
    """
    exploration = _explore(spec, workers, cancelled)
    states = exploration.sampled()
    ground = [
        GroundAtom(atom, values, f"atom_{number}")
        for number, (atom, values) in enumerate((atom, values) for atom in atoms for values in choices(atom.slots))
    ]
    text = "\n\n".join(f"@invariant\ndef {p.name}(self):\n    return {p.atom.text_with(p.values)}" for p in ground)
    program = compile_spec(with_methods(spec, text), [p.name for p in ground])
    step = MOST_PROPERTIES - 1
    batches = [_Batch(program, program.properties[first : first + step]) for first in range(0, len(ground), step)]
    bits = {name: truths for batch in batches for name, truths in batch.truths(states).items()}
    unusable = {p.atom for p in ground if p.name not in bits}
    usable = {(p.atom, p.values): p for p in ground if p.atom not in unusable}
    search = exploration.found
    return Samples(program, usable, bits, search.distinct, search.outcome == "complete", batches, exploration)


@dataclass(frozen=True)
class _Explored:
    """A spec as machine code, its initial states, and the explored states."""

    compiled: CompiledSpec
    initial: Words
    found: Exploration

    def words_of(self, state: State) -> Words:
        """Return the packed words of a state."""
        return np.array(self.compiled.words_of(state), dtype=np.uint64)

    def has(self, state: State) -> bool:
        """Return whether a state is among the explored ones."""
        return self.found.find(self.words_of(state)) is not None

    def sampled(self) -> Words:
        """Return the initial states and a sample of the explored ones, evenly spaced in the order of exploration."""
        states = self.found.all_states()
        step = max(1, -(-len(states) // MAX_SAMPLED))
        return np.concatenate([self.initial, states[::step]])


def _explore(spec: Spec, workers: int, cancelled: threading.Event | None) -> _Explored:
    compiled = compile_native(spec, [])
    initial = spec.initial_states()
    if not initial:
        raise no_initial_state(spec)
    words = np.array([compiled.words_of(state) for state in initial], dtype=np.uint64)
    search = breadth_first_search(
        compiled.kernels,
        words,
        workers=workers,
        max_states=MAX_EXPLORED,
        cancelled=cancelled or threading.Event(),
    )
    if search.outcome == "interrupted":
        raise KeyboardInterrupt
    if search.outcome == "error":
        raise SpecError(f"{spec.name}: an action leaves a type's bounds, so nothing can be proved: see `run`")
    return _Explored(compiled, words, search)


class _Batch:
    """Machine code for up to 62 properties."""

    def __init__(self, program: nodes.Program, properties: list[nodes.Predicate]):
        self.names = [p.name for p in properties]
        native = lower(dataclasses.replace(program, actions=[], properties=properties))
        for declared in (native.emit, native.fail):
            ir.IRBuilder(declared.append_basic_block("entry")).ret_void()
        kind = ir.FunctionType(I64, [argument.type for argument in native.check_state.args])
        outer = ir.IrFunction(native.module, kind, "sample.check_state")
        builder = ir.IRBuilder(outer.append_basic_block("entry"))
        builder.ret(builder.call(native.check_state, outer.args))
        self._code = MachineCode(native.module, quick=True)
        self._check = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)(
            self._code.address_of(outer.name)
        )

    def truths(self, states: Words) -> dict[str, Bits]:
        """Return the truth of each property in each state, without those that leave the bounds of a type in one."""
        return self._among(states, list(range(len(self.names))))

    def _among(self, states: Words, bits: list[int]) -> dict[str, Bits]:
        # The mask has one failure bit for all properties, so a failing group is halved until failing ones are single.
        masks = self._masks(states, sum(1 << bit for bit in bits))
        if (masks >> np.uint64(FAILED_BIT) & np.uint64(1)).any():
            if len(bits) == 1:
                return {}
            halves = bits[: len(bits) // 2], bits[len(bits) // 2 :]
            return {name: truths for half in halves for name, truths in self._among(states, half).items()}
        # A bit of the mask is set if the invariant is false.
        return {self.names[bit]: (masks >> np.uint64(bit) & np.uint64(1)) == 0 for bit in bits}

    def _masks(self, states: Words, asked: int) -> NDArray[np.uint64]:
        """Return the mask of `check_state` for each state; shape (states,)."""
        width = states.dtype.itemsize * states.shape[1]
        first, check = states.ctypes.data, self._check
        return np.fromiter((check(first + width * n, asked) for n in range(len(states))), np.uint64, len(states))
