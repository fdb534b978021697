"""Checks of specs in tests: explorations that fail with the counterexample."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from checker.errors import SpecError
from checker.language.spec import Scenario, Spec
from checker.run.expectation import (
    checked_properties,
    compare_with_expectation,
    end_text,
    stop_for,
    undecided_sentences,
)
from checker.run.plan import DEADLOCK, Plan, Stop
from checker.run.result import Result


class CheckFailed(AssertionError):  # noqa: N818 - an assertion that failed, not an error
    """A property is violated, or the verdict of a scenario is unexpected; the message has the counterexample."""


@dataclass(frozen=True)
class SpecChecks:
    """Settings of explorations in tests: `SpecChecks(max_states=10_000).check(Log, replicas=2)`.

    `properties` are the properties to check (None: all), `deadlock` adds the built-in property, `workers` is the number
    of threads (None: one per CPU core).
    """

    engine: Literal["native", "python"] = "native"
    workers: int | None = None
    max_states: int | None = None
    max_depth: int | None = None
    properties: tuple[str, ...] | None = None
    deadlock: bool = False

    def check(self, spec: type[Spec] | Spec, /, **constants: int | bool | str) -> Result:
        """Explore a spec with these constants and return the result.

        Raises CheckFailed if a property is violated, a value leaves the bounds of its type or a limit is reached;
        SpecError if the spec, a constant or the name of a property is wrong.
        """
        __tracebackhide__ = True
        given = _with_constants(spec, constants)
        properties = given.properties if self.properties is None else list(self.properties)
        unknown = [name for name in properties if name not in (*given.properties, DEADLOCK)]
        if unknown:
            raise SpecError(f"{given.name} has no property {unknown[0]}; its properties: {', '.join(given.properties)}")
        if self.deadlock:
            properties.append(DEADLOCK)
        result = self._explore(given, tuple(properties), "first")
        if result.verdict != "holds":
            is_cut = result.ended not in ("complete", "violation")
            sentences = [f"{given.name} was not explored completely: {end_text(result)}"] if is_cut else []
            sentences += undecided_sentences(result)
            raise CheckFailed(_failure_text(given, given.name, sentences, result))
        return result

    def check_scenario(self, scenario: Scenario, name: str = "") -> Result:
        """Explore a scenario and return the result; raise CheckFailed if it differs from the expected result."""
        __tracebackhide__ = True
        spec = scenario.configured_spec()
        result = self._explore(spec, checked_properties(scenario), stop_for(scenario.expect))
        comparison = compare_with_expectation(result, scenario.expect)
        if not comparison.matches:
            shown = name or f"{scenario.spec.name}/{scenario.name}"
            raise CheckFailed(_failure_text(spec, shown, list(comparison.sentences), result))
        return result

    def _explore(self, spec: Spec, properties: tuple[str, ...], stop: Stop) -> Result:
        plan = Plan(
            properties=tuple(name for name in properties if name != DEADLOCK),
            stop=stop,
            workers=self.workers or os.cpu_count() or 1,
            max_states=self.max_states,
            max_depth=self.max_depth,
            deadlock=DEADLOCK in properties,
        )
        if self.engine == "python":
            from checker.engines.python.explorer import explore
        else:
            from checker.engines.native.engine import explore
        return explore(spec, plan)


def check(spec: type[Spec] | Spec, /, **constants: int | bool | str) -> Result:
    """Explore a spec with these constants and return the result; see `SpecChecks.check`."""
    __tracebackhide__ = True
    return SpecChecks().check(spec, **constants)


def _with_constants(spec: type[Spec] | Spec, constants: dict[str, int | bool | str]) -> Spec:
    if isinstance(spec, Spec):
        return type(spec)(**(spec.constants | constants))
    return spec(**constants)


def _failure_text(spec: Spec, name: str, sentences: list[str], result: Result) -> str:
    from checker.output import styled_lines
    from checker.output.counterexample_text import counterexample_lines

    shown = [styled_lines.plain(counterexample_lines(spec, name, violation)) for violation in result.violations]
    return "\n".join([*sentences, *shown]).rstrip()
