"""Every engine and a plain search of the tests agree on random specs with up to some thousands of states.

`python -m tests.agreement.test_larger_specs FIRST COUNT` compares more of them, and prints the seeds that differ.
"""

from __future__ import annotations

import random
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from checker.engines.native import engine as native
from checker.engines.python import explorer
from checker.engines.smt.bounded import search
from checker.engines.smt.solving import QueryLimits
from checker.engines.smt.transition_system import TransitionSystem
from checker.errors import SpecError
from checker.language import Spec
from checker.run.plan import Plan
from checker.run.result import Result
from tests.agreement.larger_specs import larger_source
from tests.agreement.plain_search import LIVE, Search
from tests.support.source_modules import load

FEWEST_STATES, MOST_STATES = 40, 5_000
SAMPLE = (1, 5, 10, 3)
SMT_DEPTH = 3
ENGINES: tuple[dict[str, object], ...] = ({}, {"workers": 2}, {"store": "compact"}, {"symmetry": True})


def source_of(seed: int) -> str:
    return larger_source(random.Random(seed).randrange)


def expected_of(plain: Search, *, is_symmetric: bool) -> dict[str, Any]:
    """Return what an engine must find."""
    unreached = {name: 0 for name in plain.named("reachable") if name not in plain.reached}
    lassos = {} if is_symmetric else {name: plain.lasso(name) for name in plain.named(*LIVE)}
    return {
        "levels": plain.orbits() if is_symmetric else plain.levels,
        "violated": plain.violated | unreached | {name: length for name, length in lassos.items() if length},
        "reached": plain.reached,
        "generated": None if is_symmetric else dict(plain.generated),
    }


def outline(result: Result, *, is_symmetric: bool) -> dict[str, Any]:
    return {
        "levels": list(result.levels),
        "violated": {violation.property: violation.length for violation in result.violations},
        "reached": set(result.reached),
        "generated": None if is_symmetric else {name: seen.generated for name, seen in result.coverage.items()},
    }


def compare(seed: int, folder: Path) -> str:
    """Assert that the engines agree on a spec; return what it is: too small, too large, with a fault, or compared."""
    source = source_of(seed)
    plain = Search(source, MOST_STATES)
    if not FEWEST_STATES <= len(plain.states) <= MOST_STATES:
        return "another size"
    spec = load(source, folder).Random()
    kind = "whole"
    for options in ENGINES:
        is_symmetric = "symmetry" in options
        live = plain.named(*LIVE) if is_symmetric else []
        names = tuple(name for name in spec.properties if name not in live)
        try:
            result = native.explore(spec, Plan(names, "all", deadlock=True, quick=True, **options))  # type: ignore[arg-type]
        except SpecError as error:
            if is_symmetric and "not symmetric" in str(error):
                continue
            raise
        kind = "symmetric" if is_symmetric else kind
        check(plain, result, is_symmetric=is_symmetric)
    check(plain, explorer.explore(spec, Plan(tuple(spec.properties), "all", deadlock=True)), is_symmetric=False)
    if seed % 5 == 0:
        check_bounded(plain, spec)
    return "fault" if plain.faults else kind


def check(plain: Search, result: Result, *, is_symmetric: bool) -> None:
    if plain.faults:
        lengths = {violation.length for violation in result.violations if violation.kind == "bounds_error"}
        assert result.verdict == "error" and min(lengths) == plain.faults[0]
        return
    found = outline(result, is_symmetric=is_symmetric)
    expected = expected_of(plain, is_symmetric=is_symmetric)
    if plain.outside:
        # States outside a constraint leave liveness undecided, except where a lasso avoids them.
        for one in (found, expected):
            one["violated"] = {
                name: one["violated"][name] for name in one["violated"] if name not in plain.named(*LIVE)
            }
    assert found == expected


def check_bounded(plain: Search, spec: Spec) -> None:
    """Check the violations by traces of a few states that Z3 finds; of lassos it covers only those that are short."""
    names, live = plain.named("invariant", "step_invariant"), plain.named(*LIVE)
    answer = search(TransitionSystem(spec, names), names + live, SMT_DEPTH, QueryLimits(), stop="all")
    assert not answer.unknown
    lengths = {violation.property: violation.length for violation in answer.violations}
    faults = [violation.length for violation in answer.violations if violation.kind == "bounds_error"]
    if plain.faults:
        # A fault ends the search.
        assert faults[:1] == [length for length in plain.faults[:1] if length <= SMT_DEPTH]
        return
    shortest = {name: length for name, length in plain.violated.items() if name in names and length <= SMT_DEPTH}
    assert not faults and {name: length for name, length in lengths.items() if name in names} == shortest
    for name in set(lengths) & set(live):
        # A longer trace may have a shorter stem.
        assert plain.outside or 1 <= (plain.lasso(name) or 0) <= lengths[name], name


def test_the_engines_and_a_plain_search_agree(tmp_path: Path) -> None:
    kinds = Counter(compare(seed, tmp_path) for seed in SAMPLE)
    assert kinds == Counter(symmetric=2, whole=1, fault=1)


@pytest.mark.slow
def test_the_engines_and_a_plain_search_agree_on_more_specs(tmp_path: Path) -> None:
    kinds = Counter(compare(seed, tmp_path) for seed in range(40))
    assert kinds["symmetric"] + kinds["whole"] > 10


def main(first: int, count: int) -> None:
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            try:
                seen[compare(seed, Path(folder))] += 1
            except Exception:
                seen["different"] += 1
                print(f"seed {seed}\n{traceback.format_exc()}", flush=True)
            if seed % 50 == 49:
                print(seed, dict(seen), flush=True)
    print(dict(seen))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
