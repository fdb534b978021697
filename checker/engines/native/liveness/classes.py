"""The fair classes of steps, as numbers.

The class of a step follows from its action and from the arguments that the class fixes. An argument that an action
takes from a collection has no number of its own: the action instance numbers its position in the collection. The item
at that position, a packed value, then distinguishes the classes.

A step has one class for each fair action or union that contains its action. Actions and unions without a common action
share a layer: in each layer, a step has at most one class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.llvm.word_arrays import Words
from checker.engines.native.lowering.state_layout import StateLayout
from checker.errors import SpecError
from checker.language.fairness import NEXT
from checker.language.liveness import fair_positions
from checker.language.parameters import ActionShape, variable_in
from checker.language.spec import Spec

NO_CLASS = -1
Classes = NDArray[np.int32]


@dataclass(frozen=True)
class _CollectedItem:
    """An argument from a collection: its variable, and how to compute its position there from an instance's number.

    number // divisor % capacity, with the number of the instance within its action.
    """

    variable: str
    divisor: int
    capacity: int


@dataclass(frozen=True)
class _Member:
    """The instances first .. last - 1 of an action, of which the class also depends on items of collections."""

    first: int
    last: int
    items: tuple[_CollectedItem, ...]


@dataclass
class _Layer:
    """Some fair actions and unions of different actions.

    `of_instance` (instances,) has the class of the steps of each action instance, or NO_CLASS. `collected`: the members
    of each fair action or union of which the classes also depend on items.
    """

    of_instance: Classes
    actions: set[str] = field(default_factory=set)
    collected: list[list[_Member]] = field(default_factory=list)


class StepClasses:
    """The fair classes under the fairness of a spec.

    `next_is_fair`: the whole next-state relation is weakly or strongly fair, which is the same (see `components`).
    """

    def __init__(self, spec: Spec, layout: StateLayout):
        self._layout = layout
        self._layers: list[_Layer] = []
        self._strong: list[bool] = []
        self.next_is_fair = NEXT in spec.fairness
        shapes = {shape.name: shape for shape in spec.shapes()}
        self._instances = sum(shape.instances for shape in shapes.values())
        for name, fairness in spec.fairness.items():
            if name != NEXT:
                members = {action: (shapes[action], fixed) for action, fixed in fair_positions(spec, name).items()}
                self._add(members, is_strong=fairness.strength == "strong")

    def _add(self, members: dict[str, tuple[ActionShape, tuple[int, ...]]], *, is_strong: bool) -> None:
        """Add the classes of a fair action or union: the shape and the fixed positions of each of its actions."""
        layer = next((layer for layer in self._layers if layer.actions.isdisjoint(members)), None)
        if layer is None:
            layer = _Layer(np.full(max(1, self._instances), NO_CLASS, np.int32))
            self._layers.append(layer)
        layer.actions |= members.keys()
        count, collected = 0, []
        for shape, positions in members.values():
            last = shape.first_instance + shape.instances
            # Equal for all members, because the types of the fixed parameters are.
            numbers, count = _number_classes(shape, positions)
            layer.of_instance[shape.first_instance : last] = numbers + len(self._strong)
            if items := _collection_items(shape, positions):
                collected.append(_Member(shape.first_instance, last, items))
        self._strong += [is_strong] * count
        if collected:
            layer.collected.append(collected)

    @property
    def layers(self) -> int:
        """The number of layers."""
        return len(self._layers)

    @property
    def needs_states(self) -> bool:
        """Whether the class of a step depends on the state before it."""
        return any(layer.collected for layer in self._layers)

    @property
    def state_bytes(self) -> int:
        """The bytes of a state that `of_steps` takes: the words of the state."""
        return 8 * self._layout.words if self.needs_states else 0

    @property
    def step_bytes(self) -> int:
        """The bytes of a step that `of_steps` takes: at most those of its keys, their sorted copies, and its places."""
        keys = [1 + len(members[0].items) for layer in self._layers for members in layer.collected]
        return 16 + 32 * max(keys) if keys else 0

    def of_steps(
        self, instances: NDArray[np.uint16], sources: NDArray[np.int32], states: Words | None
    ) -> tuple[Classes, NDArray[np.bool_]]:
        """Return the class of each step (layers, m), or NO_CLASS, and whether each class is strongly fair (classes,).

        `instances` and `sources` (m,) are the action instance of each step and the position of the state before it in
        `states` (n, words), which are needed if `needs_states`.
        """
        numbered = np.empty((len(self._layers), len(instances)), np.int32)
        strong = np.array(self._strong, np.bool_)
        for layer, classes in zip(self._layers, numbered, strict=True):
            # Every instance is in bounds; with the default mode, NumPy would copy the result.
            np.take(layer.of_instance, instances, out=classes, mode="clip")
            for members in layer.collected:
                assert states is not None
                strong = self._distinguish(members, classes, instances, sources, states, strong)
        return numbered, strong

    def _distinguish(
        self,
        members: Sequence[_Member],
        classes: Classes,
        instances: NDArray[np.uint16],
        sources: NDArray[np.int32],
        states: Words,
        strong: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Replace classes (m,) of some members by classes for each choice of items; return `strong` with these."""
        chosen, keys = [], []
        for member in members:
            steps = np.flatnonzero((instances >= member.first) & (instances < member.last))
            numbers = instances[steps].astype(np.int64) - member.first
            items = [
                self._items(states, sources[steps], item.variable, numbers // item.divisor % item.capacity)
                for item in member.items
            ]
            chosen.append(steps)
            keys.append(np.stack([classes[steps].astype(np.uint64), *items], axis=1))
        distinct, inverse = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
        classes[np.concatenate(chosen)] = len(strong) + inverse.reshape(-1)
        return np.concatenate([strong, strong[distinct[:, 0].astype(np.int64)]])

    def _items(self, states: Words, rows: NDArray[np.int32], variable: str, positions: NDArray[np.int64]) -> Words:
        """Return the packed items (k,) at positions (k,) in a collection of the states (n, words) in some rows (k,)."""
        place = self._layout.places[variable]
        items = place.layout.items
        assert items is not None
        words = place.word + items.word + positions // items.per_word
        shifts = place.shift + items.shift + (positions % items.per_word) * items.step
        mask = np.uint64(items.layout.mask)
        unpacked: Words = states[rows, words] >> shifts.astype(np.uint64) & mask
        return unpacked


def _divisor(shape: ActionShape, position: int) -> int:
    """Return the number of choices of all parameters after a position: they vary faster."""
    return math.prod(parameter.choices for parameter in shape.parameters[position + 1 :])


def _number_classes(shape: ActionShape, positions: tuple[int, ...]) -> tuple[Classes, int]:
    """Return the class of each instance of an action (instances,) from 0 on, and the number of classes.

    Arguments from collections do not count here.
    """
    numbers = np.arange(shape.instances)
    classes, count = np.zeros(shape.instances, np.int64), 1
    for position in positions:
        parameter = shape.parameters[position]
        if parameter.collection is None:
            classes = classes * parameter.choices + numbers // _divisor(shape, position) % parameter.choices
            count *= parameter.choices
    return classes.astype(np.int32), count


def _collection_items(shape: ActionShape, positions: tuple[int, ...]) -> tuple[_CollectedItem, ...]:
    """Return the arguments from collections among those at some positions."""
    items = []
    for position in positions:
        parameter = shape.parameters[position]
        if parameter.collection is None:
            continue
        variable = variable_in(parameter.collection)
        if variable is None:
            raise SpecError(
                f"{shape.name} is fair for each {parameter.name}, which is bound to an expression: "
                f"bind it to a set or bag of the state, or leave {parameter.name} out of for_each"
            )
        items.append(_CollectedItem(variable, _divisor(shape, position), parameter.choices))
    return tuple(items)
