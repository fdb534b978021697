"""Reasons why no candidate explains an event: for each possible step, the guard or value that prevents it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from checker.errors import BoundsError, Disabled
from checker.explain.guards import why_disabled
from checker.language.interpreter import State, call_text
from checker.language.parameters import ActionShape
from checker.language.spec import Spec
from traces.validate.mapping import Expectations, PossibleStep
from traces.validate.moves import Key, Moves
from traces.validate.observations import Observer, matches, plain_text
from traces.validate.verdict import RejectionReason

EXAMINED = 40
"""Number of candidates from which reasons are collected."""

SHOWN = 3
"""Number of candidates that are shown."""

_BY_PROGRESS = ("seen", "bounds", "guard", "arguments")
"""The kinds of reasons, ordered by how far the attempt got, the furthest first."""


Reasons = tuple[RejectionReason, ...]


def reasons_of(
    moves: Moves, observer: Observer, candidates: tuple[Key, ...], steps: tuple[PossibleStep, ...]
) -> Reasons:
    """Return the reasons why no candidate explains an event with some possible steps."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    for key in candidates[:EXAMINED]:
        for step in steps:
            counts.update(dict.fromkeys(_reasons(moves.spec, observer, moves.state(key), step), 1))
    ranked = sorted(counts.items(), key=lambda item: (_BY_PROGRESS.index(item[0][1]), -item[1]))
    return tuple(RejectionReason(step, kind, part, text, count) for (step, kind, part, text), count in ranked)  # type: ignore[arg-type]


def reasons_of_contradiction(text: str, candidates: int) -> Reasons:
    """Return the reason why an event contradicts earlier ones, whatever the candidate."""
    return (RejectionReason("recorded", "seen", "earlier events", text, candidates),)


def _reasons(spec: Spec, observer: Observer, state: State, step: PossibleStep) -> Iterator[tuple[str, str, str, str]]:
    """Iterate over the reasons (step, kind, part, text) why a step cannot be taken in a state."""
    if step.action is None:
        differs = observer.mismatch(step.seen_after, state, {})
        if differs is not None:
            yield "seen", *_difference(observer, step.seen_after, "", differs)
        return
    shape = next(shape for shape in spec.shapes() if shape.name == step.action)
    names = [parameter.name for parameter in shape.parameters]
    with spec.bound():
        instances = [arguments for _, arguments in spec.instances_of(shape, state)]
    is_any = False
    for arguments in instances:
        given = dict(zip(names, arguments, strict=True))
        if all(matches(given[name], observed) for name, observed in step.arguments.items()):
            is_any = True
            yield call_text(step.action, arguments), *_why_not(spec, observer, state, step, given)
    if not is_any:
        text = _impossible(shape, step)
        kind = "arguments" if observer.missing_member(step.arguments) is None else "bounds"
        yield str(step), kind, text, text


def _why_not(
    spec: Spec, observer: Observer, state: State, step: PossibleStep, given: dict[str, Any]
) -> tuple[str, str, str]:
    assert step.action is not None
    differs = observer.mismatch(step.seen_before, state, given)
    if differs is not None:
        return _difference(observer, step.seen_before, "before the step, ", differs)
    try:
        target = spec.step(state, step.action, *given.values())
    except Disabled as error:
        text = why_disabled(spec, error)
        return "guard", text.partition(": ")[0], text
    except BoundsError as error:
        return "bounds", "bounds", f"{error}: the constants may be too small"
    differs = observer.mismatch(step.seen_after, target, given)
    assert differs is not None, "the step is possible"
    return _difference(observer, step.seen_after, "after the step, ", differs)


def _difference(
    observer: Observer, expectations: Expectations, when: str, differs: tuple[str, str]
) -> tuple[str, str, str]:
    """Return the reason of an expression that differs: the kind, the expression and the text."""
    expression, text = differs
    missing = observer.missing_in(expression, expectations[expression])
    if missing is None:
        return "seen", expression, f"{when}{text}"
    return "bounds", expression, f"{when}{text}: a constant may be too small for {missing}"


def _impossible(shape: ActionShape, step: PossibleStep) -> str:
    known = {parameter.name: parameter for parameter in shape.parameters}
    for name, observed in step.arguments.items():
        parameter = known[name]
        if parameter.collection is None and not any(matches(value, observed) for value in parameter.type.values()):
            return (
                f"{name} is {plain_text(observed)}, which is not one of {parameter.type}: a constant may be too small"
            )
    return "no instance of the action has these arguments"
