"""Runs of scenarios for computed pages."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from checker.engines.native import engine
from checker.errors import SpecError
from checker.language import Scenario
from checker.output.formats import Counterexample
from checker.printable import quantity
from checker.run import registry
from checker.run.account import account_of
from checker.run.expectation import compare_with_expectation, properties_to_check, stop_for
from checker.run.plan import DEADLOCK, Plan
from checker.run.result import Result, TraceStep, Violation
from traces.trace_file import origin_of


@dataclass(frozen=True)
class ScenarioRun:
    """A scenario with the result of its exploration."""

    target: str
    scenario: Scenario
    result: Result

    @property
    def verdict(self) -> str:
        """The result as text: the violated properties, or the number of states in which all properties hold."""
        if not self.result.violations:
            return f"holds in all {quantity(self.result.distinct_states, 'reachable state')}"
        sentences = (f"`{violation.property}` after {violation.length} states" for violation in self.result.violations)
        return f"violates {' and '.join(sentences)}"

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """The shortest counterexample to the first violated property, or nothing."""
        return self.result.violations[0].trace if self.result.violations else ()


def run_scenario(target: str) -> ScenarioRun:
    """Explore a scenario such as `replication/beliefs/followers_fetch`.

    Raises:
        SpecError: no scenario has this name, or the result is not the expected one.
    """
    family, spec, name = target.split("/")
    for entry in registry.load_family(family).entries:
        for scenario in entry.scenarios:
            if (entry.name, scenario.name) == (f"{family}/{spec}", name):
                return _run(target, scenario)
    raise SpecError(f"{target} is not a scenario: a computed page needs it")


def counterexample_of(run: ScenarioRun, violation: Violation) -> Counterexample:
    """Return a violation of a run as the counterexample that a page shows."""
    spec = run.scenario.configured_spec()
    entry = registry.select_spec(run.target.rpartition("/")[0])
    command = shlex.join(["python", "-m", "checker", "run", run.target, "--property", violation.property])
    origin = origin_of(spec, entry.name, run.scenario.name, entry.target, command)
    return Counterexample(spec, violation, origin, run.scenario.description, scenario=run.scenario)


def _run(target: str, scenario: Scenario) -> ScenarioRun:
    names = properties_to_check(scenario)
    plan = Plan(names, stop=stop_for(scenario.expect), deadlock=DEADLOCK in names, quick=True)
    spec = scenario.configured_spec()
    result = engine.explore(spec, plan)
    account_of(spec, names, result)
    compared = compare_with_expectation(result, scenario.expect)
    if not compared.matches:
        raise SpecError(f"{target}: {'; '.join(compared.sentences)}")
    return ScenarioRun(target, scenario, result)
