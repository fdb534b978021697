"""Evidence from an exploration by the interpreter: slow, and the reference for the evidence from packed states."""

from __future__ import annotations

from typing import Any

from checker.engines.python import explorer
from checker.evidence.findings import OMITTED_WITH_SYMMETRY, Evidence, findings_of
from checker.evidence.observed_values import Observations, observe
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Result


def explore(spec: Spec, plan: Plan) -> Result:
    """Explore a spec like the python engine, and add the findings of a complete exploration to the result.

    Only the native engine searches for premises of properties. With symmetry there are no findings.
    """
    explored = explorer.explore_states(spec, plan)
    result = explored.result
    if plan.symmetry:
        result.findings_omitted = OMITTED_WITH_SYMMETRY
    elif result.ended == "complete":
        unchanging = [
            name
            for name, coverage in result.coverage.items()
            if coverage.generated and name not in explored.changing_actions
        ]
        states = explored.states
        constant = _constant_variables(spec, states)
        evidence = Evidence(result.coverage, result.unreached, unchanging, constant, _observations(spec, states))
        result.findings = findings_of(spec, evidence)
    return result


def _observations(spec: Spec, states: list[State]) -> Observations:
    observations: Observations = {}
    for state in states:
        for name, kind in spec.variables.items():
            observe(observations, name, kind, state.values[name])
    return observations


def _constant_variables(spec: Spec, states: list[State]) -> dict[str, Any]:
    first = states[0]
    return {
        name: first.values[name]
        for name in spec.variables
        if all(state.values[name] == first.values[name] for state in states)
    }
