"""Counterexamples for tests, found by the interpreter."""

from checker.engines.python.explorer import explore
from checker.run import registry
from checker.run.plan import Plan
from checker.testing import SpecChecks


def counterexample(name, violated):
    """Return the actions of the shortest counterexample of a scenario to a property, and its last state."""
    (selection,) = registry.select(name)
    result = SpecChecks(engine="python").check_scenario(selection.scenario, name)
    (violation,) = (found for found in result.violations if found.property == violated)
    return [step.action for step in violation.trace[1:]], violation.trace[-1].state


def violated_properties(spec, *properties, deadlock=False):
    """Return the violated ones of some properties with the lengths of their shortest counterexamples."""
    result = explore(spec, Plan(properties, frozenset(properties), deadlock=deadlock))
    return {violation.property: violation.length for violation in result.violations}
