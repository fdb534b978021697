"""Random walks of a spec in machine code: many in one call. Each walk depends on its own seed only."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.lowered_spec import require_sizes
from checker.engines.native.kernels.conjuncts import NONE, Conjuncts, conjuncts_of
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.lowering.branches import branch_words, branches_of
from checker.engines.native.lowering.native_spec import lower
from checker.engines.native.walk import kernel
from checker.errors import BoundsError, SpecError
from checker.explain.violations import wrong_starts
from checker.frontend import compile_spec
from checker.ir import nodes
from checker.ir.digest import digest_of
from checker.language.interpreter import State
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import Spec
from checker.run.plan import DEADLOCK

MOST_WEIGHT = 1_000_000
"""The greatest weight of an action: sums of weights over all instances stay far below 2**64."""

PILOT_WALKS, PILOT_SEED, PILOT_MOST = 2_000, 0x51D, 100
"""The pilot run that finds rare actions: its number of walks, their seed, and the greatest weight it assigns."""

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class FirstViolations:
    """The first violation of each property by each of some walks, as arrays (m,) in the order of walks and steps.

    - `walks`: the position of the walk. `properties`: the bit of the property. `steps`: the number of steps before.
    - `conjuncts`: the first false operand of the property's outermost `and`, or -1.
    """

    walks: NDArray[np.int64]
    properties: NDArray[np.int64]
    steps: NDArray[np.int64]
    conjuncts: NDArray[np.int64]

    @property
    def first_of_walks(self) -> NDArray[np.int64]:
        """The position of the first violation of each walk that has one."""
        return np.unique(self.walks, return_index=True)[1]


@dataclass(frozen=True)
class Walks:
    """The results of n walks, as arrays. Bit i of a mask is property i of the walker.

    Of each walk (n,):
    - `seeds`; `initial`: the number of the initial state; `lengths` in steps; `endings`: positions in ENDINGS.
    - `violated`: the properties violated in the last state, or with `beyond` in any state. `reached`: the reachables
      seen in any state.
    - `failed_instance`: the action instance that left its bounds, or -1. `failed_property`: the property that left its
      bounds, -1, or CONSTRAINT.
    - `first_violated`: the property that the walk violates first, the lowest bit of several, or -1. `violated_at`: the
      number of steps before, or -1.
    - `conjunct`: the first false operand of that property's outermost `and`, or -1.
    - `coverage` (n, words): bit i % 64 of word i // 64 is set if action instance i was taken.
    - `branches` (n, words): bit 2i is set if a step took the true side of condition i of the walker, bit 2i + 1 if one
      took the false side.
    - `last_states` (n, 2, words of a state): the last state, and the state before it, packed.
    - `sampled_ends`: the end of each walk's hashes in `sampled`.

    Of all walks, one after the other:
    - `actions` (sum of lengths,): the action instance of each step.
    - `sampled`: the hashes of the visited states that are sampled.
    - `hashes` (sum of lengths,): the hash of the state to which each step led, or None.
    - `enabled` (sum of lengths,): the number of action instances enabled before each step, or None.
    - `violations`: with `beyond`, the first violation of each property; else None.
    """

    seeds: NDArray[np.uint64]
    initial: NDArray[np.int32]
    lengths: NDArray[np.int32]
    endings: NDArray[np.uint8]
    violated: NDArray[np.uint64]
    reached: NDArray[np.uint64]
    failed_instance: NDArray[np.int32]
    failed_property: NDArray[np.int32]
    first_violated: NDArray[np.int64]
    violated_at: NDArray[np.int64]
    conjunct: NDArray[np.int64]
    actions: NDArray[np.uint16]
    coverage: NDArray[np.uint64]
    branches: NDArray[np.uint64]
    sampled: NDArray[np.uint64]
    sampled_ends: NDArray[np.int64]
    last_states: NDArray[np.uint64]
    hashes: NDArray[np.uint64] | None
    enabled: NDArray[np.uint32] | None
    violations: FirstViolations | None

    @property
    def ends(self) -> NDArray[np.int64]:
        """The end of each walk's steps in `actions` (n,)."""
        return np.cumsum(self.lengths, dtype=np.int64)


def walk_seeds(seed: int, first: int, count: int) -> NDArray[np.uint64]:
    """Return the seeds (count,) of the walks from number `first` on: outputs of splitmix64 for the run's seed."""
    with np.errstate(over="ignore"):
        # The state of splitmix64 after n outputs is seed + n * GAMMA modulo 2**64: any walk's seed is found without the
        # ones before. Overflow is intended.
        value = np.arange(first + 1, first + count + 1, dtype=np.uint64) * np.uint64(kernel.GAMMA)
        value += np.uint64(seed % 2**64)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(kernel.FIRST_MULTIPLIER)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(kernel.SECOND_MULTIPLIER)
    return value ^ (value >> np.uint64(31))


class Walker:
    """A spec as machine code that takes random walks.

    `properties`: the names to check, with or without `deadlock`. `digest`: a hash of the typed program. `branches`: the
    conditions on which its actions branch. `initial_words`: the packed initial states. Raises SpecError if the spec is
    outside the language, has no initial state, or is too large for the native engine.
    """

    def __init__(self, spec: Spec, properties: list[str]):
        self.spec, self.properties = spec, list(properties)
        self.names = [name for name in properties if name != DEADLOCK]
        self.program = program = compile_spec(spec, self.names)
        require_sizes(program, self.properties)
        self.digest = digest_of(program)
        native = lower(program, branches=True)
        kernel.add_walk_kernel(native)
        self._layout, self.instances = native.layout, native.instances
        self._code = MachineCode(native.module)
        self._walk = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._code.address_of(kernel.WALK))
        self._conjuncts: dict[int, Conjuncts | None] = {}
        self.branches = branches_of(program)
        self.initial_states = _initial_states(spec)
        for violation in wrong_starts(spec, self.names, self.initial_states):
            raise SpecError(f"an initial state violates {violation.property}: `run` shows it, walks do not")
        packed = [self.words_of(state) for state in self.initial_states]
        self.initial_words = np.array(packed, dtype=np.uint64).reshape(len(packed), self._layout.words)
        self._listed = np.empty((native.instances + 1, kernel.entry_words(native)), dtype=np.uint64)

    def state_of(self, words: Any) -> State:
        """Return the state that is packed in some words."""
        return self._layout.state_of(words)

    def words_of(self, state: State) -> list[int]:
        """Return the packed words of a state; `hashes` and `sampled` hold hashes of such words."""
        return self._layout.encode(state.values)

    def weights_of(self, weights: Mapping[str, int]) -> NDArray[np.uint64] | None:
        """Return the weights of action instances (instances,) from those of actions (default 1); None if all are 1."""
        if all(weight == 1 for weight in weights.values()):
            return None
        by_instance = np.ones(self.instances, dtype=np.uint64)
        for shape in self.spec.shapes():
            by_instance[shape.first_instance : shape.first_instance + shape.instances] = weights.get(shape.name, 1)
        return by_instance

    def rare_weights(self, depth: int) -> dict[str, int]:
        """Return weights that make rare actions more likely. They depend on the spec and `depth` only.

        A pilot run of uniform walks counts how often each action is taken. An action's weight is inversely
        proportional to its count: 1 for the most frequent action, at most PILOT_MOST.
        """
        pilot = self.walk(walk_seeds(PILOT_SEED, 0, PILOT_WALKS), depth)
        taken = np.bincount(pilot.actions, minlength=self.instances)
        counts = {
            shape.name: int(taken[shape.first_instance : shape.first_instance + shape.instances].sum())
            for shape in self.spec.shapes()
        }
        # An action that was never taken counts as taken once, which gives it the greatest weight.
        most = max(counts.values(), default=0)
        return {name: min(PILOT_MOST, max(1, most // max(1, count))) for name, count in counts.items()}

    def walk(
        self,
        seeds: NDArray[np.uint64],
        depth: int,
        *,
        weights: NDArray[np.uint64] | None = None,
        sampling: int | None = None,
        steps: bool = False,
        starts: Words | None = None,
        beyond: bool = False,
    ) -> Walks:
        """Return one walk of at most `depth` steps for each seed.

        - `weights`: from `weights_of`; None: uniform.
        - `sampling`: keep the hashes that have this many leading zero bits; None: no hashes.
        - `steps`: record `hashes` and `enabled`.
        - `starts` (n, words of a state): packed states, of which a walk starts in a random one; None: the initial ones.
        - `beyond`: walks go on after a violation, and `violations` has the first one of each property.

        The global interpreter lock is released during the walks.
        """
        # The memory is for walks of full length. Shorter walks leave no gaps: the kernel writes the steps one after the
        # other.
        count, most = len(seeds), len(seeds) * depth
        arrays: dict[str, NDArray[Any]] = {
            "seeds": np.ascontiguousarray(seeds, dtype=np.uint64),
            "initial_states": self.initial_words if starts is None else np.ascontiguousarray(starts, dtype=np.uint64),
            "listed": self._listed,
            "initial": np.empty(count, dtype=np.int32),
            "lengths": np.empty(count, dtype=np.int32),
            "endings": np.empty(count, dtype=np.uint8),
            "violated": np.empty(count, dtype=np.uint64),
            "reached": np.empty(count, dtype=np.uint64),
            "failed_instance": np.empty(count, dtype=np.int32),
            "failed_property": np.empty(count, dtype=np.int32),
            "actions": np.empty(most, dtype=np.uint16),
            "coverage": np.zeros((count, kernel.coverage_words(self.instances)), dtype=np.uint64),
            "branches": np.zeros((count, branch_words(len(self.branches))), dtype=np.uint64),
            # A walk of n steps visits n + 1 states, and each may be sampled.
            # Without sampling the limit is 0, which the hash 0 still meets: the array has room for it, and untouched
            # pages cost nothing.
            "sampled": np.empty(most + count, dtype=np.uint64),
            "sampled_ends": np.empty(count, dtype=np.int64),
            "last_states": np.empty((count, 2, self._layout.words), dtype=np.uint64),
        }
        if weights is not None:
            arrays["weights"] = np.ascontiguousarray(weights, dtype=np.uint64)
        if steps:
            arrays |= {"hashes": np.empty(most, dtype=np.uint64), "enabled": np.empty(most, dtype=np.uint32)}
        if beyond:
            # Each event violates a property for the first time. Untouched pages cost nothing.
            events = count * max(1, len(self.names))
            arrays |= {
                "event_ends": np.empty(count, dtype=np.int64),
                "event_steps": np.empty(events, dtype=np.int32),
                "event_masks": np.empty(events, dtype=np.uint64),
                "event_states": np.empty((events, 2, self._layout.words), dtype=np.uint64),
            }
        self._run(count, depth, sampling, arrays, beyond=beyond)
        return self._result(arrays, steps, beyond=beyond)

    def _run(
        self, count: int, depth: int, sampling: int | None, arrays: dict[str, NDArray[Any]], *, beyond: bool
    ) -> None:
        """Fill the kernel's record, and call it; it writes to the arrays."""
        record = np.zeros(len(kernel.FIELDS), dtype=np.uint64)
        numbers = {
            "count": count,
            "depth": depth,
            "initial_count": len(arrays["initial_states"]),
            "limit": 2 ** (64 - sampling) - 1 if sampling is not None else 0,
            "invariants": self._mask(Role.INVARIANT),
            "reachables": self._mask(Role.REACHABLE),
            "step_invariants": self._mask(*STEP_ROLES),
            "beyond": int(beyond),
        }
        for name, value in numbers.items():
            record[kernel.FIELDS[name]] = value
        # An array that is absent keeps address 0, so the kernel does not write it.
        for name, array in arrays.items():
            record[kernel.FIELDS[name]] = array.ctypes.data
        # The addresses are valid during the call: the caller's `arrays` and this record are alive.
        self._walk(record.ctypes.data)

    def _mask(self, *roles: Role) -> int:
        return sum(1 << bit for bit, name in enumerate(self.names) if self.spec.roles[name] in roles)

    def _result(self, arrays: dict[str, NDArray[Any]], steps: bool, *, beyond: bool) -> Walks:
        """Return the walks in arrays that the kernel has filled."""
        lengths = arrays["lengths"]
        taken = int(lengths.sum(dtype=np.int64))
        sampled = int(arrays["sampled_ends"][-1]) if len(lengths) else 0
        # Deadlock is not a compiled property: its bit comes from the ending. It must be last in `properties`, as the
        # other bits are positions in `names`.
        if DEADLOCK in self.properties:
            is_stuck = arrays["endings"] == kernel.ENDINGS.index("deadlock")
            arrays["violated"][is_stuck] |= np.uint64(1 << self.properties.index(DEADLOCK))
        violations = self._first_violations(arrays) if beyond else None
        first, steps_before, conjunct = (
            self._at_the_end(arrays) if violations is None else _first_of_walks(violations, len(lengths))
        )
        return Walks(
            **{
                name: arrays[name]
                for name in (
                    *("seeds", "initial", "lengths", "endings", "violated", "reached", "failed_instance"),
                    *("failed_property", "coverage", "branches", "sampled_ends", "last_states"),
                )
            },
            first_violated=first,
            violated_at=steps_before,
            conjunct=conjunct,
            # Copies, so that the memory reserved for walks of full length is released.
            actions=arrays["actions"][:taken].copy(),
            sampled=arrays["sampled"][:sampled].copy(),
            hashes=arrays["hashes"][:taken].copy() if steps else None,
            enabled=arrays["enabled"][:taken].copy() if steps else None,
            violations=violations,
        )

    def _at_the_end(self, arrays: dict[str, NDArray[Any]]) -> tuple[NDArray[np.int64], ...]:
        """Return `first_violated`, `violated_at` and `conjunct` of walks that end with their first violation."""
        first = _lowest_bits(arrays["violated"])
        steps = np.where(first >= 0, arrays["lengths"], NONE)
        is_violation = arrays["endings"] == kernel.ENDINGS.index("violation")
        return first, steps, self._false_conjuncts(np.where(is_violation, first, NONE), arrays["last_states"])

    def _first_violations(self, arrays: dict[str, NDArray[Any]]) -> FirstViolations:
        """Return the violations in the events of the kernel, and the deadlocks."""
        count = int(arrays["event_ends"][-1]) if len(arrays["event_ends"]) else 0
        owners = np.repeat(np.arange(len(arrays["event_ends"])), np.diff(arrays["event_ends"], prepend=0))
        masks, states = arrays["event_masks"][:count], arrays["event_states"]
        violations = [np.zeros((4, 0), dtype=np.int64)]
        for bit in range(len(self.names)):
            events = np.flatnonzero(masks & np.uint64(1 << bit))
            properties = np.full(len(events), bit)
            conjuncts = self._false_conjuncts(properties, states[events])
            violations.append(np.stack([owners[events], properties, arrays["event_steps"][events], conjuncts]))
        if DEADLOCK in self.properties:
            stuck = np.flatnonzero(arrays["endings"] == kernel.ENDINGS.index("deadlock"))
            bits = np.full(len(stuck), self.properties.index(DEADLOCK))
            violations.append(np.stack([stuck, bits, arrays["lengths"][stuck], np.full(len(stuck), NONE)]))
        entries = np.concatenate(violations, axis=1)
        walks, properties, steps, conjuncts = entries[:, np.lexsort((entries[1], entries[2], entries[0]))]
        return FirstViolations(walks, properties, steps, conjuncts)

    def _false_conjuncts(self, properties: NDArray[np.int64], states: Words) -> NDArray[np.int64]:
        """Return the first false operand of each violated property (m,), or -1.

        `properties` are bits, or -1 for none. `states` (m, 2, words) are the violating states and those before.
        """
        numbers = np.full(len(properties), NONE, dtype=np.int64)
        for bit in np.unique(properties[properties >= 0]):
            conjuncts = self._conjuncts_of(int(bit))
            if conjuncts is not None:
                rows = np.flatnonzero(properties == bit)
                numbers[rows] = conjuncts.first_false(states[rows])
        return numbers

    def _conjuncts_of(self, bit: int) -> Conjuncts | None:
        """Return the conjuncts of a property, compiled at its first violation; None if it has no conjuncts."""
        if bit not in self._conjuncts:
            predicate: nodes.Predicate | None = self.program.properties[bit] if bit < len(self.names) else None
            has_some = predicate is not None and bool(conjuncts_of(predicate))
            self._conjuncts[bit] = Conjuncts(self.program, predicate) if predicate is not None and has_some else None
        return self._conjuncts[bit]

    def constraint_out_of_bounds(self, words: Any) -> str:
        """Return the name of the constraint that leaves its bounds in a state."""
        state = self.state_of(words)
        for name in self.spec.names_of(Role.CONSTRAINT):
            try:
                self.spec.holds(name, state)
            except BoundsError:
                return name
        raise AssertionError("the engines disagree: a constraint left its bounds in one, and not in the interpreter")


def _lowest_bits(masks: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the position of the lowest bit of each mask, or -1."""
    # x & -x in two's complement keeps the lowest set bit. A power of two is exact in float64, so its logarithm is the
    # bit.
    lowest = masks & (~masks + np.uint64(1))
    bits = np.full(len(lowest), NONE, dtype=np.int64)
    is_bad = lowest != 0
    bits[is_bad] = np.log2(lowest[is_bad].astype(np.float64)).astype(np.int64)
    return bits


def _first_of_walks(violations: FirstViolations, count: int) -> tuple[NDArray[np.int64], ...]:
    """Return `first_violated`, `violated_at` and `conjunct` of `count` walks that go on after violations."""
    columns = np.full((3, count), NONE, dtype=np.int64)
    first = violations.first_of_walks
    columns[:, violations.walks[first]] = (
        violations.properties[first],
        violations.steps[first],
        violations.conjuncts[first],
    )
    return columns[0], columns[1], columns[2]


def _initial_states(spec: Spec) -> list[State]:
    try:
        states = spec.initial_states()
    except BoundsError as error:
        raise SpecError(f"{spec.name} cannot be walked, its init leaves a type's bounds: {error}") from None
    if not states:
        raise SpecError(f"{spec.name} has no initial state: `init` is disabled for every choice of its parameters")
    return states
