"""The states of a spec and the steps between them, for analyses in Python and Arrow."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from checker.api.drawn_state import DrawnState
from checker.engines.native.explore.results import initial_states
from checker.engines.native.kernels.batch import BatchEngine, compile_batch
from checker.engines.native.llvm.word_arrays import Words
from checker.engines.python.view_keys import ViewKeys
from checker.errors import MissingExtraError, SpecError
from checker.frontend import compile_spec, compile_view
from checker.language.interpreter import State, call_text
from checker.language.spec import Spec
from checker.printable import quantity

if TYPE_CHECKING:
    import pyarrow

MOST_STATES = 5_000_000
"""The default limit of the states of a graph: a state takes about 200 bytes here, and a step 20."""


@dataclass(frozen=True)
class Edge:
    """A step: the numbers of the states before and after it, the action and its arguments."""

    source: int
    action: str
    arguments: tuple[Any, ...]
    target: int

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}  {call_text(self.action, self.arguments)}"


class StateGraph:
    """All states that a spec reaches, and all steps between them.

    States are numbered breadth-first from 0 on, the initial ones first, so the numbering is the same in every run.
    States outside a constraint have no steps, and an action that leaves the bounds of a type has none either. With a
    view, states with the same value of it are one: the first one that was found, with its steps.

    Raises SpecError if the spec has more than `most_states` states.
    """

    def __init__(self, spec: Spec, most_states: int = MOST_STATES):
        self.spec = spec
        code, self._layout = compile_batch(compile_spec(spec, []))
        self._batch = BatchEngine(code)
        self._most_states = most_states
        view = compile_view(spec)
        self._view = None if view is None else ViewKeys(spec, view)
        # By the words of a state. With a view several states have one number, which `_viewed` has by its value.
        self._numbers: dict[bytes, int] = {}
        self._viewed: dict[Any, int] = {}
        self._words: list[Words] = []
        self._levels: list[int] = []
        self._edges: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]] = []
        initial = np.array([self._layout.encode(state.values) for state in initial_states(spec)], dtype=np.uint64)
        _, positions = np.unique(self._number(initial), return_index=True)
        self.initial = range(len(positions))
        self._explore(initial[positions])

    def _explore(self, initial: Words) -> None:
        frontier, first, level = initial, 0, 0
        while len(frontier):
            self._words.append(frontier)
            self._levels += [level] * len(frontier)
            successors = self._successors(frontier, first)
            first += len(frontier)
            frontier, level = successors, level + 1

    def _successors(self, states: Words, first: int) -> Words:
        """Record the steps from some states, of which the first has the number `first`; return the new states."""
        new = []
        done = 0
        while done < len(states):
            expanded = self._batch.expand(states[done:])
            known = len(self)
            targets = self._number(expanded.states)
            # Each new state once, at its first occurrence, by its number.
            numbers, positions = np.unique(targets, return_index=True)
            new.append(expanded.states[positions[numbers >= known]])
            sources = expanded.parents.astype(np.int64) + first + done
            self._edges.append((sources, targets, expanded.instances.copy()))
            done += expanded.taken
        return np.concatenate(new)

    def _number(self, states: Words) -> NDArray[np.int64]:
        """Return the numbers of some states (n,); new ones get the next numbers."""
        numbers = self._numbers
        if self._view is None:
            numbers_of_rows = [numbers.setdefault(row.tobytes(), len(numbers)) for row in states]
        else:
            for row in states:
                if row.tobytes() not in numbers:
                    key = self._view.key_of(self._layout.state_of(row))
                    numbers[row.tobytes()] = self._viewed.setdefault(key, len(self._viewed))
            numbers_of_rows = [numbers[row.tobytes()] for row in states]
        if len(self) > self._most_states:
            raise SpecError(f"{self.spec.name} has more than {self._most_states:,} states: raise most_states")
        return np.array(numbers_of_rows, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._numbers if self._view is None else self._viewed)

    @property
    def levels(self) -> NDArray[np.int64]:
        """The level of each state (states,): the number of steps of a shortest path to it."""
        return np.array(self._levels, dtype=np.int64)

    @property
    def sources(self) -> NDArray[np.int64]:
        """The number of the state before each step (edges,)."""
        return np.concatenate([edges[0] for edges in self._edges])

    @property
    def targets(self) -> NDArray[np.int64]:
        """The number of the state after each step (edges,)."""
        return np.concatenate([edges[1] for edges in self._edges])

    @property
    def instances(self) -> NDArray[np.uint16]:
        """The action instance of each step (edges,)."""
        return np.concatenate([edges[2] for edges in self._edges])

    def states(self) -> Iterator[State]:
        """Iterate over the states in the order of their numbers."""
        for words in self._words:
            for row in words:
                yield DrawnState(self.spec, self._layout.state_of(row))

    def edges(self) -> Iterator[Edge]:
        """Iterate over the steps, by the number of the state before them."""
        states = self.states()
        number, state = -1, None
        with self.spec.bound():
            for source, target, instance in zip(self.sources, self.targets, self.instances, strict=True):
                while number < source:
                    number, state = number + 1, next(states)
                assert state is not None
                action, arguments = self.spec.arguments_of(int(instance), state)
                yield Edge(int(source), action, arguments, int(target))

    def projection(self, variables: Iterable[str], actions: Iterable[str]) -> tuple[list[State], list[Edge]]:
        """Return the steps of some actions as they appear in some variables: equal states are one, equal steps too.

        The first state represents all that equal it in these variables: read only these from it. An edge has the
        positions of two states in the list. This is much faster than `states` and `edges` if few values exist.
        """
        rows = np.concatenate(self._words)
        mask = np.array(self._layout.mask_of(variables), dtype=np.uint64)
        _, firsts, numbers = np.unique(rows & mask, axis=0, return_index=True, return_inverse=True)
        states = [self._layout.state_of(rows[first]) for first in firsts]
        names = set(actions)
        shapes = [shape for shape in self.spec.shapes() if shape.name in names]
        wanted = [np.arange(shape.first_instance, shape.first_instance + shape.instances) for shape in shapes]
        taken = np.flatnonzero(np.isin(self.instances, np.concatenate(wanted))) if wanted else np.array([], dtype=int)
        sources = self.sources[taken]
        numbers = numbers.reshape(-1)
        steps = np.stack([numbers[sources], self.instances[taken], numbers[self.targets[taken]]], axis=1)
        edges = []
        with self.spec.bound():
            for (before, instance, after), example in zip(*np.unique(steps, axis=0, return_index=True), strict=True):
                # An argument may be a member of another variable, so it is that of a real step.
                state = self._layout.state_of(rows[sources[example]])
                action, arguments = self.spec.arguments_of(int(instance), state)
                edges.append(Edge(int(before), action, arguments, int(after)))
        return states, edges

    def states_table(self) -> pyarrow.Table:
        """Return the states as an Arrow table: `state`, `level` and a column for each variable.

        Collections and structs are columns of JSON text. Raises MissingExtraError without PyArrow.
        """
        rows = [state.to_dict() for state in self.states()]
        columns: dict[str, Any] = {"state": np.arange(len(self)), "level": self.levels}
        for name in self.spec.variables:
            values = [row[name] for row in rows]
            nested = any(isinstance(value, (dict, list)) for value in values)
            columns[name] = [json.dumps(value) for value in values] if nested else values
        return _arrow().table(columns)

    def edges_table(self) -> pyarrow.Table:
        """Return the steps as an Arrow table: `source`, `target`, `action` and `step`, its text with the arguments.

        Raises MissingExtraError without PyArrow.
        """
        edges = list(self.edges())
        steps = [call_text(edge.action, edge.arguments) for edge in edges]
        actions = [edge.action for edge in edges]
        return _arrow().table({"source": self.sources, "target": self.targets, "action": actions, "step": steps})

    def __repr__(self) -> str:
        counts = f"{quantity(len(self), 'state')}, {quantity(len(self.sources), 'step')}"
        return f"<StateGraph of {self.spec.name}: {counts}>"


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("Arrow tables need PyArrow: pip install 'tidemark[spark]'") from None
    return pyarrow
