"""A session of the explorer: the specs, the visited paths, and what was computed for them.

The session holds nothing that an address lacks: the state of an address is computed again from its steps. A session
remembers only what makes that fast, and the tree of the visited paths.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from checker.errors import InputError
from checker.explorer.address import Address
from checker.explorer.steps import ChosenStep, EnabledStep, enabled_steps, take
from checker.explorer.variant import Variant, configure_variants, differing_variables, initial_states_of
from checker.explorer.visited_tree import VisitedTree
from checker.language.interpreter import State
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.output.page.story import property_value
from checker.run.result import TraceStep

_MOST_CONFIGURATIONS, _MOST_PREFIXES, _MOST_ENABLED, _MOST_VALUES = 8, 4_000, 100_000, 100_000
"""Limits of the caches: configurations, prefixes of paths, enabled steps of all remembered states together, values."""

Item = TypeVar("Item")


class _Recent:
    """Remembers the results that were used last, up to a total weight."""

    def __init__(self, most: int, weight: Callable[[Any], int] = lambda item: 1):
        self._most, self._weight, self._total = most, weight, 0
        self._items: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Item]) -> Item:
        """Return the result of a key, which `compute` computes if it is not remembered."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
                known: Item = self._items[key]
                return known
        item = compute()
        with self._lock:
            if key not in self._items:
                self._items[key] = item
                self._total += self._weight(item)
            while self._total > self._most and len(self._items) > 1:
                _, old = self._items.popitem(last=False)
                self._total -= self._weight(old)
        return item


@dataclass(frozen=True)
class PanePath:
    """The path of an address in one pane: a spec, and each choice with its result there.

    `steps[0]` is the initial state.
    """

    variant: Variant
    spec: Spec
    steps: tuple[ChosenStep, ...]

    @property
    def state(self) -> State:
        """The state at the end of the path."""
        return self.steps[-1].state

    @property
    def trace(self) -> tuple[TraceStep, ...]:
        """The choices that were taken, as a trace."""
        return tuple(step.trace_step for step in self.steps if step.outcome == "taken")


@dataclass(frozen=True)
class RefusedStep:
    """The first choice of an address that no pane takes: its position, and why it is refused."""

    position: int
    text: str


@dataclass(frozen=True)
class Place:
    """A state of the explorer: its address, and the paths of the panes to it.

    If a choice is refused, the address ends before it. `initial_states` is the number of initial states of the first
    pane. `parted` is the position of the first choice after which the panes differ; None if they do not.
    """

    address: Address
    panes: tuple[PanePath, ...]
    initial_states: int
    refused: RefusedStep | None = None
    parted: int | None = None


class ExplorerSession:
    """The specs that are explored, and the tree of visited paths for each choice of constants and initial state."""

    def __init__(self, variants: tuple[Variant, ...], start: Address | None = None):
        """Create a session; raise UserError if a spec has no initial state. `start` is where it begins."""
        self.variants, self.start = variants, start or Address()
        self._trees: OrderedDict[Hashable, VisitedTree] = OrderedDict()
        self._specs = _Recent(_MOST_CONFIGURATIONS)
        self._prefixes = _Recent(_MOST_PREFIXES)
        self._enabled = _Recent(_MOST_ENABLED, lambda steps: len(steps) + 1)
        self._values = _Recent(_MOST_VALUES)
        self._lock = threading.Lock()
        self.searches: set[threading.Event] = set()
        self.start = self.without_base_constants(self.start)
        place = self.place(self.start)
        self.tree(place.address).visit(place.address.codes)

    def place(self, address: Address) -> Place:
        """Return the place of an address; raise UserError for wrong constants or a wrong initial state."""
        specs, starts = self._specs.get(address.settings, lambda: self._configure(address.settings))
        if address.initial > len(starts[0]):
            count = len(starts[0])
            raise InputError(
                f"{specs[0].name} has {count:,} initial state{'s' * (count > 1)}: i must be at most {count:,}"
            )
        initial = starts[0][address.initial - 1]
        firsts = [
            ChosenStep("", None, (), _counterpart(specs[0], initial, *pair)) for pair in zip(specs, starts, strict=True)
        ]
        paths = [[first] for first in firsts]
        refused, parted = None, None
        for position, code in enumerate(address.codes, 1):
            taken = [
                self._prefixes.get(
                    (address.settings, address.initial, number, address.codes[:position]),
                    lambda spec=spec, path=path, code=code: take(spec, path[-1].state, code),  # type: ignore[misc]
                )
                for number, (spec, path) in enumerate(zip(specs, paths, strict=True))
            ]
            if all(step.outcome != "taken" for step in taken):
                refused = RefusedStep(
                    position, f"Step {position + 1}, {taken[0].call}, does not apply: {taken[0].details}."
                )
                address = address.until(position - 1)
                break
            for path, step in zip(paths, taken, strict=True):
                path.append(step)
        panes = tuple(
            PanePath(variant, spec, tuple(path))
            for variant, spec, path in zip(self.variants, specs, paths, strict=True)
        )
        if len(panes) == 2:
            parted = _first_difference(panes[0], panes[1])
        return Place(address, panes, len(starts[0]), refused, parted)

    def without_base_constants(self, address: Address) -> Address:
        """Return an address without the constants that have the values of the base; raise UserError for wrong ones."""
        base = self._specs.get((), lambda: self._configure(()))[0]
        specs = self._specs.get(address.settings, lambda: self._configure(address.settings))[0]
        settings = tuple(
            (name, text)
            for name, text in address.settings
            if any(
                spec.constants.get(name) != first.constants.get(name) for spec, first in zip(specs, base, strict=True)
            )
        )
        return replace(address, settings=settings)

    def enabled(self, place: Place, number: int = 0) -> list[EnabledStep]:
        """Return the enabled steps of a place in one pane."""
        pane = place.panes[number]
        key = (place.address.settings, number, pane.state)
        return self._enabled.get(key, lambda: enabled_steps(pane.spec, pane.state))

    def property_value(self, place: Place, number: int, name: str, state: State, before: State | None) -> bool | None:
        """Return the value of a property in a state of a pane, or for the step from `before` to it.

        It is None if it cannot be evaluated.
        """
        spec = place.panes[number].spec
        # Of a property of states it is remembered: many steps lead to a state.
        if spec.roles[name] not in (Role.INVARIANT, Role.REACHABLE):
            return property_value(spec, name, state, before)
        key = (place.address.settings, number, name, state)
        return self._values.get(key, lambda: property_value(spec, name, state, None))

    def tree(self, address: Address) -> VisitedTree:
        """Return the tree of the visited paths with the constants and the initial state of an address."""
        with self._lock:
            key = (address.settings, address.initial)
            tree = self._trees.setdefault(key, VisitedTree())
            self._trees.move_to_end(key)
            while len(self._trees) > _MOST_CONFIGURATIONS:
                self._trees.popitem(last=False)
            return tree

    def stop_searches(self) -> None:
        """Interrupt the searches in progress."""
        for event in list(self.searches):
            event.set()

    def _configure(self, settings: tuple[tuple[str, str], ...]) -> tuple[tuple[Spec, ...], list[list[State]]]:
        specs = configure_variants(self.variants, settings)
        return specs, [initial_states_of(spec) for spec in specs]


def _counterpart(first: Spec, wanted: State, spec: Spec, states: list[State]) -> State:
    """Return the initial state of a variant that has the values of another one, or else its first one."""
    if spec is first:
        return wanted
    return next((state for state in states if not differing_variables(first, wanted, spec, state)), states[0])


def _first_difference(one: PanePath, other: PanePath) -> int | None:
    for position, (here, there) in enumerate(zip(one.steps, other.steps, strict=True)):
        is_same = here.outcome == there.outcome
        if not is_same or differing_variables(one.spec, here.state, other.spec, there.state):
            return position
    return None
