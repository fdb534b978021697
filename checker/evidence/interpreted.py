"""Evidence from states as the interpreter has them: slow, and what the packed columns are compared with."""

from __future__ import annotations

from typing import Any

from checker.engines.python import explorer
from checker.evidence.judge import Evidence, findings_of
from checker.evidence.tallies import Tallies, tally
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.run.plan import Plan
from checker.run.result import Result


def explore(spec: Spec, plan: Plan) -> Result:
    """Explore a spec as the python engine does, and add the findings of a complete exploration to the result.

    Premises of properties are left to the native engine.
    """
    explored = explorer.explore_states(spec, plan)
    result = explored.result
    if result.ended == "complete":
        idle = [
            name
            for name, coverage in result.coverage.items()
            if coverage.generated and name not in explored.changing_actions
        ]
        states = explored.states
        constant = _constant_variables(spec, states)
        evidence = Evidence(result.coverage, result.unreached, idle, constant, _tallies(spec, states))
        result.findings = findings_of(spec, evidence)
    return result


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
