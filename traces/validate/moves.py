"""Successors of states from either engine, with a cache: many traces pass through the same states."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from checker.errors import BoundsError, InputError
from checker.language.interpreter import State
from checker.language.parameters import ActionShape
from checker.language.roles import Role
from checker.language.spec import Spec

if TYPE_CHECKING:
    from checker.engines.native.lowering.state_layout import ValuePart

Key = Hashable
"""The key of a state: the state itself, or its packed words."""

REMEMBERED = 400_000
"""Maximum number of cached states. A full cache is emptied, so that memory stays bounded."""

REMEMBERED_IN_WINDOW = 10_000
"""The same in a window of records: a long log passes through a state again soon, or never."""

_INVARIANT_BOUNDS = "an invariant of {} leaves the bounds of a type in a state that the trace reaches"


@dataclass(frozen=True)
class ExpandedMoves:
    """The moves of a state by action, as (arguments, next state), and the instances that leave a type's bounds."""

    moves: dict[str, list[tuple[tuple[Any, ...], Key]]] = field(default_factory=dict)
    failures: dict[str, list[tuple[tuple[Any, ...], str]]] = field(default_factory=dict)


class Moves(Protocol):
    """Step-by-step execution of a spec."""

    spec: Spec
    remembered: int
    """Maximum number of cached states."""

    def initial(self) -> list[Key]:
        """Return the initial states."""

    def expand(self, key: Key) -> ExpandedMoves:
        """Return the moves of every action instance in a state."""

    def state(self, key: Key) -> State:
        """Return the state of a key."""

    def key(self, state: State) -> Key:
        """Return the key of a state."""

    def violated(self, key: Key) -> frozenset[str]:
        """Return the checked invariants that are false in a state."""


class InterpretedMoves:
    """Moves computed by the interpreter, the reference."""

    def __init__(self, spec: Spec, invariants: tuple[str, ...] = (), remembered: int = REMEMBERED):
        self.spec, self._invariants, self.remembered = spec, invariants, remembered
        self._expanded: dict[Key, ExpandedMoves] = {}
        self._violated: dict[Key, frozenset[str]] = {}

    def initial(self) -> list[Key]:
        """Return the initial states."""
        return list(self.spec.initial_states())

    def state(self, key: Key) -> State:
        """Return the state, which is its own key."""
        assert isinstance(key, State)
        return key

    def key(self, state: State) -> Key:
        """Return the state, which is its own key."""
        return state

    def expand(self, key: Key) -> ExpandedMoves:
        """Return the moves of every action instance in a state."""
        moves = self._expanded.get(key)
        if moves is None:
            moves = ExpandedMoves()
            steps, failures = self.spec.expand(self.state(key))
            for step in steps:
                moves.moves.setdefault(step.action, []).append((step.arguments, step.state))
            for failure in failures:
                moves.failures.setdefault(failure.action, []).append((failure.arguments, failure.message))
            _remember(self._expanded, key, moves, self.remembered)
        return moves

    def violated(self, key: Key) -> frozenset[str]:
        """Return the invariants that are false in a state."""
        names = self._violated.get(key)
        if names is None:
            state = self.state(key)
            try:
                names = frozenset(name for name in self._invariants if not self.spec.holds(name, state))
            except BoundsError:
                raise InputError(_INVARIANT_BOUNDS.format(self.spec.name)) from None
            _remember(self._violated, key, names, self.remembered)
        return names


class NativeMoves:
    """Moves computed by machine code; a key holds packed words. Raises UserError if the spec cannot be compiled."""

    def __init__(self, spec: Spec, invariants: tuple[str, ...] = (), remembered: int = REMEMBERED):
        from checker.engines.native.kernels.single_state import SingleStateEngine

        self.spec, self._invariants, self.remembered = spec, invariants, remembered
        self._engine = SingleStateEngine(spec, list(invariants))
        self._shapes = spec.shapes()
        self._values = [
            [list(p.type.values()) if p.collection is None else [] for p in s.parameters] for s in self._shapes
        ]
        self._instances: dict[int, tuple[str, tuple[Any, ...]]] = {}
        self._expanded: dict[Key, ExpandedMoves] = {}
        self._states: dict[Key, State] = {}
        self._variables = {
            name: _VariableDecoder(place, remembered) for name, place in self._engine.layout.places.items()
        }
        self._violated: dict[Key, frozenset[str]] = {}

    def initial(self) -> list[Key]:
        """Return the initial states."""
        return [self.key(state) for state in self.spec.initial_states()]

    def state(self, key: Key) -> State:
        """Return the state of packed words."""
        known = self._states.get(key)
        if known is None:
            assert isinstance(key, tuple)
            known = State({name: variable.value(key) for name, variable in self._variables.items()})
            _remember(self._states, key, known, self.remembered)
        return known

    def key(self, state: State) -> Key:
        """Return the packed words of a state."""
        return tuple(self._engine.words_of(state))

    def expand(self, key: Key) -> ExpandedMoves:
        """Return the moves of every action instance in a state."""
        moves = self._expanded.get(key)
        if moves is None:
            assert isinstance(key, tuple)
            moves = ExpandedMoves()
            expansion = self._engine.expand_words(key)
            for instance, words in sorted(expansion.words.items()):
                action, arguments = self._call(instance, key)
                moves.moves.setdefault(action, []).append((arguments, tuple(words)))
            for instance, message in sorted(expansion.failures.items()):
                action, arguments = self._call(instance, key)
                moves.failures.setdefault(action, []).append((arguments, message))
            _remember(self._expanded, key, moves, self.remembered)
        return moves

    def violated(self, key: Key) -> frozenset[str]:
        """Return the invariants that are false in a state."""
        if not self._invariants:
            return frozenset()
        names = self._violated.get(key)
        if names is None:
            assert isinstance(key, tuple)
            finding = self._engine.check_words(key, self._invariants)
            if finding.failed:
                raise InputError(_INVARIANT_BOUNDS.format(self.spec.name))
            names = finding.names
            _remember(self._violated, key, names, self.remembered)
        return names

    def _call(self, instance: int, key: Key) -> tuple[str, tuple[Any, ...]]:
        """Return the action and the arguments of an instance; only arguments from a collection depend on the state."""
        call = self._instances.get(instance)
        if call is not None:
            return call
        position = max(n for n, shape in enumerate(self._shapes) if shape.first_instance <= instance)
        shape = self._shapes[position]
        if any(parameter.collection is not None for parameter in shape.parameters):
            with self.spec.bound():
                return self.spec.arguments_of(instance, self.state(key))
        values = tuple(_arguments(shape, self._values[position], instance - shape.first_instance))
        self._instances[instance] = shape.name, self.spec.as_called(shape.name, values)
        return self._instances[instance]


def _arguments(shape: ActionShape, values: list[list[Any]], number: int) -> Iterator[Any]:
    """Iterate over the arguments of the instance with this number within its action, in the order of parameters."""
    for position in range(len(shape.parameters)):
        rest = math.prod(later.choices for later in shape.parameters[position + 1 :])
        chosen, number = divmod(number, rest)
        yield values[position][chosen]


class _VariableDecoder:
    """Decodes one variable from a state's words, with a cache by its bits: most states share most values."""

    def __init__(self, place: ValuePart, remembered: int):
        from checker.engines.native.lowering.state_layout import decode

        self._decode = lambda words: decode(place.layout, list(words), place.word, place.shift)
        self._word, self._end, self._shift = place.word, place.word + place.layout.words, place.shift
        self._mask = None if place.layout.is_wide else place.layout.mask
        self._known: dict[Any, Any] = {}
        self._remembered = remembered

    def value(self, words: tuple[int, ...]) -> Any:
        """Return the value of the variable in a state."""
        is_wide = self._mask is None
        raw = words[self._word : self._end] if is_wide else words[self._word] >> self._shift & self._mask  # type: ignore[operator]
        decoded = self._known.get(raw, self)
        if decoded is self:
            decoded = self._decode(words)
            _remember(self._known, raw, decoded, self._remembered)
        return decoded


def _remember(cache: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    if len(cache) >= most:
        cache.clear()
    cache[key] = value


def moves_of(spec: Spec, engine: str, invariants: tuple[str, ...], remembered: int = REMEMBERED) -> Moves:
    """Return the moves of a spec, computed by the engine `native` or `python`, with caches of a size."""
    moves = NativeMoves if engine == "native" else InterpretedMoves
    return moves(spec, invariants, remembered)


def invariants_of(spec: type[Spec]) -> list[str]:
    """Return the names of the invariants of a spec."""
    return [name for name, role in spec.roles.items() if role is Role.INVARIANT]
