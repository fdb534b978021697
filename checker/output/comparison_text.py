"""The same steps on several specs, as text and as a page."""

from __future__ import annotations

from collections.abc import Iterator

from checker.explain.differences import changes
from checker.output.counterexample_text import change_lines, constants_text, non_default_constants
from checker.output.formats import Counterexample
from checker.output.styled_lines import BLANK, Line, line
from traces.compare import ComparedSchedule


def comparison_lines(replay: Counterexample, sides: list[ComparedSchedule]) -> list[Line]:
    """Return the lines of a comparison: the conclusion for each spec, then every step with its effect on each spec."""
    lines = [line((replay.origin.name, "bold"), f"  {constants_text(non_default_constants(replay.spec))}")]
    lines.append(line((f"{replay.violation.property} is violated: the same steps on other specs", "bold red")))
    for side in sides:
        is_same = side.first_divergence is None and side.lasso is None
        lines.append(line(f"  {side.name} ", ("takes every step" if is_same else side.conclusion, "bold")))
        lines += [line((f"    {note}", "yellow")) for note in (*side.notes, *_property_notes(replay, side))]
    for number in range(1, len(sides[0].steps) + 1 if sides else 1):
        lines += _step_lines(replay, sides, number)
    return lines


def comparison_as_page(replay: Counterexample, sides: list[ComparedSchedule]) -> str:
    """Return the page of a comparison."""
    from checker.output.page import comparison
    from checker.output.page.render import PageContext

    columns = [comparison.original_column(replay.spec, replay.violation, replay.origin.spec)]
    for side in sides:
        steps = tuple(
            comparison.ComparedStep(
                step.outcome, step.details, step.state, step.is_property_false, step.action, step.arguments
            )
            for step in side.steps
        )
        notes = (*side.notes, *_property_notes(replay, side))
        divergences = frozenset(
            number for number in (side.first_divergence, side.final_divergence) if number is not None
        )
        columns.append(comparison.ComparedSpec(side.name, side.spec, steps, divergences, side.conclusion, notes))
    context = PageContext(replay.origin.name, replay.origin.command, replay.description, replay.notes)
    return comparison.render_comparison(replay.violation, columns, context)


def _property_notes(replay: Counterexample, side: ComparedSchedule) -> Iterator[str]:
    name = replay.violation.property
    if side.lasso is not None and not side.lasso.is_same and name in side.spec.roles:
        yield f"only a run decides whether another lasso violates {name} here"
    if replay.violation.kind not in ("invariant", "step_invariant"):
        return
    if name not in side.spec.roles:
        yield f"the spec has no property {name}"
        return
    false = [number for number, step in enumerate(side.steps, 1) if step.is_property_false]
    yield f"{name} is false here too, at step {false[0]}" if false else f"{name} is true here at every step"


def _step_lines(replay: Counterexample, sides: list[ComparedSchedule], number: int) -> Iterator[Line]:
    trace = replay.violation.trace
    call = sides[0].steps[number - 1].call
    yield BLANK
    yield line((f"  {number:>3}  ", "dim"), (call, "bold cyan"))
    if 1 < number <= len(trace):
        for spans in change_lines(changes(replay.spec, trace[number - 2].state, trace[number - 1].state)):
            yield line("       ", *spans)
    for side in sides:
        step = side.steps[number - 1]
        if step.details:
            mark = "  <- diverges here" if number in (side.first_divergence, side.final_divergence) else ""
            yield line("       ", (f"{side.name}: {step.details}", "yellow"), (mark, "bold red"))
