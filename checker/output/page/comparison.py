"""The compare view: one schedule on several specs, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checker.explain.lane_owners import FailureBindings
from checker.explain.step_sentences import summary_of
from checker.language.default_drawing import drawing_of
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.output.counterexample_text import constants_text, non_default_constants
from checker.output.lasso_text import obligation_text
from checker.output.page.chart import chart
from checker.output.page.chart_parts import SequenceChart
from checker.output.page.lanes import StateRenderer, StateView
from checker.output.page.lasso import lasso_view
from checker.output.page.render import MOST_BYTES, STEPS_SCRIPT, PageContext, render
from checker.output.page.state_tables import StateTable, tables
from checker.output.page.story import bindings_of, legend_of
from checker.output.page.view_differences import PartKey, differing_parts
from checker.run.result import TraceStep, Violation


@dataclass(frozen=True)
class ComparedStep:
    """One step on a spec: `outcome` is its CSS class, `text` describes it, `state` is the state after it.

    `action` and `arguments` are those of the step on this spec (None: it is the initial state, or not taken).
    """

    outcome: str
    text: str
    state: State
    is_property_false: bool
    action: str | None = None
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class ComparedSpec:
    """A spec with its outcome at each step; `divergences` are the numbers of the steps at which it diverges."""

    name: str
    spec: Spec
    steps: tuple[ComparedStep, ...]
    divergences: frozenset[int]
    conclusion: str
    notes: tuple[str, ...] = ()

    @property
    def not_taken(self) -> tuple[int, ...]:
        """The numbers of the steps that this spec does not take."""
        return tuple(number for number, step in enumerate(self.steps, 1) if step.action is None and number > 1)

    @property
    def trace(self) -> tuple[TraceStep, ...]:
        """The steps as a trace; a step that is not taken has no action."""
        return tuple(TraceStep(step.action, step.arguments, step.state) for step in self.steps)


@dataclass(frozen=True)
class ComparedView:
    """One column at one step: a drawing, or tables if no variable has lanes.

    `differs` are the parts that differ from the first column; in the first column, those that differ from any other.
    """

    column: ComparedSpec
    step: ComparedStep
    diverges_here: bool
    view: StateView | None
    tables: tuple[StateTable, ...]
    differs: frozenset[PartKey] = frozenset()


def original_column(spec: Spec, violation: Violation, name: str) -> ComparedSpec:
    """Return the first column: the trace on its own spec."""
    last = len(violation.trace)
    is_state = violation.kind in ("invariant", "step_invariant")
    steps = [
        ComparedStep(
            "original",
            obligation_text(spec, violation, number - 1),
            step.state,
            is_state and number == last,
            step.action,
            step.arguments,
        )
        for number, step in enumerate(violation.trace, 1)
    ]
    if violation.failed_action is not None:
        steps.append(
            ComparedStep(
                "error", "cannot be executed: a value leaves the bounds of its type", violation.trace[-1].state, False
            )
        )
    return ComparedSpec(
        name, spec, tuple(steps), frozenset(), f"{violation.property}: {violation.explanation.splitlines()[0]}"
    )


def render_comparison(violation: Violation, columns: Sequence[ComparedSpec], context: PageContext) -> str:
    """Return the page that shows the schedule of a violation on several specs; the first column is the original.

    A page above `MOST_BYTES` leaves out the lanes that a step neither changes nor shows differently.
    """
    original = columns[0]
    drawing = drawing_of(original.spec)
    calls = [str(step) for step in violation.trace]
    if violation.failed_action is not None:
        calls.append(str(violation.failed_action))
    renderers = [_renderer(column, violation, is_original=column is original) for column in columns]
    steps: list[dict[str, Any]] = []
    for index, call in enumerate(calls):
        step = violation.trace[index] if index < len(violation.trace) else None
        is_violated = index == len(calls) - 1 if violation.loop_start is None else index >= violation.loop_start
        views = [
            _view(column, renderer, index, is_violated) for column, renderer in zip(columns, renderers, strict=True)
        ]
        views = _with_differences(views)
        summary = summary_of(original.spec, step.action or "") if step is not None else ""
        steps.append({"number": index + 1, "call": call, "summary": summary, "views": views})
    content: dict[str, Any] = {
        "script": STEPS_SCRIPT,
        "title": f"{violation.property}: {', '.join(column.name for column in columns)}",
        "violation": violation,
        "constants": constants_text(non_default_constants(original.spec)),
        "columns": columns,
        "charts": _charts(violation, columns),
        "divergences": frozenset().union(*(column.divergences for column in columns)),
        "context": context,
        "lasso": lasso_view(violation),
        "legend": legend_of(drawing) if drawing is not None else None,
    }
    page = render("comparison.html.j2", **content, steps=steps, is_compact=False)
    if len(page.encode(errors="replace")) <= MOST_BYTES:
        return page
    # The first and the last step show every lane.
    steps[1:-1] = [{**each, "views": _with_fewer_lanes(each["views"])} for each in steps[1:-1]]
    return render("comparison.html.j2", **content, steps=steps, is_compact=True)


def _charts(violation: Violation, columns: Sequence[ComparedSpec]) -> list[SequenceChart]:
    """Return the charts of all columns; the rows of a step are equally high."""
    original, *others = columns
    heights: tuple[float, ...] = ()
    for _ in range(2):
        charts = [chart(original.spec, violation.trace, violation, least_heights=heights)]
        charts += [chart(column.spec, column.trace, least_heights=heights) for column in others]
        heights = tuple(max(row.height for row in rows) for rows in zip(*(each.rows for each in charts), strict=True))
    return charts


def _renderer(column: ComparedSpec, violation: Violation, *, is_original: bool) -> StateRenderer | None:
    drawing = drawing_of(column.spec)
    if drawing is None:
        return None
    bindings = bindings_of(column.spec, violation) if is_original else FailureBindings()
    return StateRenderer(column.spec, drawing, bindings, column.steps[-1].state)


def _view(column: ComparedSpec, renderer: StateRenderer | None, index: int, is_violated: bool) -> ComparedView:
    step = column.steps[index]
    before = column.steps[index - 1].state if index else None
    view = renderer.draw(before, step.state, is_violated=is_violated) if renderer is not None else None
    shown = () if view is not None else tables(column.spec, before, step.state)
    return ComparedView(column, step, index + 1 in column.divergences, view, shown)


def _with_differences(views: list[ComparedView]) -> list[ComparedView]:
    first, *others = views
    differences = [differing_parts(first.view or first.tables, view.view or view.tables) for view in others]
    differs = [frozenset[PartKey]().union(*differences), *differences]
    return [replace(view, differs=parts) for view, parts in zip(views, differs, strict=True)]


def _with_fewer_lanes(views: Sequence[ComparedView]) -> list[ComparedView]:
    """Return the columns of a step without the lanes that it changes in no column and that are equal in all."""
    shown = {title for view in views for title in _lanes_of_interest(view)}
    return [
        replace(view, view=replace(view.view, lanes=tuple(lane for lane in view.view.lanes if lane.title in shown)))
        if view.view is not None
        else view
        for view in views
    ]


def _lanes_of_interest(view: ComparedView) -> Iterator[str]:
    if view.view is None:
        return
    yield from (lane.title for lane in view.view.lanes if lane.is_changed or lane.is_violation)
    for column in view.view.member_columns:
        yield from column.members ^ column.before
    # The lane is the second part of a key, and the last one of a member.
    yield from (str(key[-1] if key[0] == "member" else key[1]) for key in view.differs)
