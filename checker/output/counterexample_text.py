"""Counterexamples as text: the violation with its reason, then each step: its sentence, or the changes that it made."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from checker.explain.differences import ItemsChange, StateChange, came_and_went, changes
from checker.explain.refinements import abstract_spec, abstract_steps, refinements_of
from checker.explain.step_sentences import step_sentences
from checker.language.constant_values import setting_text
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.types import MapType, SeqType, StructType, TupleType, Type
from checker.language.values import show
from checker.output.lasso_text import loop_text
from checker.output.styled_lines import BLANK, Line, Span, line, plain
from checker.run.expectation import states_text
from checker.run.result import ActionCall, Kind, TraceStep, Violation

_WIDTH, _PART_WIDTH = 80, 72
"""Columns of a line, and of a map, struct or sequence: a longer one is printed with one part per line."""

_BETWEEN = "  |  "
"""Between a line of a step and the line beside it."""

_HEADLINES: dict[Kind, str] = {
    "invariant": "{property} is violated: counterexample of {states}",
    "step_invariant": "{property} is violated by the last step: counterexample of {states}",
    "reachable": "{property} is never reached",
    "deadlock": "deadlock: trace of {states}",
    "liveness": "{property} is violated: {states}",
    "bounds_error": "{property} leaves the bounds of a type: trace of {states}",
    "explanation": "{property}: trace of {states}",
    "walk": "no property is violated: trace of {states}",
}


def counterexample_lines(spec: Spec, name: str, violation: Violation, *, is_expected: bool = False) -> list[Line]:
    """Return the lines that show a violation of the spec called `name`."""
    return schedule_lines(spec, name, [violation], is_expected=is_expected)


def schedule_lines(
    spec: Spec, name: str, violations: Sequence[Violation], *, is_expected: bool = False, in_full: bool = True
) -> list[Line]:
    """Return the lines that show violations of several properties by the same steps, which are printed once.

    `is_expected`: the scenario expects the violations, so they are no alarm. Unless `in_full`, a step is a sentence
    without variables if the spec declares such sentences.
    """
    first = violations[0]
    in_full = in_full or not has_sentences(spec, first)
    if in_full:
        steps = trace_lines(spec, first.trace, first.failed_action, _abstract_lines(spec, first))
    else:
        steps = _sentence_lines(spec, first)
    return [
        line((name, "bold"), f"  {constants_text(non_default_constants(spec))}"),
        *(row for violation in violations for row in _finding_lines(violation, is_expected, in_full)),
        *steps,
        *_loop_lines(first),
    ]


def has_sentences(spec: Spec, violation: Violation) -> bool:
    """Return whether the steps of a violation can be shown as sentences: the spec declares one for each of its actions.

    The violation of a refinement shows the variables of two specs side by side.
    """
    draws = spec.draws
    if draws is None or _is_refinement(spec, violation) or violation.failed_action is not None:
        return False
    return all(draws.event_of(step.action).says for step in violation.trace if step.action is not None)


def _is_refinement(spec: Spec, violation: Violation) -> bool:
    return violation.property in refinements_of(spec)


def _sentence_lines(spec: Spec, violation: Violation) -> list[Line]:
    """Return a line for each step of a violation: its number and its sentence."""
    sentences = step_sentences(spec, violation)
    width = len(str(len(sentences)))
    return [BLANK, *(line((f"  {step.number:>{width}}  ", "dim"), step.text) for step in sentences)]


def same_schedules(spec: Spec, violations: Iterable[Violation]) -> list[list[Violation]]:
    """Return violations in groups that have the same steps, in the order of the first of each.

    A lasso and the violation of a refinement are alone: the lines of their steps depend on the property.
    """
    groups: dict[object, list[Violation]] = {}
    for violation in violations:
        is_alone = not violation.trace or violation.loop_start is not None or _is_refinement(spec, violation)
        key = violation.property if is_alone else (violation.trace, violation.failed_action)
        groups.setdefault(key, []).append(violation)
    return list(groups.values())


def violation_sentence(violation: Violation, note: str = "") -> str:
    """Return the headline of a violation: `no_duplicate is violated: counterexample of 3 states`.

    `note` is added to the part before the colon.
    """
    headline = _HEADLINES[violation.kind].format(property=violation.property, states=states_text(violation))
    what, colon, rest = headline.partition(":")
    return f"{what}{note}{colon}{rest}"


def _loop_lines(violation: Violation) -> list[Line]:
    """Return the lines after the trace of a lasso: the loop, and why the fair actions do not help."""
    if violation.loop_start is None:
        return []
    margin = " " * (len(str(len(violation.trace) + 1)) + 4)
    back = f"{margin}this is state {violation.loop_start + 1} again"
    return [
        *([line((back, "dim"))] if len(violation.trace) > violation.loop_start + 1 else []),
        BLANK,
        line((f"  {loop_text(violation)}", "bold red")),
        *(line(f"    {sentence}") for sentence in violation.fairness),
    ]


def _abstract_lines(spec: Spec, violation: Violation) -> list[list[Line]]:
    """Return the lines of each step as a violated refinement maps it; an empty list for any other violation."""
    name = violation.property
    if name not in refinements_of(spec) or (steps := abstract_steps(spec, name, violation.trace)) is None:
        return []
    abstract = abstract_spec(spec, name)
    blocks = []
    for number, step in enumerate(steps):
        if number == 0:
            title, rows = "initial state", state_lines(abstract, step.state)
        elif step.action is None:
            title, rows = "nothing changes", []
        else:
            title, rows = step.action or "no step", change_lines(list(step.changes))
        style = "bold red" if step.action == "" else "cyan"
        blocks.append([line((f"{abstract.name}: ", "dim"), (title, style)), *rows])
    return blocks


def _beside(left: list[list[Line]], right: list[list[Line]], margin: str) -> list[list[Line]]:
    """Return blocks of lines, each beside the block of the same number.

    If the lines would be too long, each block is below the other, after a margin.
    """
    width, other_width = (max(len(_plain(spans)) for block in side for spans in block) for side in (left, right))
    if width + len(_BETWEEN) + other_width > _WIDTH:
        return [[*block, *(line(margin, *spans) for spans in other)] for block, other in zip(left, right, strict=True)]
    return [
        [
            (*spans, (" " * (width - len(_plain(spans))) + _BETWEEN, "dim"), *other)
            for spans, other in itertools.zip_longest(block, others, fillvalue=BLANK)
        ]
        for block, others in zip(left, right, strict=True)
    ]


def _plain(spans: Line) -> str:
    return plain([spans]).rstrip()


def trace_lines(
    spec: Spec,
    trace: tuple[TraceStep, ...],
    failed_action: ActionCall | None = None,
    beside: list[list[Line]] | None = None,
) -> list[Line]:
    """Return the lines of a trace: the initial state in full, then the changes of each step.

    `failed_action`: the action after the last state that cannot be executed, if the trace ends with one. `beside`: for
    each step, lines to show beside its own.
    """
    blocks: list[list[Line]] = []
    number_width = len(str(len(trace) + 1))
    margin = " " * (number_width + 4)
    for number, step in enumerate(trace, 1):
        if number == 1:
            rows = state_lines(spec, step.state)
        else:
            rows = change_lines(changes(spec, trace[number - 2].state, step.state))
        called = str(step) if step.action is None else call_with_names(spec, step.action, step.arguments)
        title = line((f"  {number:>{number_width}}  ", "dim"), (called, "bold cyan"))
        blocks.append([title, *(line(margin, *spans) for spans in rows)])
    lines = [spans for block in (_beside(blocks, beside, margin) if beside else blocks) for spans in (BLANK, *block)]
    if failed_action is not None and trace:
        called = call_with_names(spec, failed_action.action, failed_action.arguments)
        lines += [BLANK, line((f"  {len(trace) + 1:>{number_width}}  ", "dim"), (called, "bold red"))]
        lines += [line(margin, ("cannot be executed: the reason is above", "red"))]
    return lines


def state_lines(spec: Spec, state: State) -> list[Line]:
    """Return the lines of a whole state: one line per variable, or per part of a long map, struct or sequence."""
    rows = [row for name, kind in spec.variables.items() for row in _full_rows(name, kind, state.values[name])]
    width = max((len(path) for path, _ in rows), default=0)
    return [line((f"{path:<{width}}", "dim"), f"  {text}") for path, text in rows]


def change_lines(changed: list[StateChange]) -> list[Line]:
    """Return one line per change, with the arrows aligned; of a collection, what it lost and got."""
    if not changed:
        return [line(("no variable changes", "dim"))]
    rows = [came_and_went(change) or change for change in changed]
    path_width = max(len(row.path) for row in rows)
    before_width = max((len(show(row.before)) for row in rows if isinstance(row, StateChange)), default=0)
    if before_width > _PART_WIDTH // 2:
        before_width = 0
    return [line(f"{row.path:<{path_width}}  ", *_change_spans(row, before_width)) for row in rows]


def _change_spans(change: StateChange | ItemsChange, before_width: int) -> list[Span]:
    if isinstance(change, ItemsChange):
        return [(f"{text}  ", style) for text, style in zip(change.texts, ("red", "green"), strict=True) if text]
    return [(f"{show(change.before):<{before_width}}", "red"), ("  ->  ", "dim"), (show(change.after), "green")]


def constants_text(constants: Mapping[str, Any]) -> str:
    """Return `replicas=2, log_size=2`."""
    return ", ".join(setting_text(name, value) for name, value in constants.items())


def call_with_names(spec: Spec, action: str, arguments: tuple[Any, ...]) -> str:
    """Return an action instance with the names of its arguments: `follower_fetch(follower=b2, leader=b1)`."""
    # Imported here: a command that shows no step does not need it.
    from checker.explain.step_events import arguments_by_name

    given = arguments_by_name(spec, action, arguments) if arguments else {}
    return f"{action}({', '.join(f'{name}={show(argument)}' for name, argument in given.items())})"


def non_default_constants(spec: Spec) -> dict[str, int | bool | str]:
    """Return the constants of a spec that differ from their defaults."""
    declared = spec.declared_constants
    return {name: value for name, value in spec.constants.items() if value != declared[name].default}


def _finding_lines(violation: Violation, is_expected: bool, in_full: bool) -> Iterator[Line]:
    headline = violation_sentence(violation, ", as expected" if is_expected else "")
    yield line((headline, "bold" if is_expected else "bold red"))
    # The first line says what is wrong, the others which expression is false.
    for text in violation.explanation.splitlines()[: None if in_full else 1]:
        yield line(f"  {text}")


def _full_rows(path: str, kind: Type, value: Any) -> Iterator[tuple[str, str]]:
    text = show(value)
    if len(text) > _PART_WIDTH - len(path):
        if isinstance(kind, MapType):
            for key, item in zip(kind.key.values(), value.items_in_order(), strict=True):
                yield from _full_rows(f"{path}[{show(key)}]", kind.value, item)
            return
        if isinstance(kind, StructType) and not (kind.declared.shows or isinstance(kind, TupleType)):
            for name, part in kind.fields:
                yield from _full_rows(f"{path}.{name}", part, value.field(name))
            return
        if isinstance(kind, SeqType):
            yield path, f"{len(value)} items" if len(value) else "[]"
            for index, item in enumerate(value):
                yield from _full_rows(f"{path}[{index}]", kind.item, item)
            return
    yield path, text
