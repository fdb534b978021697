"""Comparison of results with the expected verdicts of scenarios."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from checker.language.roles import PROPERTY_ROLES
from checker.language.spec import Expectation, Scenario, Spec
from checker.printable import quantity
from checker.run.plan import DEADLOCK, Stop
from checker.run.result import Result, Violation


@dataclass(frozen=True)
class ExpectationComparison:
    """The comparison of a result with an expectation.

    `differences` are sentences about unexpected findings, `missing` about expected violations that were not found.
    If a run was stopped early and only misses something, the comparison `is_open`.
    """

    differences: tuple[str, ...]
    missing: tuple[str, ...] = ()
    stopped_early: bool = False

    @property
    def matches(self) -> bool:
        """Whether the result is as expected."""
        return not self.differences and not self.missing

    @property
    def is_open(self) -> bool:
        """Whether the run was stopped before it decided whether the result is as expected."""
        return self.stopped_early and not self.differences and bool(self.missing)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The differences, then the missing violations."""
        return self.differences + self.missing


def property_names(spec: type[Spec]) -> list[str]:
    """Return the names of a spec's properties, those of behaviours included."""
    return [name for name, role in spec.roles.items() if role in PROPERTY_ROLES]


def expectation_for(scenario: Scenario, properties: tuple[str, ...]) -> Expectation:
    """Return the expectation of a scenario when only some of its properties are checked."""
    if isinstance(scenario.expect, str):
        return scenario.expect
    return {name: length for name, length in scenario.expect.items() if name in properties} or "holds"


def properties_to_check(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of the properties that a scenario checks, with `deadlock` if it checks or expects it."""
    names = list(property_names(scenario.spec) if scenario.properties is None else scenario.properties)
    expects_deadlock = isinstance(scenario.expect, Mapping) and DEADLOCK in scenario.expect
    if (scenario.deadlock or expects_deadlock) and DEADLOCK not in names:
        names.append(DEADLOCK)
    return tuple(names)


def stop_for(expected: Expectation) -> Stop:
    """Return when a run that is compared with `expected` may stop."""
    return "first" if isinstance(expected, str) else frozenset(expected)


def compare_with_expectation(result: Result, expected: Expectation) -> ExpectationComparison:
    """Compare a result with an expected verdict."""
    if isinstance(expected, Mapping):
        differences, missing = _compare_violations(result, expected)
    elif result.verdict == expected:
        differences, missing = [], []
    else:
        wanted = "every property to hold" if expected == "holds" else "an error"
        differences = [f"expected {wanted}, but {_violation_text(violation)}" for violation in result.violations]
        missing = [] if differences else [f"expected {wanted}, but {_end_found(result)}"]
    return ExpectationComparison(tuple(differences), tuple(missing), stopped_early=is_stopped_early(result))


def is_stopped_early(result: Result) -> bool:
    """Return whether a run ended before it decided every property, without having found the violations to look for."""
    return result.ended not in ("complete", "violation") or bool(result.undecided)


def sentences_of_undecided(result: Result) -> list[str]:
    """Return a sentence for each property that a run could not decide."""
    return [f"{name} is undecided: {reason}" for name, reason in result.undecided.items()]


def unexpected_violations(result: Result, expected: Expectation | None) -> list[Violation]:
    """Return the violations that differ from the expectation; all violations if `expected` is None."""
    if isinstance(expected, Mapping):
        return [*_of_another_length(result, expected), *_others(result, expected)]
    return [] if result.verdict == expected else list(result.violations)


def _of_another_length(result: Result, expected: Mapping[str, int | None]) -> list[Violation]:
    return [
        violation
        for violation in result.violations
        if violation.kind != "bounds_error"
        and violation.property in expected
        and expected[violation.property] not in (None, violation.length)
    ]


def _end_found(result: Result) -> str:
    if result.verdict == "holds":
        return "every property holds"
    return "; ".join([f"the run was stopped: {end_text(result)}", *sentences_of_undecided(result)])


def _violation_text(violation: Violation) -> str:
    if violation.kind == "bounds_error":
        return violation.explanation
    if violation.kind == "reachable":
        return f"{violation.property} is never reached"
    return f"{violation.property} is violated ({states_text(violation)})"


def states_text(violation: Violation) -> str:
    """Return the number of states of a counterexample: `9 states`, for a lasso `9 states, then a loop`."""
    states = quantity(violation.length, "state")
    return states if violation.loop_start is None else f"{states}, then a loop"


def end_text(result: Result) -> str:
    """Return the reason for the end of a run as text."""
    return {
        "complete": f"{', '.join(result.undecided)} undecided" if result.undecided else "complete",
        "violation": "stopped at the violation",
        "max_states": "the limit on states was reached",
        "max_depth": "the limit on depth was reached",
        "max_memory": "the memory does not suffice for more states",
        "max_disk": "the disk has no space for more states",
        "interrupted": "interrupted",
    }[result.ended]


def _compare_violations(result: Result, expected: Mapping[str, int | None]) -> tuple[list[str], list[str]]:
    """Return sentences about the differences from the expected violations, and about the missing ones."""
    violations = {violation.property: violation for violation in result.violations if violation.kind != "bounds_error"}
    ending = "" if result.ended == "complete" else f" ({end_text(result)})"
    missing = [f"expected {name} to be violated, but it is not{ending}" for name in expected if name not in violations]
    differences = [
        f"expected a counterexample to {name} of {quantity(length, 'state')}, but it has {violations[name].length}"
        for name, length in expected.items()
        if name in violations and length not in (None, violations[name].length)
    ]
    differences += [f"{_violation_text(violation)}, which is not expected" for violation in _others(result, expected)]
    return differences, missing


def _others(result: Result, expected: Mapping[str, int | None]) -> list[Violation]:
    """Return the unexpected violations that were found before the last expected one.

    A run with --keep-going continues after that. The scenario has no expectation for the violations found then.
    """
    needed = [violation.length for violation in result.violations if violation.property in expected]
    is_over = len(needed) == len(expected) and 0 not in needed
    return [
        violation
        for violation in result.violations
        if violation.property not in expected
        and (violation.kind == "bounds_error" or not is_over or 0 < violation.length <= max(needed))
    ]
