"""The fair classes of steps, as numbers.

The class of a step follows from its action and from the arguments for which the action is fair. An argument that an
action takes from a collection has no number of its own: the action instance numbers its position in the collection. The
item at that position, a packed value, then distinguishes the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checker.engines.native.explore.store import Words
from checker.engines.native.lowering.state_layout import StateLayout
from checker.language.fairness import NEXT
from checker.language.interpreter import ActionShape
from checker.language.spec import Spec

NO_CLASS = -1
Classes = NDArray[np.int32]


@dataclass(frozen=True)
class _Collected:
    """The instances first .. last - 1 of an action that is fair for each item of some collections.

    Of each collection: its variable, and how to compute the position from the number of the instance within the action:
    number // divisor % capacity.
    """

    first: int
    last: int
    items: tuple[tuple[str, int, int], ...]


class StepClasses:
    """The fair classes under the fairness of a spec.

    `is_strong` (classes,) is the strength of the classes that do not depend on items. `next_is_fair`: the whole
    next-state relation is weakly or strongly fair, which is the same (see `components`).
    """

    def __init__(self, spec: Spec, layout: StateLayout):
        self._layout = layout
        shapes = spec.shapes()
        instances = sum(shape.instances for shape in shapes)
        self._of_instance: Classes = np.full(max(1, instances), NO_CLASS, np.int32)
        self._collected: list[_Collected] = []
        strong: list[bool] = []
        for shape in shapes:
            fairness = spec.fairness.get(shape.name)
            if fairness is None:
                continue
            names = tuple(parameter.name for parameter in shape.parameters)
            positions = fairness.positions(shape.name, names)
            numbers, count = _numbered(shape, positions)
            self._of_instance[shape.first_instance : shape.first_instance + shape.instances] = numbers + len(strong)
            strong += [fairness.strength == "strong"] * count
            if items := _collection_items(shape, positions):
                last = shape.first_instance + shape.instances
                self._collected.append(_Collected(shape.first_instance, last, items))
        self._is_strong = np.array(strong, np.bool_)
        self.next_is_fair = NEXT in spec.fairness

    def of_steps(self, instances: NDArray[np.uint16], states: Words | None) -> tuple[Classes, NDArray[np.bool_]]:
        """Return the class of each step (1, n), NO_CLASS for none, and whether each class is strongly fair (classes,).

        `states` (n, words) are the states before the steps; they are needed if `needs_states`.
        """
        found = self._of_instance[instances]
        strong = self._is_strong
        for collected in self._collected:
            assert states is not None
            chosen = np.flatnonzero((instances >= collected.first) & (instances < collected.last))
            numbers = instances[chosen].astype(np.int64) - collected.first
            keys = [found[chosen].astype(np.uint64)]
            for variable, divisor, capacity in collected.items:
                keys.append(self._items(states[chosen], variable, numbers // divisor % capacity))
            distinct, inverse = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
            found[chosen] = len(strong) + inverse.reshape(-1)
            strong = np.concatenate([strong, strong[distinct[:, 0].astype(np.int64)]])
        return found[np.newaxis], strong

    @property
    def layers(self) -> int:
        """The number of classes that a step may have."""
        return 1

    @property
    def needs_states(self) -> bool:
        """Whether the class of a step depends on the state before it."""
        return bool(self._collected)

    def _items(self, states: Words, variable: str, positions: NDArray[np.int64]) -> Words:
        """Return the packed items (n,) at positions (n,) in a collection of each of some states (n, words)."""
        place = self._layout.places[variable]
        items = place.layout.items
        assert items is not None
        words = place.word + items.word + positions // items.per_word
        shifts = place.shift + items.shift + (positions % items.per_word) * items.step
        mask = np.uint64(items.layout.mask)
        found: Words = states[np.arange(len(states)), words] >> shifts.astype(np.uint64) & mask
        return found


def _numbered(shape: ActionShape, positions: tuple[int, ...]) -> tuple[Classes, int]:
    """Return the class of each instance of an action (instances,) from 0 on, and the number of classes.

    Arguments from collections do not count here.
    """
    choices = [parameter.choices for parameter in shape.parameters]
    numbers = np.arange(shape.instances)
    found, count = np.zeros(shape.instances, np.int64), 1
    divisor = shape.instances
    for position, size in enumerate(choices):
        divisor //= size
        if position in positions and shape.parameters[position].collection is None:
            found = found * size + numbers // divisor % size
            count *= size
    return found.astype(np.int32), count


def _collection_items(shape: ActionShape, positions: tuple[int, ...]) -> tuple[tuple[str, int, int], ...]:
    found = []
    divisor = shape.instances
    for position, parameter in enumerate(shape.parameters):
        divisor //= parameter.choices
        if position in positions and parameter.collection is not None:
            found.append((parameter.collection.attr, divisor, parameter.choices))  # type: ignore[attr-defined]
    return tuple(found)
