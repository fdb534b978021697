"""Pages rendered from Jinja2 templates, with the style sheet and the script inlined."""

from __future__ import annotations

import base64
import functools
import hashlib
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from checker.explain.differences import came_and_went
from checker.explain.executed_lines import ExecutedFunction, evaluated
from checker.explain.step_sentences import short_story
from checker.language.default_drawing import drawing_of
from checker.language.roles import Role
from checker.language.spec import Spec
from checker.language.values import show
from checker.output.counterexample_text import constants_text, non_default_constants
from checker.output.page.chart import chart
from checker.output.page.story import Story, legend_of, story_of
from checker.run.result import Kind, Violation

if TYPE_CHECKING:
    from jinja2 import Environment

_VERDICTS: dict[Kind, str] = {
    "invariant": "is false",
    "step_invariant": "is violated by the last step,",
    "reachable": "is never reached",
    "deadlock": "is reached: no action is enabled",
    "liveness": "is violated",
    "bounds_error": "leaves the bounds of a type",
    "explanation": "of the spec ends",
    "walk": "ends without a violation",
}


STEPS_SCRIPT = "page.js"
"""The script of pages that show one step at a time."""

MOST_BYTES = 200_000
"""Size limit of a page in bytes, because CI runs keep pages as artifacts."""

_PROPERTY_FUNCTIONS = 3
"""Functions of the violated property whose source is shown: the property and the helpers that it calls first."""

_FEWER_FUNCTIONS = (12, 3, 1, 0)
"""Numbers of functions with source per step, tried in this order until the page is within `MOST_BYTES`."""


@dataclass(frozen=True)
class PageContext:
    """Where a counterexample comes from: the parts of a page that the trace does not contain.

    `name` is the name of the scenario or the spec, `command` the command that finds the trace, `description` the
    sentence of the scenario, and `notes` are sentences about the trace, for example that the spec has changed since.

    The other fields are for counterexamples to induction: `verdict` replaces the verdict in the headline, `label`
    states whether the first state is reachable (`is_real`), `first` is the heading of the first state and `begins` a
    sentence about it. `opens` is the number of the step at which the page opens (0: the last, or the loop of a lasso).

    `checked` are the properties that the scenario checks (None: all), `remedy` is the scenario with the remedy, and
    `tickets` are the tickets that the description names, with their addresses. `index` is the address of the page of
    all results. `entry` has lines about what the trace shows: a title, sentences, and facts that begin with a space.
    """

    name: str
    command: str
    description: str = ""
    notes: tuple[str, ...] = ()
    verdict: str = ""
    label: str = ""
    is_real: bool = True
    opens: int = 0
    first: str = "Initial state"
    begins: str = "The trace starts in this state."
    checked: tuple[str, ...] | None = None
    remedy: str = ""
    tickets: tuple[tuple[str, str], ...] = ()
    index: str = ""
    entry: tuple[str, ...] = ()


def counterexample_page(spec: Spec, violation: Violation, context: PageContext) -> str:
    """Return the page of a violation that has a trace."""
    return page_of(spec, violation, context, story_of(spec, violation))


def page_of(spec: Spec, violation: Violation, context: PageContext, story: Story) -> str:
    """Return the page of a violation and its story.

    A page above `MOST_BYTES` shows less source in each step. Without source it also omits the enabled steps, the
    properties that the scenario does not check, and the variables outside of the lanes that do not change.
    """
    overview = {
        "is_compact": False,
        "chart": chart(spec, violation.trace, violation, start="" if context.is_real else f"{context.first}."),
        "sentences": short_story(spec, violation),
        "property_source": _property_source(spec, violation),
    }
    for functions in _FEWER_FUNCTIONS:
        page = _page(spec, violation, context, story.with_listings(functions), overview)
        if len(page.encode(errors="replace")) <= MOST_BYTES:
            return page
    return _page(spec, violation, context, story.with_listings(0), overview | {"is_compact": True})


def _page(spec: Spec, violation: Violation, context: PageContext, story: Story, overview: dict[str, Any]) -> str:
    drawing = drawing_of(spec)
    sentence, _, reason = violation.explanation.partition("\n")
    return render(
        "counterexample.html.j2",
        script=STEPS_SCRIPT,
        title=f"{violation.property}: {context.name}",
        about=_paragraphs(type(spec).__doc__ or ""),
        violation=violation,
        verdict=context.verdict or _VERDICTS[violation.kind],
        sentence=sentence,
        reason=reason,
        expectation=_expectation(spec, violation.property),
        constants=constants_text(spec.constants),
        non_default=constants_text(non_default_constants(spec)),
        context=context,
        story=story,
        legend=legend_of(drawing) if drawing is not None else None,
        **overview,
    )


def _property_source(spec: Spec, violation: Violation) -> tuple[ExecutedFunction, ...]:
    """Return the source of the violated property, with the lines that it executes at its violation."""
    name, trace = violation.property, violation.trace
    if (
        violation.kind not in ("invariant", "step_invariant")
        or spec.roles.get(name) not in (Role.INVARIANT, Role.STEP_INVARIANT, Role.LEMMA)
        or not trace
    ):
        return ()
    old = trace[-2].state if violation.kind == "step_invariant" else None
    return evaluated(spec, name, trace[-1].state, old)[:_PROPERTY_FUNCTIONS]


def render(
    template: str,
    *,
    package: str | None = None,
    script: str = "",
    filters: Mapping[str, Callable[[Any], str | tuple[str, ...]]] | None = None,
    **content: Any,
) -> str:
    """Render a template of this package, or of the folder `templates` of another package, which may extend these.

    `script` is the name of a file of this package, which the page contains; a page without one is a document that
    scrolls. `filters` are further filters of the template. Autoescaping turns every value into text, never markup.
    """
    code = _resource(script) if script else ""
    environment = _environment(package)
    environment.filters |= filters or {}
    page = environment.get_template(template)
    # Pages with a script show steps: they need no rules for documents.
    style = _resource("page.css") if script else _whole_style()
    return page.render(style=style, script=code, script_hash=script_hash(code), **content)


def macros(template: str, package: str, **context: Any) -> Any:
    """Return the macros of a template as functions, with a context: the names of `render` and others."""
    return _environment(package).get_template(template).make_module(context)


def script_hash(code: str) -> str:
    """Return the SHA-256 by which the policy of a page names a script that the page contains."""
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()


def render_fragment(template: str, *, filters: Mapping[str, Callable[[Any], str]] | None = None, **content: Any) -> str:
    """Render a template of this package that is a part of a foreign page, such as a notebook.

    The template puts `style` into a rule of its own, so that the style sheet concerns nothing else on the page.
    """
    style = re.sub(r"(?m)^( *)(?::root|body) \{", r"\1& {", _whole_style())
    environment = _environment(None)
    environment.filters |= filters or {}
    return environment.get_template(template).render(style=style, **content)


def _whole_style() -> str:
    return f"{_resource('page.css')}\n{_resource('document.css')}"


@functools.cache
def _environment(package: str | None) -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    own = PackageLoader("checker.output", "page")
    environment = Environment(
        loader=own if package is None else ChoiceLoader([own, PackageLoader(package)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = show
    environment.filters["items_change"] = came_and_went
    return environment


@functools.cache
def _resource(name: str) -> str:
    return resources.files("checker.output.page").joinpath(name).read_text(encoding="utf-8").strip()


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n") if paragraph.strip()]


def _expectation(spec: Spec, name: str) -> str:
    """Return the docstring of a property as one line; "" for an action, whose bounds error is the violation."""
    is_property = name in spec.roles and spec.roles[name] is not Role.ACTION
    method = getattr(type(spec), name, None) if is_property else None
    return " ".join(_paragraphs(method.__doc__ or "")) if method is not None else ""
