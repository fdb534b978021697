"""The keys that distinguish the states of a spec with a view, computed by the interpreter."""

from __future__ import annotations

from typing import Any

from checker.errors import BoundsError
from checker.ir import nodes
from checker.language.interpreter import State
from checker.language.spec import Spec

_NO_VALUE = object()
"""The first item of the key of a state in which the view leaves its bounds."""


class ViewKeys:
    """The keys of the states of a spec, whose view is `view`."""

    def __init__(self, spec: Spec, view: nodes.View) -> None:
        self._spec, self._view = spec, view

    @property
    def name(self) -> str:
        """The name of the view."""
        return self._view.name

    def key_of(self, state: State) -> Any:
        """Return what distinguishes a state from others: the value of the view."""
        try:
            return self.value_in(state)
        except BoundsError:
            # The variables that the view keeps distinguish such states.
            return (_NO_VALUE, *(state.values[name] for name in self._view.kept))

    def value_in(self, state: State) -> Any:
        """Return the value of the view in a state; raise BoundsError if it leaves its bounds."""
        assert self._view.function.result is not None
        with self._spec.bound():
            return self._view.function.result.coerce(self._spec.value_of_view(self._view.name, state))
