"""Symmetry on random specs: the analysis, the representatives, and explorations with and without symmetry."""

from __future__ import annotations

import ctypes
import itertools
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import Phase, assume, given
from hypothesis import strategies as st

from checker.engines.native import engine as native
from checker.engines.native.explore.kernels import REPRESENTATIVE
from checker.engines.native.llvm import ir
from checker.engines.native.llvm.machine_code import MachineCode
from checker.engines.native.lowering.permuted_states import PermutedStates
from checker.engines.native.lowering.state_layout import StateLayout, state_layout
from checker.engines.python import explorer
from checker.errors import BoundsError, SpecError
from checker.frontend import compile_spec
from checker.frontend.symmetry import symmetry_of
from checker.language import Spec, State
from checker.language.permutations import Permutation, all_permutations, domains_in, permute, permute_state
from checker.language.roles import Role
from checker.language.types import DomainType
from checker.run.plan import Plan
from checker.run.result import Result
from checker.run.symmetry import symmetry_of_run
from tests.agreement.engines import holds, random_state
from tests.agreement.spec_source import spec_source
from tests.support import random_specs
from tests.support.source_modules import load
from traces.replay import replay

# A failing spec is found again by its seed; to shrink it takes minutes.
profile = partial(random_specs.profile, phases=[Phase.generate])


@st.composite
def sources(draw: st.DrawFn) -> str:
    below: Callable[[int], int] = lambda count: draw(st.integers(0, count - 1))  # noqa: E731
    return spec_source(below, names_members=below(8) == 0)


def stored_state(spec: Spec, chance: random.Random) -> State:
    """Return a random state with the values that a store would give it."""
    found = random_state(spec, chance)
    return spec.state_of(found.values)


# The analysis.


def steps_of(spec: Spec, state: State, by: Permutation) -> tuple[Counter[Any], Counter[Any]]:
    """Return the steps and the failures of a state, with the members in them replaced."""
    kinds = {shape.name: [parameter.type for parameter in shape.parameters] for shape in spec.shapes()}

    def call(found: Any) -> tuple[str, tuple[Any, ...]]:
        pairs = zip(kinds[found.action], found.arguments, strict=True)
        return found.action, tuple(permute(kind, argument, by) for kind, argument in pairs)

    steps, failures = spec.expand(state)
    reached = Counter((call(step), permute_state(spec.variables, step.state, by)) for step in steps)
    return reached, Counter(map(call, failures))


@profile(10, thorough=3000)
@given(source=sources(), seed=st.integers(0, 999))
def test_renaming_the_members_of_a_symmetric_domain_changes_nothing(folder: Path, source: str, seed: int) -> None:
    spec, chance = load(source, folder).Random(), random.Random(seed)
    try:
        symmetry = symmetry_of(compile_spec(spec))
    except SpecError:
        # The generator writes `a > b in c` now and then, which is outside the language.
        assume(False)
    assume(symmetry.domains)
    checked = [*spec.safety_properties, *spec.names_of(Role.CONSTRAINT)]
    for _ in range(4):
        state, old = stored_state(spec, chance), stored_state(spec, chance)
        by = chance.choice(list(all_permutations(symmetry.domains)))
        state_2, old_2 = (permute_state(spec.variables, found, by) for found in (state, old))
        expected, found = steps_of(spec, state, by), steps_of(spec, state_2, {})
        # Whether an `any` fails may depend on the order: then all its items are evaluated.
        if not (symmetry.unordered_folds and (expected[1] or found[1])):
            assert found == expected
        for name in checked:
            is_step = spec.roles[name] is Role.STEP_INVARIANT
            one = holds(spec, name, state, old if is_step else None)
            other = holds(spec, name, state_2, old_2 if is_step else None)
            assert one == other or (symmetry.unordered_folds and None in (one, other)), name


# Representatives.


def representative_function(layout: StateLayout, domains: list[DomainType]) -> Callable[[State], tuple[int, ...]]:
    module = ir.Module()
    PermutedStates(layout, domains).define(module)
    code = MachineCode(str(module), quick=True)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address_of(REPRESENTATIVE))

    def represent(state: State) -> tuple[int, ...]:
        assert code is not None
        words = np.array(layout.encode(state.values), dtype=np.uint64)
        function(words.ctypes.data)
        return tuple(map(int, words))

    return represent


@profile(15, thorough=3000)
@given(source=sources(), seed=st.integers(0, 999))
def test_all_states_of_an_orbit_have_one_representative_which_is_one_of_them(
    folder: Path, source: str, seed: int
) -> None:
    spec, chance = load(source, folder).Random(), random.Random(seed)
    domains = list(dict.fromkeys(domain for kind in spec.variables.values() for domain in domains_in(kind)))
    assume(domains)
    layout = state_layout(spec.variables)
    represent = representative_function(layout, domains)
    for _ in range(5):
        state = stored_state(spec, chance)
        images = [permute_state(spec.variables, state, by) for by in all_permutations(domains)]
        assert {represent(image) for image in images} == {represent(state)}
        assert represent(state) in {tuple(layout.encode(image.values)) for image in images}


# Explorations.


def outline(result: Result) -> tuple[object, ...]:
    """Return what symmetry must not change, and the order of levels may not either."""
    if result.verdict == "error":
        # Which other violations a run with an error finds depends on the engine.
        return result.verdict, min(found.length for found in result.violations if found.kind == "bounds_error")
    lengths = {violation.property: (violation.kind, violation.length) for violation in result.violations}
    return result.verdict, lengths, result.reached, result.unreached


def orbits(spec: Spec, domains: tuple[DomainType, ...], states: list[State]) -> int:
    """Return the number of orbits of states, by brute force."""
    found: set[State] = set()
    count = 0
    for state in states:
        if state not in found:
            count += 1
            found.update(permute_state(spec.variables, state, by) for by in all_permutations(domains))
    return count


@profile(5, thorough=2000)
@given(source=sources(), depth=st.integers(2, 3))
def test_explorations_with_symmetry_find_the_same_and_store_one_state_of_each_orbit(
    folder: Path, source: str, depth: int
) -> None:
    spec = load(source, folder).Random()
    names = tuple(spec.properties)
    plan = Plan(names, "all", max_depth=depth, deadlock=True)
    try:
        symmetry = symmetry_of_run(spec, compile_spec(spec, list(names)), native.initial_states(spec))
    except (BoundsError, SpecError):
        # `init` fails or has no state, or no domain is symmetric.
        assume(False)
    reduced = native.explore(spec, Plan(names, "all", max_depth=depth, deadlock=True, symmetry=True))
    whole = explorer.explore_states(spec, plan)
    assert outline(reduced) == outline(whole.result)
    for violation in reduced.violations:
        if violation.kind in ("invariant", "step_invariant", "deadlock"):
            replay(spec, violation)
    if whole.result.verdict == "error":
        return
    ends = list(itertools.accumulate(whole.result.levels))
    counts = [orbits(spec, symmetry.domains, whole.states[:end]) for end in ends]
    assert list(itertools.accumulate(reduced.levels)) == counts
    again = explorer.explore(spec, Plan(names, "all", max_depth=depth, deadlock=True, symmetry=True))
    assert outline(again) == outline(reduced)
    assert again.levels == reduced.levels and again.generated_states == reduced.generated_states
