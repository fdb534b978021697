"""`ExploredPath`: a state of a spec with the steps to it, for scripts; in a notebook it draws itself as a page."""

from __future__ import annotations

import html
from typing import Any

from checker.errors import InputError
from checker.explorer.address import Address, code_of_texts
from checker.explorer.exports import EXPORTS, exported
from checker.explorer.page import explorer_page
from checker.explorer.session import ExplorerSession, PanePath
from checker.explorer.steps import DisabledStep, codes_of, disabled_steps, take
from checker.explorer.variant import Variant
from checker.explorer.violation_search import SearchLimits, search_violation, searchable_properties
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.language.values import show
from checker.printable import quantity
from checker.run.result import TraceStep

_FRAME_HEIGHT = 640
"""The height of the page in a notebook, in pixels."""


class ExploredPath:
    """A state of a spec and the steps that lead to it. It does not change: `take` and `undo` return other ones.

    In a notebook it draws itself as the page of the explorer, without links. Raises InputError if the spec has no
    initial state with the number `initial`.
    """

    def __init__(self, spec: Spec, *, initial: int = 1):
        # The fairness of an instance may differ from that of its class.
        fair = {**dict.fromkeys(spec.declared_fairness), **spec.fairness}
        variant = Variant(spec.name, spec.name, type(spec), None, dict(spec.constants), fair)
        self._session = ExplorerSession((variant,), Address(initial=initial))
        self._place = self._session.place(Address(initial=initial))

    def _at(self, address: Address) -> ExploredPath:
        path = object.__new__(ExploredPath)
        path._session, path._place = self._session, self._session.place(address)
        return path

    @property
    def _path(self) -> PanePath:
        return self._place.panes[0]

    @property
    def spec(self) -> Spec:
        """The spec with its constants."""
        return self._path.spec

    @property
    def state(self) -> State:
        """The state at the end of the path."""
        return self._path.state

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """The steps of the path; the first one is the initial state."""
        return self._path.trace

    def enabled(self) -> list[str]:
        """Return the enabled steps of the state as text."""
        return [step.call for step in self._session.enabled(self._place) if step.state is not None]

    def disabled(self, action: str) -> list[DisabledStep]:
        """Return the disabled instances of an action, each with the `require` that is false."""
        return disabled_steps(self.spec, self.state, action, 0, 1_000)[0]

    def take(self, action: str, *arguments: Any) -> ExploredPath:
        """Return the path after a step: its text as `enabled` has it, or an action and its arguments.

        Arguments are values or their texts. Raises InputError if the step is not enabled.
        """
        for step in self._session.enabled(self._place):
            texts = [show(argument) for argument in step.arguments]
            is_named = step.action == action and texts == [show(argument) for argument in arguments]
            if step.state is not None and (is_named or (not arguments and step.call == action)):
                return self._at(self._place.address.then(step.code))
        refused = take(self.spec, self.state, code_of_texts(action, map(show, arguments)))
        raise InputError(f"{refused.call}: {refused.details or 'it is not enabled here'}")

    def undo(self) -> ExploredPath:
        """Return the path before the last step; raise InputError in the initial state."""
        steps = len(self._place.address.codes)
        if not steps:
            raise InputError("there is no step to undo: this is the initial state")
        return self._at(self._place.address.until(steps - 1))

    def violate(self, property: str, *, states: int = 1_000_000, seconds: float = 10.0) -> ExploredPath | None:
        """Return the path at the end of a shortest continuation that violates a property, or None.

        None: every state that is reachable from here was explored, and no continuation violates it. Raises InputError
        if the search stopped before that or met a value outside the bounds of its type, and for a property that a
        search cannot look for.
        """
        if property not in searchable_properties(self.spec):
            known = ", ".join(searchable_properties(self.spec))
            raise InputError(f"{property} is not a property of states or steps: choose from {known}")
        result = search_violation(self.spec, self.state, property, SearchLimits(states, seconds))
        if result.outcome == "cut":
            raise InputError(
                f"undecided after {quantity(result.states, 'state')}: the search stopped because {result.why_cut}"
            )
        if result.outcome == "never":
            return None
        if result.is_bounds_error:
            steps = len(result.trace) - 1
            raise InputError(f"undecided: {result.found} leaves the bounds of a type after {steps} more steps")
        return self._at(self._place.address.then(*codes_of(self.spec, result.trace)))

    def export(self, format: str) -> str:
        """Return the path in a format: "json", "test", "itf", "html" or "text"; raise InputError for another one."""
        if format not in EXPORTS:
            raise InputError(f"unknown format {format}: choose from {', '.join(EXPORTS)}")
        return exported(self._path, format).text

    def __repr__(self) -> str:
        count = len(self._place.address.codes)
        return f"<ExploredPath of {self.spec.name}: {quantity(count, 'step')}>"

    def _repr_html_(self) -> str:
        page = html.escape(explorer_page(self._session, self._place, inlined=True))
        style = f"width: 100%; height: {_FRAME_HEIGHT}px; border: 1px solid #ccc"
        return f'<iframe srcdoc="{page}" style="{style}" title="{html.escape(repr(self))}"></iframe>'
