"""Specs in tests.

- `check(Spec, replicas=2)` explores a spec and fails with the counterexample; `SpecChecks` adds limits and properties.
- `play(spec, "write", "fetch b2")` takes steps and returns the last state; `is_enabled` returns whether a step is
  enabled, and `state_with` returns the initial state with other values for some variables.
- `conform(spec, adapter)` compares an implementation with a spec in every pair of their states.
- `state_machine(spec, adapter)` returns a Hypothesis state machine that compares an implementation with a spec.
- `refine(concrete, abstract, related)` checks that a detailed spec does only what a simpler spec allows.
"""

from checker.api import CheckFailed, SpecChecks, check
from checker.testing.adapter import Adapter
from checker.testing.conformance import ConformanceResult, conform
from checker.testing.machine import state_machine
from checker.testing.refinement import RefinementResult, refine
from checker.testing.schedules import is_enabled, play, state_with

__all__ = [
    "Adapter",
    "CheckFailed",
    "ConformanceResult",
    "RefinementResult",
    "SpecChecks",
    "check",
    "conform",
    "is_enabled",
    "play",
    "refine",
    "state_machine",
    "state_with",
]
