"""Files of a path: the trace file, a test in Python, ITF, the counterexample page and text."""

from __future__ import annotations

import itertools
import pprint
import re
import shlex
from dataclasses import dataclass
from typing import Any

from checker.explain.violations import deadlock, false_property
from checker.explorer.session import PanePath
from checker.language.constant_values import setting_text
from checker.language.interpreter import State
from checker.language.roles import STEP_ROLES, Role
from checker.language.spec import FILE_MODULE_PREFIX
from checker.language.types import BoolType, DomainType, EnumType, IntType, Type
from checker.language.values import show
from checker.output.formats import FORMATS, Counterexample
from checker.output.page.story import property_value
from checker.run.plan import DEADLOCK
from checker.run.result import TraceStep, Violation
from traces.recorded_kinds import WALK, walk_sentence
from traces.trace_file import origin_of

EXPORTS = {
    "json": "application/json",
    "test": "text/x-python",
    "itf": "application/json",
    "html": "text/html",
    "text": "text/plain",
}
"""The formats with their media types."""

_WIDTH = 100


@dataclass(frozen=True)
class ExportedFile:
    """A file with its name."""

    name: str
    text: str
    media_type: str


def exported(pane: PanePath, format: str) -> ExportedFile:
    """Return the path of a pane as a file; the choices that the pane did not take are not part of it."""
    stem = re.sub(r"[^A-Za-z0-9_]+", "_", pane.variant.name).strip("_")
    if format == "test":
        return ExportedFile(f"test_{stem}.py", as_test(pane), EXPORTS[format])
    ending = FORMATS[format].ending
    return ExportedFile(f"{stem}{ending}", FORMATS[format].write(counterexample_of(pane)), EXPORTS[format])


def counterexample_of(pane: PanePath) -> Counterexample:
    """Return a path as a counterexample to the first checked property that is false at its end, else as a walk."""
    variant = pane.variant
    settings = [setting_text(name, value) for name, value in pane.spec.constants.items() if _is_set(pane, name, value)]
    words = ["explore", f"{variant.target}/{variant.scenario}" if variant.scenario else variant.target]
    command = shlex.join(["python", "-m", "checker", *words, *(word for text in settings for word in ("--set", text))])
    spec_name = variant.name.removesuffix(f"/{variant.scenario}") if variant.scenario else variant.name
    # The scenario of a trace has its constants.
    scenario = variant.scenario if not settings else None
    origin = origin_of(pane.spec, spec_name, scenario, variant.target, command)
    return Counterexample(pane.spec, violation_of(pane), origin, variant.description if scenario else "")


def violation_of(pane: PanePath) -> Violation:
    """Return the violation at the end of a path; its kind is "walk" if no checked property is false there."""
    spec, trace = pane.spec, pane.trace
    before = trace[-2].state if len(trace) > 1 else None
    for name in spec.safety_properties:
        role = spec.roles[name]
        if not pane.variant.checks(name) or role is Role.REACHABLE:
            continue
        if property_value(spec, name, pane.state, before if role in STEP_ROLES else None) is False:
            return false_property(spec, name, trace)
    if pane.variant.checks(DEADLOCK) and spec.expand(pane.state) == ([], []):
        return deadlock(trace)
    return Violation(WALK, "walk", trace, walk_sentence("depth", len(trace) - 1))


def _is_set(pane: PanePath, name: str, value: object) -> bool:
    """Return whether a constant differs from that of the scenario, or from its default."""
    base = pane.variant.constants if pane.variant.scenario else {}
    return bool(value != base.get(name, pane.spec.declared_constants[name].default))


def as_test(pane: PanePath) -> str:
    """Return a test that takes the steps of a path, and checks its last state and the values of the properties."""
    spec, trace = pane.spec, pane.trace
    kind = type(spec)
    declared = kind.declared_constants
    constants = ", ".join(
        f"{name}={value!r}" for name, value in spec.constants.items() if value != declared[name].default
    )
    first = spec.initial_states().index(trace[0].state)
    lines = [
        f'"""Steps of {_one_line(pane.variant.name)}, exported from the explorer."""',
        "",
        f"from {kind.__module__.removeprefix(FILE_MODULE_PREFIX)} import {kind.__qualname__}",
        "",
        "",
        f"def test_steps_of_{re.sub(r'[^a-z0-9]+', '_', spec.name.lower())}():",
        f"    spec = {kind.__qualname__}({constants})",
        f"    state = spec.initial_states()[{first}]",
        *(f"    {line}" for before, step in itertools.pairwise(trace) for line in _step_lines(pane, before, step)),
        *_state_lines(pane.state),
        *_property_lines(pane),
    ]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return re.sub(r'[\\"]|[^ -~]', "?", text)


def _step_lines(pane: PanePath, before: TraceStep, step: TraceStep) -> list[str]:
    """Return the lines of a step: a call of `spec.step`, or a look at the enabled steps if an argument has no text."""
    assert step.action is not None
    kinds = [parameter.type for parameter in pane.spec.parameters_of(step.action)]
    if all(isinstance(kind, (BoolType, IntType, DomainType, EnumType)) for kind in kinds):
        texts = [repr(_plain(kind, value)) for kind, value in zip(kinds, step.arguments, strict=True)]
        return [f"state = spec.step({', '.join(['state', repr(step.action), *texts])})"]
    same = [successor for successor in pane.spec.successors(before.state) if str(successor) == str(step)]
    number = next(index for index, successor in enumerate(same) if tuple(successor.arguments) == tuple(step.arguments))
    return [
        f"steps = [step for step in spec.successors(state) if str(step) == {str(step)!r}]",
        f"state = steps[{number}].state",
    ]


def _plain(kind: Type, value: Any) -> bool | int | str:
    if isinstance(kind, BoolType):
        return bool(value)
    return int(value) if isinstance(kind, IntType) else show(value)


def _state_lines(state: State) -> list[str]:
    shown = pprint.pformat(state.to_dict(), width=_WIDTH, sort_dicts=False).split("\n")
    return [f"    assert state.to_dict() == {shown[0]}", *(f"    {line}" for line in shown[1:])]


def _property_lines(pane: PanePath) -> list[str]:
    """Return the lines that check the values of the properties of states in the last state."""
    lines = []
    for name in pane.spec.safety_properties:
        if pane.spec.roles[name] in (Role.INVARIANT, Role.REACHABLE):
            value = property_value(pane.spec, name, pane.state, None)
            if value is not None:
                lines.append(f"    assert {'' if value else 'not '}spec.holds({name!r}, state)")
    return lines
