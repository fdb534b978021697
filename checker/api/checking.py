"""Checks of specs from Python: explorations that return their result, or fail with the counterexample."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from checker.api.check_result import CheckResult, deadlock_included
from checker.errors import InputError, SpecError
from checker.language.spec import Scenario, Spec
from checker.run import registry
from checker.run.expectation import (
    compare_with_expectation,
    end_text,
    properties_to_check,
    sentences_of_undecided,
    stop_for,
)
from checker.run.plan import DEADLOCK, Plan, Stop


class CheckFailed(AssertionError):  # noqa: N818 - an assertion that failed, not an error
    """A property is violated, or the verdict of a scenario is unexpected; the message has the counterexample.

    `result` is the result of the exploration.
    """

    def __init__(self, message: str, result: CheckResult | None = None):
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        # The message alone is sent to another process: the spec of a file may not be importable there.
        return CheckFailed, (str(self),)


@dataclass(frozen=True)
class SpecChecks:
    """Settings of explorations: `SpecChecks(max_states=10_000).check(Log, replicas=2)`.

    `properties` are the properties to check (None: all), `deadlock` adds the built-in property, `workers` is the number
    of threads (None: one per CPU core). `stop` is "first" (at the first violation) or "all" (never). With `symmetry`
    one state is stored for all that differ only in the names of the members of symmetric domains.
    """

    engine: Literal["native", "python"] = "native"
    workers: int | None = None
    max_states: int | None = None
    max_depth: int | None = None
    properties: tuple[str, ...] | None = None
    deadlock: bool = False
    stop: Literal["first", "all"] = "first"
    symmetry: bool = False

    def explore(self, spec: type[Spec] | Spec | str, /, **constants: Any) -> CheckResult:
        """Explore a spec with these constants and return the result, whatever the verdict is.

        `spec` is a spec class, a spec with its constants set, or a name as on the command line: a spec or scenario of
        this distribution ("replication/kip101/fast_elections"). A scenario has its own constants, fairness and
        properties.

        Raises SpecError if the spec, a constant or the name of a property is wrong, InputError for an unknown name.
        """
        given, usual, name = _configuration(spec, constants)
        properties = usual if self.properties is None else self.properties
        unknown = [each for each in properties if each not in (*given.properties, DEADLOCK)]
        if unknown:
            raise SpecError(f"{given.name} has no property {unknown[0]}; its properties: {', '.join(given.properties)}")
        checked = deadlock_included(tuple(properties), deadlock=self.deadlock)
        return self._explore(given, checked, self.stop, name, symmetry=self.symmetry)

    def check(self, spec: type[Spec] | Spec | str, /, **constants: Any) -> CheckResult:
        """Explore a spec as `explore` does and return the result if every property holds.

        Raises CheckFailed if a property is violated, a value leaves the bounds of its type or a limit is reached.
        """
        __tracebackhide__ = True
        result = self.explore(spec, **constants)
        if not result.holds:
            is_cut = result.result.ended not in ("complete", "violation")
            sentences = [f"{result.name} was not explored completely: {end_text(result.result)}"] if is_cut else []
            sentences += sentences_of_undecided(result.result)
            raise CheckFailed(_failure_text(sentences, result), result)
        return result

    def check_scenario(self, scenario: Scenario, name: str = "") -> CheckResult:
        """Explore a scenario and return the result; raise CheckFailed if it differs from the expected result."""
        __tracebackhide__ = True
        shown = name or f"{scenario.spec.name}/{scenario.name}"
        properties, stop = properties_to_check(scenario), stop_for(scenario.expect)
        symmetry = self.symmetry or scenario.symmetry
        result = self._explore(scenario.configured_spec(), properties, stop, shown, symmetry=symmetry)
        comparison = compare_with_expectation(result.result, scenario.expect)
        if not comparison.matches:
            raise CheckFailed(_failure_text(list(comparison.sentences), result), result)
        return result

    def _explore(
        self, spec: Spec, properties: tuple[str, ...], stop: Stop, name: str, *, symmetry: bool
    ) -> CheckResult:
        plan = Plan(
            properties=tuple(each for each in properties if each != DEADLOCK),
            stop=stop,
            workers=self.workers or os.cpu_count() or 1,
            max_states=self.max_states,
            max_depth=self.max_depth,
            deadlock=DEADLOCK in properties,
            symmetry=symmetry,
        )
        if self.engine == "python":
            from checker.engines.python.explorer import explore
        else:
            from checker.engines.native.engine import explore
        return CheckResult(spec, explore(spec, plan), properties, name)


def check(spec: type[Spec] | Spec | str, /, **constants: Any) -> CheckResult:
    """Explore a spec and return the result, or raise CheckFailed with the counterexample; see `SpecChecks.check`."""
    __tracebackhide__ = True
    return SpecChecks().check(spec, **constants)


def explore(spec: type[Spec] | Spec | str, /, **constants: Any) -> CheckResult:
    """Explore a spec and return the result, whatever the verdict is; see `SpecChecks.explore`."""
    return SpecChecks().explore(spec, **constants)


def _configuration(spec: type[Spec] | Spec | str, constants: dict[str, Any]) -> tuple[Spec, tuple[str, ...], str]:
    """Return a spec with its constants set, the properties to check, and its name."""
    if isinstance(spec, str):
        return _spec_by_name(spec, constants)
    if isinstance(spec, Spec):
        given = spec if not constants else type(spec)(**(spec.constants | constants))
        given.fairness = dict(spec.fairness)
    elif isinstance(spec, type) and issubclass(spec, Spec):
        given = spec(**constants)
    else:
        raise InputError(f"{spec!r} is not a spec: give a spec class, a spec, or a name such as 'replication/kip101'")
    return given, tuple(given.properties), given.name


def _spec_by_name(name: str, constants: dict[str, Any]) -> tuple[Spec, tuple[str, ...], str]:
    selections = registry.select(name)
    if len(selections) != 1:
        known = ", ".join(selection.entry.target for selection in selections)
        raise InputError(f"{name} is several specs: choose one of {known}")
    entry, scenario = selections[0].entry, selections[0].scenario
    if scenario is None:
        given = entry.spec(**constants)
        return given, tuple(given.properties), entry.name
    given = entry.spec(**(dict(scenario.constants) | constants)).with_fairness(scenario.fair)
    return given, properties_to_check(scenario), f"{entry.name}/{scenario.name}"


def _failure_text(sentences: list[str], result: CheckResult) -> str:
    from checker.output import styled_lines
    from checker.output.counterexample_text import counterexample_lines

    violations = result.result.violations
    shown = [styled_lines.plain(counterexample_lines(result.spec, result.name, violation)) for violation in violations]
    return "\n".join([*sentences, *shown]).rstrip()
