"""The native engine agrees with the interpreter on random specs over the whole language."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.engines.native import engine as native
from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.engines.native.shared_code import compile_shared_code
from checker.language import Spec
from checker.run.plan import Plan
from tests.agreement.engines import compact, compare_runs, compare_states
from tests.support.random_specs import profile, sources
from tests.support.source_modules import load

_PROFILE = profile(8, thorough=3000)
_SLOW_PROFILE = profile(60, thorough=3000)


def compare_on_states(folder: Path, source: str, seed: int, is_compact: bool, with_lanes: bool) -> None:
    spec = load(source, folder).Random()
    with compact() if is_compact else nullcontext():
        probe = SingleStateEngine(spec, with_lanes=with_lanes)
    compare_states(spec, probe, seed, reached=20, invented=10)


_STATES = {
    "source": sources(),
    "seed": st.integers(0, 999),
    "is_compact": st.booleans(),
    "with_lanes": st.booleans(),
}


@_PROFILE
@given(**_STATES)
def test_engines_agree_on_states(folder: Path, source: str, seed: int, is_compact: bool, with_lanes: bool) -> None:
    compare_on_states(folder, source, seed, is_compact, with_lanes)


@pytest.mark.slow
@_SLOW_PROFILE
@given(**_STATES)
def test_engines_agree_on_more_states(folder: Path, source: str, seed: int, is_compact: bool, with_lanes: bool) -> None:
    compare_on_states(folder, source, seed, is_compact, with_lanes)


def compare_explorations(folder: Path, source: str, depth: int) -> None:
    spec = load(source, folder).Random()
    names = tuple(spec.properties)
    compare_runs(spec, [Plan(names, "all", workers, max_depth=depth, deadlock=True) for workers in (1, 2)])


@_PROFILE
@given(source=sources(), depth=st.integers(1, 3))
def test_engines_agree_on_explorations(folder: Path, source: str, depth: int) -> None:
    compare_explorations(folder, source, depth)


@pytest.mark.slow
@_SLOW_PROFILE
@given(source=sources(), depth=st.integers(1, 3))
def test_engines_agree_on_more_explorations(folder: Path, source: str, depth: int) -> None:
    compare_explorations(folder, source, depth)


CONSTANTS = ({}, {"flag": False}, {"mode_name": "y"}, {"flag": False, "mode_name": "y", "limit": 1}, {"limit": 7})


@profile(6, thorough=1000)
@given(source=sources(), depth=st.integers(1, 3), is_compact=st.booleans(), quick=st.booleans())
def test_shared_code_agrees_for_every_value_of_a_constant(
    folder: Path, source: str, depth: int, is_compact: bool, quick: bool
) -> None:
    random = load(source, folder).Random
    with compact() if is_compact else nullcontext():
        code = compile_shared_code(random(), list(random().properties), quick=quick)
    assert {"flag", "mode_name"} <= set(code.lowered.runtime)

    def loaded(spec: Spec, names: list[str], **options: bool) -> native.CompiledSpec:
        return code.loaded(spec)

    for spec in (random(**constants) for constants in CONSTANTS):
        if code.serves(spec):
            with mock.patch.object(native, "compile_native", loaded):
                compare_runs(spec, [Plan(tuple(spec.properties), "all", max_depth=depth, deadlock=True)])
