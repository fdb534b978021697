"""The two stores of the native engine compared with each other on one spec."""

from __future__ import annotations

import dataclasses
import re

from checker.engines.native.engine import compile_native, explore_compiled
from checker.errors import BoundsError
from checker.language import Spec
from checker.run.plan import Plan, properties_to_search
from checker.run.result import Result


def compare_stores(spec: Spec, plan: Plan) -> bool:
    """Assert that a spec has the same result with both stores: counts, levels, verdicts, traces and coverage.

    Return whether there is something to explore.
    """
    try:
        initial = spec.initial_states()
    except BoundsError:
        return False
    if not initial:
        return False
    compiled = compile_native(spec, properties_to_search(spec, plan.properties), quick=plan.quick)
    usual, compact = (
        comparable(explore_compiled(compiled, dataclasses.replace(plan, store=store), initial, 0.0)[0])
        for store in ("usual", "compact")
    )
    assert compact == usual
    return True


def comparable(result: Result) -> Result:
    """Return a result without times, sizes and the addresses of Python objects."""
    violations = [
        dataclasses.replace(violation, explanation=re.sub(r"0x[0-9a-f]+", "", violation.explanation))
        for violation in result.violations
    ]
    liveness = tuple(dataclasses.replace(decided, seconds=0.0) for decided in result.liveness)
    # The time of compiling includes that of the kernels that decide liveness.
    return dataclasses.replace(
        result, seconds=0.0, compile_seconds=0.0, memory_bytes=0, violations=violations, liveness=liveness
    )
