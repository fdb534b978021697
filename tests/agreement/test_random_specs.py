"""The native engine agrees with the interpreter on random specs over the whole language.

`TIDEMARK_PROFILE=thorough` tries many more specs than the default profile, and other ones each time.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checker.engines.native import engine as native
from checker.engines.native.kernels.single_state import SingleStateEngine
from checker.engines.native.shared_code import compile_shared_code
from checker.language import Spec
from checker.run.plan import Plan
from tests.agreement.engines import compact, compare_runs, compare_states
from tests.agreement.spec_source import spec_source
from tests.support.source_modules import load

_THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"
_PROFILE = settings(
    max_examples=3000 if _THOROUGH else 8,
    derandomize=not _THOROUGH,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
_SLOW_PROFILE = settings(_PROFILE, max_examples=60)


@st.composite
def sources(draw: st.DrawFn) -> str:
    return spec_source(lambda count: draw(st.integers(0, count - 1)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("specs")


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


@settings(_PROFILE, max_examples=1000 if _THOROUGH else 6)
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
