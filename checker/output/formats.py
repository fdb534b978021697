"""A counterexample in every format that there is: text, JSON, ITF, DOT, SVG and HTML."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from checker.language.spec import Spec
from checker.output import styled_lines, text
from checker.run.result import Violation
from traces import trace_file

Format = Literal["text", "json", "itf", "dot", "svg", "html"]

ENDINGS: dict[Format, str] = {
    "json": ".json",
    "text": ".txt",
    "itf": ".itf.json",
    "dot": ".dot",
    "html": ".html",
    "svg": ".svg",
}
"""How the name of a file of each format ends."""


@dataclass(frozen=True)
class Counterexample:
    """A violation with a trace, where it comes from, and what there is to say about it (`description`, `notes`)."""

    spec: Spec
    violation: Violation
    origin: trace_file.Origin
    description: str = ""
    notes: tuple[str, ...] = ()


def written(counterexample: Counterexample, format: Format) -> str:
    """Return a counterexample in a format; raise UserError where a program or package that it needs is missing."""
    return _WRITERS[format](counterexample)


def _text(found: Counterexample) -> str:
    shown = [*text.counterexample(found.spec, found.origin.name, found.violation), styled_lines.BLANK]
    shown.append(styled_lines.line(("  found by  ", "dim"), found.origin.command))
    return styled_lines.plain([*shown, *(styled_lines.line((f"  {note}", "yellow")) for note in found.notes)])


def _json(found: Counterexample) -> str:
    return json.dumps(trace_file.trace_to_json(found.spec, found.violation, found.origin), indent=1) + "\n"


def _itf(found: Counterexample) -> str:
    from checker.output.itf import to_itf

    return json.dumps(to_itf(found.spec, found.violation, found.origin), indent=1) + "\n"


def _dot(found: Counterexample) -> str:
    from checker.output.dot import trace_graph

    return str(trace_graph(found.spec, found.violation).source)


def _svg(found: Counterexample) -> str:
    from checker.output.dot import svg, trace_graph

    return svg(trace_graph(found.spec, found.violation))


def _html(found: Counterexample) -> str:
    from checker.output.page.render import PageContext, counterexample_page

    context = PageContext(found.origin.name, found.origin.command, found.description, found.notes)
    return counterexample_page(found.spec, found.violation, context)


_WRITERS: dict[Format, Callable[[Counterexample], str]] = {
    "text": _text,
    "json": _json,
    "itf": _itf,
    "dot": _dot,
    "svg": _svg,
    "html": _html,
}
