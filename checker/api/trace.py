"""Traces of counterexamples: sequences of steps that print, convert, and draw themselves in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from checker.api.drawn_state import DrawnState
from checker.errors import InputError
from checker.language.interpreter import State
from checker.language.spec import Spec
from checker.output.formats import FORMATS, Counterexample
from checker.printable import quantity
from checker.run.result import TraceStep, Violation
from traces.trace_file import origin_of, trace_to_json

_FRAME_HEIGHT = 640
"""The height of a page in a notebook, in pixels."""


class Trace(Sequence[TraceStep]):
    """The trace of a violation, step by step: `trace[0]` has the initial state and no action.

    `str(trace)` is the counterexample as text; in a notebook it is the counterexample page. `name` is that of the spec
    or scenario.
    """

    def __init__(self, spec: Spec, violation: Violation, name: str):
        self.spec, self.violation, self.name = spec, violation, name

    @overload
    def __getitem__(self, index: int) -> TraceStep: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[TraceStep]: ...

    def __getitem__(self, index: int | slice) -> TraceStep | Sequence[TraceStep]:
        if isinstance(index, slice):
            return [self._drawable(number) for number in range(len(self))[index]]
        return self._drawable(range(len(self))[index])

    def _drawable(self, number: int) -> TraceStep:
        """Return a step with a state that draws itself."""
        trace = self.violation.trace
        before = trace[number - 1].state if number else None
        return replace(trace[number], state=DrawnState(self.spec, trace[number].state, before))

    def __len__(self) -> int:
        return len(self.violation.trace)

    def __iter__(self) -> Iterator[TraceStep]:
        return (self._drawable(number) for number in range(len(self)))

    @property
    def violated(self) -> str:
        """The violated property, or the action or property that left the bounds of a type."""
        return self.violation.property

    @property
    def explanation(self) -> str:
        """Why the property is violated."""
        return self.violation.explanation

    def states(self) -> list[State]:
        """Return the states, the initial one first."""
        return [step.state for step in self]

    def steps(self) -> list[str]:
        """Return the steps as text, without the initial state: `fetch(b2)`; `play` of `checker.testing` takes them."""
        return [str(step) for step in self if step.action is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a trace file, which is JSON: see docs/counterexamples.md."""
        return trace_to_json(self.spec, self.violation, self._counterexample().origin)

    def to_text(self, format: str = "text") -> str:
        """Return the counterexample in a format: "text", "json", "itf", "dot", "svg" or "html".

        Raises InputError for an unknown format, and MissingExtraError if it needs a program that is missing.
        """
        if format not in FORMATS:
            raise InputError(f"unknown format {format}: choose from {', '.join(FORMATS)}")
        return FORMATS[format].write(self._counterexample())

    def save(self, path: str | Path) -> Path:
        """Write the counterexample to a file in the format that the file's ending names, and return the path.

        Raises InputError for an unknown ending: `.txt`, `.json`, `.itf.json`, `.dot`, `.svg` and `.html` are known.
        """
        endings = {writer.ending: name for name, writer in FORMATS.items()}
        matching = [ending for ending in endings if str(path).endswith(ending)]
        if not matching:
            raise InputError(f"{path}: unknown ending, choose from {', '.join(endings)}")
        target = Path(path)
        target.write_text(self.to_text(endings[max(matching, key=len)]), encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"<Trace of {self.name}: {self.violation.property}, {quantity(len(self), 'state')}>"

    def __str__(self) -> str:
        return self.to_text().rstrip()

    def _repr_html_(self) -> str:
        return self.frame()

    def frame(self) -> str:
        """Return the counterexample page as an HTML element."""
        page = html.escape(self.to_text("html"))
        style = f"width: 100%; height: {_FRAME_HEIGHT}px; border: 1px solid #8886"
        return f'<iframe srcdoc="{page}" style="{style}" title="{html.escape(repr(self))}"></iframe>'

    def _counterexample(self) -> Counterexample:
        origin = origin_of(self.spec, self.name, None, self.name, f"explore({self.spec!r})")
        return Counterexample(self.spec, self.violation, origin)
