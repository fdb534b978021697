"""Evidence from states as the interpreter has them: slow, and what the packed columns are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from checker.check.result import Coverage
from checker.evidence.finding import Finding
from checker.evidence.judge import Evidence, findings_of
from checker.evidence.tallies import Tallies, tally
from checker.language.interpreter import State
from checker.language.spec import Spec


def findings(
    spec: Spec,
    states: list[State],
    coverage: Mapping[str, Coverage],
    unreached: Iterable[str],
    changing_actions: set[str],
) -> tuple[Finding, ...]:
    """Return what a complete exploration shows to be idle; premises of properties are left to the native engine."""
    idle = [name for name, found in coverage.items() if found.generated and name not in changing_actions]
    evidence = Evidence(coverage, unreached, idle, _constant_variables(spec, states), _tallies(spec, states))
    return findings_of(spec, evidence)


def _tallies(spec: Spec, states: list[State]) -> Tallies:
    tallies: Tallies = {}
    for state in states:
        for name, kind in spec.variables.items():
            tally(tallies, name, kind, state.values[name])
    return tallies


def _constant_variables(spec: Spec, states: list[State]) -> dict[str, Any]:
    first = states[0]
    return {
        name: first.values[name]
        for name in spec.variables
        if all(state.values[name] == first.values[name] for state in states)
    }
