"""A search of its own for the specs of `larger_specs`: plain Python values, breadth first, and fair components.

The text of a spec runs with the declarations of this module in place of those of `checker.language`, so that a search
shares nothing with the engines but Python. A state is a tuple of hashable values; members of a domain are `Member`s.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import GenericAlias, SimpleNamespace
from typing import Any

Plain = Any
LIVE = ("eventually", "always_eventually", "eventually_always", "leads_to")


class Member(str):
    """A member of a domain."""


class DisabledError(Exception):
    """A `require` is false, or there is nothing to choose."""


class Kind(SimpleNamespace):
    """A type: its `first` value, whether it `allows` a value, a value `frozen` in a state and `thawed` in an object.

    Types of parameters have `values`.
    """


class _Members(type):
    def __iter__(cls) -> Iterator[Plain]:
        return iter([Member(f"{cls.prefix}{number + 1}") for number in range(cls.size)])  # type: ignore[attr-defined]

    def __len__(cls) -> int:
        return cls.size  # type: ignore[attr-defined,no-any-return]

    def __getitem__(cls, index: int) -> Plain:
        return list(cls)[index]


class _Domain(metaclass=_Members):
    pass


class _Bag(list):  # type: ignore[type-arg]
    add = list.append


def _kind(declared: Plain) -> Kind:
    if isinstance(declared, Kind):
        return declared
    if isinstance(declared, GenericAlias):
        return _scalar(list(itertools.product(*(_kind(item).values for item in declared.__args__))))
    return _scalar(list(declared))


def _scalar(values: list[Plain]) -> Kind:
    same = lambda value: value  # noqa: E731
    return Kind(first=lambda: values[0], values=values, allows=lambda value: value in values, frozen=same, thawed=same)


def _option(item: Plain) -> Kind:
    return _scalar([None, *_kind(item).values])


def _map(key: Plain, value: Plain, is_whole: bool = True) -> Kind:
    keys, item = _kind(key).values, _kind(value)
    return Kind(
        first=lambda: {key: item.first() for key in keys} if is_whole else {},
        allows=lambda found: set(found) <= set(keys) and all(map(item.allows, found.values())),
        frozen=lambda found: frozenset((key, item.frozen(value)) for key, value in found.items()),
        thawed=lambda found: {key: item.thawed(value) for key, value in found},
    )


def _items(item: Plain, capacity: int, made: type, frozen: Callable[[Plain], Plain]) -> Kind:
    """Return the type of collections, which are frozen as their items in order, or as pairs of an item and a count."""
    kind = _kind(item)
    return Kind(
        first=made,
        allows=lambda found: len(found) <= capacity and all(map(kind.allows, found)),
        frozen=frozen,
        thawed=lambda found: made(Counter(dict(found)).elements() if made is _Bag else found),
    )


def _marking(role: str) -> Callable[..., Plain]:
    def mark(*arguments: Plain, **options: Plain) -> Plain:
        def put(method: Plain) -> Plain:
            method.role, method.options, method.premise = role, options, arguments[0] if role == "leads_to" else None
            return method

        return put(arguments[0]) if arguments and callable(arguments[0]) else put

    return mark


def _require(condition: bool) -> None:
    if not condition:
        raise DisabledError


class Search:
    """The exploration of a spec's text.

    - `levels`: the number of states of each depth; `orbits`: of those with the domain's members interchangeable.
    - `generated`: the steps of each action; `violated`: the length of the shortest counterexample of each property.
    - `reached`: the reachable properties with a state; `faults`: the lengths of traces to values out of bounds.
    - `outside`: whether a state is outside a constraint.
    """

    def __init__(self, text: str, most_states: int):
        self.choices: list[int] = []
        self.sizes: list[int] = []
        declarations = {
            **{role: _marking(role) for role in ("action", "invariant", "step_invariant", "reachable", "constraint")},
            **{role: _marking(role) for role in LIVE},
            "require": _require,
            "choose": self._choose,
            "implies": lambda one, other: not one or other,
            "Range": lambda low, high: _scalar(list(range(low, high + 1))),
            "Map": _map,
            "PartialMap": lambda key, value: _map(key, value, is_whole=False),
            "Option": _option,
            "SetOf": lambda item: _items(item, 64, set, frozenset),
            "Seq": lambda item, capacity: _items(item, capacity, list, tuple),
            "Bag": lambda item, capacity: _items(item, capacity, _Bag, lambda bag: frozenset(Counter(bag).items())),
            "Domain": _Domain,
            "Spec": object,
        }
        scope: dict[str, Plain] = dict(declarations)
        text = re.sub(r"from checker.language import \(.*?\n\)\n", "", text, flags=re.DOTALL)
        exec(compile(text, "random", "exec", dont_inherit=True), scope)
        self.spec, self.members = scope["Random"], list(scope["Node"])
        body = vars(self.spec)
        is_kind = lambda value: isinstance(value, (Kind, _Members)) or value is scope["Mode"]  # noqa: E731
        self.kinds = {name: _kind(value) for name, value in body.items() if is_kind(value)}
        self.roles = {name: value for name, value in body.items() if hasattr(value, "role")}
        self.states: list[Plain] = []
        self.numbers: dict[Plain, int] = {}
        self.depths: list[int] = []
        self.edges: list[list[tuple[int, frozenset[Plain]]]] = []
        self.generated: Counter[str] = Counter(dict.fromkeys(self.named("action"), 0))
        self.violated: dict[str, int] = {}
        self.reached: set[str] = set()
        self.faults: list[int] = []
        self.outside = False
        self._explore(most_states)

    def named(self, *roles: str) -> list[str]:
        return [name for name, method in self.roles.items() if method.role in roles]

    def _choose(self, items: Iterable[Plain]) -> Plain:
        found = sorted(items, key=str)
        _require(bool(found))
        place = len(self.sizes)
        self.sizes.append(len(found))
        if place == len(self.choices):
            self.choices.append(0)
        return found[self.choices[place]]

    def _thawed(self, state: Plain) -> Plain:
        """Return an object of the spec with the values of a state."""
        made = self.spec.__new__(self.spec)
        for (name, kind), value in zip(self.kinds.items(), state, strict=True):
            setattr(made, name, kind.thawed(value))
        return made

    def _frozen(self, made: Plain) -> Plain:
        """Return the state of an object; None if a value is out of bounds."""
        if not all(kind.allows(getattr(made, name)) for name, kind in self.kinds.items()):
            return None
        return tuple(kind.frozen(getattr(made, name)) for name, kind in self.kinds.items())

    def parameters(self, method: Plain) -> list[dict[str, Plain]]:
        kinds = {
            name: _kind(parameter.annotation).values
            for name, parameter in inspect.signature(method).parameters.items()
            if name not in ("self", "old")
        }
        return [dict(zip(kinds, values, strict=True)) for values in itertools.product(*kinds.values())]

    def _after(self, method: Plain, state: Plain, arguments: Mapping[str, Plain]) -> Iterator[Plain]:
        """Yield the state after each choice of a method; None if a value leaves its bounds."""
        self.choices = []
        while True:
            self.sizes, made = [], self._thawed(state)
            try:
                method(made, **arguments)
                yield self._frozen(made)
            except DisabledError:
                pass
            except LookupError:
                yield None
            while self.choices and self.choices[-1] + 1 >= self.sizes[len(self.choices) - 1]:
                self.choices.pop()
            if not self.choices:
                return
            self.choices[-1] += 1

    def holds(self, name: str, state: Plain, *old: Plain, **arguments: Plain) -> bool:
        return bool(getattr(self.spec, name)(*map(self._thawed, (state, *old)), **arguments))

    def _explore(self, most_states: int) -> None:
        first = tuple(kind.frozen(kind.first()) for kind in self.kinds.values())
        init = getattr(self.spec, "init", lambda self: None)
        for arguments in self.parameters(init):
            for state in self._after(init, first, arguments):
                self._number(state, 1)
        for number, state in enumerate(self.states):
            if len(self.states) > most_states:
                return
            self._check(number, state)

    def _check(self, number: int, state: Plain) -> None:
        """Check a state, and find its successors."""
        depth = self.depths[number]
        for name in self.named("invariant"):
            if not self.holds(name, state):
                self.violated.setdefault(name, depth)
        self.reached |= {name for name in self.named("reachable") if self.holds(name, state)}
        labels: dict[int, set[Plain]] = {}
        self.edges.append([])
        if not all(self.holds(name, state) for name in self.named("constraint")):
            self.outside = True
            return
        steps = len(self.faults)
        for name in self.named("action"):
            method = self.roles[name]
            for arguments in self.parameters(method):
                for successor in self._after(method, state, arguments):
                    steps += 1
                    if successor is None:
                        self.faults.append(depth)
                        continue
                    self.generated[name] += 1
                    labels.setdefault(self._number(successor, depth + 1), set()).add((name, *arguments.items()))
                    for invariant in self.named("step_invariant"):
                        if not self.holds(invariant, successor, state):
                            self.violated.setdefault(invariant, depth + 1)
        if not steps:
            self.violated.setdefault("deadlock", depth)
        self.edges[-1] = [(target, frozenset(taken)) for target, taken in labels.items() if target != number]

    def _number(self, state: Plain, depth: int) -> int:
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
            self.depths.append(depth)
        return self.numbers[state]

    @property
    def levels(self) -> list[int]:
        return [count for _, count in sorted(Counter(self.depths).items())]

    def orbits(self) -> list[int]:
        """Return the number of orbits of each depth."""
        others = [dict(zip(self.members, order, strict=True)) for order in itertools.permutations(self.members)]
        seen: set[Plain] = set()
        found: Counter[int] = Counter()
        for state, depth in zip(self.states, self.depths, strict=True):
            found[depth] += state not in seen
            seen.update(_renamed(state, names) for names in others)
        return [count for _, count in sorted(found.items())]

    def lasso(self, name: str) -> int | None:
        """Return the least number of states up to the loop of a fair lasso that violates a property; None: it holds."""
        return min(
            filter(None, (self._lasso(name, given) for given in self.parameters(self.roles[name]))), default=None
        )

    def _lasso(self, name: str, given: Mapping[str, Plain]) -> int | None:
        method = self.roles[name]
        bad = {number for number, state in enumerate(self.states) if not self.holds(name, state, **given)}
        every = set(range(len(self.states)))
        initial = {number for number in every if self.depths[number] == 1}
        if method.role == "eventually_always":
            loops = [loop for loop in self._fair(every) if loop & bad]
        else:
            loops = self._fair(bad)
        goal = set().union(*loops)
        if method.role == "eventually":
            return self._distance(dict.fromkeys(initial & bad, 1), bad, goal)
        if method.role != "leads_to":
            return self._distance(dict.fromkeys(initial, 1), every, goal)
        owed = {number for number in bad if self.holds(method.premise, self.states[number], **given)}
        return self._distance({number: self.depths[number] for number in owed}, bad, goal)

    def _distance(self, starts: dict[int, int], inside: set[int], goal: set[int]) -> int | None:
        """Return the number of states of the shortest path within some states to a goal; starts have a length."""
        best, waiting = dict(starts), sorted(starts, key=lambda number: starts[number])
        for number in waiting:
            for target, _ in self.edges[number]:
                if target in inside and best.get(target, best[number] + 2) > best[number] + 1:
                    best[target] = best[number] + 1
                    waiting.append(target)
        return min((length for number, length in best.items() if number in goal), default=None)

    def _promises(self) -> Iterator[tuple[bool, Callable[[Plain], bool]]]:
        """Yield each promise of fairness: whether it is strong, and whether a label of a step keeps it."""
        for name in self.named("action"):
            method = self.roles[name]
            for given in self.parameters(method) if "for_each" not in method.options else [{}]:
                if "fair" in method.options:
                    mine = (name, *given.items())
                    yield method.options["fair"] == "strong", lambda label, mine=mine: label[: len(mine)] == mine
        if hasattr(self.spec, "fair_next"):
            yield self.spec.fair_next == "strong", lambda label: True

    def _fair(self, inside: set[int]) -> list[set[int]]:
        """Return the components, within some states, in which a fair behaviour can stay for ever."""
        found, waiting = [], self._components(inside)
        promises = list(self._promises())
        while waiting:
            part = waiting.pop()
            without: set[int] | None = set()
            for is_strong, keeps in promises:
                enabled = {n for n in part if any(keeps(label) for _, labels in self.edges[n] for label in labels)}
                steps = (labels for n in part for target, labels in self.edges[n] if target in part)
                if any(keeps(label) for labels in steps for label in labels):
                    continue
                if enabled == part:
                    without = None
                    break
                if is_strong and without is not None:
                    without |= enabled
            if without:
                waiting += self._components(part - without)
            elif without is not None:
                found.append(part)
        return found

    def _components(self, inside: set[int]) -> list[set[int]]:
        """Return the strongly connected components within some states, by Kosaraju's two passes."""
        order, seen, back = [], set(), {number: [] for number in inside}  # type: ignore[var-annotated]
        for start in inside:
            stack = [(start, iter(self.edges[start]))] if start not in seen else []
            seen.add(start)
            while stack:
                number, edges = stack[-1]
                target = next((target for target, _ in edges if target in inside), None)
                if target is None:
                    order.append(stack.pop()[0])
                else:
                    back[target].append(number)
                    if target not in seen:
                        seen.add(target)
                        stack.append((target, iter(self.edges[target])))
        parts, placed = [], set()  # type: ignore[var-annotated]
        for start in reversed(order):
            part, waiting = set(), [start]
            while waiting:
                number = waiting.pop()
                if number not in placed:
                    placed.add(number)
                    part.add(number)
                    waiting += back[number]
            parts += [part] if part else []
        return parts


def _renamed(value: Plain, names: Mapping[Plain, Plain]) -> Plain:
    if isinstance(value, (tuple, frozenset)):
        return type(value)(_renamed(item, names) for item in value)
    return names[value] if isinstance(value, Member) else value
