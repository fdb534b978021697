"""The compare view: one schedule on several specs, side by side, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.output.page.lane_owners import Witness
from checker.output.page.lanes import Artist, StateView
from checker.output.page.render import PageContext, chosen_constants, render
from checker.output.page.state_tables import StateTable, tables
from checker.output.page.story import first_sentence, legend_of, witness_of
from checker.output.text import constants_text
from checker.run.result import TraceStep, Violation


@dataclass(frozen=True)
class ComparedStep:
    """How a spec fares at one step: `fate` is a word for the style, `words` say what is to be said."""

    fate: str
    words: str
    state: State
    is_property_false: bool


@dataclass(frozen=True)
class ComparedSpec:
    """A spec with how it fares at each step; `parts` are the steps at which it parts from the first column."""

    name: str
    spec: Spec
    steps: tuple[ComparedStep, ...]
    parts: frozenset[int]
    conclusion: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedPicture:
    """A column at one step, drawn."""

    column: ComparedSpec
    taken: ComparedStep
    parts_here: bool
    view: StateView | None
    tables: tuple[StateTable, ...]


def original_column(spec: Spec, violation: Violation, name: str) -> ComparedSpec:
    """Return the first column: the trace on the spec that it is of."""
    last = len(violation.trace)
    is_state = violation.kind in ("invariant", "step_invariant")
    steps = [
        ComparedStep("original", "", step.state, is_state and number == last)
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


def comparison_page(violation: Violation, columns: Sequence[ComparedSpec], occasion: PageContext) -> str:
    """Return the page that shows a violation's schedule in every column, the first of which is the trace's own."""
    own = columns[0]
    calls = [str(step) for step in violation.trace]
    if violation.failed_action is not None:
        calls.append(str(violation.failed_action))
    artists = [_artist(column, violation, is_own=column is own) for column in columns]
    moments = []
    for index, call in enumerate(calls):
        step = violation.trace[index] if index < len(violation.trace) else None
        pictures = [_picture(column, artist, index) for column, artist in zip(columns, artists, strict=True)]
        moments.append({"number": index + 1, "call": call, "words": _words(own.spec, step), "pictures": pictures})
    return render(
        "comparison.html.j2",
        title=f"{violation.property}: {', '.join(column.name for column in columns)}",
        violation=violation,
        constants=constants_text(chosen_constants(own.spec)),
        columns=columns,
        moments=moments,
        parted=frozenset().union(*(column.parts for column in columns)),
        occasion=occasion,
        legend=legend_of(own.spec.draws) if own.spec.draws is not None else None,
    )


def _artist(column: ComparedSpec, violation: Violation, *, is_own: bool) -> Artist | None:
    if column.spec.draws is None:
        return None
    witness = witness_of(column.spec, violation) if is_own else Witness()
    return Artist(column.spec, column.spec.draws, witness, column.steps[-1].state)


def _picture(column: ComparedSpec, artist: Artist | None, index: int) -> ComparedPicture:
    taken = column.steps[index]
    before = column.steps[index - 1].state if index else None
    is_last = index == len(column.steps) - 1
    view = artist.draw(before, taken.state, is_last=is_last) if artist is not None else None
    shown = () if view is not None else tables(column.spec, before, taken.state)
    return ComparedPicture(column, taken, index + 1 in column.parts, view, shown)


def _words(spec: Spec, step: TraceStep | None) -> str:
    method = getattr(type(spec), step.action, None) if step is not None and step.action is not None else None
    return first_sentence(method.__doc__ or "") if method is not None else ""
