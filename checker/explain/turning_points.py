"""The steps of a counterexample that decide it: the one that made the violation possible, and the one that violates."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from checker.explain.differences import changes
from checker.explain.step_events import step_event
from checker.explain.step_sentences import StepSentence, step_sentences
from checker.language.drawing import EventKind
from checker.language.spec import Spec
from checker.run.result import Violation

_FAILURES: tuple[frozenset[EventKind], ...] = (
    frozenset({"power loss", "truncation", "lost state"}),
    frozenset({"crash", "shutdown", "disconnect", "timeout"}),
)
"""Kinds of events that make violations possible: those that lose something, then those that interrupt something."""


@dataclass(frozen=True)
class TurningPoints:
    """The decisive steps of a counterexample; `enabling` is None if the step before the last one is the first."""

    enabling: StepSentence | None
    violating: StepSentence | None


def turning_points(spec: Spec, violation: Violation) -> TurningPoints:
    """Return the decisive steps of a violation that has a trace.

    The violating step is the last one. The enabling step is an earlier one: the last that loses data, else the last
    that interrupts a participant, else the last that changes a variable that the property reads, else the one before
    the violating step. No step of a shortest trace can be left out, so the enabling step is necessary.
    """
    sentences = step_sentences(spec, violation)
    if len(sentences) < 2:
        return TurningPoints(None, None)
    earlier = sentences[1:-1]
    kinds = {sentence.number: _kind(spec, violation, sentence.number) for sentence in earlier}
    reads = variables_read(spec, violation.property)
    candidates = [[number for number, kind in kinds.items() if kind in group] for group in _FAILURES]
    candidates.append([number for number in kinds if reads & _variables_of_change(spec, violation, number)])
    candidates.append(list(kinds))
    number = next((numbers[-1] for numbers in candidates if numbers), None)
    enabling = next((sentence for sentence in earlier if sentence.number == number), None)
    return TurningPoints(enabling, sentences[-1])


def variables_read(spec: Spec, name: str) -> frozenset[str]:
    """Return the state variables that a property reads, itself or in methods that it calls."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        method = getattr(type(spec), waiting.pop(), None)
        if inspect.isfunction(method):
            names = set(_attributes(inspect.getsource(method))) - seen
            seen |= names
            waiting += sorted(names)
    return frozenset(seen & set(spec.variables))


def _attributes(source: str) -> Iterator[str]:
    """Yield the attributes of `self` in the source of a method."""
    for node in ast.walk(ast.parse(textwrap.dedent(source))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr


def _kind(spec: Spec, violation: Violation, number: int) -> EventKind:
    if spec.draws is None:
        return ""
    before, step = violation.trace[number - 2 : number]
    return step_event(spec, spec.draws, before.state, step).kind


def _variables_of_change(spec: Spec, violation: Violation, number: int) -> set[str]:
    """Return the variables that a step changes."""
    before, step = violation.trace[number - 2 : number]
    with spec.bound():
        # The path of a change begins with its variable: log[b1][0].
        return {change.path.partition("[")[0].partition(".")[0] for change in changes(spec, before.state, step.state)}
