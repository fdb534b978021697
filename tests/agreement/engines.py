"""The engines compared with each other: successor by successor, property by property, and run by run."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from unittest import mock

from checker.engines.native import engine as native
from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.engines.native.lowering import actions, arrays, loops
from checker.engines.native.lowering import outlining as outlined
from checker.engines.python import explorer
from checker.errors import BoundsError
from checker.frontend import compile_view
from checker.ir import nodes
from checker.language import Spec, State
from checker.language.roles import Role
from checker.language.types import (
    BagType,
    IntType,
    MapType,
    OptionType,
    SeqType,
    SetType,
    StructType,
    TupleType,
    Type,
    UnionType,
)
from checker.run.plan import Plan
from checker.run.result import Result

MOST_STEPS = 2_000
"""The steps from random states after which no other one is compared: a state may have hundreds."""


def random_value(kind: Type, random: random.Random) -> object:
    """Return a random value of a type; the distribution is not uniform."""
    if isinstance(kind, IntType):
        assert kind.low is not None and kind.high is not None
        near = [kind.low, kind.high, min(max(0, kind.low), kind.high)]
        return random.choice(
            [*near, random.randint(kind.low, kind.high), random.randint(kind.low, min(kind.high, kind.low + 3))]
        )
    if isinstance(kind, OptionType):
        return None if random.random() < 0.3 else random_value(kind.item, random)
    if isinstance(kind, UnionType):
        return random_value(random.choice(kind.alternatives), random)
    if isinstance(kind, TupleType):
        return kind.coerce(tuple(random_value(item, random) for item in kind.items))
    if isinstance(kind, StructType):
        return kind.declared(**{name: random_value(field, random) for name, field in kind.fields})
    if isinstance(kind, MapType):
        return kind.made(tuple(kind.value.coerce(random_value(kind.value, random)) for _ in kind.key.values()))
    if isinstance(kind, (SeqType, BagType)):
        return kind.coerce([random_value(kind.item, random) for _ in range(random.randint(0, kind.capacity))])
    if isinstance(kind, SetType):
        most = kind.item.cardinality() if kind.capacity is None else kind.capacity
        return kind.coerce({random_value(kind.item, random) for _ in range(random.randint(0, most))})
    return random.choice(list(kind.values()))


def random_state(spec: Spec, random: random.Random) -> State:
    with spec.bound():
        return State({name: random_value(kind, random) for name, kind in spec.variables.items()})


def holds(spec: Spec, name: str, state: State, old: State | None = None) -> bool | None:
    """Return whether a property is true in the interpreter; None if a value leaves its bounds."""
    try:
        return spec.holds(name, state, old)
    except BoundsError:
        return None


def has_view(spec: Spec, state: State) -> bool:
    """Return whether the view, if there is one, has a value in the interpreter."""
    try:
        for name in spec.names_of(Role.VIEW):
            spec.value_of_view(name, state)
    except BoundsError:
        return False
    return True


def compact() -> AbstractContextManager[object]:
    """While this holds, the native engine emits loops and functions: it unrolls and inlines nothing."""
    stack = ExitStack()
    for module, name in (
        (arrays, "UNROLLED"),
        (loops, "UNROLLED"),
        (loops, "MOST_UNROLLED"),
        (outlined, "SMALLEST_BODY"),
        (outlined, "SMALLEST_TOTAL"),
        (actions, "MOST_UNROLLED_NODES"),
    ):
        stack.enter_context(mock.patch.object(module, name, 0))
    return stack


def compare_state(spec: Spec, probe: SingleStateEngine, state: State) -> list[State]:
    """Assert that both engines agree on the successors and properties of a state; return the successors."""
    assert probe.state_of(probe.words_of(state)) == state, state
    steps, failures = spec.expand(state)
    found = probe.expand(state)
    expected = {step.instance: step.state for step in steps}
    texts = {
        number: f"{failure.action}{failure.arguments}: {failure.message}"
        for failure in failures
        for number in [failure.instance]
    }
    assert found.failures.keys() == texts.keys(), f"failures: {texts} against {found.failures} in {state}"
    assert found.words.keys() == expected.keys(), f"{sorted(expected)} against {sorted(found.words)} in {state}"
    packed: dict[State, list[int]] = {}
    for instance, successor in expected.items():
        words = found.words[instance]
        if successor not in packed:
            packed[successor] = probe.words_of(successor)
        # Unused bits are zero, so that equal states have equal words, and different states have other words.
        if words != packed[successor]:
            same = probe.state_of(words)
            raise AssertionError(f"{spec.arguments_of(instance, state)} in {state}: {successor}, but {same}, {words}")
    compare_properties(spec, probe, state)
    for step in steps:
        compare_step(spec, probe, state, step.state)
    return [step.state for step in steps]


def compare_properties(spec: Spec, probe: SingleStateEngine, state: State) -> None:
    constraints = [holds(spec, name, state) for name in spec.names_of(Role.CONSTRAINT)]
    fails = None in constraints or not has_view(spec, state)
    for name in spec.names_of(Role.INVARIANT, Role.REACHABLE):
        truth = holds(spec, name, state)
        found = probe.check(state, [name])
        assert found.failed == (truth is None or fails), f"{name}: {truth} in {state}"
        if not found.failed:
            reported = truth is (spec.roles[name] is Role.REACHABLE)
            assert (name in found.names) == reported, f"{name} is {truth} in {state}"
    if None not in constraints:
        assert probe.within_constraints(state) == all(constraints), f"constraints: {constraints} in {state}"


def compare_step(spec: Spec, probe: SingleStateEngine, old: State, new: State) -> None:
    for name in spec.names_of(Role.STEP_INVARIANT):
        truth = holds(spec, name, new, old)
        found = probe.check_step(old, new, [name])
        assert found.failed == (truth is None), f"{name}: {truth} from {old} to {new}"
        if truth is not None:
            assert (name in found.names) == (not truth), f"{name} is {truth} from {old} to {new}"


def compare_states(spec: Spec, probe: SingleStateEngine, seed: int, reached: int, invented: int) -> None:
    """Compare the engines on the first reachable states and on random states, reachable or not."""
    chooser = random.Random(seed)
    try:
        frontier = spec.initial_states()
    except BoundsError:
        frontier = []
    known = set(frontier)
    met = list(frontier)
    for number in range(reached):
        if number >= len(frontier):
            break
        for state in compare_state(spec, probe, frontier[number]):
            if state not in known:
                known.add(state)
                frontier.append(state)
    steps = 0
    for _ in range(invented):
        met.append(random_state(spec, chooser))
        steps += len(compare_state(spec, probe, met[-1]))
        if steps > MOST_STEPS:
            break
    compare_keys(spec, probe, [*known, *met])


def key_of(spec: Spec, view: nodes.View, state: State) -> object:
    """Return the value of a view in a state, by the interpreter; the kept variables if it leaves its bounds."""
    try:
        with spec.bound():
            assert view.function.result is not None
            return view.function.result.coerce(spec.value_of_view(view.name, state))
    except BoundsError:
        return ("failed", *(state.values[name] for name in view.kept))


def compare_keys(spec: Spec, probe: SingleStateEngine, states: Iterable[State]) -> None:
    """Assert that two states have the same key in one engine if and only if they have in the other."""
    # Only the explorers use a view. The probes of Z3 have none.
    if (view := compile_view(spec)) is None or not isinstance(probe, SingleStateEngine):
        return
    words_of, keys_of = {}, {}
    for state in states:
        key, words = key_of(spec, view, state), probe.key_of(state)
        assert words_of.setdefault(key, words) == words, f"{key} has other words in {state}"
        assert keys_of.setdefault(words, key) == key, f"{words} are also those of another key in {state}"


def outline(result: Result) -> dict[str, object]:
    """Return the parts of a result on which all engines must agree."""
    violated = {v.property: (v.kind, v.length) for v in result.violations if v.kind != "bounds_error"}
    return {
        "verdict": result.verdict,
        "ended": result.ended,
        "distinct": result.distinct_states,
        "generated": result.generated_states,
        "levels": result.levels,
        "violated": violated,
        "reached": result.reached,
        "unreached": result.unreached,
        # Which action is the first to reach a state depends on the order in which a level is expanded.
        "enabled": {action: coverage.generated for action, coverage in result.coverage.items()},
    }


def _cut(found: Result, expected: Result) -> dict[str, object]:
    """Return the parts of a result that may differ: at `max_depth` the native engine does not evaluate constraints."""
    if (found.ended, expected.ended) != ("max_depth", "complete"):
        return {}
    cut = outline(found)
    violated = {
        v.property: (v.kind, v.length) for v in expected.violations if v.kind not in ("reachable", "bounds_error")
    }
    return {"ended": cut["ended"], "verdict": cut["verdict"], "violated": violated}


def failed_properties(result: Result) -> set[tuple[str, int]]:
    return {(v.property, v.length) for v in result.violations if v.kind == "bounds_error"}


@contextmanager
def keeping(spec: Spec, states: list[State]) -> Iterator[None]:
    """While this holds, the interpreter's exploration keeps these states among those with one value of the view.

    Every one of them must be an initial state or a successor in that exploration.
    """
    view = compile_view(spec)
    if view is None:
        yield
        return
    chosen = {key_of(spec, view, state): state for state in states}
    assert len(chosen) == len(states), "two stored states have one key"
    generated: set[State] = set()
    store, key = explorer._Exploration._store, explorer._Exploration._key

    def key_generated(self: Any, state: State) -> Any:
        generated.add(state)
        return key(self, state)

    def store_chosen(self: Any, state: State, origin: Any) -> None:
        store(self, chosen.get(key_of(spec, view, state), state), origin)

    with (
        mock.patch.object(explorer._Exploration, "_store", store_chosen),
        mock.patch.object(explorer._Exploration, "_key", key_generated),
    ):
        yield
    assert generated.issuperset(states)


def compare_runs(spec: Spec, plans: Iterable[Plan]) -> None:
    """Compare complete explorations: of the interpreter, and of the native engine with the workers of each plan."""
    compiled: dict[tuple[str, ...], native.CompiledSpec] = {}
    compile_native = native.compile_native

    def compile_once(spec: Spec, names: list[str], **options: bool) -> native.CompiledSpec:
        if tuple(names) not in compiled:
            compiled[tuple(names)] = compile_native(spec, names, **options)
        return compiled[tuple(names)]

    kept: list[State] = []
    explore_compiled = native.explore_compiled

    def explore_keeping(compiled: native.CompiledSpec, *arguments: Any) -> Any:
        result, exploration = explore_compiled(compiled, *arguments)
        kept[:] = [compiled.state_of(words) for words in exploration.all_states()]
        return result, exploration

    expected: Result | None = None
    for plan in plans:
        with (
            mock.patch.object(native, "compile_native", compile_once),
            mock.patch.object(native, "explore_compiled", explore_keeping),
        ):
            found = native.explore(spec, plan)
        if expected is None:
            with keeping(spec, kept):
                expected = explorer.explore(spec, plan)
        assert outline(found) == outline(expected) | _cut(found, expected)
        if not _cut(found, expected):
            assert found.levels_within == expected.levels_within
        assert bool(failed_properties(found)) == bool(failed_properties(expected))
        assert failed_properties(found) <= failed_properties(expected) | {("init", 0)}
