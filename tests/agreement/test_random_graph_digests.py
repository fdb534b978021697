"""The native digest of a graph is that of the interpreter, on random specs over the whole language."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from hypothesis import assume, given

from checker.engines.native.graph_digest import graph_digest
from checker.engines.native.lowering.state_layout import encode, layout_of, state_layout
from checker.engines.python import graph_digest as reference
from checker.language.types import Type
from tests.support.random_specs import profile, sources
from tests.support.source_modules import load

_MOST_STATES = 300


def packed(kind: Type, argument: object) -> Sequence[int]:
    layout = layout_of(kind)
    words = [0] * layout.storage
    encode(layout, argument, words)
    return words


@profile(4, thorough=300)
@given(source=sources())
def test_engines_agree_on_digests(folder: Path, source: str) -> None:
    spec = load(source, folder).Random()
    found = graph_digest(spec, max_states=_MOST_STATES, cancelled=threading.Event())
    assume(found is not None)
    layout = state_layout(spec.variables)
    assert found == reference.graph_digest(spec, lambda state: layout.encode(state.values), packed)
