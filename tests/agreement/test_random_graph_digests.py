"""The native digest of a graph is that of the interpreter, on random specs over the whole language."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from checker.engines.native.graph_digest import graph_digest
from checker.engines.native.lowering.state_layout import encode, layout_of, state_layout
from checker.engines.python import graph_digest as reference
from checker.language.types import Type
from tests.agreement.spec_source import spec_source
from tests.support.source_modules import load

_THOROUGH = os.environ.get("TIDEMARK_PROFILE") == "thorough"

_MOST_STATES = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("specs")


@st.composite
def sources(draw: st.DrawFn) -> str:
    return spec_source(lambda count: draw(st.integers(0, count - 1)))


def packed(kind: Type, argument: object) -> Sequence[int]:
    layout = layout_of(kind)
    words = [0] * layout.storage
    encode(layout, argument, words)
    return words


@settings(
    max_examples=300 if _THOROUGH else 4,
    derandomize=not _THOROUGH,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(source=sources())
def test_engines_agree_on_digests(folder: Path, source: str) -> None:
    spec = load(source, folder).Random()
    found = graph_digest(spec, max_states=_MOST_STATES, cancelled=threading.Event())
    assume(found is not None)
    layout = state_layout(spec.variables)
    assert found == reference.graph_digest(spec, lambda state: layout.encode(state.values), packed)
