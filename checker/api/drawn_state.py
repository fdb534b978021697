"""States that draw themselves in a notebook, with the lanes of the counterexample page."""

from __future__ import annotations

from typing import Any

from checker.explain.lane_owners import FailureBindings
from checker.language.default_drawing import drawing_of
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.output.page.lanes import StateRenderer
from checker.output.page.render import render_fragment
from checker.output.page.state_tables import tables
from checker.output.page.story import variables_of_lanes


class DrawnState(State):
    """A state with its spec, and the state before it if a step led to it: the drawing marks the differences.

    It equals the `State` with the same values, and is sent to other processes as that.
    """

    __slots__ = ("_before", "_spec")

    def __init__(self, spec: Spec, state: State, before: State | None = None):
        super().__init__(state.values)
        self._spec, self._before = spec, before

    def __hash__(self) -> int:
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    def _repr_html_(self) -> str:
        drawing = drawing_of(self._spec)
        drawn = variables_of_lanes(drawing) if drawing is not None else frozenset()
        view: Any = None
        if drawing is not None:
            view = StateRenderer(self._spec, drawing, FailureBindings(), self).draw(self._before, self)
        rows = tables(self._spec, self._before, self, drawn)
        return render_fragment("notebook_state.html.j2", view=view, tables=rows)
